//! Where answers and passes are kept: a file of the user for each content of a skill, replaced as a whole under a lock.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use prowess_files::atomic::{self, WriteOptions};
use prowess_files::{private, with_lock};
use prowess_policy::Digest;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::progress::{COOL_DOWN, QuizProgress, QuizRecord};
use crate::digest::hexadecimal;
use crate::world::StateFolders;

/// The version that is written.
const VERSION: u64 = 1;
/// The largest record that is read.
const MAX_RECORD_BYTES: u64 = 1 << 20;
/// How many records are kept; the oldest go first.
const MAX_RECORDS: usize = 500;
/// How record files end.
const ENDING: &str = "json";

/// Where the answers and passes of quizzes are kept: files of the user by default, a database behind a server.
///
/// The methods block.
pub trait QuizStore: Send + Sync {
    /// What is known about a skill with this content; `None` if no question was answered yet.
    fn load(&self, digest: &Digest) -> Result<Option<QuizRecord>, QuizStoreError>;

    /// Changes the record of a skill with this content. Callers at the same time, in other processes too, change it one
    /// after another, each from what the one before has left. `None` afterwards removes it.
    fn change(
        &self,
        digest: &Digest,
        change: &mut dyn FnMut(&mut Option<QuizRecord>),
    ) -> Result<(), QuizStoreError>;

    /// The folder in which something changes with every pass, for programs that wait for one.
    fn folder(&self) -> Option<&Path> {
        None
    }
}

/// Records in files of the user.
#[derive(Clone, Debug)]
pub struct FileQuizzes {
    folder: PathBuf,
}

/// Why the records can't be used.
#[derive(Debug, thiserror::Error)]
pub enum QuizStoreError {
    /// A file can't be read or written.
    #[error("cannot use `{}`: {}", .path.display(), prowess_core::system_reason(.source))]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody else could have written the file, so a pass in it counts for nothing.
    #[error("the quiz results in `{}` are ignored: {source}", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("`{}` is not a valid file of quiz results: {reason}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl QuizStoreError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            QuizStoreError::File { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "free some space on that disk and try again"
                }
                _ => "make the file and its folder writable and try again",
            },
            QuizStoreError::Foreign { .. } | QuizStoreError::Content { .. } => {
                "move the file away; the quiz will have to be taken again"
            }
        }
    }
}

/// What happens under the lock may fail for several reasons; only here the path is known.
enum Failure {
    File(io::Error),
    Foreign(io::Error),
    Content(String),
}

impl From<io::Error> for Failure {
    fn from(source: io::Error) -> Self {
        Failure::File(source)
    }
}

impl FileQuizzes {
    /// The records of a user.
    pub fn of(state: &StateFolders) -> Self {
        Self { folder: state.data.join("quizzes") }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        // Whatever a digest looks like, this is a file name.
        let name = hexadecimal(&Sha256::digest(digest.as_str().as_bytes()));
        self.folder.join(name).with_extension(ENDING)
    }

    /// One lock for all: answers are rare, and short to write.
    fn lock(&self) -> PathBuf {
        self.folder.join("quizzes")
    }

    fn make_room(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut records: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .map(|entry| (entry.path(), entry.metadata()))
            .filter(|(path, _)| path.extension().is_some_and(|it| it == ENDING))
            .filter_map(|(path, data)| Some((data.ok()?.modified().ok()?, path)))
            .collect();
        records.sort();
        let excess = (records.len() + 1).saturating_sub(MAX_RECORDS);
        // A record that is younger than a cool-down may hold one, and forgetting that would give new tries.
        let now = SystemTime::now();
        let is_old =
            |time: &SystemTime| now.duration_since(*time).unwrap_or(Duration::ZERO) > COOL_DOWN;
        for (_, path) in records.iter().take(excess).filter(|(time, _)| is_old(time)) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn read(path: &Path, digest: &Digest) -> Result<Option<QuizRecord>, Failure> {
    // Whoever writes this file opens gates for the user.
    let text =
        private::read_own_text(path, MAX_RECORD_BYTES).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied if path.exists() => Failure::Foreign(error),
            _ => Failure::File(error),
        })?;
    text.map(|text| from_text(&text, digest).map_err(Failure::Content)).transpose()
}

fn named(failure: Failure, path: PathBuf) -> QuizStoreError {
    match failure {
        Failure::File(source) => QuizStoreError::File { path, source },
        Failure::Foreign(source) => QuizStoreError::Foreign { path, source },
        Failure::Content(reason) => QuizStoreError::Content { path, reason },
    }
}

impl QuizStore for FileQuizzes {
    fn load(&self, digest: &Digest) -> Result<Option<QuizRecord>, QuizStoreError> {
        let path = self.path(digest);
        read(&path, digest).map_err(|failure| named(failure, path))
    }

    fn change(
        &self,
        digest: &Digest,
        change: &mut dyn FnMut(&mut Option<QuizRecord>),
    ) -> Result<(), QuizStoreError> {
        let path = self.path(digest);
        let changed = with_lock(&self.lock(), || {
            let before = read(&path, digest)?;
            let mut record = before.clone();
            change(&mut record);
            match (&before, &record) {
                (before, after) if before == after => {}
                (_, None) => std::fs::remove_file(&path)?,
                (_, Some(record)) => {
                    if before.is_none() {
                        self.make_room();
                    }
                    atomic::write(&path, text(record).as_bytes(), WriteOptions::PRIVATE)?;
                }
            }
            Ok(())
        });
        changed.map_err(|failure| named(failure, path))
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.folder)
    }
}

/// The file's text. It carries a version, and fields from the future are tolerated.
fn text(record: &QuizRecord) -> String {
    let quizzes: Vec<Value> = record
        .quizzes
        .iter()
        .map(|quiz| {
            json!({
                "passed": quiz.passed,
                "answers": quiz.answers,
                "failed_tries": quiz.failed_tries,
                "closed_until": quiz.closed_until,
                "score": quiz.score,
            })
        })
        .collect();
    let file = json!({
        "version": VERSION,
        "skill": record.skill,
        "digest": record.digest.as_str(),
        "quizzes": quizzes,
    });
    format!("{file}\n")
}

/// The record of a text, or what is wrong with it. What can't be understood passes nothing.
fn from_text(text: &str, digest: &Digest) -> Result<QuizRecord, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match file["version"].as_u64() {
        Some(VERSION) => {}
        Some(newer) if newer > VERSION => {
            return Err(format!("it was written by a newer version of prowess (format {newer})"));
        }
        _ => return Err("it has no version".to_owned()),
    }
    if file["digest"].as_str() != Some(digest.as_str()) {
        return Err("it is about another skill".to_owned());
    }
    let quizzes = file["quizzes"].as_array().ok_or("it has no list of quizzes")?;
    let quiz = |quiz: &Value| QuizProgress {
        passed: quiz["passed"] == true,
        answers: quiz["answers"].as_array().into_iter().flatten().map(Value::as_bool).collect(),
        failed_tries: quiz["failed_tries"]
            .as_u64()
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or_default(),
        closed_until: quiz["closed_until"].as_u64(),
        score: quiz["score"].as_f64(),
    };
    Ok(QuizRecord {
        skill: file["skill"].as_str().unwrap_or_default().to_owned(),
        digest: digest.clone(),
        quizzes: quizzes.iter().map(quiz).collect(),
    })
}
