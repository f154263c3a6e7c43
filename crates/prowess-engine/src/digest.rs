//! One digest of all the files of a skill: what an approval is about (GIB §6.3, DESIGN §3).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use prowess_policy::Digest;
use sha2::{Digest as _, Sha256};

use crate::platform;

/// A skill with more files than this is not a skill.
const MOST_FILES: usize = 10_000;
/// All files together; a package may have 50 MB (R9).
const MOST_BYTES: u64 = 512 << 20;
/// R25: never content.
const SIDECAR: &str = "SKILL.md.lock";

/// Why a skill has no digest.
#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    /// A file can't be read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A link leads out of the skill, or nowhere (NEG-15).
    #[error("`{}` is a symbolic link that does not lead to a file of the skill", .0.display())]
    LeavesSkill(PathBuf),
    /// Neither file nor folder nor link.
    #[error("`{}` is neither a file nor a folder", .0.display())]
    Special(PathBuf),
    /// Too many or too much.
    #[error("`{}` holds more than {} files or more than {} MiB", .0.display(), MOST_FILES, MOST_BYTES >> 20)]
    TooLarge(PathBuf),
}

/// What stands at a path.
enum Entry {
    Link(PathBuf),
    File { executable: bool },
}

/// The digest of a skill: all files below its directory, or one file that stands alone.
///
/// Names are hashed in the order of their bytes, each with its kind, so that renaming, moving, `chmod +x` and turning a
/// file into a link all change the digest. Folders count through their files only.
pub fn of_skill(place: &Path) -> Result<Digest, DigestError> {
    let read = |path: &Path, source| DigestError::Read { path: path.to_owned(), source };
    let root = place.canonicalize().map_err(|source| read(place, source))?;
    let entries = if root.is_dir() {
        entries_below(&root)?
    } else {
        let executable = platform::is_executable(&root).map_err(|source| read(&root, source))?;
        let name = root.file_name().unwrap_or_default();
        BTreeMap::from([(
            platform::bytes(name).into_owned(),
            (root.clone(), Entry::File { executable }),
        )])
    };
    let mut hasher = Sha256::new();
    hasher.update(b"prowess-skill-1\0");
    let mut total = 0;
    for (name, (path, entry)) in &entries {
        match entry {
            Entry::Link(target) => {
                hasher.update(b"l");
                framed(&mut hasher, name);
                framed(&mut hasher, &platform::bytes(target.as_os_str()));
            }
            Entry::File { executable } => {
                hasher.update(if *executable { b"x" } else { b"f" });
                framed(&mut hasher, name);
                let (content, length) =
                    hash_file(path, MOST_BYTES - total + 1).map_err(|source| read(path, source))?;
                total += length;
                if total > MOST_BYTES {
                    return Err(DigestError::TooLarge(root));
                }
                hasher.update(content);
            }
        }
    }
    Ok(Digest::new(format!("sha256:{}", hexadecimal(&hasher.finalize()))))
}

/// The SHA-256 of a file, in hexadecimal.
pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    hash_file(path, u64::MAX).map(|(hash, _)| hexadecimal(&hash))
}

/// Everything below a folder that is no folder, by its relative path.
fn entries_below(root: &Path) -> Result<BTreeMap<Vec<u8>, (PathBuf, Entry)>, DigestError> {
    let read = |path: &Path, source| DigestError::Read { path: path.to_owned(), source };
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(|source| read(&folder, source))? {
            let entry = entry.map_err(|source| read(&folder, source))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|source| read(&path, source))?;
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let name = platform::bytes(relative.as_os_str()).into_owned();
            if name == SIDECAR.as_bytes() {
                continue;
            }
            let entry = if kind.is_dir() {
                open.push(path);
                continue;
            } else if kind.is_symlink() {
                // What it leads to is hashed where it lies, so it has to lie inside.
                let inside = path.canonicalize().is_ok_and(|real| real.starts_with(root));
                if !inside {
                    return Err(DigestError::LeavesSkill(path));
                }
                Entry::Link(fs::read_link(&path).map_err(|source| read(&path, source))?)
            } else if kind.is_file() {
                let executable =
                    platform::is_executable(&path).map_err(|source| read(&path, source))?;
                Entry::File { executable }
            } else {
                return Err(DigestError::Special(path));
            };
            found.insert(name, (path, entry));
            if found.len() > MOST_FILES {
                return Err(DigestError::TooLarge(root.to_owned()));
            }
        }
    }
    Ok(found)
}

/// Lengths stand before what they measure, so that no two skills give the same bytes.
fn framed(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn hash_file(path: &Path, most: u64) -> io::Result<([u8; 32], u64)> {
    let mut file = File::open(path)?.take(most);
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((hasher.finalize().into(), length)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
