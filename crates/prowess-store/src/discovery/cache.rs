//! Cache of the summaries of unchanged files: one file, which can be deleted at any time.
//!
//! It only speeds up listings: approvals, digests and signatures are never in it.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_files::atomic::{self, WriteOptions};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{SkillFileError, SkillSummary};

/// The name of the file in the cache folder.
pub const FILE_NAME: &str = "listing";
/// The first word of the file, with the version of the format.
const MAGIC: &str = "prowess-listing-1";
/// Maximum size of the file; a larger one is ignored.
const MOST_BYTES: u64 = 64 << 20;
/// Maximum number of files that are kept although they were not visited this time, for other projects.
const MOST_FILES: usize = 20_000;
/// Timestamps of file systems are coarse: two changes within this time may have the same timestamp.
#[cfg(unix)]
const COARSE_SECONDS: u64 = 2;

/// Identifies the running program: its version, and the size and time of its executable, because development builds
/// share a version.
pub fn program_stamp() -> String {
    let data = std::env::current_exe().and_then(fs::metadata);
    let built = data.ok().and_then(|data| {
        let time = data.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(format!("{}-{}", data.len(), time.as_nanos()))
    });
    format!("{}-{}", env!("CARGO_PKG_VERSION"), built.unwrap_or_default())
}

/// Identifies a version of a file: inode, size and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(String);

impl Identity {
    /// The identity of a file. A file that has just changed has none, because it could change again with the same
    /// timestamp.
    #[cfg(unix)]
    pub(crate) fn of(data: &Metadata, now: SystemTime) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        let changed = u64::try_from(data.ctime().max(data.mtime())).ok()?;
        (changed + COARSE_SECONDS < now).then(|| {
            Self(format!(
                "{}:{}:{}:{}.{}:{}.{}",
                data.dev(),
                data.ino(),
                data.size(),
                data.mtime(),
                data.mtime_nsec(),
                data.ctime(),
                data.ctime_nsec()
            ))
        })
    }

    /// The identity of a file, which is not reliable on this platform.
    #[cfg(not(unix))]
    pub(crate) fn of(_data: &Metadata, _now: SystemTime) -> Option<Self> {
        None
    }
}

#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    stamp: String,
    files: HashMap<String, Entry>,
    is_changed: bool,
}

#[derive(Debug)]
struct Entry {
    identity: String,
    summary: SkillSummary,
    is_used: bool,
}

impl Cache {
    /// Reads the cache. An invalid one counts as empty.
    pub(crate) fn read(folder: &Path, stamp: &str) -> Self {
        let files = read_files(&folder.join(FILE_NAME), stamp);
        Self {
            folder: folder.to_owned(),
            stamp: stamp.to_owned(),
            is_changed: files.is_none(),
            files: files.unwrap_or_default(),
        }
    }

    /// The cached summary of an unchanged file.
    pub(crate) fn get(&mut self, file: &Path, identity: &Identity) -> Option<SkillSummary> {
        let entry = self.files.get_mut(file.to_str()?)?;
        let is_same = entry.identity == identity.0;
        entry.is_used = is_same;
        is_same.then(|| entry.summary.clone())
    }

    /// Caches a file. Paths that are not UTF-8 are not cached.
    pub(crate) fn put(&mut self, file: &Path, identity: Identity, summary: &SkillSummary) {
        let Some(file) = file.to_str() else { return };
        let entry = Entry { identity: identity.0, summary: summary.clone(), is_used: true };
        self.files.insert(file.to_owned(), entry);
        self.is_changed = true;
    }

    /// Writes the cache atomically.
    pub(crate) fn write(mut self) {
        if !self.is_changed {
            return;
        }
        if self.files.len() > MOST_FILES {
            self.files.retain(|_, entry| entry.is_used);
        }
        let mut files: Vec<(&String, &Entry)> = self.files.iter().collect();
        files.sort_by_key(|(file, _)| *file);
        let rows: Vec<Value> =
            files.into_iter().map(|(file, entry)| to_json(file, entry)).collect();
        let body = Value::Array(rows).to_string();
        let text = format!("{}\n{body}", header(&self.stamp, &body));
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            atomic::write(&self.folder.join(FILE_NAME), text.as_bytes(), WriteOptions::CACHE)
        };
        // The cache is optional, and a full disk is reported by operations that need it.
        let _ = write();
    }
}

/// The first line: the program that wrote the file, and a hash of the rest. A truncated or mixed file doesn't match.
fn header(stamp: &str, body: &str) -> String {
    use std::fmt::Write as _;
    let hash = Sha256::digest(body.as_bytes());
    let hash = hash.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    format!("{MAGIC} {stamp} {hash}")
}

fn read_files(path: &Path, stamp: &str) -> Option<HashMap<String, Entry>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    let (first, body) = text.split_once('\n')?;
    if first != header(stamp, body) {
        return None;
    }
    let Value::Array(rows) = serde_json::from_str(body).ok()? else { return None };
    rows.into_iter().map(from_json).collect()
}

fn to_json(file: &str, entry: &Entry) -> Value {
    let SkillSummary { name, version, description, dialect, kind, errors, warnings, loaded_by } =
        &entry.summary;
    let errors: Vec<Value> = errors
        .iter()
        .map(|SkillFileError { rule, line, message, help }| json!([rule, line, message, help]))
        .collect();
    json!([
        file,
        entry.identity,
        name,
        version,
        description,
        dialect,
        kind,
        errors,
        warnings,
        loaded_by
    ])
}

fn from_json(row: Value) -> Option<(String, Entry)> {
    let Value::Array(cells) = row else { return None };
    let mut cells = cells.into_iter();
    let mut text = || match cells.next()? {
        Value::String(text) => Some(Some(text)),
        Value::Null => Some(None),
        _ => None,
    };
    let file = text()??;
    let identity = text()??;
    let (name, version, description) = (text()?, text()?, text()?);
    let (dialect, kind) = (text()??, text()??);
    let Value::Array(errors) = cells.next()? else { return None };
    let errors = errors.iter().map(problem).collect::<Option<_>>()?;
    let warnings = usize::try_from(cells.next()?.as_u64()?).ok()?;
    let Value::Array(clients) = cells.next()? else { return None };
    let clients = clients.iter().map(|client| client.as_str().map(str::to_owned));
    let loaded_by = clients.collect::<Option<_>>()?;
    let summary =
        SkillSummary { name, version, description, dialect, kind, errors, warnings, loaded_by };
    Some((file, Entry { identity, summary, is_used: false }))
}

fn problem(row: &Value) -> Option<SkillFileError> {
    let text = |at: usize| row.get(at)?.as_str().map(str::to_owned);
    Some(SkillFileError {
        rule: text(0)?,
        line: usize::try_from(row.get(1)?.as_u64()?).ok()?,
        message: text(2)?,
        help: text(3),
    })
}
