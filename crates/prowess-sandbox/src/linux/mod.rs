//! The sandbox on Linux: namespaces with a root that contains only what is granted, Landlock,
//! seccomp, no capabilities, resource limits.

mod cgroup;
mod child;
mod filter;
mod grants;
mod host;
mod link_scan;
mod plan;
mod probe;
mod scratch;
mod stage;
mod supervise;
mod sys;
mod system;
mod view;
mod walk;
mod watchdog;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::Instant;

use cgroup::CgroupEntrance;
use child::Context;
use host::Host;
use plan::{ExecArguments, Plan};
use sys::Cloned;

use crate::error::SandboxError;
use crate::probe::LayerState;
use crate::spec::{Input, Observer, SandboxLimits, SandboxOutcome, Spec};
pub use probe::{probe, try_overlay};
pub use supervise::{Canceller, Sandbox};

/// Runs a program to its end.
pub fn run(spec: Spec, observer: &mut dyn Observer) -> Result<SandboxOutcome, SandboxError> {
    Sandbox::spawn(spec)?.wait(observer)
}

impl Sandbox {
    /// Starts a program. Errors of the last steps are reported by [`Self::wait`].
    pub fn spawn(spec: Spec) -> Result<Self, SandboxError> {
        let size = ExecArguments::size(&spec.program, &spec.arguments, &spec.environment);
        let mut words = ExecArguments::empty(size)?;
        words.fill(&spec.program, &spec.arguments, &spec.environment)?;
        Ok(Launch::new(spec, words, None)?.sandbox)
    }
}

/// A prepared sandbox that waits for its arguments: it is set up, but the program has not started.
#[derive(Debug)]
pub struct PreparedSandbox {
    launch: Launch,
    start: OwnedFd,
}

impl PreparedSandbox {
    /// Sets up the sandbox for a specification whose arguments, environment and input are provided
    /// later.
    pub fn new(spec: Spec) -> Result<Self, SandboxError> {
        let words = ExecArguments::empty(plan::PREPARED_ARGUMENTS_BYTES)?;
        let (reader, writer) = io::pipe().map_err(|source| set_up("pipe", source))?;
        let launch = Launch::new(spec, words, Some(&reader.into()))?;
        Ok(Self { launch, start: writer.into() })
    }

    /// Waits until the sandbox is set up.
    pub fn ready(&mut self) -> Result<(), SandboxError> {
        self.launch.sandbox.ready()
    }

    /// Starts the program.
    pub fn start(
        self,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
        input: Input,
    ) -> Result<Sandbox, SandboxError> {
        let Launch { mut sandbox, mut words, program } = self.launch;
        words.fill(&program, arguments, environment)?;
        sandbox.begin(input);
        sys::write(plan::number(&self.start), b"S")
            .map_err(|errno| set_up("starting", io::Error::from_raw_os_error(errno)))?;
        Ok(sandbox)
    }
}

#[derive(Debug)]
struct Launch {
    sandbox: Sandbox,
    words: ExecArguments,
    program: PathBuf,
}

/// Performs the initialisation that does not depend on a specification in a background thread, so
/// that the first run does not wait for it. Optional.
pub fn warm_up() {
    // Without a thread the first run does it. Problems of the machine are reported by the first
    // run.
    let beside = |work: fn()| {
        let _ = std::thread::Builder::new().name("prowess-warm-up".to_owned()).spawn(work);
    };
    beside(|| {
        let _ = cgroup::Home::get();
    });
    beside(|| {
        if let Ok(host) = Host::get() {
            host.move_to_empty_network();
        }
    });
}

/// Whether a cgroup limits the memory of a run. Otherwise memory is polled, which is best effort.
pub fn has_memory_accounting() -> bool {
    cgroup::Home::get().is_some()
}

/// Maximum size of a socket buffer that the program can't change: the default of the kernel, and
/// one message that may exceed it.
fn max_socket_buffer() -> u64 {
    const USUAL: u64 = 208 << 10;
    const PIECE: u64 = 64 << 10;
    let text = std::fs::read_to_string("/proc/sys/net/core/wmem_default").unwrap_or_default();
    text.trim().parse().unwrap_or(USUAL) + PIECE
}

fn set_up(stage: &'static str, source: io::Error) -> SandboxError {
    SandboxError::SetUp { stage, source }
}

/// Both ends of a pipe.
fn pipe() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    let (reader, writer) = io::pipe().map_err(|source| set_up("pipe", source))?;
    Ok((reader.into(), writer.into()))
}

impl Launch {
    fn new(
        spec: Spec,
        words: ExecArguments,
        start: Option<&OwnedFd>,
    ) -> Result<Self, SandboxError> {
        let host =
            Host::get().map_err(|error| refused(error.raw_os_error().unwrap_or(libc::EIO)))?;
        if spec.descriptors.len() > sys::MAX_SENT {
            return Err(SandboxError::Invalid(format!("more than {} descriptors", sys::MAX_SENT)));
        }
        require(host)?;
        let group = match (spec.limits.memory, cgroup::Home::get()) {
            (Some(_), Some(home)) => {
                Some(home.group(&spec.limits).map_err(|source| set_up("control group", source))?)
            }
            _ => None,
        };
        let watched = spec.limits.memory.filter(|_| group.is_none());
        let entrance = group
            .as_ref()
            .map(cgroup::Group::entrance)
            .transpose()
            .map_err(|source| set_up("control group", source))?;
        let (folder, list) = match &entrance {
            Some(CgroupEntrance::Clone(folder)) => (Some(folder), None),
            Some(CgroupEntrance::List(list)) => (None, Some(list)),
            None => (None, None),
        };
        let plan = Plan::new(&spec, watched.is_none())?;
        let (input_reader, input_writer) = pipe()?;
        let (output_reader, output_writer) = pipe()?;
        let (error_reader, error_writer) = pipe()?;
        let (status_reader, status_writer) = pipe()?;
        let (control_reader, control_writer) = pipe()?;
        let listeners = if plan.ports.is_empty() {
            None
        } else {
            let pair = std::os::unix::net::UnixDatagram::pair();
            let (ours, theirs) = pair.map_err(|source| set_up("socket pair", source))?;
            Some((OwnedFd::from(ours), OwnedFd::from(theirs)))
        };
        let network = host.empty_network.get().filter(|_| host.privileged && plan.ports.is_empty());
        let descriptors: Vec<RawFd> = spec.descriptors.iter().map(plan::number).collect();
        let read_from = match &spec.input {
            Input::Pipe(pipe) => pipe,
            Input::Empty | Input::Bytes(_) => &input_reader,
        };
        let stdio = [read_from, &output_writer, &error_writer].map(plan::number);
        let keep = plan::sorted(
            stdio
                .into_iter()
                .chain(descriptors.iter().copied())
                .chain([&status_writer, &control_reader, &plan.ruleset].map(plan::number))
                .chain(host.owners.as_ref().map(plan::number))
                .chain(host.plain_users.as_ref().map(plan::number))
                .chain(start.map(plan::number))
                .chain(list.map(plan::number))
                .chain(network.map(plan::number))
                .chain(listeners.as_ref().map(|(_, theirs)| plan::number(theirs))),
        );
        let mut mounts = vec![-1; plan.binds.len()];
        let context = Context {
            plan: &plan,
            owners: host.owners.as_ref().map(plan::number),
            privileged: host.privileged,
            plain_users: host.plain_users.as_ref().map(plan::number),
            network: network.map(plan::number),
            user_map: host.user_map.as_bytes(),
            group_map: host.group_map.as_bytes(),
            keep: &keep,
            mounts: &mut mounts,
            stdio,
            descriptors: &descriptors,
            status: plan::number(&status_writer),
            control: plan::number(&control_reader),
            listeners: listeners.as_ref().map(|(_, theirs)| plan::number(theirs)),
            words: words.address(),
            start: start.map(plan::number),
            group: list.map(plan::number),
            memory: watched.map(|most| child::PolledMemory { most, socket: max_socket_buffer() }),
        };
        let (pid, process) = launch(host, folder, context)?;
        if host.privileged && plan.ports.is_empty() && network.is_none() {
            // If that process has already exited, another run tries again.
            if let Ok(network) = std::fs::File::open(format!("/proc/{pid}/ns/net")) {
                let _ = host.empty_network.set(network.into());
            }
        }
        let Spec { program, input, limits, .. } = spec;
        let sandbox = Sandbox::new(supervise::Parts {
            process,
            status: status_reader,
            control: control_writer,
            output: output_reader,
            error: error_reader,
            input: input_writer,
            listeners: listeners.map(|(ours, _)| ours),
            group,
            limits,
            program: program.clone(),
            started: Instant::now(),
            watched: plan.afterwards.watched(),
            afterwards: plan.afterwards,
        })?;
        let mut launch = Self { sandbox, words, program };
        if start.is_none() {
            launch.sandbox.begin(input);
        }
        Ok(launch)
    }
}

#[allow(unsafe_code, reason = "the clone")]
fn launch(
    host: &Host,
    group: Option<&OwnedFd>,
    context: Context<'_>,
) -> Result<(i32, OwnedFd), SandboxError> {
    // SAFETY: the child keeps to the rules at the head of `child.rs`.
    match unsafe {
        sys::clone_into(host.namespaces(context.network.is_some()), group.map(plan::number))
    } {
        Ok(Cloned::Child) => child::run_child(context),
        // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
        Ok(Cloned::Parent { pid, pidfd }) => Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) })),
        Err(errno) => Err(refused(errno)),
    }
}

/// Reports known missing features with helpful messages; everything else is detected during setup.
fn require(host: &Host) -> Result<(), SandboxError> {
    if host.is_weak_root {
        let (cause, remedy) = Host::weak_root();
        return Err(SandboxError::Unenforceable { cause, remedy });
    }
    let landlock = probe::landlock();
    match landlock.state {
        LayerState::Enforced | LayerState::BestEffort => Ok(()),
        LayerState::Missing => Err(SandboxError::Unenforceable {
            cause: format!("Landlock: {}", landlock.detail),
            remedy: landlock.remedy.unwrap_or_default(),
        }),
    }
}

/// Why namespaces can't be created, and what to do.
fn refused(errno: i32) -> SandboxError {
    let (cause, remedy) = match errno {
        libc::ENOSPC => (
            "user namespaces are disabled (user.max_user_namespaces)",
            "ask the administrator to allow them: sysctl user.max_user_namespaces=10000",
        ),
        libc::EPERM => (
            "this process may not create namespaces",
            "in a container, allow them (Docker: --security-opt seccomp=unconfined); on Ubuntu, install the AppArmor profile that `prowess doctor` prints",
        ),
        libc::ENOSYS | libc::EINVAL => {
            ("the kernel is too old, or a filter hides `clone3`", "use Linux 5.13 or newer")
        }
        _ => ("a new process could not be created", "check the resource limits of this user"),
    };
    SandboxError::Unenforceable {
        cause: format!("{cause}: {}", io::Error::from_raw_os_error(errno)),
        remedy: remedy.to_owned(),
    }
}

impl SandboxLimits {
    /// The deadline of the run.
    fn deadline(&self, started: Instant) -> Instant {
        started + self.time
    }
}

/// Makes a descriptor non-blocking.
fn set_nonblocking(descriptor: &OwnedFd) -> Result<(), SandboxError> {
    sys::set_nonblocking(descriptor.as_raw_fd())
        .map_err(|errno| set_up("pipe", io::Error::from_raw_os_error(errno)))
}
