//! Runs git with an argument list, never through a shell (NEG-4), with limits, and so that nothing in a repository is
//! executed.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use prowess_store::source::{SourceError, SourceErrorKind};

use super::Bounds;
use super::place::Place;
use crate::web::{unreachable, unusable};
use crate::{Progress, Prompts};

/// Maximum size of git's stderr; the rest is dropped.
const MOST_SAID: usize = 64 << 10;
/// Maximum interval between checks of the clock and the disk usage while git runs. Most commands finish far sooner.
const LOOK: Duration = Duration::from_millis(20);

/// Variables that point git to a specific repository. If inherited, they would redirect our commands to it.
const ELSEWHERE: [&str; 14] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DEFAULT_HASH",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Settings for every command. The user's own settings stay, because they contain credentials and proxies; those that
/// could run a third party's program, or change what is fetched, are disabled. There is never a checkout, so filters,
/// checkout hooks and attributes don't apply.
const SETTINGS: [&str; 11] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=",
    "init.templateDir=",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "transfer.bundleURI=false",
];

/// A temporary repository for git.
pub(super) struct Workshop<'a> {
    pub(super) folder: &'a Path,
    pub(super) place: &'a Place,
    pub(super) variables: &'a [(String, String)],
    pub(super) prompts: Prompts,
    pub(super) bounds: &'a Bounds,
    pub(super) progress: &'a Progress,
}

/// Why a git command failed.
#[derive(Debug)]
pub(super) enum GitError {
    /// Git reported an error; this is its message.
    Refused(String),
    /// A failure outside git.
    Other(SourceError),
}

impl From<SourceError> for GitError {
    fn from(error: SourceError) -> Self {
        Self::Other(error)
    }
}

impl Workshop<'_> {
    /// Runs a command to completion and returns its stdout.
    pub(super) fn run(&self, words: &[&str]) -> Result<Vec<u8>, GitError> {
        let mut child = self.start(words, Stdio::null())?;
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let stderr = child.stderr.take().expect("stderr is a pipe");
        let most = self.bounds.listing_bytes;
        let (sender, written) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.take(most + 1).read_to_end(&mut bytes);
            // The receiver is gone after a timeout.
            let _ = sender.send(read.map(|_| bytes));
        });
        let progress = self.progress.clone();
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = sender.send(listen(stderr, &progress));
        });
        let status = self.wait(&mut child);
        // Don't wait for the output of a terminated git: its children may hold the pipes open.
        let said = if status.is_ok() { said.recv().unwrap_or_default() } else { String::new() };
        self.progress.over();
        let status = status?;
        let written = written
            .recv()
            .unwrap_or_else(|_| Ok(Vec::new()))
            .map_err(|error| unreachable(format!("cannot read git's output: {error}")))?;
        if written.len() as u64 > most {
            return Err(unusable(format!("`{}` has too many files", self.place.clean))
                .advice("name the folder of the skill")
                .into());
        }
        if !status.success() {
            return Err(GitError::Refused(self.place.cleaned(&said)));
        }
        Ok(written)
    }

    /// Starts `git cat-file --batch`.
    pub(super) fn objects(&self) -> Result<Objects, SourceError> {
        let mut child = self.start(&["cat-file", "--batch"], Stdio::piped())?;
        let wanted = child.stdin.take().expect("stdin is a pipe");
        let found = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        drop(child.stderr.take());
        Ok(Objects { child, wanted: Some(wanted), found })
    }

    fn start(&self, words: &[&str], stdin: Stdio) -> Result<Child, SourceError> {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(self.folder);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
            .args(words)
            .current_dir(self.folder)
            .env_clear()
            .envs(self.environment())
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                unusable("skills from repositories need `git`, which is not installed")
                    .advice("install git, or download the skill as an archive")
            }
            _ => unreachable(format!("cannot start git: {error}")),
        })
    }

    fn environment(&self) -> Vec<(String, String)> {
        let mut variables: Vec<(String, String)> = self
            .variables
            .iter()
            .filter(|(name, _)| {
                !ELSEWHERE.contains(&name.as_str()) && !name.starts_with("GIT_TRACE")
            })
            .cloned()
            .collect();
        let mut set = |name: &str, value: &str| {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), value.to_owned()));
        };
        set("GIT_ALLOW_PROTOCOL", self.place.protocols);
        set("GIT_NO_LAZY_FETCH", "1");
        set("GIT_NO_REPLACE_OBJECTS", "1");
        set("GIT_OPTIONAL_LOCKS", "0");
        // `failure.rs` matches the English messages.
        set("LC_ALL", "C");
        set("LANGUAGE", "C");
        if self.prompts == Prompts::Never {
            set("GIT_TERMINAL_PROMPT", "0");
            set("GCM_INTERACTIVE", "never");
            let has_helper = self
                .variables
                .iter()
                .any(|(name, _)| name == "SSH_ASKPASS" || name == "GIT_ASKPASS");
            if !has_helper {
                // With this, ssh asks a program instead of the terminal, and the program always fails.
                set("SSH_ASKPASS", "false");
                set("SSH_ASKPASS_REQUIRE", "force");
            }
        }
        variables
    }

    /// Waits until git exits, the time limit expires, or the disk usage exceeds its limit.
    fn wait(&self, child: &mut Child) -> Result<ExitStatus, SourceError> {
        let deadline = Instant::now() + self.bounds.time;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = child
                .try_wait()
                .map_err(|error| unreachable(format!("cannot wait for git: {error}")))?
            {
                if size_below(self.folder) > self.bounds.fetched_bytes {
                    return Err(self.too_large());
                }
                return Ok(status);
            }
            if Instant::now() > deadline {
                end(child);
                return Err(unreachable(format!(
                    "git took longer than {} seconds for `{}`",
                    self.bounds.time.as_secs(),
                    self.place.clean
                ))
                .advice("try again, or download the skill as an archive"));
            }
            if size_below(self.folder) > self.bounds.fetched_bytes {
                end(child);
                return Err(self.too_large());
            }
            std::thread::sleep(pause);
            pause = LOOK.min(pause * 2);
        }
    }

    fn too_large(&self) -> SourceError {
        SourceError::new(
            SourceErrorKind::Unusable,
            format!(
                "`{}` has more than {} MiB",
                self.place.clean,
                self.bounds.fetched_bytes.div_ceil(1 << 20)
            ),
        )
        .advice("download the skill as an archive")
    }
}

/// Terminates git with SIGTERM, so that it terminates its helpers; it can't do so when it is killed.
fn end(child: &mut Child) {
    if let Ok(id) = i32::try_from(child.id())
        && let Some(id) = rustix::process::Pid::from_raw(id)
    {
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        std::thread::sleep(LOOK);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Forwards progress lines and keeps the tail of git's stderr.
fn listen(stderr: impl Read, progress: &Progress) -> String {
    let mut said: Vec<u8> = Vec::new();
    let mut line: Vec<u8> = Vec::new();
    for byte in BufReader::new(stderr).bytes() {
        let Ok(byte) = byte else { break };
        // Progress lines end in a carriage return.
        if byte == b'\r' || byte == b'\n' {
            let text = String::from_utf8_lossy(&line);
            if byte == b'\r' || text.contains("done.") {
                progress.tell(text.trim());
            } else if said.len() < MOST_SAID {
                said.extend_from_slice(&line);
                said.push(b'\n');
            }
            line.clear();
        } else if line.len() < 4096 {
            line.push(byte);
        }
    }
    said.extend_from_slice(&line);
    String::from_utf8_lossy(&said).into_owned()
}

/// The size of all files below a folder. Files that vanish meanwhile count as empty.
fn size_below(folder: &Path) -> u64 {
    let mut sum = 0;
    let mut open: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => open.push(entry.path()),
                Ok(metadata) => sum += metadata.len(),
                Err(_) => {}
            }
        }
    }
    sum
}

/// A running `git cat-file --batch`.
pub(super) struct Objects {
    child: Child,
    wanted: Option<ChildStdin>,
    found: BufReader<ChildStdout>,
}

impl Objects {
    /// Reads a blob; `None` if it is larger than `most`. Its size is known before its content is read.
    pub(super) fn blob(&mut self, id: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let wanted = self.wanted.as_mut().expect("it is taken only at the end");
        writeln!(wanted, "{id}")?;
        wanted.flush()?;
        let mut head = Vec::new();
        self.found.by_ref().take(200).read_until(b'\n', &mut head)?;
        let head = String::from_utf8_lossy(&head);
        let mut words = head.split_whitespace();
        let (Some(_), Some("blob"), Some(size)) = (words.next(), words.next(), words.next()) else {
            return Err(io::Error::other(format!("git has no file {id}")));
        };
        let size: u64 = size.parse().map_err(|_| io::Error::other("git gave no length"))?;
        let mut rest = self.found.by_ref().take(size + 1);
        if size > most {
            io::copy(&mut rest, &mut io::sink())?;
            return Ok(None);
        }
        let mut bytes = Vec::new();
        rest.read_to_end(&mut bytes)?;
        if bytes.len() as u64 != size + 1 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.pop();
        Ok(Some(bytes))
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // It exits when its stdin is closed.
        drop(self.wanted.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
