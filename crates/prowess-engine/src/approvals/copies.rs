//! Copies of approved text files, by the hash of their content. They only serve to show what has changed: losing one loses
//! nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_files::atomic::{self, WriteOptions};
use prowess_files::private;
use prowess_policy::Approvals;
use sha2::{Digest as _, Sha256};

use crate::differences::MAX_FILE_BYTES;
use crate::digest::hexadecimal;

/// All copies together; the oldest go first.
const MAX_TOTAL_BYTES: u64 = 16 << 20;
/// How many of them.
const MAX_FILES: usize = 4096;

/// A folder of copies, which only its owner can read.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    folder: PathBuf,
}

impl Copies {
    pub(super) fn beside(approvals: &Path) -> Self {
        Self { folder: approvals.with_file_name("approved-files") }
    }

    /// The copy with this hash, if it is there and unchanged.
    pub(super) fn get(&self, hash: &str) -> Option<String> {
        let text = private::read_own_text(&self.folder.join(hash), MAX_FILE_BYTES).ok()??;
        (hexadecimal(&Sha256::digest(text.as_bytes())) == hash).then_some(text)
    }

    /// Adds a copy. The folder stays below its bounds.
    pub(super) fn add(&self, hash: &str, text: &str) {
        let path = self.folder.join(hash);
        if path.exists() || private::private_folder(&self.folder).is_err() {
            return;
        }
        self.make_room(text.len() as u64);
        if let Err(error) = atomic::write(&path, text.as_bytes(), WriteOptions::CACHE) {
            tracing::debug!(%error, "no copy of an approved file");
        }
    }

    /// Removes what no approval is about any more.
    pub(super) fn keep_only(&self, approvals: &Approvals) {
        let known: BTreeSet<&str> = approvals
            .records()
            .iter()
            .flat_map(|approval| approval.files.values())
            .filter_map(|kind_and_hash| Some(kind_and_hash.split_once(' ')?.1))
            .collect();
        for (path, ..) in self.files() {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !known.contains(name) {
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn make_room(&self, wanted: u64) {
        let mut files = self.files();
        files.sort_by_key(|(_, _, time)| *time);
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        let mut count = files.len();
        for (path, size, _) in files {
            if total + wanted <= MAX_TOTAL_BYTES && count < MAX_FILES {
                return;
            }
            let _ = fs::remove_file(path);
            total -= size;
            count -= 1;
        }
    }

    fn files(&self) -> Vec<(PathBuf, u64, SystemTime)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let file = |entry: fs::DirEntry| {
            let data = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((entry.path(), data.len(), data.modified().ok()?))
        };
        entries.filter_map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_bounded_private_and_checked() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let copies = Copies::beside(&folder.path().join("approvals.json"));
        let hash_of = |text: &str| hexadecimal(&Sha256::digest(text.as_bytes()));
        let text = "x".repeat(100 << 10);
        for number in 0..200 {
            let text = format!("{number}{text}");
            copies.add(&hash_of(&text), &text);
        }
        let total: u64 = copies.files().iter().map(|(_, size, _)| size).sum();
        assert!(total <= MAX_TOTAL_BYTES && total > MAX_TOTAL_BYTES / 2, "{total}");
        let last = format!("199{text}");
        assert_eq!(copies.get(&hash_of(&last)).as_deref(), Some(last.as_str()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&copies.folder).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{mode:o}");
        }
        // Somebody changed a copy: it is none any more.
        fs::write(copies.folder.join(hash_of(&last)), "other").expect("it is ours");
        assert_eq!(copies.get(&hash_of(&last)), None);
        copies.keep_only(&Approvals::default());
        assert!(copies.files().is_empty());
    }
}
