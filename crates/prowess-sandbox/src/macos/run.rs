//! Starts a program under Seatbelt and supervises it.
//!
//! The kernel enforces the isolation but not the termination. There are no PID namespaces, so the
//! tree is killed as one process group, and a process that has left the group and closed the
//! program's streams can outlive the run. See `docs/design/sandbox.md`.

use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write as _;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, kill_process_group, setrlimit, waitid,
};

use super::profile::profile;
use crate::error::SandboxError;
use crate::probe::{Layer, LayerState, Probe};
use crate::spec::{
    ExitReason, FileAccess, Input, Network, Observer, OutputStream, SandboxLimits, SandboxOutcome,
    Spec,
};

/// The launcher, never looked up on a path (attack sandbox-H12).
const LAUNCHER: &str = "/usr/bin/sandbox-exec";
/// How long the streams may stay open after the program and its group have ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs a program to its end.
pub fn run(spec: Spec, observer: &mut dyn Observer) -> Result<SandboxOutcome, SandboxError> {
    Sandbox::spawn(spec)?.wait(observer)
}

/// There is nothing to prepare.
pub fn warm_up() {}

/// Tests what this machine can enforce.
pub fn probe() -> Probe {
    let tried = Command::new(LAUNCHER)
        .args(["-p", "(version 1)(allow default)", "/usr/bin/true"])
        .env_clear()
        .output();
    let works = tried.as_ref().is_ok_and(|output| output.status.success());
    let seatbelt = Layer {
        name: "Seatbelt",
        state: if works { LayerState::Enforced } else { LayerState::Missing },
        detail: match tried {
            Ok(_) if works => "files, programs and the network".to_owned(),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => format!("`{LAUNCHER}`: {error}"),
        },
        remedy: (!works).then(|| "run outside of another sandbox, on macOS 11 or newer".to_owned()),
    };
    let processes = Layer {
        name: "processes",
        state: LayerState::BestEffort,
        detail: "killed as one group; memory of a run can't be limited".to_owned(),
        remedy: None,
    };
    Probe { layers: vec![seatbelt, processes] }
}

/// A specification that waits for its arguments. Nothing can be set up in advance here.
#[derive(Debug)]
pub struct PreparedSandbox(Spec);

impl PreparedSandbox {
    /// Takes a specification whose arguments, environment and input are provided later.
    pub fn new(spec: Spec) -> Result<Self, SandboxError> {
        let mut prepared = Self(spec);
        prepared.ready()?;
        Ok(prepared)
    }

    /// Checks that the sandbox can be set up.
    pub fn ready(&mut self) -> Result<(), SandboxError> {
        refuse_unenforceable(&self.0)
    }

    /// Starts the program.
    pub fn start(
        mut self,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
        input: Input,
    ) -> Result<Sandbox, SandboxError> {
        arguments.clone_into(&mut self.0.arguments);
        environment.clone_into(&mut self.0.environment);
        self.0.input = input;
        Sandbox::spawn(self.0)
    }
}

/// An event of a run.
enum Event {
    Output(OutputStream, Vec<u8>),
    Closed,
    /// The program has exited but is not reaped: its process id is still valid.
    Ended,
    Cancel,
    Kill,
}

/// Always true: a memory limit is refused.
pub fn has_memory_accounting() -> bool {
    true
}

/// Cancels a run from another thread.
#[derive(Clone, Debug)]
pub struct Canceller(SyncSender<Event>);

impl Canceller {
    /// Sends SIGTERM now and SIGKILL after the grace period.
    pub fn cancel(&self) {
        // A finished run can't be cancelled.
        let _ = self.0.send(Event::Cancel);
    }

    /// Sends SIGKILL now, even in the grace period.
    pub fn kill(&self) {
        let _ = self.0.send(Event::Kill);
    }
}

/// A program in a sandbox. Dropping it kills the program.
#[derive(Debug)]
pub struct Sandbox {
    child: Child,
    reaped: bool,
    events: Receiver<Event>,
    sender: SyncSender<Event>,
    listeners: Vec<TcpListener>,
    limits: SandboxLimits,
    started: Instant,
    scan_incomplete: bool,
    /// Removed at the end.
    _private: Private,
}

impl Sandbox {
    /// Starts a program.
    pub fn spawn(spec: Spec) -> Result<Self, SandboxError> {
        spawn_with(Path::new(LAUNCHER), spec)
    }

    /// A handle that cancels the run from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.sender.clone())
    }

    /// Forwards output until the program has ended.
    pub fn wait(mut self, observer: &mut dyn Observer) -> Result<SandboxOutcome, SandboxError> {
        observer.listeners(std::mem::take(&mut self.listeners));
        let mut progress = Progress {
            phase: Phase::Running,
            deadline: Some(self.started + self.limits.time),
            stopped: None,
            closed: 0,
            output: 0,
            status: None,
        };
        while progress.phase != Phase::Draining || progress.closed < 2 {
            match self.next(progress.deadline) {
                Some(event) => self.take(event, &mut progress, observer)?,
                None if progress.phase == Phase::Draining => break,
                None => self.too_late(&mut progress),
            }
        }
        let duration = self.started.elapsed();
        let status = progress.status.ok_or_else(|| supervise("the program was not reaped"))?;
        Ok(SandboxOutcome {
            exit: exit_reason(progress.stopped, status),
            duration,
            discarded: Vec::new(),
            outside_links: Vec::new(),
            hard_linked: Vec::new(),
            scan_incomplete: self.scan_incomplete,
        })
    }

    /// The next event; `None` at the deadline.
    fn next(&self, deadline: Option<Instant>) -> Option<Event> {
        let Some(deadline) = deadline else { return self.events.recv().ok() };
        // Checked first: a flood of output must not delay the timeout.
        let left = deadline.checked_duration_since(Instant::now())?;
        self.events.recv_timeout(left).ok()
    }

    fn take(
        &mut self,
        event: Event,
        progress: &mut Progress,
        observer: &mut dyn Observer,
    ) -> Result<(), SandboxError> {
        match event {
            Event::Output(stream, bytes) => {
                let room = self.limits.output.saturating_sub(progress.output);
                let kept = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
                observer.output(stream, &bytes[..kept]);
                progress.output += bytes.len() as u64;
                if progress.output > self.limits.output && progress.stopped.is_none() {
                    progress.stopped = Some(Stop::Output);
                    progress.phase = Phase::Killed;
                    progress.deadline = None;
                    self.signal(Signal::KILL);
                }
            }
            Event::Closed => progress.closed += 1,
            Event::Cancel if progress.phase == Phase::Running => {
                self.terminate(progress, Stop::Cancel);
            }
            Event::Cancel => {}
            Event::Kill if matches!(progress.phase, Phase::Running | Phase::Terminating) => {
                progress.stopped = progress.stopped.or(Some(Stop::Cancel));
                progress.phase = Phase::Killed;
                progress.deadline = None;
                self.signal(Signal::KILL);
            }
            Event::Kill => {}
            Event::Ended => {
                // Kill the rest of its group (attack sandbox-E03).
                self.signal(Signal::KILL);
                progress.status = Some(self.child.wait().map_err(SandboxError::Supervise)?);
                self.reaped = true;
                progress.phase = Phase::Draining;
                progress.deadline = Some(Instant::now() + DRAIN_TIMEOUT);
            }
        }
        Ok(())
    }

    fn too_late(&self, progress: &mut Progress) {
        match progress.phase {
            Phase::Running => self.terminate(progress, Stop::Time),
            Phase::Terminating | Phase::Killed | Phase::Draining => {
                progress.phase = Phase::Killed;
                progress.deadline = None;
                self.signal(Signal::KILL);
            }
        }
    }

    /// Sends SIGTERM first, then SIGKILL (GIB §5.3).
    fn terminate(&self, progress: &mut Progress, why: Stop) {
        progress.stopped = Some(why);
        progress.phase = Phase::Terminating;
        progress.deadline = Some(Instant::now() + self.limits.grace);
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        // Not reaped yet, so the process id can't be reused.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Terminating,
    Killed,
    Draining,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Time,
    Cancel,
    Output,
}

struct Progress {
    phase: Phase,
    deadline: Option<Instant>,
    stopped: Option<Stop>,
    closed: u8,
    output: u64,
    status: Option<ExitStatus>,
}

fn exit_reason(stopped: Option<Stop>, status: ExitStatus) -> ExitReason {
    match stopped {
        Some(Stop::Output) => ExitReason::TooMuchOutput,
        Some(Stop::Time) => ExitReason::TimedOut(status.code()),
        Some(Stop::Cancel) => ExitReason::Cancelled(status.code()),
        None => match status.code() {
            Some(code) => ExitReason::Exited(code),
            None => ExitReason::Signalled(status.signal().unwrap_or_default()),
        },
    }
}

fn supervise(reason: &str) -> SandboxError {
    SandboxError::Supervise(io::Error::other(reason.to_owned()))
}

fn set_up(stage: &'static str) -> impl FnOnce(io::Error) -> SandboxError {
    move |source| SandboxError::SetUp { stage, source }
}

/// Refuses what Seatbelt can't express; nothing is silently ignored.
fn refuse_unenforceable(spec: &Spec) -> Result<(), SandboxError> {
    let cause = if spec.limits.memory.is_some() {
        "the memory of a run can't be limited on macOS"
    } else if !spec.hidden.is_empty() {
        "a file in a granted folder can't be hidden on macOS"
    } else if !spec.synthetic.is_empty() {
        "a file can't replace another one on macOS"
    } else if !spec.staged.is_empty() {
        "changes can't be staged on macOS"
    } else {
        return Ok(());
    };
    let remedy = "run it on Linux, or without that limit if you trust it".to_owned();
    Err(SandboxError::Unenforceable { cause: cause.to_owned(), remedy })
}

/// Starts a program with a launcher that understands `-p PROFILE -D NAME=VALUE PROGRAM …`.
fn spawn_with(launcher: &Path, mut spec: Spec) -> Result<Sandbox, SandboxError> {
    refuse_unenforceable(&spec)?;
    let real = spec.program.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SandboxError::NotFound(spec.program.clone()),
        _ => SandboxError::NotExecutable { path: spec.program.clone(), reason: error.to_string() },
    })?;
    let is_image = fs::metadata(&real)
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    if !is_image {
        let reason = "it is not an executable file".to_owned();
        return Err(SandboxError::NotExecutable { path: spec.program, reason });
    }
    // The kernel uses canonical paths.
    for program in std::iter::once(real)
        .chain(spec.programs.clone().into_iter().filter_map(|program| program.canonicalize().ok()))
    {
        if !spec.programs.contains(&program) {
            spec.programs.push(program);
        }
    }
    resolve_grants(&mut spec)?;
    let private = Private::new().map_err(set_up("private folder"))?;
    let profile = profile(&spec, &private.0)?;
    let mut listeners = Vec::new();
    if let Network::Listeners(ports) = &spec.network {
        for port in ports {
            let listener = TcpListener::bind(("127.0.0.1", *port));
            listeners.push(listener.map_err(set_up("listening socket"))?);
        }
    }
    let mut command = Command::new(launcher);
    command.arg("-p").arg(&profile.text);
    for (name, value) in &profile.parameters {
        let mut definition = OsString::from(format!("{name}="));
        definition.push(value);
        command.arg("-D").arg(definition);
    }
    command.arg(&spec.program).args(&spec.arguments);
    command.env_clear().envs(spec.environment.iter().map(|(name, value)| (name, value)));
    command.env("HOME", &private.0).env("TMPDIR", &private.0);
    let is_granted = spec.files.iter().any(|grant| spec.working_directory.starts_with(&grant.path));
    command.current_dir(if is_granted { &spec.working_directory } else { &private.0 });
    let (stdin, input) = match spec.input {
        Input::Pipe(pipe) => (Stdio::from(pipe), Input::Empty),
        input => (Stdio::piped(), input),
    };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    prepare(&mut command, &spec.limits, &spec.descriptors);
    let mut child = command.spawn().map_err(set_up("launcher"))?;
    let started = Instant::now();
    let (sender, events) = sync_channel(16);
    watch(&mut child, input, &sender);
    let scan_incomplete =
        spec.files.iter().any(|grant| grant.access == FileAccess::Write && grant.pattern.is_none());
    Ok(Sandbox {
        child,
        reaped: false,
        events,
        sender,
        listeners,
        limits: spec.limits,
        started,
        scan_incomplete,
        _private: private,
    })
}

/// Drops grants for missing paths or creates their folders, and refuses grants through links (attacks
/// sandbox-A05, sandbox-A26).
fn resolve_grants(spec: &mut Spec) -> Result<(), SandboxError> {
    let mut settled = Vec::new();
    for grant in spec.files.drain(..) {
        let refuse = |reason: String| SandboxError::Grant { path: grant.path.clone(), reason };
        if grant.create && fs::symlink_metadata(&grant.path).is_err() {
            fs::DirBuilder::new()
                .mode(0o700)
                .create(&grant.path)
                .map_err(|error| refuse(error.to_string()))?;
        }
        match grant.path.canonicalize() {
            Ok(real) if real == grant.path => settled.push(grant),
            Ok(_) => {
                return Err(refuse(
                    "a part of it is a symbolic link, which could point anywhere".to_owned(),
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(&grant.path).is_ok() {
                    return Err(refuse("it is a dangling symbolic link".to_owned()));
                }
            }
            Err(error) => return Err(refuse(error.to_string())),
        }
    }
    spec.files = settled;
    Ok(())
}

/// Sets up the child between fork and exec: limits, private channels, nothing else open.
#[allow(unsafe_code, reason = "code between fork and exec")]
fn prepare(command: &mut Command, limits: &SandboxLimits, descriptors: &[OwnedFd]) {
    let descriptors: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let mut bounds =
        vec![(Resource::Core, 0), (Resource::Nofile, 1024), (Resource::Fsize, limits.file_size)];
    if let Some(cpu) = limits.cpu {
        bounds.push((Resource::Cpu, cpu.as_secs().max(1)));
    }
    let mut copies = vec![-1; descriptors.len()];
    // SAFETY: the closure makes system calls on values that were made before the fork, and nothing else.
    unsafe {
        command.pre_exec(move || {
            for (resource, bound) in &bounds {
                let limit = Rlimit { current: Some(*bound), maximum: Some(*bound) };
                setrlimit(*resource, limit)?;
            }
            // Above all final numbers, so that moving one descriptor never overwrites another.
            for (descriptor, copy) in descriptors.iter().zip(&mut copies) {
                *copy = libc::fcntl(*descriptor, libc::F_DUPFD_CLOEXEC, 200);
            }
            let mut place = 3;
            for copy in &copies {
                if libc::dup2(*copy, place) < 0 {
                    return Err(io::Error::last_os_error());
                }
                place += 1;
            }
            for descriptor in place..1024 {
                // Most of these numbers are not open, which is fine (attack sandbox-D16).
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            }
            Ok(())
        });
    }
}

/// Starts threads for the streams and for the exit. They end with the run, or when the last process
/// closes the streams.
fn watch(child: &mut Child, input: Input, sender: &SyncSender<Event>) {
    if let (Some(mut pipe), Input::Bytes(bytes)) = (child.stdin.take(), input) {
        // The program need not read its input.
        thread::spawn(move || pipe.write_all(&bytes));
    }
    let streams: [(OutputStream, Option<Box<dyn io::Read + Send>>); 2] = [
        (OutputStream::Output, child.stdout.take().map(|pipe| Box::new(pipe) as _)),
        (OutputStream::Error, child.stderr.take().map(|pipe| Box::new(pipe) as _)),
    ];
    for (stream, pipe) in streams {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut pipe = pipe;
            let mut buffer = vec![0; 64 << 10];
            while let Some(Ok(count @ 1..)) = pipe.as_mut().map(|pipe| pipe.read(&mut buffer)) {
                if sender.send(Event::Output(stream, buffer[..count].to_owned())).is_err() {
                    return;
                }
            }
            let _ = sender.send(Event::Closed);
        });
    }
    let (process, sender) = (Pid::from_child(child), sender.clone());
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(process), options), Err(Errno::INTR)) {}
        let _ = sender.send(Event::Ended);
    });
}

/// The run's own folder, which replaces /tmp and the home directory.
#[derive(Debug)]
struct Private(PathBuf);

impl Private {
    fn new() -> io::Result<Self> {
        let unknown = RandomState::new().build_hasher().finish();
        let path = std::env::temp_dir().canonicalize()?.join(format!("prowess-run-{unknown:016x}"));
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What we can't access stays until the system cleans up.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
