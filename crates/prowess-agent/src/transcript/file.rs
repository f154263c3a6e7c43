//! A transcript in a file: JSON lines that only the user can read, each on disk before the next step.
//!
//! An entry is one write at the end of the file. What a crash leaves is a file whose last line may be torn; readers leave
//! that out, and whoever goes on cuts it off first.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_core::{Problem, ProblemKind, system_reason};
use prowess_files::private::private_folder;
use prowess_format::text::slug;

use super::{Transcript, TranscriptEntry};

/// The most bytes of a transcript. An agent whose transcript is full stops.
pub(super) const MAX_BYTES: u64 = 64 << 20;
/// How many transcripts are kept in the default folder.
const MAX_KEPT: usize = 100;
/// The extension.
const EXTENSION: &str = "jsonl";
/// The longest part of the agent's name in the name of a file.
const MAX_NAME: usize = 32;
/// The number of random characters in the name of a file.
const RANDOM: usize = 8;

/// A transcript that is being written. Its file is locked until it is dropped.
#[derive(Debug)]
pub struct FileTranscript {
    path: PathBuf,
    file: File,
    bytes: u64,
}

/// The folder in which transcripts are kept by default.
#[derive(Clone, Debug)]
pub struct TranscriptFolder {
    folder: PathBuf,
}

impl TranscriptFolder {
    /// The transcripts of a user, whose data is in a folder.
    pub fn of(data: &Path) -> Self {
        Self { folder: data.join("agent-runs") }
    }

    /// Starts a transcript under a new name. The oldest ones are deleted.
    pub fn create(&self, agent: &str) -> Result<FileTranscript, Problem> {
        let failed = |source: io::Error| problem("write", &self.folder, &source);
        private_folder(&self.folder).map_err(failed)?;
        self.forget_old();
        let name: String = slug(agent).chars().take(MAX_NAME).collect();
        let prefix = if name.is_empty() { "agent-".to_owned() } else { format!("{name}-") };
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(&format!(".{EXTENSION}"))
            .rand_bytes(RANDOM)
            .tempfile_in(&self.folder)
            .map_err(failed)?;
        let (file, path) = file.keep().map_err(|error| failed(error.error))?;
        FileTranscript::locked(path, file)
    }

    /// The file of a transcript by its name.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.starts_with('.') || !name.chars().all(is_plain) {
            return None;
        }
        let named = [name.to_owned(), format!("{name}.{EXTENSION}")];
        named.into_iter().map(|name| self.folder.join(name)).find(|path| path.is_file())
    }

    /// Deletes the oldest transcripts. Failures don't stop a new run.
    fn forget_old(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut known: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|it| it == EXTENSION))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        known.sort();
        let too_many = known.len().saturating_sub(MAX_KEPT - 1);
        for (_, path) in known.drain(..too_many) {
            let _ = fs::remove_file(path);
        }
    }
}

impl FileTranscript {
    /// Starts a transcript in a file that does not exist yet.
    pub fn create(path: &Path) -> Result<Self, Problem> {
        let mut options = OpenOptions::new();
        options.create_new(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(path) {
            Ok(file) => Self::locked(path.to_owned(), file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let message = format!("`{}` exists already", path.display());
                Err(Problem::new("transcript-exists", ProblemKind::InvalidInput, message)
                    .advice("name another file for the transcript"))
            }
            Err(error) => Err(problem("create", path, &error)),
        }
    }

    /// Goes on with a transcript: `complete` is the length of its whole lines.
    pub(super) fn reopen(path: &Path, complete: u64) -> Result<Self, Problem> {
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(|source| problem("open", path, &source))?;
        let transcript = Self::locked(path.to_owned(), file)?;
        transcript.file.set_len(complete).map_err(|source| problem("write", path, &source))?;
        Ok(Self { bytes: complete, ..transcript })
    }

    fn locked(path: PathBuf, mut file: File) -> Result<Self, Problem> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process writes `{}`", path.display());
                return Err(Problem::new("transcript-busy", ProblemKind::Conflict, message)
                    .advice("wait for it, or cancel it first"));
            }
            Err(TryLockError::Error(source)) => return Err(problem("lock", &path, &source)),
        }
        let bytes =
            file.seek(SeekFrom::End(0)).map_err(|source| problem("read", &path, &source))?;
        Ok(Self { path, file, bytes })
    }
}

impl Transcript for FileTranscript {
    fn record(
        &mut self,
        at: u64,
        fork: Option<&str>,
        entry: &TranscriptEntry<'_>,
    ) -> Result<(), Problem> {
        let mut line = entry.to_json(at);
        if let Some(fork) = fork {
            line["fork"] = fork.into();
        }
        let mut line = line.to_string();
        line.push('\n');
        let bytes = self.bytes + line.len() as u64;
        // The end is short, and says why the rest is missing.
        if bytes > MAX_BYTES && !matches!(entry, TranscriptEntry::End { .. }) {
            let (path, most) = (self.path.display(), MAX_BYTES >> 20);
            let message = format!("the transcript `{path}` would have more than {most} MiB");
            return Err(Problem::new("transcript-full", ProblemKind::Failed, message));
        }
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|source| problem("write", &self.path, &source))?;
        self.bytes = bytes;
        Ok(())
    }

    fn place(&self) -> Option<String> {
        Some(self.path.display().to_string())
    }
}

pub(super) fn problem(doing: &str, path: &Path, source: &io::Error) -> Problem {
    let kind = match source.kind() {
        io::ErrorKind::NotFound => ProblemKind::NotFound,
        _ => ProblemKind::Failed,
    };
    let message = format!(
        "cannot {doing} the transcript `{}`: {}{}",
        path.display(),
        system_reason(source),
        prowess_files::advice(source)
    );
    Problem::new("transcript-error", kind, message)
}
