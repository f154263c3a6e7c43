//! The approvals on disk: one file, locked while it is changed, replaced as a whole (GIB §6.3).

mod copies;
mod wire;

use std::io;
use std::path::{Path, PathBuf};

use prowess_files::atomic::{self, MAX_SMALL_FILE_BYTES, WriteOptions};
use prowess_files::{private, with_lock};
use prowess_policy::{Approval, Approvals, RememberedGrant};

use self::copies::Copies;
use crate::platform;
use crate::world::StateFolders;

/// Where approvals are kept: a file of the user by default, a database behind a server.
///
/// The methods block. The engine calls them on the caller's thread, and a workflow on the blocking pool of its runtime, so
/// an implementation may wait for a database there.
pub trait ApprovalStore: Send + Sync {
    /// What is approved now.
    fn load(&self) -> Result<Approvals, ApprovalStoreError>;

    /// Adds an approval.
    fn add(&self, approval: Approval) -> Result<(), ApprovalStoreError>;

    /// Remembers what the user grants a skill.
    fn remember(&self, grant: RememberedGrant) -> Result<(), ApprovalStoreError>;

    /// Revokes what the user granted a skill; gives what was revoked.
    fn revoke_grants(&self, skill: &str) -> Result<Vec<RememberedGrant>, ApprovalStoreError>;

    /// Revokes the approvals of a skill, or everything that lets one of its tools run; gives what was revoked.
    fn revoke(&self, skill: &str, tool: Option<&str>) -> Result<Vec<Approval>, ApprovalStoreError>;

    /// Revokes all approvals, and everything that the user granted; gives the approvals.
    fn revoke_all(&self) -> Result<Vec<Approval>, ApprovalStoreError>;

    /// Keeps a text of an approved file by the hash of its content, to show later what has changed. A store may keep none.
    fn keep_text(&self, _sha256: &str, _text: &str) {}

    /// A text that was kept.
    fn kept_text(&self, _sha256: &str) -> Option<String> {
        None
    }

    /// A text that changes with every change of the approvals. Without one, no decision outlives its call.
    fn revision(&self) -> Option<String> {
        None
    }
}

/// Approvals in a file of the user.
#[derive(Clone, Debug)]
pub struct FileApprovals {
    path: PathBuf,
}

/// Why the approvals can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalStoreError {
    /// The file can't be read or written.
    #[error("cannot use `{}`: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody else could have written the file, or it can't be read.
    #[error("the approvals in `{}` are ignored: {source}; if you trust the file, run `chmod 600` on it", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("`{}` is not a valid file of approvals: {reason}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl ApprovalStoreError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            // The file is sound, and without it every answer would be lost.
            ApprovalStoreError::File { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "free some space on that disk and try again"
                }
                _ => "make the file and its folder writable and try again",
            },
            ApprovalStoreError::Foreign { .. } | ApprovalStoreError::Content { .. } => {
                "move the file away; you will be asked for approval again"
            }
        }
    }
}

/// What happens under the lock may fail for two reasons; only here the path is known.
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

impl FileApprovals {
    /// The approvals of a user.
    pub fn of(state: &StateFolders) -> Self {
        Self { path: state.data.join("approvals.json") }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn change<T>(&self, change: impl FnOnce(&mut Approvals) -> T) -> Result<T, ApprovalStoreError> {
        let changed = with_lock(&self.path, || {
            let mut approvals = self.read()?;
            let result = change(&mut approvals);
            atomic::write(&self.path, wire::write(&approvals).as_bytes(), WriteOptions::PRIVATE)?;
            Copies::beside(&self.path).keep_only(&approvals);
            Ok(result)
        });
        changed.map_err(|failure| self.error(failure))
    }

    fn read(&self) -> Result<Approvals, Failure> {
        // Whoever writes this file answers for the user.
        let text =
            private::read_own_text(&self.path, MAX_SMALL_FILE_BYTES).map_err(
                |error| match error.kind() {
                    io::ErrorKind::PermissionDenied if self.path.exists() => {
                        Failure::Foreign(error)
                    }
                    _ => Failure::File(error),
                },
            )?;
        match text {
            Some(text) => wire::read(&text).map_err(Failure::Content),
            None => Ok(Approvals::default()),
        }
    }

    fn error(&self, failure: Failure) -> ApprovalStoreError {
        let path = self.path.clone();
        match failure {
            Failure::File(source) => ApprovalStoreError::File { path, source },
            Failure::Foreign(source) => ApprovalStoreError::Foreign { path, source },
            Failure::Content(reason) => ApprovalStoreError::Content { path, reason },
        }
    }
}

impl ApprovalStore for FileApprovals {
    /// Nothing is approved when there is no file yet.
    fn load(&self) -> Result<Approvals, ApprovalStoreError> {
        self.read().map_err(|failure| self.error(failure))
    }

    fn add(&self, approval: Approval) -> Result<(), ApprovalStoreError> {
        self.change(|approvals| approvals.add(approval))
    }

    fn remember(&self, grant: RememberedGrant) -> Result<(), ApprovalStoreError> {
        self.change(|approvals| approvals.remember(grant))
    }

    fn revoke_grants(&self, skill: &str) -> Result<Vec<RememberedGrant>, ApprovalStoreError> {
        self.change(|approvals| approvals.revoke_grants(skill))
    }

    fn revoke(&self, skill: &str, tool: Option<&str>) -> Result<Vec<Approval>, ApprovalStoreError> {
        self.change(|approvals| approvals.revoke(skill, tool))
    }

    fn revoke_all(&self) -> Result<Vec<Approval>, ApprovalStoreError> {
        self.change(|approvals| std::mem::take(approvals).records().to_vec())
    }

    fn keep_text(&self, sha256: &str, text: &str) {
        Copies::beside(&self.path).add(sha256, text);
    }

    fn kept_text(&self, sha256: &str) -> Option<String> {
        Copies::beside(&self.path).get(sha256)
    }

    /// Which file it is, its size and its times. A file that was changed a moment ago could change again without a trace.
    fn revision(&self) -> Option<String> {
        match std::fs::symlink_metadata(&self.path) {
            Ok(data) => Some(format!("{:?}", platform::identity_of(&data)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some("absent".to_owned()),
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
