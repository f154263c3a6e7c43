//! The files that a decision is based on: while they are unchanged, the decision is reused.
//!
//! Changes are detected by inode, size and times, as in [`crate::pins`]. A file that has just changed could change
//! again with the same timestamp, so decisions based on it are not reused yet.

use std::fs;
use std::path::{Path, PathBuf};

use crate::platform::{self, Identity, PlaceOf};

/// A skill with more files than this is hashed at each call: checking all of them would take as long.
const MAX_FILES: usize = 512;

/// The state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stamp {
    /// It does not exist.
    Absent,
    /// A file or folder with its identity, which changes with its content.
    Unchanged(Identity),
    /// A file or folder, whatever its content.
    Place(PlaceOf),
}

/// Paths and their states.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecisionInputs {
    stamps: Vec<(PathBuf, Stamp)>,
}

impl DecisionInputs {
    /// Adds everything below a folder.
    pub(crate) fn tree(&mut self, folder: &Path) -> Option<()> {
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).ok()? {
                let entry = entry.ok()?;
                if entry.file_type().ok()?.is_dir() {
                    open.push(entry.path());
                } else {
                    self.unchanged(entry.path())?;
                }
                (self.stamps.len() + open.len() <= MAX_FILES).then_some(())?;
            }
            self.unchanged(folder)?;
        }
        Some(())
    }

    /// Adds a file whose content must stay the same, a folder whose list of names must, or a path that must stay
    /// missing.
    pub(crate) fn unchanged(&mut self, path: PathBuf) -> Option<()> {
        let stamp = match fs::symlink_metadata(&path) {
            Ok(data) => Stamp::Unchanged(platform::identity_of(&data)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Stamp::Absent,
            Err(_) => return None,
        };
        self.stamps.push((path, stamp));
        Some(())
    }

    /// Adds a file or folder that must stay in its place. Its content may change.
    pub(crate) fn place(&mut self, path: PathBuf) -> Option<()> {
        let place = platform::place_of(&fs::symlink_metadata(&path).ok()?)?;
        let stamp = Stamp::Place(place);
        if !self.stamps.iter().any(|known| known.0 == path && known.1 == stamp) {
            self.stamps.push((path, stamp));
        }
        Some(())
    }

    /// Adds other inputs.
    pub(crate) fn extend(&mut self, other: DecisionInputs) {
        self.stamps.extend(other.stamps);
    }

    /// Whether nothing has changed.
    pub(crate) fn holds(&self) -> bool {
        self.stamps.iter().all(|(path, stamp)| match fs::symlink_metadata(path) {
            Ok(data) => match stamp {
                Stamp::Absent => false,
                Stamp::Unchanged(identity) => platform::same_identity(&data, identity),
                Stamp::Place(place) => platform::place_of(&data) == Some(*place),
            },
            Err(error) => *stamp == Stamp::Absent && error.kind() == std::io::ErrorKind::NotFound,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::{Duration, SystemTime};

    use super::*;

    /// A system folder that has not changed in the last seconds.
    const OLD: &str = "/etc/alternatives";

    #[test]
    fn old_things_stand() {
        let mut evidence = DecisionInputs::default();
        evidence.unchanged(PathBuf::from("/bin/sh")).expect("it is old");
        evidence.unchanged(PathBuf::from("/no/such/file")).expect("absence is a fact");
        evidence.place(PathBuf::from("/tmp")).expect("it is there");
        evidence.tree(Path::new(OLD)).expect("it is old");
        assert!(evidence.holds());
    }

    #[test]
    fn nothing_stands_on_what_was_changed_just_now() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("file");
        fs::write(&file, "one").expect("it can be written");
        // The change time is set by the system and can't be set back.
        let old = SystemTime::now() - Duration::from_hours(1);
        let opened = fs::File::options().write(true).open(&file).expect("it is ours");
        opened.set_modified(old).expect("it is ours");
        assert!(DecisionInputs::default().unchanged(file).is_none());
        assert!(DecisionInputs::default().tree(folder.path()).is_none());
    }

    /// The recorded state, with an age that a test can't wait for.
    fn seen(path: &Path) -> DecisionInputs {
        let data = fs::symlink_metadata(path).expect("it is there");
        let stamp = Stamp::Unchanged(platform::identity_at_any_age(&data));
        DecisionInputs { stamps: vec![(path.to_owned(), stamp)] }
    }

    #[test]
    fn every_change_is_seen() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let check = |what: &str, change: &dyn Fn(&Path)| {
            let file = folder.path().join(what);
            fs::write(&file, "one").expect("it can be written");
            let evidence = seen(&file);
            let parent = seen(folder.path());
            assert!(evidence.holds() && parent.holds(), "{what}");
            // The file system's clock has to advance, or no change is visible.
            let before =
                platform::identity_at_any_age(&fs::symlink_metadata(&file).expect("there"));
            loop {
                let probe = folder.path().join("probe");
                fs::write(&probe, "x").expect("it can be written");
                let now =
                    platform::identity_at_any_age(&fs::symlink_metadata(&probe).expect("there"));
                if now.is_later_than(&before) {
                    break;
                }
            }
            change(&file);
            assert!(!evidence.holds(), "{what}");
        };
        check("content", &|file| fs::write(file, "two").expect("it can be written"));
        check("removed", &|file| fs::remove_file(file).expect("it can be removed"));
        check("mode", &|file| {
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("it is ours");
        });
        check("replaced", &|file| {
            let other = file.with_extension("new");
            fs::write(&other, "one").expect("it can be written");
            fs::rename(&other, file).expect("it can be renamed");
        });
        check("link", &|file| {
            fs::remove_file(file).expect("it can be removed");
            symlink("/bin/sh", file).expect("it can be linked");
        });
        check("time set back", &|file| {
            let before = fs::metadata(file).and_then(|data| data.modified()).expect("a time");
            fs::write(file, "two").expect("it can be written");
            let opened = fs::File::options().write(true).open(file).expect("it is ours");
            opened.set_modified(before).expect("it is ours");
        });
    }

    #[test]
    fn a_new_file_changes_its_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let evidence = seen(folder.path());
        let mut count = 0;
        while evidence.holds() {
            // Until the file system's clock has advanced.
            fs::write(folder.path().join(count.to_string()), "").expect("it can be written");
            count += 1;
        }
        assert!(!evidence.holds());
    }
}
