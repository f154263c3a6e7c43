//! The files that git tracks in a repository, from its index.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::planted::index;

/// The most bytes of a file `.git`, which names a folder.
const MOST_POINTER_BYTES: u64 = 64 << 10;

/// The tracked files of one repository.
#[derive(Debug)]
pub struct TrackedFiles {
    /// Sorted, with `/` between the parts.
    paths: BTreeSet<Vec<u8>>,
}

impl TrackedFiles {
    /// The root of the repository that a folder belongs to.
    pub fn repository_of(folder: &Path) -> Option<PathBuf> {
        folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
    }

    /// Reads the index of a repository; `None` if there is none, or it can't be read. Nothing of git is run.
    pub fn read(repository: &Path) -> Option<Self> {
        let git = repository.join(".git");
        let git = if git.is_file() { pointed_to(&git, repository)? } else { git };
        let paths = index::paths(&git.join("index"))?;
        Some(Self { paths: paths.into_iter().collect() })
    }

    /// Whether a file is tracked, or a folder contains a file that is; the path is relative to the repository.
    pub fn contains(&self, path: &Path, is_folder: bool) -> bool {
        let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        let mut name = parts.join("/").into_bytes();
        if !is_folder {
            return self.paths.contains(&name);
        }
        name.push(b'/');
        self.paths.range(name.clone()..).next().is_some_and(|first| first.starts_with(&name))
    }
}

/// The folder that a file `.git` of a linked worktree or a submodule names.
fn pointed_to(file: &Path, repository: &Path) -> Option<PathBuf> {
    let mut text = String::new();
    File::open(file).ok()?.take(MOST_POINTER_BYTES).read_to_string(&mut text).ok()?;
    let folder = text.strip_prefix("gitdir:")?.trim();
    Some(repository.join(folder))
}

#[cfg(test)]
mod tests {
    use super::TrackedFiles;

    #[test]
    fn a_folder_is_tracked_through_its_files() {
        let paths = ["a/SKILL.md", "a.b/x", "c"].map(|path| path.as_bytes().to_vec());
        let tracked = TrackedFiles { paths: paths.into_iter().collect() };
        for (path, is_folder, expected) in [
            ("a", true, true),
            ("a", false, false),
            ("a/SKILL.md", false, true),
            ("a.b", true, true),
            ("c", false, true),
            ("c", true, false),
            ("b", true, false),
        ] {
            assert_eq!(tracked.contains(path.as_ref(), is_folder), expected, "{path}");
        }
    }
}
