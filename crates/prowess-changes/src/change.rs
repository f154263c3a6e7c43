//! Changes as values: what a run would do to the user's folders.

use std::path::PathBuf;

/// The changes of a run.
#[derive(Debug, Default)]
pub struct ChangeSet {
    /// Every changed file, folder and link; parents come before what is in them.
    pub changes: Vec<Change>,
    /// Files that are never applied, such as devices.
    pub dropped: Vec<Dropped>,
    /// Files that others have changed since the run started.
    pub conflicts: Vec<Conflict>,
    /// The number of files of which only the modification time changed; they are not listed.
    pub touched: usize,
    /// The steps that apply the changes.
    #[cfg(target_os = "linux")]
    pub(crate) operations: Vec<crate::linux::Operation>,
    /// The bounds that they were read with.
    #[cfg(target_os = "linux")]
    pub(crate) limits: Limits,
    /// When they were read.
    #[cfg(target_os = "linux")]
    pub(crate) read_at: Option<std::time::Instant>,
}

impl ChangeSet {
    /// Whether applying it would change nothing.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.touched == 0
    }
}

/// A changed file, folder or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The layer, as an index into [`crate::RunFolder::layers`].
    pub layer: usize,
    /// The path below the layer's folder.
    pub path: PathBuf,
    /// The kind of change.
    pub kind: ChangeKind,
    /// What is there now.
    pub before: Option<EntryVersion>,
    /// What would be there.
    pub after: Option<EntryVersion>,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// A new file or folder.
    Added,
    /// New content.
    Changed,
    /// A deletion.
    Deleted,
    /// New permissions of the same content.
    Mode,
    /// A new symbolic link, or one with a new target.
    Link,
}

impl ChangeKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Changed => "changed",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Mode => "mode",
            ChangeKind::Link => "link",
        }
    }
}

/// A file, folder or link before or after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryVersion {
    /// Its kind.
    pub entry: EntryKind,
    /// Its size in bytes; 0 for folders.
    pub bytes: u64,
    /// Its permissions.
    pub mode: u32,
    /// The target of a link.
    pub target: Option<PathBuf>,
}

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// A file that is never applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The layer.
    pub layer: usize,
    /// The path below the layer's folder.
    pub path: PathBuf,
    /// What was dropped.
    pub what: &'static str,
}

/// A change that would overwrite somebody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The layer.
    pub layer: usize,
    /// The path below the layer's folder.
    pub path: PathBuf,
    /// What others did.
    pub reason: ConflictReason,
}

/// What others did to a file that a run has changed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictReason {
    /// It changed.
    Changed,
    /// It was created.
    Created,
    /// It was deleted.
    Deleted,
}

impl ConflictReason {
    /// What happened, as a phrase.
    pub fn as_str(self) -> &'static str {
        match self {
            ConflictReason::Changed => "it was changed by others since the run started",
            ConflictReason::Created => "others created it since the run started",
            ConflictReason::Deleted => "others deleted it since the run started",
        }
    }
}

/// Bounds on the changes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of changed files, folders and links, deleted ones included.
    pub entries: u64,
    /// Maximum number of bytes on disk.
    pub bytes: u64,
    /// Maximum depth of folders.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 200_000, bytes: 4 << 30, depth: 128 }
    }
}
