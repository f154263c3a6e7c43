//! Finds symbolic links in the folder of a repository. Git creates none there, but writes through existing ones: a
//! reflog that links to a shell's startup file gets lines with branch names, which a tool chooses.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Entries;

/// Maximum number of entries in a repository, not counting loose objects.
const MAX_ENTRIES: usize = 1 << 20;

/// The links in the folder of a repository.
pub(super) fn of_repository(repository: &Path) -> io::Result<Vec<PathBuf>> {
    find(repository, &BTreeSet::new(), &|folder| {
        fs::read_dir(folder)?
            .map(|entry| entry.and_then(|it| Ok((it.file_name(), it.file_type()?))))
            .collect()
    })
}

/// The links in the folder of a repository, without searching paths that were read-only during a run.
pub(super) fn find(
    repository: &Path,
    fixed: &BTreeSet<PathBuf>,
    entries: &dyn Fn(&Path) -> io::Result<Entries>,
) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = VecDeque::from([repository.to_owned()]);
    let mut seen = 0;
    while let Some(folder) = open.pop_front() {
        let is_of_objects = folder.file_name().is_some_and(|name| name == "objects");
        for (name, kind) in entries(&folder)? {
            seen += 1;
            if seen > MAX_ENTRIES {
                let error = format!("it has more than {MAX_ENTRIES} files and folders");
                return Err(io::Error::other(error));
            }
            let place = folder.join(&name);
            if kind.is_symlink() {
                found.push(place);
            } else if kind.is_dir()
                && !fixed.contains(&place)
                && !(is_of_objects && is_folder_of_objects(&name.to_string_lossy()))
            {
                open.push_back(place);
            }
        }
    }
    Ok(found)
}

/// Whether a folder contains loose objects. Git only adds files to it and never writes to existing ones.
fn is_folder_of_objects(name: &str) -> bool {
    name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
