//! The launcher is a script that takes Seatbelt's arguments but isolates nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{PreparedSandbox, spawn_with};
use crate::error::SandboxError;
use crate::output::Capture;
use crate::spec::{
    ExitReason, FileAccess, FileGrant, Input, Network, Observer, OutputStream, SandboxOutcome,
    Spec, SyntheticFile,
};

struct Trial {
    root: tempfile::TempDir,
}

#[derive(Default)]
struct Kept {
    output: Capture,
    error: Capture,
    listeners: usize,
}

impl Observer for Kept {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        match stream {
            OutputStream::Output => self.output.push(bytes),
            OutputStream::Error => self.error.push(bytes),
        }
    }

    fn listeners(&mut self, listeners: Vec<std::net::TcpListener>) {
        self.listeners = listeners.len();
    }
}

impl Trial {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let launcher = root.path().join("launcher");
        let text = "#!/bin/sh
while [ $# -gt 0 ]; do
    case \"$1\" in
        -p | -D) shift 2 ;;
        *) exec \"$@\" ;;
    esac
done
exit 64
";
        fs::write(&launcher, text).expect("a file");
        fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("it is ours");
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("it exists").join(name)
    }

    fn spawn(&self, spec: Spec) -> Result<super::Sandbox, SandboxError> {
        spawn_with(&self.path("launcher"), spec)
    }

    fn ran(&self, spec: Spec) -> (Result<SandboxOutcome, SandboxError>, String, String) {
        let mut kept = Kept::default();
        let ended = self.spawn(spec).and_then(|sandbox| sandbox.wait(&mut kept));
        (ended, kept.output.finish().text, kept.error.finish().text)
    }
}

fn shell(text: &str) -> Spec {
    let mut spec = Spec::new("/bin/sh");
    spec.arguments = vec!["-c".into(), text.into()];
    spec
}

fn exit_reason(ended: Result<SandboxOutcome, SandboxError>) -> ExitReason {
    ended.expect("it starts").exit
}

#[test]
fn streams_exit_codes_and_environment_are_forwarded() {
    let trial = Trial::new();
    let mut spec =
        shell("cat; echo err >&2; echo \"$A $1 $PWD\"; [ \"$HOME\" = \"$TMPDIR\" ] && exit 7");
    spec.arguments.extend(["sh".into(), "b c".into()]);
    spec.environment = vec![("A".into(), "a".into()), ("HOME".into(), "/home/skill".into())];
    spec.input = Input::Bytes(b"in\n".to_vec());
    fs::create_dir(trial.path("ws")).expect("a folder");
    spec.working_directory = trial.path("ws");
    spec.files = vec![FileGrant {
        path: trial.path("ws"),
        access: FileAccess::Write,
        pattern: None,
        create: false,
    }];
    let (ended, output, error) = trial.ran(spec);
    assert_eq!(output, format!("in\na b c {}\n", trial.path("ws").display()));
    assert_eq!(error, "err\n");
    let ended = ended.expect("it starts");
    assert_eq!((ended.exit, ended.scan_incomplete), (ExitReason::Exited(7), true));
    assert_eq!(
        exit_reason(trial.ran(shell("kill -USR1 $$")).0),
        ExitReason::Signalled(libc::SIGUSR1)
    );
}

#[test]
fn the_private_folder_is_removed() {
    let trial = Trial::new();
    let (_, output, _) = trial.ran(shell("touch \"$TMPDIR/x\"; ls \"$HOME\"; echo \"$HOME\"; pwd"));
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!((lines[0], lines[1]), ("x", lines[2]));
    assert!(!Path::new(lines[1]).exists());
}

#[test]
fn every_exit_reason_is_reported() {
    let trial = Trial::new();
    let mut spec = shell("trap 'exit 3' TERM; echo up; while :; do sleep 0.05; done");
    spec.limits.time = Duration::from_millis(700);
    assert_eq!(exit_reason(trial.ran(spec).0), ExitReason::TimedOut(Some(3)));
    // It ignores SIGTERM, and so does its child.
    let mut spec = shell("trap '' TERM; (while :; do sleep 1; done) & while :; do sleep 1; done");
    spec.limits.time = Duration::from_millis(300);
    spec.limits.grace = Duration::from_millis(200);
    assert_eq!(exit_reason(trial.ran(spec).0), ExitReason::TimedOut(None));
    let mut spec = shell("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done");
    spec.limits.output = 1 << 20;
    assert_eq!(exit_reason(trial.ran(spec).0), ExitReason::TooMuchOutput);
    // A child that outlives the program does not delay the end.
    let mut spec = shell("sleep 600 & echo done");
    spec.limits.time = Duration::from_mins(10);
    assert_eq!(exit_reason(trial.ran(spec).0), ExitReason::Exited(0));
    let mut spec = shell("echo up; exec sleep 600");
    spec.limits.time = Duration::from_mins(10);
    let sandbox = trial.spawn(spec).expect("it starts");
    let canceller = sandbox.canceller();
    std::thread::spawn(move || canceller.cancel());
    assert_eq!(exit_reason(sandbox.wait(&mut Kept::default())), ExitReason::Cancelled(None));
    drop(trial.spawn(shell("exec sleep 600")).expect("it starts"));
}

#[test]
fn only_the_given_descriptors_are_passed() {
    let trial = Trial::new();
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut spec = shell("echo private >&3; [ -e /proc/self/fd/4 ] && echo open; exit 0");
    spec.descriptors = vec![writer.into()];
    let (ended, output, error) = trial.ran(spec);
    assert_eq!((exit_reason(ended), output.as_str()), (ExitReason::Exited(0), ""), "{error}");
    let mut said = String::new();
    std::io::Read::read_to_string(&mut reader, &mut said).expect("the other end is closed");
    assert_eq!(said, "private\n");
}

#[test]
fn unenforceable_specs_are_refused() {
    let trial = Trial::new();
    let refused = |spec: Spec| trial.ran(spec).0.expect_err("it is refused");
    let mut memory = shell("echo ran");
    memory.limits.memory = Some(1 << 30);
    assert!(matches!(refused(memory), SandboxError::Unenforceable { .. }));
    let mut synthetic = shell("echo ran");
    synthetic.synthetic = vec![SyntheticFile { path: "/etc/x".into(), bytes: Vec::new() }];
    assert!(matches!(refused(synthetic), SandboxError::Unenforceable { .. }));
    assert!(matches!(refused(Spec::new("/no/such/program")), SandboxError::NotFound(_)));
    assert!(matches!(refused(Spec::new("/etc/passwd")), SandboxError::NotExecutable { .. }));
}

#[test]
fn grants_are_resolved_before_the_start() {
    let trial = Trial::new();
    fs::create_dir(trial.path("sec")).expect("a folder");
    std::os::unix::fs::symlink(trial.path("sec"), trial.path("link")).expect("a link");
    let with = |name: &str, create| {
        let mut spec = shell("echo ran");
        let path = trial.path("").join(name);
        spec.files = vec![FileGrant { path, access: FileAccess::Write, pattern: None, create }];
        trial.ran(spec)
    };
    assert!(matches!(with("link", false).0, Err(SandboxError::Grant { .. })));
    assert!(matches!(with("link/inner", true).0, Err(SandboxError::Grant { .. })));
    assert!(matches!(with("no/where", true).0, Err(SandboxError::Grant { .. })));
    assert_eq!(with("missing", false).1, "ran\n");
    assert!(!trial.path("missing").exists());
    assert_eq!(with("made", true).1, "ran\n");
    let mode = fs::metadata(trial.path("made")).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
}

#[test]
fn listeners_are_passed_to_the_observer() {
    let trial = Trial::new();
    let mut spec = shell("exit 0");
    // Any free port.
    spec.network = Network::Listeners(vec![0]);
    let mut kept = Kept::default();
    trial.spawn(spec).and_then(|sandbox| sandbox.wait(&mut kept)).expect("it ends");
    assert_eq!(kept.listeners, 1);
}

#[test]
fn a_prepared_run_starts_later() {
    // The real launcher does not exist here: the arguments arrive, and the failure is reported.
    let prepared = PreparedSandbox::new(Spec::new("/bin/echo")).expect("it can be enforced");
    if !Path::new(super::LAUNCHER).exists() {
        let started = prepared.start(&["late".into()], &[], Input::Empty);
        assert!(
            matches!(started, Err(SandboxError::SetUp { stage: "launcher", .. })),
            "{started:?}"
        );
        assert!(!super::probe().is_enforceable());
    }
}
