//! What may be done inside: the whole of it. What a [`Spec`] does not name is not there.

use std::ffi::OsString;
use std::net::TcpListener;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// A program and everything it may reach.
#[derive(Debug)]
pub struct Spec {
    /// The program's image, as an absolute path of the host; inside it has the same path.
    pub program: PathBuf,
    /// What follows the program's name.
    pub arguments: Vec<OsString>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it starts, as an absolute path; an empty folder when nothing granted is there.
    pub working_directory: PathBuf,
    /// Files and folders in view.
    pub files: Vec<FileGrant>,
    /// What to do when a file in a writable folder has another name outside of it.
    pub hard_links: HardLinks,
    /// Files that exist inside only.
    pub synthetic: Vec<SyntheticFile>,
    /// Other images that may be executed, as absolute paths of the host.
    pub programs: Vec<PathBuf>,
    /// Folders that programs need to run, such as a language's library: read-only, and nothing in them is executable
    /// unless named in `programs`.
    pub support: Vec<PathBuf>,
    /// The way out.
    pub network: Network,
    /// Bounds.
    pub limits: Limits,
    /// Standard input.
    pub input: Input,
    /// Descriptors that the program gets as 3, 4, …: private channels.
    #[cfg(unix)]
    pub descriptors: Vec<OwnedFd>,
}

impl Spec {
    /// A program that may do nothing but run: no files, no network, an empty environment.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            working_directory: PathBuf::from("/"),
            files: Vec::new(),
            hard_links: HardLinks::Refuse,
            synthetic: Vec::new(),
            programs: Vec::new(),
            support: Vec::new(),
            network: Network::None,
            limits: Limits::default(),
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
    /// What may be done with it.
    pub access: Access,
    /// Only files that match below `path`, such as `*.csv`: `*` and `?` stay within a name, `**` stands for folders, `{a,b}`
    /// for either. Everything below when absent.
    ///
    /// For reading it is a snapshot: files that match when the walls are built, and none that come later. For writing the
    /// program works on copies, and what matches is brought back when nothing of it is alive: changed and new files, and
    /// deletions. A file that the host has changed meanwhile stays as it is.
    pub pattern: Option<String>,
    /// Whether a missing folder is created (mode 0700), in a folder that is there; otherwise a missing path is simply not in
    /// view. If the program never starts, the folder goes away again.
    pub create: bool,
}

/// What may be done with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and executing: scripts of a skill.
    Execute,
    /// Reading, changing, creating, deleting; never executing.
    Write,
}

/// What to do when a file in a writable folder has another name outside of it: a hard link, through which the program
/// would change a file that nobody granted (attack sandbox-A08). Package managers make such links from their caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardLinks {
    /// The run is refused with [`crate::Error::HardLink`].
    Refuse,
    /// The run may write them, and [`Ended::shared`] names them.
    Report,
}

/// A read-only file that exists inside only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntheticFile {
    /// Its absolute path inside; may hide a file of the host.
    pub path: PathBuf,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// The way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// None: sockets can't even be made.
    None,
    /// An empty network with listeners on these ports of 127.0.0.1, which the supervisor gets.
    Listeners(Vec<u16>),
}

/// Bounds of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time until SIGTERM.
    pub time: Duration,
    /// From SIGTERM to SIGKILL (R21).
    pub grace: Duration,
    /// CPU time of one process.
    pub cpu: Option<Duration>,
    /// Memory of all processes together.
    pub memory: Option<u64>,
    /// Processes and threads at a time.
    pub processes: u64,
    /// Size of one file that is written.
    pub file_size: u64,
    /// Size of each private folder in memory: /tmp, /dev/shm and the home.
    pub scratch: u64,
    /// Standard output and error together; more ends the run.
    pub output: u64,
    /// Bytes that all folders granted for writing may grow by; more ends the run.
    pub written_bytes: u64,
    /// Files and folders that may be added to them; more ends the run.
    pub written_entries: u64,
}

impl Default for Limits {
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
    /// Ends at once.
    Empty,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
}

/// Which of the two streams a piece of output belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// What the caller sees while a program runs.
pub trait Observer {
    /// A piece of output, as it came; pieces may split characters.
    fn output(&mut self, stream: Stream, bytes: &[u8]);
    /// The listeners of [`Network::Listeners`], in the order of ports, before the program starts.
    fn listeners(&mut self, listeners: Vec<TcpListener>) {
        drop(listeners);
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What ended it.
    pub how: How,
    /// From the start of the program to its end.
    pub duration: Duration,
    /// Files of filtered write grants that were not kept, with the reason; at most 100.
    pub discarded: Vec<Discarded>,
    /// Symbolic links that the run has left in writable folders and that lead out of them; at most 100. They are neither
    /// followed nor removed.
    pub planted: Vec<PathBuf>,
    /// Files in writable folders that had another name outside, see [`HardLinks::Report`]; at most 100.
    pub shared: Vec<PathBuf>,
    /// Whether writable folders were too large to look through (20,000 entries together), or changed places, so that
    /// `planted` and `shared` say nothing.
    pub unswept: bool,
}

/// What ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The program, with this code.
    Exited(i32),
    /// A signal that nobody here sent.
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
    TooMuchWritten(Written),
}

/// What a run has written too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// More than this many, see [`Limits::written_bytes`].
    Bytes(u64),
    /// More than this many, see [`Limits::written_entries`].
    Entries(u64),
    /// The filesystem of a granted folder is as good as full, to whatever that is due.
    Disk,
}

/// A file that a filtered write grant did not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discarded {
    /// Where it would have gone.
    pub path: PathBuf,
    /// Why it did not.
    pub reason: &'static str,
}
