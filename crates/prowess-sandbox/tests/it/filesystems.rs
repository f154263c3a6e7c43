//! Sandboxes on unusual filesystems (attack sandbox-A29).

use std::fs;
use std::path::{Path, PathBuf};

use prowess_sandbox::{ExitReason, FileAccess, FileGrant, SandboxError};

use crate::attacks::{files, in_mount_namespace, in_mount_namespace_until};
use crate::world::{World, ran};

#[test]
fn the_sandbox_holds_on_other_filesystems() {
    // Attack sandbox-A29.
    let memory = "mount -t tmpfs -o mode=1777 tmpfs /tmp";
    let layers = "mkdir lower upper work
chmod 1777 lower upper
mount -t tmpfs tmpfs work
mkdir work/upper work/work
chmod 1777 work/upper
mount -t overlay -o lowerdir=lower,upperdir=work/upper,workdir=work/work overlay /tmp";
    for (mount, user) in [(memory, "0"), (memory, "65534"), (layers, "65534")] {
        in_mount_namespace(mount, user, "attacks::attacks_from_inside_fail");
    }
    // Id-mapped mounts are not supported there, and without them programs would need capabilities of root.
    in_mount_namespace(layers, "0", "filesystems::nothing_is_writable_without_id_mapped_mounts");
}

/// A helper that is run where `PLACE` is a FUSE filesystem with a file and a script.
#[test]
#[ignore = "run by another test"]
fn a_fuse_filesystem_is_granted() {
    let place = PathBuf::from(std::env::var("PLACE").expect("the other test sets it"));
    let world = World::new();
    let try_with = |path: &Path, access| {
        let mut spec = world.python(&format!(
            r#"
PLACE = {:?}
attempt("list", lambda: sorted(os.listdir(PLACE)))
attempt("read", lambda: read(PLACE + "/a"))
attempt("beside", lambda: len(read(PLACE + "/script")))
attempt("write", lambda: write(PLACE + "/a", "new"))
attempt("execute", lambda: os.execv(PLACE + "/script", ["x"]))
attempt("up", lambda: read(PLACE + "/../tests"))
attempt("secret", lambda: read(SEC + "/k"))
"#,
            place.display().to_string()
        ));
        // The interpreter of the script is available, so that only the sandbox prevents the script from running.
        spec.programs = vec!["/bin/sh".into()];
        spec.files =
            vec![FileGrant { path: path.to_owned(), access, pattern: None, create: false }];
        let (ended, output, error) = ran(spec);
        ended.map(|ended| (ended.exit, output + &error))
    };
    let said = |text: &str| (ExitReason::Exited(0), text.to_owned());
    let read = try_with(&place, FileAccess::Read).expect("it starts");
    assert_eq!(
        read,
        said(
            "list: done ['a', 'script']\nread: done 'data'\nbeside: done 19\nwrite: EROFS\nexecute: EACCES\nup: ENOENT\nsecret: ENOENT\n"
        )
    );
    let one = try_with(&place.join("a"), FileAccess::Read).expect("it starts");
    assert_eq!(
        one,
        said(
            "list: done ['a']\nread: done 'data'\nbeside: ENOENT\nwrite: EROFS\nexecute: ENOENT\nup: ENOENT\nsecret: ENOENT\n"
        )
    );
    assert_eq!(fs::read_to_string(place.join("a")).expect("it is there"), "data");
    match try_with(&place, FileAccess::Write) {
        Ok(written) => assert_eq!(
            written,
            said(
                "list: done ['a', 'script']\nread: done 'data'\nbeside: done 19\nwrite: done\nexecute: EACCES\nup: ENOENT\nsecret: ENOENT\n"
            )
        ),
        // Id-mapped mounts are not supported there.
        Err(SandboxError::Unenforceable { cause, .. }) => {
            assert!(cause.contains("does not support id-mapped mounts"), "{cause}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_sandbox_holds_on_a_fuse_filesystem() {
    // Attack sandbox-A29: FUSE.
    let mount = format!(
        "mkdir place
exec 9<>/dev/fuse
python3 -I {}/tests/it/fuse.py 9 > /dev/null 2>&1 &
mount -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions fuse place
exec 9>&-
export PLACE=$PWD/place",
        env!("CARGO_MANIFEST_DIR")
    );
    for user in ["0", "65534"] {
        let test = "filesystems::a_fuse_filesystem_is_granted";
        in_mount_namespace_until(&mount, user, test, "umount place");
    }
}

/// A helper that is run where id-mapped mounts are not supported.
#[test]
#[ignore = "run by another test"]
fn nothing_is_writable_without_id_mapped_mounts() {
    let world = World::new();
    let (ended, output, _) = ran(files(&world, "print('ran')"));
    assert!(
        matches!(&ended, Err(SandboxError::Unenforceable { cause, .. }) if cause.contains("does not support id-mapped mounts")),
        "{ended:?}"
    );
    assert_eq!(output, "");
}
