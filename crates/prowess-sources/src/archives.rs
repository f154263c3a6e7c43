//! Cache of downloaded archives, addressed by content, so that locked skills can be installed again without a network.
//!
//! The folder can be deleted at any time. An archive is found by its digest and hashed again on every use, so a damaged
//! cache never yields other files than those requested. Skills without an archive, such as those of git repositories,
//! are packed; a small file next to them records their origin.

use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_files::atomic::{self, WriteOptions};
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::Tree;
use prowess_package::unpack::{UnpackOptions, unpack_to_memory};

/// The name of the folder below the cache folder.
const FOLDER: &str = "archives";
/// Maximum size of the cache. The least recently used files are evicted first.
const MOST_BYTES: u64 = 256 << 20;
/// The size that a small file counts as, so that the number of files is bounded too.
const LEAST_BYTES: u64 = 4096;
/// The first line of a file that maps an origin to an archive. Files of other versions are ignored.
const HEADER: &str = "prowess place 1";

/// The cache folder.
#[derive(Debug, Clone)]
pub(crate) struct Archives {
    folder: Option<PathBuf>,
    most_bytes: u64,
}

impl Archives {
    pub(crate) fn new(cache_folder: Option<&Path>) -> Self {
        let folder = cache_folder.map(|folder| folder.join(FOLDER));
        Self { folder, most_bytes: MOST_BYTES }
    }

    /// Returns the archive with this digest, `sha256:` and hexadecimal digits.
    pub(crate) fn get(&self, sha256: &str, limits: &PackageLimits) -> Option<Vec<u8>> {
        let digest = digest(sha256)?;
        let path = self.folder.as_ref()?.join(digest.to_string());
        let bytes = read(&path, limits.archive_bytes)?;
        if Sha256Digest::of(&bytes) != digest {
            // Truncated or modified: useless.
            let _ = std::fs::remove_file(&path);
            return None;
        }
        used(&path);
        Some(bytes)
    }

    /// Stores an archive. A failure to store it is ignored.
    pub(crate) fn keep(&self, bytes: &[u8]) {
        let name = Sha256Digest::of(bytes).to_string();
        // A file with this name has these bytes, or its next reader deletes it.
        if !self.folder.as_ref().is_some_and(|folder| folder.join(&name).is_file()) {
            self.write(&name, bytes);
        }
    }

    /// Returns the files of an origin, such as a folder of a commit.
    pub(crate) fn tree(&self, place: &str, limits: &PackageLimits) -> Option<Tree> {
        let path = self.folder.as_ref()?.join(file_of(place));
        let text = String::from_utf8(read(&path, LEAST_BYTES)?).ok()?;
        let mut lines = text.splitn(3, '\n');
        if lines.next()? != HEADER {
            return None;
        }
        let sha256 = lines.next()?;
        // Two origins share a file only if someone renamed it.
        if lines.next()? != place {
            return None;
        }
        let bytes = self.get(sha256, limits)?;
        used(&path);
        let options = UnpackOptions { limits: *limits, name: None };
        unpack_to_memory(Cursor::new(bytes), &options).ok().map(|(_, tree)| tree)
    }

    /// Stores the files of an origin.
    pub(crate) fn keep_tree(&self, place: &str, tree: &Tree) {
        if self.folder.is_none() {
            return;
        }
        let bytes = pack(tree);
        self.keep(&bytes);
        let text = format!("{HEADER}\nsha256:{}\n{place}", Sha256Digest::of(&bytes));
        if text.len() as u64 <= LEAST_BYTES {
            self.write(&file_of(place), text.as_bytes());
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let Some(folder) = &self.folder else { return };
        let path = folder.join(name);
        // Atomically: concurrent readers see the whole file or none.
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| atomic::write(&path, bytes, WriteOptions::CACHE));
        if written.is_ok() {
            self.tidy(&path);
        }
    }

    /// Evicts the least recently used files until the rest is within the limit. The newest file always stays.
    fn tidy(&self, newest: &Path) {
        let Some(Ok(entries)) = self.folder.as_ref().map(std::fs::read_dir) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
                Some((metadata.modified().ok()?, metadata.len().max(LEAST_BYTES), entry.path()))
            })
            .collect();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort();
        for (_, bytes, path) in files {
            if total <= self.most_bytes {
                break;
            }
            if path != newest && std::fs::remove_file(path).is_ok() {
                total -= bytes;
            }
        }
    }
}

fn digest(sha256: &str) -> Option<Sha256Digest> {
    sha256.strip_prefix("sha256:")?.parse().ok()
}

fn file_of(place: &str) -> String {
    format!("place-{}", Sha256Digest::of(place.as_bytes()))
}

/// Reads a regular file up to a size limit; anything else counts as missing.
fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    // Opening a pipe would block.
    let metadata = std::fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > most {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Marks a file as just used.
fn used(path: &Path) {
    let file = std::fs::File::options().append(true).open(path);
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prowess_package::tree::TreeFile;
    use tempfile::TempDir;

    use super::*;

    fn archives(folder: &TempDir, most_bytes: u64) -> Archives {
        Archives { most_bytes, ..Archives::new(Some(folder.path())) }
    }

    fn sha256(bytes: &[u8]) -> String {
        format!("sha256:{}", Sha256Digest::of(bytes))
    }

    #[test]
    fn only_the_bytes_that_were_asked_for_come_out() {
        let folder = TempDir::new().expect("a folder");
        let archives = archives(&folder, MOST_BYTES);
        let (limits, wanted) = (PackageLimits::PACKAGE, sha256(b"one"));
        assert_eq!(archives.get(&wanted, &limits), None);
        archives.keep(b"one");
        assert_eq!(archives.get(&wanted, &limits).as_deref(), Some(&b"one"[..]));
        for wrong in ["", "one", "sha256:", "sha256:../x", "sha512:00"] {
            assert_eq!(archives.get(wrong, &limits), None, "{wrong}");
        }
        // Modified after it was stored: nothing is returned, and the file is deleted.
        let path = folder.path().join(FOLDER).join(Sha256Digest::of(b"one").to_string());
        std::fs::write(&path, "two").expect("a file");
        assert_eq!(archives.get(&wanted, &limits), None);
        assert!(!path.exists());
        assert_eq!(Archives::new(None).get(&wanted, &limits), None);
    }

    #[test]
    fn the_files_of_a_place_are_found_by_its_name_alone() {
        let folder = TempDir::new().expect("a folder");
        let archives = archives(&folder, MOST_BYTES);
        let file =
            TreeFile { bytes: b"---\nname: a\ndescription: d\n---\n".to_vec(), executable: false };
        let tree = Tree::from_files(
            [("SKILL.md".parse().expect("a path"), file)],
            &PackageLimits::PACKAGE,
        )
        .expect("a tree");
        archives.keep_tree("git x 1", &tree);
        assert_eq!(archives.tree("git x 1", &PackageLimits::PACKAGE), Some(tree));
        assert_eq!(archives.tree("git x 2", &PackageLimits::PACKAGE), None);
        // The file is renamed to another origin's name.
        let named = |place: &str| folder.path().join(FOLDER).join(file_of(place));
        std::fs::rename(named("git x 1"), named("git x 2")).expect("it is there");
        assert_eq!(archives.tree("git x 2", &PackageLimits::PACKAGE), None);
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = TempDir::new().expect("a folder");
        let archives = archives(&folder, 3 * LEAST_BYTES);
        let day = |number: u64| SystemTime::UNIX_EPOCH + Duration::from_hours(24 * number);
        for (number, bytes) in [b"one", b"two", b"six"].into_iter().enumerate() {
            archives.keep(bytes);
            let path = folder.path().join(FOLDER).join(Sha256Digest::of(bytes).to_string());
            let file = std::fs::File::options().append(true).open(path).expect("a file");
            file.set_modified(day(number as u64)).expect("a time");
        }
        // It was just used, so it is the newest.
        assert!(archives.get(&sha256(b"one"), &PackageLimits::PACKAGE).is_some());
        archives.keep(b"ten");
        let kept = |bytes: &[u8]| archives.get(&sha256(bytes), &PackageLimits::PACKAGE).is_some();
        assert_eq!(
            [kept(b"one"), kept(b"two"), kept(b"six"), kept(b"ten")],
            [true, false, true, true]
        );
    }
}
