//! Programs for other systems, and `binfmt_misc` registrations of the machine (attack sandbox-B15).

use std::fs;
use std::process::Command;

use prowess_sandbox::{FileAccess, SandboxError, Spec};

use crate::attacks::{in_mount_namespace_until, repeat_as_nobody};
use crate::world::{World, executable, ran};

#[test]
fn foreign_formats_do_not_run() {
    // Attack sandbox-B15: programs for other systems.
    let world = World::new();
    for (name, start) in [
        ("x.exe", &b"MZ\x90\0"[..]),
        ("x.wasm", b"\0asm\x01\0\0\0"),
        ("x.class", b"\xca\xfe\xba\xbe"),
    ] {
        executable(&world.path("skill").join(name), "");
        fs::write(world.path("skill").join(name), start).expect("a file");
    }
    runs_no_foreign_formats(&world, &["x.exe", "x.wasm", "x.class"]);
}

#[test]
fn foreign_formats_do_not_run_for_an_ordinary_user() {
    repeat_as_nobody("formats::foreign_formats_do_not_run");
}

/// Checks that foreign formats run neither as the program of a run nor from inside.
fn runs_no_foreign_formats(world: &World, names: &[&str]) {
    for name in names {
        let mut spec = Spec::new(world.path("skill").join(name));
        spec.files = vec![world.grant("skill", FileAccess::Execute)];
        let (ended, output, _) = ran(spec);
        assert!(
            matches!(ended, Err(SandboxError::NotExecutable { .. } | SandboxError::NotFound(_))),
            "{ended:?}"
        );
        assert_eq!(output, "");
        let mut spec = world.python(&format!(
            "
try:
    os.execv(SKILL + '/{name}', ['x'])
except OSError as error:
    print(errno.errorcode[error.errno] in ('ENOEXEC', 'EACCES', 'ENOENT'))"
        ));
        spec.files = vec![world.grant("skill", FileAccess::Execute)];
        let (_, output, error) = ran(spec);
        assert_eq!(output, "True\n", "{name}: {error}");
    }
}

/// A helper that is run where `binfmt_misc` has registrations for files that begin with these words.
#[test]
#[ignore = "run by another test"]
fn registered_formats_do_not_run() {
    let formats = std::env::var("FORMATS").expect("the other test sets it");
    let world = World::new();
    let names: Vec<&str> = formats.split(' ').collect();
    for name in &names {
        executable(&world.path("skill").join(name), name);
        // Outside the sandbox it runs, so there is something to prevent.
        let output = Command::new(world.path("skill").join(name)).output().expect("it runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), *name);
    }
    runs_no_foreign_formats(&world, &names);
}

#[test]
fn registered_formats_of_the_machine_do_not_run() {
    // Attack sandbox-B15: one registration whose interpreter is opened when needed, and one whose interpreter the kernel
    // keeps open (flag F), as emulators and WSL register. Registrations belong to the machine and not to a mount, so
    // they are removed.
    let own = std::process::id();
    let (named, open) = (format!("prowess-named-{own}"), format!("prowess-open-{own}"));
    let register = format!(
        "mkdir formats
mount -t binfmt_misc none formats
echo ':{named}:M::{named}::/bin/cat:' > formats/register
echo ':{open}:M::{open}::/bin/cat:F' > formats/register
export FORMATS='{named} {open}'"
    );
    let remove = format!("for name in {named} {open}; do echo -1 > formats/$name; done");
    for user in ["0", "65534"] {
        let test = "formats::registered_formats_do_not_run";
        in_mount_namespace_until(&register, user, test, &remove);
    }
}
