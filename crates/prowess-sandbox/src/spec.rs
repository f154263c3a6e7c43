//! The specification of a sandbox. What a [`Spec`] does not name is not accessible.

use std::ffi::OsString;
use std::net::TcpListener;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// A program and everything it may access.
#[derive(Debug)]
pub struct Spec {
    /// The program's image, as an absolute path of the host; inside it has the same path.
    pub program: PathBuf,
    /// The arguments after the program name.
    pub arguments: Vec<OsString>,
    /// The complete environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory, as an absolute path; an empty folder if it is not granted.
    pub working_directory: PathBuf,
    /// Granted files and folders.
    pub files: Vec<FileGrant>,
    /// Writable folders among `files`, with or without a pattern, that stay as they are: what the
    /// program writes there goes to the upper layer of an overlay.
    pub staged: Vec<StagedFolder>,
    /// How to treat files that are hard-linked outside a writable folder.
    pub hard_links: HardLinks,
    /// Files in granted folders that are empty inside and can't be changed. Absolute paths without
    /// symbolic links; one that is not visible is ignored.
    pub hidden: Vec<PathBuf>,
    /// Files that only exist inside.
    pub synthetic: Vec<SyntheticFile>,
    /// Other images that may be executed, as absolute paths of the host.
    pub programs: Vec<PathBuf>,
    /// Folders that programs need to run, such as a language's library: read-only, and not executable
    /// except for images in `programs`.
    pub support: Vec<PathBuf>,
    /// Network access.
    pub network: Network,
    /// Resource limits.
    pub limits: SandboxLimits,
    /// Standard input.
    pub input: Input,
    /// Descriptors that the program gets as 3, 4, …: private channels.
    #[cfg(unix)]
    pub descriptors: Vec<OwnedFd>,
}

impl Spec {
    /// A program without any grants: no files, no network, an empty environment.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            working_directory: PathBuf::from("/"),
            files: Vec::new(),
            staged: Vec::new(),
            hard_links: HardLinks::Refuse,
            hidden: Vec::new(),
            synthetic: Vec::new(),
            programs: Vec::new(),
            support: Vec::new(),
            network: Network::None,
            limits: SandboxLimits::default(),
            input: Input::Empty,
            #[cfg(unix)]
            descriptors: Vec::new(),
        }
    }
}

/// Access to a part of the host's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileGrant {
    /// An absolute path without `.`, `..` or symbolic links; inside it has the same path.
    pub path: PathBuf,
    /// The granted access.
    pub access: FileAccess,
    /// Only files that match below `path`, such as `*.csv`: `*` and `?` stay within a name, `**`
    /// matches folders, `{a,b}` either. Everything below if absent.
    ///
    /// For reading it is a snapshot: files that match when the sandbox is set up. For writing the
    /// program works on copies, and matching changes are copied back when all its processes have
    /// ended: changed and new files, and deletions. A file that changed on the host in the meantime
    /// is left alone.
    pub pattern: Option<String>,
    /// Whether a missing folder is created (mode 0700), in an existing parent; otherwise a missing
    /// path is not visible. If the program never starts, the folder is removed again.
    pub create: bool,
}

/// A writable folder whose writes are staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFolder {
    /// The granted folder, as in its grant. Grants for writing inside it are part of it; grants for
    /// reading inside it protect what they name.
    pub path: PathBuf,
    /// The upper layer: a folder that holds only what the run has changed, with deletions as an overlay
    /// marks them. It is outside of `path`, unless the grant has a pattern.
    pub upper: PathBuf,
    /// The overlay's working folder, next to the upper layer.
    pub work: PathBuf,
}

/// Access to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileAccess {
    /// Reading.
    Read,
    /// Reading and executing: scripts of a skill.
    Execute,
    /// Reading, changing, creating, deleting; never executing.
    Write,
}

/// How to treat files that are hard-linked outside a writable folder. The program could change a
/// file that is not granted through them (attack sandbox-A08), but package managers create such
/// links from their caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardLinks {
    /// The run is refused with [`crate::SandboxError::HardLink`].
    Refuse,
    /// The run may write them, and [`SandboxOutcome::hard_linked`] names them.
    Report,
}

/// A read-only file that only exists inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntheticFile {
    /// Its absolute path inside; may hide a file of the host.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Network access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// None: sockets can't even be created.
    None,
    /// An empty network namespace with listeners on these ports of 127.0.0.1, which are passed to
    /// the supervisor.
    Listeners(Vec<u16>),
}

/// Resource limits of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Wall-clock time until SIGTERM.
    pub time: Duration,
    /// Grace period from SIGTERM to SIGKILL (R21).
    pub grace: Duration,
    /// CPU time of one process.
    pub cpu: Option<Duration>,
    /// Memory of all processes together.
    pub memory: Option<u64>,
    /// Maximum number of processes and threads.
    pub processes: u64,
    /// Maximum size of a written file.
    pub file_size: u64,
    /// Size of each tmpfs: /tmp, /dev/shm and the home directory.
    pub scratch: u64,
    /// Standard output and error together; more terminates the run.
    pub output: u64,
    /// Maximum growth of all writable folders in bytes; more terminates the run.
    pub written_bytes: u64,
    /// Maximum number of new files and folders in them; more terminates the run.
    pub written_entries: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(30),
            grace: Duration::from_secs(5),
            cpu: None,
            memory: None,
            processes: 256,
            file_size: 1 << 30,
            scratch: 64 << 20,
            output: 4 << 30,
            written_bytes: 4 << 30,
            written_entries: 200_000,
        }
    }
}

/// Standard input.
#[derive(Debug)]
pub enum Input {
    /// No input.
    Empty,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// The reading end of a pipe, for a program that is talked to while it runs. Whoever has the other end closes it.
    #[cfg(unix)]
    Pipe(OwnedFd),
}

/// The stream of a piece of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Receives the events of a running program.
pub trait Observer {
    /// A chunk of output; chunks may split characters.
    fn output(&mut self, stream: OutputStream, bytes: &[u8]);
    /// The listeners of [`Network::Listeners`], in the order of ports, before the program starts.
    fn listeners(&mut self, listeners: Vec<TcpListener>) {
        drop(listeners);
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxOutcome {
    /// Why it ended.
    pub exit: ExitReason,
    /// The duration of the program.
    pub duration: Duration,
    /// Discarded files of write grants with a pattern, with the reason; at most 100.
    pub discarded: Vec<Discarded>,
    /// Symbolic links that the run has created in writable folders and that point outside; at most
    /// 100. They are neither followed nor removed.
    pub outside_links: Vec<PathBuf>,
    /// Files in writable folders that are hard-linked outside, see [`HardLinks::Report`]; at most
    /// 100.
    pub hard_linked: Vec<PathBuf>,
    /// Whether writable folders were too large to scan (20,000 entries together) or were moved, so
    /// that `outside_links` and `hard_linked` are incomplete.
    pub scan_incomplete: bool,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The program exited with this code.
    Exited(i32),
    /// A signal that the supervisor did not send.
    Signalled(i32),
    /// The time limit; the code it exited with after SIGTERM, if it did.
    TimedOut(Option<i32>),
    /// [`crate::Canceller::cancel`].
    Cancelled(Option<i32>),
    /// The memory limit.
    OutOfMemory,
    /// The output limit.
    TooMuchOutput,
    /// A limit of what may be added to granted folders.
    TooMuchWritten(WriteLimit),
}

/// The limit on writable folders that a run has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteLimit {
    /// More than this number, see [`SandboxLimits::written_bytes`].
    Bytes(u64),
    /// More than this number, see [`SandboxLimits::written_entries`].
    Entries(u64),
    /// The filesystem of a granted folder is nearly full, whatever the cause.
    Disk,
}

/// A discarded file of a write grant with a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discarded {
    /// Its path.
    pub path: PathBuf,
    /// The reason.
    pub reason: &'static str,
}
