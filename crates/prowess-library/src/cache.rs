//! A bounded cache of loaded skills, each valid while its files and everything its trust rests on stay the same.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use prowess_engine::LoadedSkill;

/// Maximum number of cached skills.
const CAPACITY: usize = 256;
/// A skill with more entries than this is not cached.
const MOST_ENTRIES: usize = 10_000;
/// Maximum age of an entry: signatures and keys expire, so trust is decided again after this time.
const MAX_AGE: Duration = Duration::from_mins(1);
/// Minimum age of a change: timestamps of file systems are coarse, and a file that changed within this time may change
/// again with the same timestamp.
const SETTLED: Duration = Duration::from_secs(2);

/// The identity of files: device, inode, size and both times of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    entries: Vec<(PathBuf, Option<Identity>)>,
}

type Identity = (u64, u64, u64, (i64, i64), (i64, i64));

fn identity(data: &Metadata) -> Identity {
    let modified = (data.mtime(), data.mtime_nsec());
    (data.dev(), data.ino(), data.size(), modified, (data.ctime(), data.ctime_nsec()))
}

impl Stamp {
    /// The stamp of single files; a missing file is part of it.
    pub(crate) fn of_files<'p>(files: impl IntoIterator<Item = &'p Path>) -> Self {
        let stamped = |path: &Path| {
            (path.to_owned(), std::fs::symlink_metadata(path).ok().as_ref().map(identity))
        };
        Self { entries: files.into_iter().map(stamped).collect() }
    }

    /// Adds every entry below a folder; `None` if there are too many or one can't be read.
    pub(crate) fn and_below(mut self, folder: &Path) -> Option<Self> {
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).ok()? {
                let entry = entry.ok()?;
                let data = entry.metadata().ok()?;
                if data.is_dir() {
                    open.push(entry.path());
                }
                self.entries.push((entry.path(), Some(identity(&data))));
                if self.entries.len() > MOST_ENTRIES {
                    return None;
                }
            }
        }
        self.entries.sort();
        Some(self)
    }

    /// Whether all changes are old enough for the timestamps to reveal a later one.
    fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let limit = i64::try_from(now.saturating_sub(SETTLED).as_secs()).unwrap_or(i64::MAX);
        self.entries
            .iter()
            .filter_map(|(_, identity)| identity.as_ref())
            .all(|(.., changed)| changed.0 < limit)
    }
}

/// The key of a cached skill: its main file and the name of the dialect it was read as.
pub(crate) type Key = (PathBuf, Option<&'static str>);

#[derive(Debug)]
struct Kept {
    skill: Arc<LoadedSkill>,
    stamp: Stamp,
    at: Instant,
    used: u64,
}

/// Loaded skills; the least recently used one is evicted first.
#[derive(Debug, Default)]
pub(crate) struct SkillCache {
    kept: HashMap<Key, Kept>,
    clock: u64,
}

impl SkillCache {
    /// The skill under a key, if nothing has changed since it was loaded.
    pub(crate) fn get(&mut self, key: &Key, stamp: &Stamp) -> Option<Arc<LoadedSkill>> {
        self.clock += 1;
        let kept = self.kept.get_mut(key)?;
        if kept.stamp != *stamp || kept.at.elapsed() > MAX_AGE {
            self.kept.remove(key);
            return None;
        }
        kept.used = self.clock;
        Some(Arc::clone(&kept.skill))
    }

    /// Caches a skill, unless its files changed just before `now`.
    pub(crate) fn put(&mut self, key: Key, stamp: Stamp, skill: Arc<LoadedSkill>, now: SystemTime) {
        if !stamp.is_settled(now) {
            return;
        }
        self.clock += 1;
        if self.kept.len() >= CAPACITY && !self.kept.contains_key(&key) {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.kept.remove(&oldest);
            }
        }
        self.kept.insert(key, Kept { skill, stamp, at: Instant::now(), used: self.clock });
    }
}
