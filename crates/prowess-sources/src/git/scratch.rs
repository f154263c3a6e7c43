//! Temporary repositories, removed on exit and on signals, and by the next fetch after a crash.
//!
//! A fetch may take a gigabyte. A killed process can't clean up, so each folder is locked while in use, and the next
//! fetch removes those that are not locked.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FlockOperation, Mode, OFlags};
use tempfile::TempDir;

/// The prefix of folder names.
const PREFIX: &str = "prowess-git-";
/// Maximum attempts to create a folder, because another process may remove it before it is locked.
const MOST_TRIES: usize = 8;
/// Maximum attempts to remove a folder while a git process still writes to it.
const MOST_REMOVALS: usize = 16;

/// The temporary folders in use by this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scratches {
    used: Arc<Mutex<Vec<PathBuf>>>,
}

/// A temporary folder, removed on drop.
pub(super) struct Scratch {
    folder: TempDir,
    all: Scratches,
    /// Locked while open.
    lock: File,
}

impl Scratches {
    /// Creates a folder, and removes unused ones of other processes in the same place.
    pub(super) fn make(&self) -> io::Result<Scratch> {
        self.make_in(&std::env::temp_dir())
    }

    fn make_in(&self, place: &Path) -> io::Result<Scratch> {
        sweep(place);
        for _ in 0..MOST_TRIES {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
            // Registered while still empty, so that a signal handler always knows about it.
            self.used().push(folder.path().to_owned());
            let made = Scratch { lock: open(folder.path())?, folder, all: self.clone() };
            if take(&made.lock) && made.folder.path().is_dir() {
                return Ok(made);
            }
        }
        Err(io::Error::other("another process removes temporary folders"))
    }

    /// Removes the folders in use, for a process that is about to exit.
    pub(crate) fn remove_all(&self) {
        for folder in self.used().drain(..) {
            for _ in 0..MOST_REMOVALS {
                match fs::remove_dir_all(&folder) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                    _ => break,
                }
            }
        }
    }

    fn used(&self) -> std::sync::MutexGuard<'_, Vec<PathBuf>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let path = self.folder.path();
        self.all.used().retain(|known| known != path);
    }
}

/// Removes our folders that are not in use. Failures are ignored.
fn sweep(place: &Path) {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let path = entry.path();
        // Skips links and other users' folders: the temporary folder is shared by all users.
        let Ok(lock) = open(&path) else { continue };
        if is_ours(&lock) && take(&lock) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn open(folder: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(folder, flags, Mode::empty())?))
}

fn take(folder: &File) -> bool {
    rustix::fs::flock(folder, FlockOperation::NonBlockingLockExclusive).is_ok()
}

fn is_ours(folder: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    folder.metadata().is_ok_and(|data| data.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(place: &Path) -> usize {
        fs::read_dir(place).expect("it is there").count()
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_in_use_is_not() {
        let place = TempDir::new().expect("a folder");
        let left = place.path().join(format!("{PREFIX}left"));
        fs::create_dir_all(left.join("objects/pack")).expect("it is new");
        fs::write(left.join("objects/pack/tmp_pack_1"), "half").expect("it is new");
        fs::create_dir(place.path().join("prowess-other")).expect("it is new");
        let elsewhere = TempDir::new().expect("a folder");
        fs::write(elsewhere.path().join("kept"), "").expect("it is new");
        std::os::unix::fs::symlink(elsewhere.path(), place.path().join(format!("{PREFIX}link")))
            .expect("it is new");

        let scratches = Scratches::default();
        let first = scratches.make_in(place.path()).expect("there is room");
        assert!(!left.exists(), "an unused folder is removed");
        assert!(elsewhere.path().join("kept").exists(), "a link is not followed");
        let second = Scratches::default().make_in(place.path()).expect("there is room");
        assert!(first.path().is_dir(), "a folder in use stays");
        // Two in use, the link, and the folder with another name.
        assert_eq!(below(place.path()), 4);
        drop((first, second));
        assert_eq!(below(place.path()), 2);
    }

    #[test]
    fn whoever_ends_by_a_signal_leaves_nothing() {
        let place = TempDir::new().expect("a folder");
        let scratches = Scratches::default();
        let one = scratches.make_in(place.path()).expect("there is room");
        let other = scratches.make_in(place.path()).expect("there is room");
        fs::write(one.path().join("pack"), "").expect("it is new");
        // As another thread does, while both are in use.
        scratches.clone().remove_all();
        assert_eq!(below(place.path()), 0);
        drop((one, other));
    }
}
