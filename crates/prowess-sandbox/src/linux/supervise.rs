//! The supervisor of a run: streams, timeout, cancellation, and the end.

use std::io;
use std::net::TcpListener;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::cgroup::Group;
use super::child::{self, SetupStage};
use super::grants::Cleanup;
use super::watchdog::{self, Watchdog, WatchedFolders};
use super::{host, plan, set_nonblocking, set_up, sys};
use crate::error::SandboxError;
use crate::spec::{
    ExitReason, Input, Observer, OutputStream, SandboxLimits, SandboxOutcome, WriteLimit,
};

/// A program in a sandbox. Dropping it kills the program.
#[derive(Debug)]
pub struct Sandbox {
    process: OwnedFd,
    status: Option<OwnedFd>,
    control: OwnedFd,
    streams: [Option<OwnedFd>; 2],
    input: Option<PendingInput>,
    listeners: Option<OwnedFd>,
    cancel: Arc<OwnedFd>,
    limits: SandboxLimits,
    program: PathBuf,
    started: Instant,
    reaped: bool,
    /// Writable folders, until the watchdog takes them.
    watched: WatchedFolders,
    watchdog: Option<Watchdog>,
    /// Taken at the end of the run; dropping it only cleans up.
    afterwards: Option<Cleanup>,
    /// The cgroup, removed after all its processes have ended.
    group: Option<Group>,
}

/// Cancels a run from another thread.
#[derive(Clone, Debug)]
pub struct Canceller(Arc<OwnedFd>);

impl Canceller {
    /// Sends SIGTERM now and SIGKILL after the grace period.
    pub fn cancel(&self) {
        let _ = sys::write(plan::number(&self.0), &1_u64.to_ne_bytes());
    }

    /// Sends SIGKILL now, even in the grace period. The work after the end is still done.
    pub fn kill(&self) {
        let _ = sys::write(plan::number(&self.0), &KILL.to_ne_bytes());
    }
}

#[derive(Debug)]
struct PendingInput {
    pipe: OwnedFd,
    bytes: Vec<u8>,
    written: usize,
}

pub(super) struct Parts {
    pub(super) process: OwnedFd,
    pub(super) status: OwnedFd,
    pub(super) control: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) error: OwnedFd,
    pub(super) input: OwnedFd,
    pub(super) listeners: Option<OwnedFd>,
    pub(super) limits: SandboxLimits,
    pub(super) program: PathBuf,
    pub(super) started: Instant,
    pub(super) watched: WatchedFolders,
    pub(super) afterwards: Cleanup,
    pub(super) group: Option<Group>,
}

/// The state of the run.
#[derive(Default)]
struct Progress {
    failure: Option<(i32, i32)>,
    /// The status as returned by `wait`.
    status: Option<i32>,
    out_of_memory: bool,
    ready: bool,
    /// Why we are terminating it.
    stopped: Option<Stop>,
    kill_at: Option<Instant>,
    output: u64,
}

/// How often a cgroup is polled for OOM kills, if the kernel does not kill all processes together.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// The value added to the event for SIGKILL, larger than any number of cancellations.
const KILL: u64 = 1 << 32;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Time,
    Cancel,
    Output,
    WriteLimit(WriteLimit),
}

impl Sandbox {
    #[allow(unsafe_code, reason = "a descriptor changes hands")]
    pub(super) fn new(parts: Parts) -> Result<Self, SandboxError> {
        for pipe in [&parts.output, &parts.error, &parts.input, &parts.status] {
            set_nonblocking(pipe)?;
        }
        let cancel =
            sys::event().map_err(|errno| set_up("event", io::Error::from_raw_os_error(errno)))?;
        Ok(Self {
            process: parts.process,
            status: Some(parts.status),
            control: parts.control,
            streams: [Some(parts.output), Some(parts.error)],
            input: Some(PendingInput { pipe: parts.input, bytes: Vec::new(), written: 0 }),
            listeners: parts.listeners,
            // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
            cancel: Arc::new(unsafe { OwnedFd::from_raw_fd(cancel) }),
            limits: parts.limits,
            program: parts.program,
            started: parts.started,
            reaped: false,
            watched: parts.watched,
            watchdog: None,
            afterwards: Some(parts.afterwards),
            group: parts.group,
        })
    }

    /// Starts the clock and the input.
    pub(super) fn begin(&mut self, input: Input) {
        self.started = Instant::now();
        match input {
            Input::Empty | Input::Pipe(_) => self.input = None,
            Input::Bytes(bytes) => {
                if let Some(pending) = &mut self.input {
                    pending.bytes = bytes;
                }
            }
        }
    }

    /// A handle that cancels the run from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.cancel))
    }

    /// Forwards output until all processes of the program have ended.
    pub fn wait(mut self, observer: &mut dyn Observer) -> Result<SandboxOutcome, SandboxError> {
        let mut progress = Progress::default();
        let mut buffer = vec![0; 64 << 10];
        while self.status.is_some() || self.streams.iter().any(Option::is_some) {
            self.step(&mut progress, &mut buffer, observer).map_err(SandboxError::Supervise)?;
        }
        let duration = self.started.elapsed();
        self.reap();
        self.watchdog = None;
        if let Some((stage, errno)) = progress.failure {
            return Err(self.failure(stage, errno));
        }
        let ended_well = progress.status == Some(0);
        progress.out_of_memory |=
            !ended_well && self.group.as_ref().is_some_and(Group::ran_out_of_memory);
        let exit = exit_reason(&progress)?;
        // All processes of the program have ended, so nothing changes any more.
        let findings = self.afterwards.take().map(Cleanup::finish).unwrap_or_default();
        Ok(SandboxOutcome {
            exit,
            duration,
            discarded: findings.discarded,
            outside_links: findings.outside_links,
            hard_linked: findings.hard_linked,
            scan_incomplete: findings.scan_incomplete,
        })
    }

    /// Waits for the report that the sandbox is set up.
    pub(super) fn ready(&mut self) -> Result<(), SandboxError> {
        let mut progress = Progress::default();
        while self.status.is_some() && !progress.ready && progress.failure.is_none() {
            let event = libc::pollfd {
                fd: self.status.as_ref().map_or(-1, plan::number),
                events: libc::POLLIN,
                revents: 0,
            };
            sys::poll(&mut [event], -1)
                .map_err(io::Error::from_raw_os_error)
                .map_err(SandboxError::Supervise)?;
            self.take_reports(&mut progress);
        }
        match progress.failure {
            Some((stage, errno)) => Err(self.failure(stage, errno)),
            None if progress.ready => Ok(()),
            None => Err(set_up("first process", io::Error::other("it ended without a report"))),
        }
    }

    fn step(
        &mut self,
        progress: &mut Progress,
        buffer: &mut [u8],
        observer: &mut dyn Observer,
    ) -> io::Result<()> {
        let fd = |descriptor: &Option<OwnedFd>| descriptor.as_ref().map_or(-1, plan::number);
        let event = |fd: RawFd, events| libc::pollfd { fd, events, revents: 0 };
        let input = self.input.as_ref().map_or(-1, |input| plan::number(&input.pipe));
        let mut events = [
            event(fd(&self.status), libc::POLLIN),
            event(fd(&self.streams[0]), libc::POLLIN),
            event(fd(&self.streams[1]), libc::POLLIN),
            event(input, libc::POLLOUT),
            event(fd(&self.listeners), libc::POLLIN),
            event(plan::number(&self.cancel), libc::POLLIN),
            event(
                match &self.watchdog {
                    Some(watchdog) if progress.stopped.is_none() => plan::number(watchdog.event()),
                    _ => -1,
                },
                libc::POLLIN,
            ),
        ];
        sys::poll(&mut events, self.poll_timeout(progress))
            .map_err(io::Error::from_raw_os_error)?;
        let ready = events.map(|event| event.revents != 0);
        if ready[4] {
            self.take_listeners(observer)?;
        }
        for (index, stream) in [OutputStream::Output, OutputStream::Error].into_iter().enumerate() {
            if ready[1 + index] {
                self.forward_output(index, stream, progress, buffer, observer)?;
            }
        }
        if ready[3] {
            self.feed();
        }
        if ready[0] {
            self.take_reports(progress);
        }
        if ready[5] {
            self.handle_cancellation(progress);
        }
        if ready[6]
            && let Some(written) = self.watchdog.as_ref().and_then(Watchdog::alarm)
        {
            self.stop(progress, Stop::WriteLimit(written));
        }
        if !progress.out_of_memory
            && self
                .group
                .as_ref()
                .is_some_and(|group| !group.kills_as_group() && group.ran_out_of_memory())
        {
            progress.out_of_memory = true;
            self.kill();
        }
        let now = Instant::now();
        if !self.watched.is_empty() && now >= self.started + watchdog::FIRST_CHECK {
            let watched = std::mem::take(&mut self.watched);
            // The start of the run, by the clock of file times.
            let started = SystemTime::now().checked_sub(self.started.elapsed());
            let started = started.unwrap_or(SystemTime::UNIX_EPOCH);
            self.watchdog = Some(Watchdog::start(watched, &self.limits, started)?);
        }
        if progress.stopped.is_none() && now >= self.limits.deadline(self.started) {
            self.stop(progress, Stop::Time);
        }
        if progress.kill_at.is_some_and(|at| now >= at) {
            progress.kill_at = None;
            self.kill();
        }
        Ok(())
    }

    /// The poll timeout in milliseconds.
    fn poll_timeout(&self, progress: &Progress) -> libc::c_int {
        let next = match (progress.stopped, progress.kill_at) {
            (None, _) => self.limits.deadline(self.started),
            (Some(_), Some(at)) => at,
            (Some(_), None) => return -1,
        };
        let watches = self.group.as_ref().is_some_and(|group| !group.kills_as_group());
        let next = if self.watched.is_empty() {
            next
        } else {
            next.min(self.started + watchdog::FIRST_CHECK)
        };
        let next = if watches { next.min(Instant::now() + WATCH_INTERVAL) } else { next };
        // Rounded up: waking too early would mean waking twice.
        let left = next.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
        libc::c_int::try_from(left.as_millis()).unwrap_or(libc::c_int::MAX)
    }

    fn stop(&self, progress: &mut Progress, why: Stop) {
        progress.stopped = Some(why);
        // SIGTERM would allow it to continue.
        if matches!(why, Stop::Output | Stop::WriteLimit(_)) {
            self.kill();
            return;
        }
        // GIB §5.3: SIGTERM first, then SIGKILL.
        let _ = sys::write(plan::number(&self.control), &[child::ORDER_TERMINATE]);
        progress.kill_at = Some(Instant::now() + self.limits.grace);
    }

    /// Handles cancellation, even during the grace period.
    fn handle_cancellation(&self, progress: &mut Progress) {
        let mut count = [0; 8];
        let read = sys::read(plan::number(&self.cancel), &mut count);
        if progress.stopped.is_none() {
            self.stop(progress, Stop::Cancel);
        }
        if read == Ok(8) && u64::from_ne_bytes(count) >= KILL {
            progress.kill_at = None;
            self.kill();
        }
    }

    fn kill(&self) {
        // Killing init of the PID namespace kills all other processes.
        let _ = sys::kill_by_descriptor(plan::number(&self.process), libc::SIGKILL);
    }

    fn forward_output(
        &mut self,
        index: usize,
        stream: OutputStream,
        progress: &mut Progress,
        buffer: &mut [u8],
        observer: &mut dyn Observer,
    ) -> io::Result<()> {
        let Some(pipe) = &self.streams[index] else { return Ok(()) };
        match sys::read(plan::number(pipe), buffer) {
            Ok(0) => self.streams[index] = None,
            Ok(count) => {
                let room = self.limits.output.saturating_sub(progress.output);
                let kept = usize::try_from(room).unwrap_or(usize::MAX).min(count);
                observer.output(stream, &buffer[..kept]);
                progress.output += count as u64;
                if progress.output > self.limits.output && progress.stopped.is_none() {
                    self.stop(progress, Stop::Output);
                }
            }
            Err(libc::EAGAIN | libc::EINTR) => {}
            Err(errno) => return Err(io::Error::from_raw_os_error(errno)),
        }
        Ok(())
    }

    fn feed(&mut self) {
        let Some(input) = &mut self.input else { return };
        let rest = &input.bytes[input.written..];
        if !rest.is_empty() {
            match sys::write(plan::number(&input.pipe), rest) {
                Ok(count) => input.written += count,
                Err(libc::EAGAIN | libc::EINTR) => return,
                // The program does not read its input, which is not an error.
                Err(_) => input.written = input.bytes.len(),
            }
        }
        if input.written == input.bytes.len() {
            self.input = None;
        }
    }

    fn take_reports(&mut self, progress: &mut Progress) {
        let Some(pipe) = &self.status else { return };
        let mut report: child::Report = [0; 12];
        match sys::read(plan::number(pipe), &mut report) {
            Ok(12) => {
                let number = |at: usize| {
                    i32::from_ne_bytes([report[at], report[at + 1], report[at + 2], report[at + 3]])
                };
                match number(0).cast_unsigned() {
                    child::REPORT_FAILED if progress.failure.is_none() => {
                        progress.failure = Some((number(4), number(8)));
                    }
                    child::REPORT_ENDED => progress.status = Some(number(4)),
                    child::REPORT_MEMORY => progress.out_of_memory = true,
                    child::REPORT_READY => progress.ready = true,
                    _ => {}
                }
            }
            Err(libc::EAGAIN | libc::EINTR) => {}
            _ => self.status = None,
        }
    }

    #[allow(unsafe_code, reason = "descriptors change hands")]
    fn take_listeners(&mut self, observer: &mut dyn Observer) -> io::Result<()> {
        let Some(socket) = self.listeners.take() else { return Ok(()) };
        let received = sys::receive_descriptors(plan::number(&socket))
            .map_err(io::Error::from_raw_os_error)?;
        let listeners = received
            .into_iter()
            // SAFETY: the kernel has just made these descriptors, and nobody else owns them.
            .map(|fd| TcpListener::from(unsafe { OwnedFd::from_raw_fd(fd) }))
            .collect();
        observer.listeners(listeners);
        Ok(())
    }

    fn reap(&mut self) {
        if !self.reaped {
            let _ = sys::wait_by_descriptor(plan::number(&self.process));
            self.reaped = true;
        }
    }

    fn failure(&self, stage: i32, errno: i32) -> SandboxError {
        let source = io::Error::from_raw_os_error(errno);
        match SetupStage::of(stage) {
            Some((SetupStage::Execute, _)) if errno == libc::ENOENT => {
                SandboxError::NotFound(self.program.clone())
            }
            Some((SetupStage::Execute, _)) => {
                SandboxError::NotExecutable { path: self.program.clone(), reason: source.to_string() }
            }
            Some((SetupStage::UserNamespace, name)) => SandboxError::Unenforceable {
                cause: format!("{name}: {source}"),
                remedy: "check what this kernel lacks".to_owned(),
            },
            // Attack sandbox-H02: a namespace was created, but without privileges.
            Some((
                SetupStage::Formats
                | SetupStage::MountNamespace
                | SetupStage::Root
                | SetupStage::Memory
                | SetupStage::EnterRoot,
                _,
            ))
                if matches!(errno, libc::EPERM | libc::EACCES) =>
            {
                let (cause, remedy) = host::unprivileged_namespace();
                SandboxError::Unenforceable { cause, remedy }
            }
            // Overlay filesystems don't support it, for example.
            Some((SetupStage::Owners, _)) => SandboxError::Unenforceable {
                cause: format!(
                    "the filesystem of a writable folder does not support id-mapped mounts: {source}"
                ),
                remedy: "run as an ordinary user, or grant a folder on another filesystem".to_owned(),
            },
            // No such filesystem, a filesystem that can't be a layer, or a security module.
            Some((SetupStage::Overlay, name)) => {
                SandboxError::Staging { cause: format!("{name}: {source}") }
            }
            // Attack sandbox-H07: only the host's /proc could be shown, which is not acceptable.
            Some((SetupStage::Processes, _)) => SandboxError::Unenforceable {
                cause: format!("a separate /proc can't be mounted: {source}"),
                remedy: "in a container, unmask /proc (Docker: --security-opt systempaths=unconfined)"
                    .to_owned(),
            },
            // Attack sandbox-A29.
            Some((SetupStage::SelfTest, name)) => SandboxError::Unenforceable {
                cause: name.to_owned(),
                remedy: "this machine accepts Landlock or seccomp but does not enforce it: use another kernel, or a container that passes these calls on"
                    .to_owned(),
            },
            Some((_, name)) => SandboxError::SetUp { stage: name, source },
            None => SandboxError::SetUp { stage: "an unknown step", source },
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            self.reap();
        }
    }
}

fn exit_reason(progress: &Progress) -> Result<ExitReason, SandboxError> {
    let exited = |status: i32| libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    let code = progress.status.and_then(exited);
    Ok(match (progress.stopped, progress.status) {
        _ if progress.out_of_memory => ExitReason::OutOfMemory,
        (Some(Stop::Output), _) => ExitReason::TooMuchOutput,
        (Some(Stop::WriteLimit(written)), _) => ExitReason::TooMuchWritten(written),
        (Some(Stop::Time), _) => ExitReason::TimedOut(code),
        (Some(Stop::Cancel), _) => ExitReason::Cancelled(code),
        (None, Some(status)) => match code {
            Some(code) => ExitReason::Exited(code),
            None => ExitReason::Signalled(libc::WTERMSIG(status)),
        },
        (None, None) => {
            return Err(SandboxError::Supervise(io::Error::other(
                "the first process of the sandbox was killed from outside",
            )));
        }
    })
}
