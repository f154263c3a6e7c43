//! Machines that can't enforce the sandbox, where runs are refused; and supervisors that are killed.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prowess_sandbox::{ExitReason, LayerState, SandboxError, Spec, probe};

use crate::attacks::copy_of_tests;
use crate::world::{World, ran};

/// A helper that the tests below run on a damaged system. It passes if the run is refused with cause and remedy.
#[test]
#[ignore = "run by other tests"]
#[expect(clippy::print_stdout, reason = "the other tests read it")]
fn a_run_is_refused() {
    let (ended, output, _) = ran(Spec::new("/bin/echo"));
    assert_eq!(output, "");
    match ended {
        Err(SandboxError::Unenforceable { cause, remedy }) => {
            assert!(!cause.is_empty() && !remedy.is_empty(), "{cause}: {remedy}");
            println!("REFUSED {cause}");
        }
        other => panic!("the run was not refused: {other:?}"),
    }
    let probe = probe();
    assert!(!probe.is_enforceable(), "{probe:?}");
    assert!(
        probe
            .layers
            .iter()
            .any(|layer| layer.state == LayerState::Missing && layer.remedy.is_some())
    );
}

fn is_refused(mut command: Command, why: &str) {
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("REFUSED") && said.contains(why),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

const VICTIM: &[&str] = &["--exact", "hostile_host::a_run_is_refused", "--ignored", "--nocapture"];

#[test]
fn without_user_namespaces_nothing_runs() {
    // Attack sandbox-H01: an ordinary user on a system without user namespaces.
    let copy = copy_of_tests();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c"]);
    command.arg("echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"");
    command.arg("sh").arg(copy.path().join("tests")).args(VICTIM);
    is_refused(command, "namespaces");
}

#[test]
fn without_landlock_nothing_runs() {
    // Attack sandbox-H05: the three system calls do not exist.
    let copy = copy_of_tests();
    for user in ["0", "65534"] {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
        command.arg(copy.path().join("tests")).args(VICTIM);
        mask(&mut command, &[444, 445, 446], libc::ENOSYS);
        is_refused(command, "Landlock");
    }
}

/// Runs the helper as a user, with this error for some system calls.
fn masked(user: &str, calls: &[i64], errno: i32, why: &str) {
    let copy = copy_of_tests();
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
    command.arg(copy.path().join("tests")).args(VICTIM);
    mask(&mut command, calls, errno);
    is_refused(command, why);
}

#[test]
fn restrictions_that_are_not_enforced_are_detected() {
    // Attack sandbox-A29: the kernel accepts the restriction but does not enforce it.
    for user in ["0", "65534"] {
        let restrict = libc::SYS_landlock_restrict_self;
        masked(user, &[restrict], 0, "self-test: something forbidden was possible");
        masked(user, &[libc::SYS_seccomp], 0, "self-test: something forbidden was possible");
    }
}

#[test]
fn namespaces_without_privileges_are_refused() {
    // Attack sandbox-H02: a namespace can be created, but mounting in it is refused, as AppArmor does.
    for user in ["0", "65534"] {
        for errno in [libc::EPERM, libc::EACCES] {
            masked(user, &[libc::SYS_mount], errno, "mounting in them is not allowed");
        }
    }
    // The older call is allowed, the newer ones are not.
    masked("65534", &[libc::SYS_fsopen], libc::EPERM, "mounting in them is not allowed");
}

#[test]
fn without_its_own_proc_nothing_runs() {
    // Attack sandbox-H07: a container that masks parts of /proc. The kernel then refuses to mount an unmasked /proc.
    let copy = copy_of_tests();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]);
    command.args(["sh", "-c", "mount -t tmpfs tmpfs /proc/sys && exec \"$@\"", "sh"]);
    command.arg(copy.path().join("tests")).args(VICTIM);
    is_refused(command, "a separate /proc can't be mounted");
}

#[test]
fn root_without_capabilities_is_refused() {
    // Attack sandbox-D19: root of a container, who still owns files of the machine.
    let copy = copy_of_tests();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]);
    command.arg(copy.path().join("tests")).args(VICTIM);
    is_refused(command, "root without CAP_SYS_ADMIN");
}

#[test]
fn without_clone3_nothing_runs() {
    // Attack sandbox-H03: the seccomp filter of a container.
    let copy = copy_of_tests();
    let mut command = Command::new(copy.path().join("tests"));
    command.args(VICTIM);
    mask(&mut command, &[libc::SYS_clone3], libc::ENOSYS);
    is_refused(command, "clone3");
}

#[test]
fn without_seccomp_filters_nothing_runs() {
    // Attack sandbox-D20: the filter can't be installed.
    let copy = copy_of_tests();
    let mut command = Command::new(copy.path().join("tests"));
    command.args([
        "--exact",
        "hostile_host::a_filter_that_fails_stops_the_run",
        "--ignored",
        "--nocapture",
    ]);
    mask(&mut command, &[libc::SYS_seccomp], libc::ENOSYS);
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "run by another test"]
fn a_filter_that_fails_stops_the_run() {
    let mut spec = Spec::new("/bin/echo");
    spec.arguments = vec!["ran".into()];
    let (ended, output, _) = ran(spec);
    assert_eq!(output, "");
    assert!(matches!(ended, Err(SandboxError::SetUp { stage: "seccomp filter", .. })), "{ended:?}");
    assert!(!probe().is_enforceable());
}

/// Makes system calls of a command and its children fail with this error; 0 means that they seem to succeed.
#[allow(unsafe_code, reason = "a filter between fork and exec")]
fn mask(command: &mut Command, calls: &[i64], errno: i32) {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let arch = std::env::consts::ARCH.try_into().expect("a known processor");
    let answer = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, arch).expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    // SAFETY: the filter was made before; installing it is two system calls.
    unsafe {
        command.pre_exec(move || {
            seccompiler::apply_filter(&program)
                .map_err(|_| std::io::Error::other("the filter was refused"))
        });
    }
}

#[test]
fn this_machine_enforces_everything() {
    let probe = probe();
    assert!(probe.is_enforceable(), "{probe:#?}");
    assert_eq!(probe.layers.len(), 7);
}

#[test]
fn killing_the_supervisor_ends_the_run() {
    // Attack sandbox-E04.
    let copy = copy_of_tests();
    let marker = format!("marker-{}", std::process::id());
    let mut supervisor = Command::new(copy.path().join("tests"))
        .args(["--exact", "hostile_host::a_long_run", "--ignored", "--nocapture"])
        .env("MARKER", &marker)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    wait_until("the program runs", || processes_with(&marker) >= 2);
    supervisor.kill().expect("SIGKILL");
    supervisor.wait().expect("it is gone");
    wait_until("nothing is left", || processes_with(&marker) == 0);
}

#[test]
#[ignore = "run by another test"]
fn a_long_run() {
    let marker = std::env::var("MARKER").expect("the other test sets it");
    let world = World::new();
    let mut spec =
        world.python(&format!("'{marker}'\nif os.fork() == 0:\n    os.setsid()\nsignal.pause()"));
    spec.limits.time = Duration::from_hours(1);
    let _ = ran(spec);
}

/// The number of other processes whose arguments contain a text.
fn processes_with(text: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()))
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|arguments| String::from_utf8_lossy(arguments).contains(text))
        .count()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !condition() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        std::thread::yield_now();
    }
}

const HUNGRY: &[(&str, &str)] = &[
    ("private", "block = bytearray(200 << 20)\nprint('kept', len(block))"),
    (
        "shared",
        "import mmap\nblock = mmap.mmap(-1, 200 << 20)\nfor at in range(0, 200 << 20, 4096):\n    block[at] = 1\nprint('kept')",
    ),
    (
        "shared by sleepers",
        "import mmap\nfor _ in range(8):\n    block = mmap.mmap(-1, 25 << 20)\n    block[:] = b'x' * len(block)\n    if os.fork() == 0:\n        signal.pause()\n    block.close()\nsignal.pause()",
    ),
    (
        "many processes",
        "for _ in range(8):\n    if os.fork() == 0:\n        block = bytearray(25 << 20)\n        signal.pause()\nsignal.pause()",
    ),
    // One page table per 2 MiB that is read, and nothing else: the 100 GiB are never allocated.
    (
        "tables of pages",
        "import mmap\nblock = mmap.mmap(-1, 100 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)\nblock.madvise(15)\nfor at in range(0, 100 << 30, 2 << 20):\n    block[at]\nsignal.pause()",
    ),
    // Data in socket buffers belongs to no process.
    (
        "sockets",
        "def fill():\n    kept = []\n    while True:\n        try:\n            pair = socket.socketpair()\n        except OSError:\n            return kept\n        pair[0].setblocking(False)\n        try:\n            while True:\n                pair[0].send(b'x' * 65536)\n        except BlockingIOError:\n            kept.append(pair)\nkept = fill()\nfor _ in range(8):\n    if os.fork() == 0:\n        for ends in kept:\n            for end in ends:\n                end.close()\n        kept = fill()\n        signal.pause()\nsignal.pause()",
    ),
];

#[test]
fn memory_is_bounded() {
    // Attacks sandbox-E06, sandbox-E07; GAIA §4.3
    for (name, payload) in HUNGRY {
        let world = World::new();
        let mut spec = world.python(payload);
        spec.limits.memory = Some(64 << 20);
        spec.limits.time = Duration::from_mins(10);
        let (ended, output, error) = ran(spec);
        let how = ended.expect("it starts").exit;
        // The kernel may kill only one of several processes, and the others wait forever: polling or the
        // cgroup ends them all.
        assert_eq!(how, ExitReason::OutOfMemory, "{name}: {output}{error}");
        assert_eq!(output, "", "{name}");
    }
    let world = World::new();
    let mut spec = world.python("fd = os.memfd_create('m', 8)\nfor _ in range(200):\n    os.write(fd, b'x' * (1 << 20))\nprint('kept')");
    spec.limits.memory = Some(64 << 20);
    let (ended, output, _) = ran(spec);
    // Without a cgroup, memory files can't be counted, so they are not allowed.
    let how = ended.expect("it starts").exit;
    assert!(how == ExitReason::OutOfMemory || how == ExitReason::Exited(1), "{how:?}");
    assert_eq!(output, "");
    let mut spec = world.python("print('enough')");
    spec.limits.memory = Some(64 << 20);
    assert_eq!(ran(spec).1, "enough\n");
}

#[test]
fn the_memory_of_the_supervisor_does_not_count() {
    let large = vec![1_u8; 200 << 20];
    let world = World::new();
    // Long enough for the memory to be polled.
    let mut spec = world.python("import time\ntime.sleep(0.3)\nprint('enough')");
    spec.limits.memory = Some(64 << 20);
    let (ended, output, _) = ran(spec);
    assert_eq!(
        (ended.expect("it starts").exit, output.as_str()),
        (ExitReason::Exited(0), "enough\n")
    );
    assert!(large.iter().all(|byte| *byte == 1));
}

#[test]
fn the_memory_of_an_ordinary_supervisor_does_not_count() {
    crate::attacks::repeat_as_nobody("hostile_host::the_memory_of_the_supervisor_does_not_count");
}

#[test]
fn memory_is_bounded_for_an_ordinary_user() {
    crate::attacks::repeat_as_nobody("hostile_host::memory_is_bounded");
}
