//! Runs a package installer in a sandbox: it can write to one folder, and its only network is the package index.
//!
//! Nothing in an environment is ever started outside the sandbox, because a package controls its files: a `.pth` file
//! is code that runs whenever the environment's Python starts.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_proxy::{NetworkReport, RefusalKind};
use prowess_sandbox::{
    ExitReason, FileAccess, FileGrant, Observer, OutputStream, Sandbox, SandboxError,
    SandboxLimits, Spec, SyntheticFile, WriteLimit,
};

use super::index::{Index, IndexError, MORE_HOSTS};
use super::interpreter::Interpreter;
use crate::closure;
use crate::network::RunNetwork;
use crate::run::CancellationToken;

/// Time limit: long enough for the largest wheels on a slow connection.
const TIMEOUT: Duration = Duration::from_mins(15);
/// Maximum size of captured standard output, and of the tail of all output.
const MAX_STDOUT: usize = 64 << 10;
const MAX_SAID: usize = 4 << 10;
/// The path of the list of packages inside the sandbox.
pub(super) const REQUIREMENTS: &str = "/run/prowess/requirements.in";
/// The home inside the sandbox; it is empty.
const HOME: &str = "/home/skill";
/// Where Debian keeps the wheels that `python -m venv` installs.
const WHEELS_OF_DEBIAN: &str = "/usr/share/python-wheels";
/// Folders of packages of a system interpreter, including pip.
const PACKAGES_OF_SYSTEM: &[&str] = &["lib/python3*", "local/lib/python3*"];

/// Why an installer failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum InstallerError {
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("{0}")]
    Ended(String),
}

/// The result of an installer that has exited.
#[derive(Debug, Default)]
pub(super) struct InstallerOutcome {
    pub(super) is_success: bool,
    pub(super) stdout: Vec<u8>,
    /// The tail of both streams, with notes about the network.
    pub(super) said: String,
    /// Hosts that were refused.
    pub(super) refused: Vec<String>,
    /// Whether the index could not be reached.
    pub(super) is_offline: bool,
}

/// A step of an installation.
pub(super) struct InstallStep<'s> {
    pub(super) program: &'s Path,
    pub(super) arguments: Vec<OsString>,
    pub(super) interpreter: &'s Interpreter,
    /// The only writable folder, without symbolic links.
    pub(super) writable: &'s Path,
    /// The list of packages.
    pub(super) requirements: &'s str,
    /// The package index; `None` for no network.
    pub(super) index: Option<&'s Index>,
}

impl InstallStep<'_> {
    /// Runs it to completion.
    pub(super) fn run(
        mut self,
        cancel: &CancellationToken,
    ) -> Result<InstallerOutcome, InstallerError> {
        if cancel.is_cancelled() {
            return Err(InstallerError::Ended("it was cancelled".to_owned()));
        }
        let mut spec = self.spec();
        let mut door = RunNetwork::Closed;
        if let Some(index) = self.index {
            let (opened, more) = index.open(&mut spec)?;
            door = opened;
            self.arguments.extend(more.into_iter().map(OsString::from));
        }
        spec.arguments = self.arguments;
        let mut watch = InstallerObserver {
            ended: InstallerOutcome::default(),
            said: Vec::new(),
            door,
            closed: None,
        };
        let sandbox = Sandbox::spawn(spec)?;
        cancel.watch(sandbox.canceller());
        let waited = sandbox.wait(&mut watch);
        cancel.release();
        let InstallerObserver { mut ended, said, door, closed } = watch;
        String::from_utf8_lossy(&said).trim().clone_into(&mut ended.said);
        if let Some(reason) = closed {
            ended.add(&format!("the network is not available: {reason}"));
        }
        if let Some(report) = door.report() {
            ended.add_network(&report);
        }
        let reason = match waited?.exit {
            ExitReason::Exited(code) => {
                ended.is_success = code == 0;
                return Ok(ended);
            }
            ExitReason::Cancelled(_) => "it was cancelled".to_owned(),
            ExitReason::TimedOut(_) => format!("it did not finish within {} s", TIMEOUT.as_secs()),
            ExitReason::Signalled(signal) => format!("it was ended by signal {signal}"),
            ExitReason::OutOfMemory => "it ran out of memory".to_owned(),
            ExitReason::TooMuchOutput => "it printed too much".to_owned(),
            ExitReason::TooMuchWritten(WriteLimit::Disk) => "the disk is full".to_owned(),
            ExitReason::TooMuchWritten(WriteLimit::Bytes(most)) => {
                format!("the packages are larger than {} GiB", most >> 30)
            }
            ExitReason::TooMuchWritten(WriteLimit::Entries(most)) => {
                format!("the packages have more than {most} files")
            }
        };
        Err(InstallerError::Ended(reason))
    }

    fn spec(&self) -> Spec {
        let image = &self.interpreter.image;
        let mut spec = Spec::new(self.program);
        spec.programs = vec![image.clone()];
        spec.support.clone_from(&self.interpreter.support);
        spec.support.extend(closure::present(image, image, PACKAGES_OF_SYSTEM));
        spec.support.extend(Some(PathBuf::from(WHEELS_OF_DEBIAN)).filter(|path| path.is_dir()));
        spec.files = vec![FileGrant {
            path: self.writable.to_owned(),
            access: FileAccess::Write,
            pattern: None,
            create: false,
        }];
        spec.synthetic = vec![SyntheticFile {
            path: PathBuf::from(REQUIREMENTS),
            bytes: self.requirements.as_bytes().to_owned(),
        }];
        self.writable.clone_into(&mut spec.working_directory);
        spec.environment = self.environment();
        spec.limits = SandboxLimits {
            time: TIMEOUT,
            grace: Duration::from_secs(2),
            cpu: None,
            memory: Some(4 << 30),
            processes: 512,
            file_size: 8 << 30,
            scratch: 64 << 20,
            output: 64 << 20,
            written_bytes: 32 << 30,
            written_entries: 1_000_000,
        };
        spec
    }

    /// The whole environment: nothing of the user's except what [`Index`] adds.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let folder = |name: &str| self.writable.join(name).into_os_string();
        let path = self.interpreter.image.parent().unwrap_or(Path::new("/")).into();
        let mut variables: Vec<(OsString, OsString)> = vec![
            ("HOME".into(), HOME.into()),
            ("PATH".into(), path),
            ("LANG".into(), "C.UTF-8".into()),
            // Downloads don't fit into the folders in memory. A shared cache would let the packages of one skill affect
            // another.
            ("TMPDIR".into(), folder("tmp")),
            ("UV_CACHE_DIR".into(), folder("cache")),
        ];
        for (name, value) in [
            ("PIP_CONFIG_FILE", "/dev/null"),
            ("PIP_NO_CACHE_DIR", "1"),
            ("PIP_NO_INPUT", "1"),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
            ("UV_NO_CONFIG", "1"),
            ("UV_NO_PROGRESS", "1"),
            ("UV_PYTHON_DOWNLOADS", "never"),
        ] {
            variables.push((name.into(), value.into()));
        }
        variables
    }
}

impl InstallerOutcome {
    fn add(&mut self, line: &str) {
        if !self.said.is_empty() {
            self.said.push('\n');
        }
        self.said.push_str(line);
    }

    fn add_network(&mut self, report: &NetworkReport) {
        /// Maximum number of lines about the network.
        const MAX_LINES: usize = 5;
        for refusal in &report.refusals {
            let Some(host) = refusal.host.as_ref() else { continue };
            if !matches!(refusal.kind, RefusalKind::Host | RefusalKind::Port | RefusalKind::Address)
            {
                self.add(&refusal.message);
                continue;
            }
            let shown = match refusal.port {
                None | Some(443) => host.to_string(),
                Some(port) => format!("{host}:{port}"),
            };
            if !self.refused.contains(&shown) && self.refused.len() < MAX_LINES {
                self.add(&format!("the index refers to `{shown}`, which was refused"));
                self.refused.push(shown);
            }
        }
        self.is_offline = !report.notes.is_empty();
        for note in report.notes.iter().take(MAX_LINES) {
            self.add(note);
        }
        if report.byte_cap_reached {
            self.add("the limit of bytes sent and received was reached");
        }
    }

    /// Advice about refused hosts.
    pub(super) fn hint(&self) -> Option<String> {
        let hosts = self.refused.join(",");
        (!hosts.is_empty()).then(|| {
            format!("if you trust these hosts with your packages, set {MORE_HOSTS}={hosts}")
        })
    }
}

/// Captures the output of an installer, and opens its network.
struct InstallerObserver {
    ended: InstallerOutcome,
    said: Vec<u8>,
    door: RunNetwork,
    /// The reason if there is no network.
    closed: Option<String>,
}

impl Observer for InstallerObserver {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        if stream == OutputStream::Output {
            let room = MAX_STDOUT - self.ended.stdout.len();
            self.ended.stdout.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        self.said.extend_from_slice(bytes);
        let excess = self.said.len().saturating_sub(MAX_SAID);
        self.said.drain(..excess);
    }

    fn listeners(&mut self, listeners: Vec<TcpListener>) {
        self.closed = self.door.open(listeners).err();
    }
}
