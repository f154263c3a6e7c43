//! Running programs: arguments, streams, exit codes, timeouts, cancellation.

use std::time::{Duration, Instant};

use prowess_sandbox::{ExitReason, Input, PreparedSandbox, Sandbox, SandboxError, Spec};

use crate::attacks::{in_mount_namespace, repeat_as_nobody};
use crate::world::{Kept, World, python, ran};

fn echo(words: &[&str]) -> Spec {
    let mut spec = Spec::new("/bin/echo");
    spec.arguments = words.iter().map(Into::into).collect();
    spec
}

#[test]
fn arguments_are_passed_unchanged() {
    let (ended, output, error) = ran(echo(&["hello", "a b", "$(id)", "; rm -rf /", "*"]));
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{error}");
    assert_eq!(output, "hello a b $(id) ; rm -rf / *\n");
}

#[test]
fn exit_codes_signals_and_input_are_forwarded() {
    let world = World::new();
    let (ended, _, _) = ran(world.python("sys.exit(7)"));
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(7));
    let (ended, _, _) = ran(world.python("os.kill(os.getpid(), signal.SIGUSR1)"));
    assert_eq!(ended.expect("it starts").exit, ExitReason::Signalled(10));
    let mut spec = world.python("print(len(sys.stdin.read()))");
    spec.input = Input::Bytes(vec![b'x'; 1 << 20]);
    assert_eq!(ran(spec).1, "1048576\n");
    // A flood on one stream does not block the other (attack sandbox-E12).
    let (_, output, error) = ran(world.python("sys.stderr.write('x' * (5 << 20))\nprint('said')"));
    assert_eq!(output, "said\n");
    assert!(error.contains("... [truncated 5238784 bytes] ..."), "{error}");
    // Unread input does not block (attack sandbox-E12).
    let mut spec = world.python("print('bye')");
    spec.input = Input::Bytes(vec![b'x'; 1 << 20]);
    assert_eq!(ran(spec).1, "bye\n");
}

#[test]
fn missing_and_unexecutable_programs_differ() {
    let (ended, _, _) = ran(Spec::new("/usr/bin/no-such-program"));
    assert!(matches!(ended, Err(SandboxError::NotFound(_))), "{ended:?}");
    let (ended, _, _) = ran(Spec::new("/etc/passwd"));
    assert!(matches!(ended, Err(SandboxError::NotExecutable { .. })), "{ended:?}");
    let (ended, _, _) = ran(Spec::new("relative"));
    assert!(matches!(ended, Err(SandboxError::Invalid(_))), "{ended:?}");
}

#[test]
fn a_prepared_sandbox_starts_later() {
    let prepared = PreparedSandbox::new(Spec::new("/bin/echo")).expect("the sandbox is set up");
    let sandbox = prepared.start(&["late".into()], &[], Input::Empty).expect("it starts");
    let mut kept = Kept::default();
    let ended = sandbox.wait(&mut kept).expect("it ends");
    assert_eq!((ended.exit, kept.output.finish().text.as_str()), (ExitReason::Exited(0), "late\n"));
    // One that is never started is removed.
    drop(PreparedSandbox::new(Spec::new("/bin/echo")).expect("the sandbox is set up"));
}

#[test]
fn descriptors_are_passed_in_order() {
    use std::io::Write as _;
    let world = World::new();
    // Low descriptor numbers are free when the sandbox is set up, as after other threads have closed files.
    let low: Vec<_> = (0..8).map(|_| std::fs::File::open("/dev/null").expect("it opens")).collect();
    let pipes: Vec<_> = (b'a'..=b'h')
        .map(|letter| {
            let (reader, mut writer) = std::io::pipe().expect("a pipe");
            writer.write_all(&[letter]).expect("there is room");
            reader.into()
        })
        .collect();
    drop(low);
    let mut spec = world.python("print(b''.join(os.read(number, 1) for number in range(3, 11)))");
    spec.descriptors = pipes;
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{error}");
    assert_eq!(output, "b'abcdefgh'\n");
}

#[test]
fn a_timeout_sends_sigterm_first() {
    // Attack sandbox-E01.
    let world = World::new();
    let mut spec = world.python(
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\nprint('up', flush=True)\nsignal.pause()",
    );
    // Long enough for Python to start on any machine.
    spec.limits.time = Duration::from_secs(5);
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::TimedOut(Some(3)), "{output}{error}");
}

#[test]
fn a_timeout_ends_the_whole_process_tree() {
    // Attack sandbox-E02: sessions, double forks and processes that ignore SIGTERM.
    let world = World::new();
    let mut spec = world.python(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            break
        os._exit(0)
print('up', flush=True)
while True:
    signal.pause()",
    );
    spec.limits.time = Duration::from_millis(1500);
    spec.limits.grace = Duration::from_millis(300);
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::TimedOut(None), "{output}{error}");
    // The pipes are closed, so no process of the tree holds them.
}

#[test]
fn a_daemon_does_not_outlive_the_program() {
    // Attack sandbox-E03.
    let world = World::new();
    let mut spec = world
        .python("if os.fork() == 0:\n    os.setsid()\n    signal.pause()\nprint('main is done')");
    spec.limits.time = Duration::from_mins(10);
    let (ended, output, _) = ran(spec);
    assert_eq!(
        (ended.expect("it starts").exit, output.as_str()),
        (ExitReason::Exited(0), "main is done\n")
    );
}

#[test]
fn a_run_can_be_cancelled() {
    let world = World::new();
    let mut spec = world.python("print('up', flush=True)\nsignal.pause()");
    spec.limits.time = Duration::from_mins(10);
    let sandbox = Sandbox::spawn(spec).expect("it starts");
    let canceller = sandbox.canceller();
    std::thread::spawn(move || canceller.cancel());
    let ended = sandbox.wait(&mut Kept::default()).expect("it ends");
    assert!(matches!(ended.exit, ExitReason::Cancelled(None)), "{ended:?}");
}

#[test]
fn a_kill_ends_the_grace_period() {
    let world = World::new();
    let mut spec = world.python(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\nwhile True:\n    signal.pause()",
    );
    spec.limits.time = Duration::from_mins(10);
    spec.limits.grace = Duration::from_mins(10);
    let sandbox = Sandbox::spawn(spec).expect("it starts");
    let mut impatient = Impatient(sandbox.canceller());
    let ended = sandbox.wait(&mut impatient).expect("it ends");
    assert_eq!(ended.exit, ExitReason::Cancelled(None));
}

/// Cancels and then kills a program at its first output.
struct Impatient(prowess_sandbox::Canceller);

impl prowess_sandbox::Observer for Impatient {
    fn output(&mut self, _: prowess_sandbox::OutputStream, _: &[u8]) {
        self.0.cancel();
        self.0.kill();
    }
}

#[test]
fn too_much_output_ends_the_run() {
    // Attack sandbox-E11.
    let mut spec = python();
    spec.arguments = vec!["-c".into(), "while True: print('x' * 1000)".into()];
    spec.limits.output = 10 << 20;
    spec.limits.time = Duration::from_mins(10);
    let started = Instant::now();
    let (ended, output, _) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::TooMuchOutput);
    assert!(output.contains("... [truncated "), "{output}");
    assert!(started.elapsed() < Duration::from_mins(10));
}

#[test]
fn nothing_is_left_behind() {
    let before = open_descriptors();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..25 {
                    let (ended, output, _) = ran(echo(&["x"]));
                    assert_eq!(
                        (ended.expect("it starts").exit, output.as_str()),
                        (ExitReason::Exited(0), "x\n")
                    );
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("every run ends well");
    }
    let after = open_descriptors();
    // The owner map, the user namespace and the empty network namespace are created once and kept.
    assert!(after <= before + 3, "{before} descriptors before, {after} after");
    assert_eq!(children(), Vec::<String>::new());
}

/// A helper that is run where no other process has temporary files.
#[test]
#[ignore = "run by another test"]
fn two_hundred_runs_at_once() {
    const RUNS: usize = 200;
    let world = World::new();
    // Creates what is created once and kept.
    assert_eq!(ran(limited(&world, 0)).1, "0\n");
    let before = (open_descriptors(), control_groups(), temporary_files());
    // All of them run at the same time.
    let barrier = std::sync::Arc::new(std::sync::Barrier::new(RUNS));
    let threads: Vec<_> = (0..RUNS)
        .map(|number| {
            let (barrier, spec) = (std::sync::Arc::clone(&barrier), limited(&world, number));
            std::thread::spawn(move || {
                let sandbox = Sandbox::spawn(spec);
                barrier.wait();
                let mut kept = Kept::default();
                let ended = sandbox.expect("it starts").wait(&mut kept).expect("it ends");
                let said = kept.output.finish().text;
                assert_eq!((ended.exit, said), (ExitReason::Exited(0), format!("{number}\n")));
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("every run ends well");
    }
    let after = (open_descriptors(), control_groups(), temporary_files());
    assert_eq!(after, before);
    assert_eq!(children(), Vec::<String>::new());
}

#[test]
fn two_hundred_runs_at_once_leave_nothing_behind() {
    // No process, file, control group or descriptor.
    let own_world = "ulimit -n 8192\nmount -t tmpfs -o mode=1777 tmpfs /tmp";
    for user in ["0", "65534"] {
        in_mount_namespace(own_world, user, "running::two_hundred_runs_at_once");
    }
}

/// A run with everything that could remain: a cgroup, a private folder, a created folder.
fn limited(world: &World, number: usize) -> Spec {
    let mut spec = echo(&[&number.to_string()]);
    spec.limits.memory = Some(64 << 20);
    spec.limits.time = Duration::from_mins(5);
    spec.files = vec![prowess_sandbox::FileGrant {
        pattern: Some("*.md".to_owned()),
        ..world.grant("ws", prowess_sandbox::FileAccess::Write)
    }];
    spec
}

/// The cgroups of this process's runs, in all hierarchies.
fn control_groups() -> Vec<std::path::PathBuf> {
    let own = format!("prowess-{}-", std::process::id());
    let mut found = Vec::new();
    let mut open = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&own) {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    found
}

/// Everything in the temporary folder and its folders.
fn temporary_files() -> Vec<std::path::PathBuf> {
    let names = std::fs::read_dir(std::env::temp_dir()).expect("a folder").flatten();
    let mut found: Vec<_> = names.map(|entry| entry.path()).collect();
    for folder in found.clone() {
        let below = std::fs::read_dir(folder).into_iter().flatten().flatten();
        found.extend(below.map(|entry| entry.path()));
    }
    found.sort();
    found
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("/proc is there").count()
}

fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("/proc is there");
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn cpu_time_is_limited() {
    // Attack sandbox-E10.
    let world = World::new();
    let mut spec = world.python("while True: pass");
    spec.limits.cpu = Some(Duration::from_secs(1));
    spec.limits.time = Duration::from_mins(10);
    let how = ran(spec).0.expect("it starts").exit;
    assert!(matches!(how, ExitReason::Signalled(9 | 24)), "{how:?}");
}

#[test]
fn orphans_are_reaped() {
    // Attack sandbox-E13: many more processes than the limit, none of which is reaped by its parent.
    let world = World::new();
    let mut spec = world.python(
        "for _ in range(300):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
    while len([name for name in os.listdir('/proc') if name.isdigit()]) > 10:
        pass
print('all gone')",
    );
    spec.limits.processes = 32;
    spec.limits.time = Duration::from_mins(10);
    let (ended, output, error) = ran(spec);
    assert_eq!(
        (ended.expect("it starts").exit, output.as_str()),
        (ExitReason::Exited(0), "all gone\n"),
        "{error}"
    );
}

#[test]
fn a_stopped_program_is_ended() {
    // Attack sandbox-E16.
    let world = World::new();
    let mut spec = world.python("os.kill(os.getpid(), signal.SIGSTOP)");
    spec.limits.time = Duration::from_millis(500);
    spec.limits.grace = Duration::from_millis(200);
    assert_eq!(ran(spec).0.expect("it starts").exit, ExitReason::TimedOut(None));
}

#[test]
fn no_core_is_dumped() {
    // Attack sandbox-E18.
    let world = World::new();
    let payload = "import resource\nprint(resource.getrlimit(resource.RLIMIT_CORE))\nos.chdir(WS)\nsys.stdout.flush()\nos.abort()";
    let mut spec = world.python(payload);
    spec.files = vec![world.grant("ws", prowess_sandbox::FileAccess::Write)];
    let (ended, output, _) = ran(spec);
    assert_eq!(
        (ended.expect("it starts").exit, output.as_str()),
        (ExitReason::Signalled(6), "(0, 0)\n")
    );
    assert_eq!(std::fs::read_dir(world.path("ws")).expect("a folder").count(), 1);
}

/// Reports the first output.
struct Ready(std::sync::mpsc::Sender<()>);

impl prowess_sandbox::Observer for Ready {
    fn output(&mut self, _: prowess_sandbox::OutputStream, _: &[u8]) {
        let _ = self.0.send(());
    }
}

#[test]
fn a_run_has_few_inotify_instances() {
    // Finding 19: the user has 128 of them for all programs. Root's programs run as another user.
    if rustix::process::geteuid().is_root() {
        return repeat_as_nobody("running::a_run_has_few_inotify_instances");
    }
    let world = World::new();
    let (_, output, error) = ran(world.python(
        "made = 0
while made < 128 and libc.inotify_init1(0) >= 0:
    made += 1
print(made)",
    ));
    let made: usize = output.trim().parse().unwrap_or_else(|_| panic!("{output}{error}"));
    assert!((1..=16).contains(&made), "{made}");
}

#[test]
fn runs_are_isolated_from_each_other() {
    // Attacks sandbox-D13, sandbox-G08.
    let world = World::new();
    let first = world.python(
        "for path in ('/tmp/x', '/dev/shm/x', '/home/skill/x'):
    write(path)
libc.shmget(4711, 4096, 0o1666)
print('ready', flush=True)
signal.pause()",
    );
    let sandbox = Sandbox::spawn(first).expect("it starts");
    let canceller = sandbox.canceller();
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || sandbox.wait(&mut Ready(sender)));
    receiver.recv().expect("the first one runs");
    let (_, output, error) = ran(world.python(
        "print([path for path in ('/tmp/x', '/dev/shm/x', '/home/skill/x') if os.path.exists(path)])
print(libc.shmget(4711, 4096, 0) < 0, len([name for name in os.listdir('/proc') if name.isdigit()]))",
    ));
    assert_eq!(output, "[]\nTrue 1\n", "{error}");
    canceller.cancel();
    thread.join().expect("no panic").expect("it ends");
}

#[test]
fn warming_up_does_not_change_runs() {
    prowess_sandbox::warm_up();
    // Once while the thread may still be working, once after it is done.
    for _ in 0..2 {
        let (ended, output, _) = ran(echo(&["same"]));
        assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0));
        assert_eq!(output, "same\n");
    }
}
