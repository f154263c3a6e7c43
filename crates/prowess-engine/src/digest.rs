//! The digest of all files of a skill, to which approvals refer (GIB §6.3).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use prowess_policy::{Digest, FileHashes};
use sha2::{Digest as _, Sha256};

use crate::platform;

/// Maximum number of files of a skill.
const MAX_FILES: usize = 10_000;
/// Maximum size of all files; a package may have 50 MB (R9).
const MAX_BYTES: u64 = 512 << 20;
/// Maximum number of files for which individual hashes are recorded, to report which one has changed.
const MAX_LISTED: usize = 256;
/// The sidecar file, which is never content (R25).
pub(crate) const SIDECAR: &str = "SKILL.md.lock";
/// Git's own folder, if a skill is a repository. Every commit changes it, and nothing in it can be executed (`lower`).
pub(crate) const REPOSITORY: &str = ".git";

/// Why a skill has no digest.
#[derive(Debug, thiserror::Error)]
pub enum SkillDigestError {
    /// A file can't be read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A symbolic link leads out of the skill, or is dangling (NEG-15).
    #[error("`{}` is a symbolic link that does not point to a file of the skill", .0.display())]
    LeavesSkill(PathBuf),
    /// It is neither a file, a folder nor a link.
    #[error("`{}` is neither a file nor a folder", .0.display())]
    Special(PathBuf),
    /// There are too many files, or they are too large.
    #[error("`{}` contains more than {} files or more than {} MiB", .0.display(), MAX_FILES, MAX_BYTES >> 20)]
    TooLarge(PathBuf),
}

/// The kind of a directory entry.
enum Entry {
    Link(PathBuf),
    File { executable: bool },
}

/// Computes the digest of a skill: all files below its directory, or a single file.
///
/// Names are hashed in byte order, each with its kind, so that renaming, moving, `chmod +x` and replacing a file by a
/// link all change the digest. Empty folders are ignored.
pub fn of_skill(place: &Path) -> Result<Digest, SkillDigestError> {
    hash(place, None).map(|(digest, _)| digest)
}

/// Computes the digest, and the hashes of single files unless there are many.
pub(crate) fn of_skill_and_files(place: &Path) -> Result<(Digest, FileHashes), SkillDigestError> {
    hash(place, None)
}

/// The files of a skill at the time they were hashed.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The files by their path inside the skill. Links are resolved.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
}

/// Computes the digest and returns the hashed bytes, so that exactly these can be run (attack sandbox-G07). The files
/// are `None` if they take more than `most` bytes of memory.
pub(crate) fn snapshot(
    folder: &Path,
    most: u64,
) -> Result<(Digest, Option<Snapshot>), SkillDigestError> {
    let mut copier = Copier { most, taken: 0, snapshot: Snapshot::default(), links: Vec::new() };
    let (digest, _) = hash(folder, Some(&mut copier))?;
    Ok((digest, copier.finish()))
}

/// Keeps the hashed bytes within a memory limit.
struct Copier {
    most: u64,
    taken: u64,
    snapshot: Snapshot,
    links: Vec<(PathBuf, PathBuf)>,
}

impl Copier {
    /// The granularity of memory allocation.
    const PAGE: u64 = 4096;

    fn room(&self) -> u64 {
        self.most.saturating_sub(self.taken)
    }

    /// Adds a file; `bytes` is complete if there was room.
    fn file(&mut self, path: &Path, bytes: Vec<u8>, length: u64) {
        let size = length.saturating_add(2 * Self::PAGE - 1) / Self::PAGE * Self::PAGE;
        self.taken = self.taken.saturating_add(size);
        if self.taken <= self.most {
            self.snapshot.files.push((path.to_owned(), bytes));
        }
    }

    /// Adds links last, when their targets are already copied.
    fn finish(mut self) -> Option<Snapshot> {
        for (at, target) in std::mem::take(&mut self.links) {
            let below: Vec<(PathBuf, Vec<u8>)> = self
                .snapshot
                .files
                .iter()
                .filter_map(|(path, bytes)| {
                    let rest = path.strip_prefix(&target).ok()?;
                    let path = if rest.as_os_str().is_empty() { at.clone() } else { at.join(rest) };
                    Some((path, bytes.clone()))
                })
                .collect();
            for (path, bytes) in below {
                let length = bytes.len() as u64;
                self.file(&path, bytes, length);
            }
        }
        (self.taken <= self.most).then_some(self.snapshot)
    }
}

fn hash(
    place: &Path,
    mut copier: Option<&mut Copier>,
) -> Result<(Digest, FileHashes), SkillDigestError> {
    let read = |path: &Path, source| SkillDigestError::Read { path: path.to_owned(), source };
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
    let mut files = FileHashes::new();
    let mut list = |name: &[u8], what: String| {
        if entries.len() <= MAX_LISTED {
            files.insert(String::from_utf8_lossy(name).into_owned(), what);
        }
    };
    for (name, (path, entry)) in &entries {
        match entry {
            Entry::Link(target) => {
                hasher.update(b"l");
                framed(&mut hasher, name);
                framed(&mut hasher, &platform::bytes(target.as_os_str()));
                list(name, format!("link to {}", target.display()));
                if let (Some(copier), Ok(real)) = (copier.as_deref_mut(), path.canonicalize()) {
                    copier.links.push((inside(&root, path), inside(&root, &real)));
                }
            }
            Entry::File { executable } => {
                hasher.update(if *executable { b"x" } else { b"f" });
                framed(&mut hasher, name);
                let most_kept = copier.as_ref().map_or(0, |copier| copier.room());
                let mut kept = Vec::new();
                let (content, length) =
                    hash_file(path, MAX_BYTES - total + 1, most_kept, &mut kept)
                        .map_err(|source| read(path, source))?;
                if let Some(copier) = copier.as_deref_mut() {
                    copier.file(&inside(&root, path), kept, length);
                }
                total += length;
                if total > MAX_BYTES {
                    return Err(SkillDigestError::TooLarge(root));
                }
                hasher.update(content);
                let kind = if *executable { "x" } else { "f" };
                list(name, format!("{kind} {}", hexadecimal(&content)));
            }
        }
    }
    Ok((Digest::new(format!("sha256:{}", hexadecimal(&hasher.finalize()))), files))
}

/// The SHA-256 of a file, in hexadecimal.
pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    hash_file(path, u64::MAX, 0, &mut Vec::new()).map(|(hash, _)| hexadecimal(&hash))
}

/// All entries below a folder except folders, by relative path.
fn entries_below(root: &Path) -> Result<BTreeMap<Vec<u8>, (PathBuf, Entry)>, SkillDigestError> {
    let read = |path: &Path, source| SkillDigestError::Read { path: path.to_owned(), source };
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(|source| read(&folder, source))? {
            let entry = entry.map_err(|source| read(&folder, source))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|source| read(&path, source))?;
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let name = platform::bytes(relative.as_os_str()).into_owned();
            let is_repository = name == REPOSITORY.as_bytes() && !kind.is_symlink();
            if name == SIDECAR.as_bytes() || is_repository {
                continue;
            }
            let entry = if kind.is_dir() {
                open.push(path);
                continue;
            } else if kind.is_symlink() {
                // Its target is hashed at its own path, so it must be inside.
                let inside = path.canonicalize().is_ok_and(|real| real.starts_with(root));
                if !inside {
                    return Err(SkillDigestError::LeavesSkill(path));
                }
                Entry::Link(fs::read_link(&path).map_err(|source| read(&path, source))?)
            } else if kind.is_file() {
                let executable =
                    platform::is_executable(&path).map_err(|source| read(&path, source))?;
                Entry::File { executable }
            } else {
                return Err(SkillDigestError::Special(path));
            };
            found.insert(name, (path, entry));
            if found.len() > MAX_FILES {
                return Err(SkillDigestError::TooLarge(root.to_owned()));
            }
        }
    }
    Ok(found)
}

/// Hashes bytes with a length prefix, so that no two skills produce the same input.
fn framed(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn inside(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_owned()
}

/// Hashes the first bytes of a file and returns their number. They are kept while there is room.
fn hash_file(path: &Path, most: u64, room: u64, kept: &mut Vec<u8>) -> io::Result<([u8; 32], u64)> {
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
                if length <= room {
                    kept.extend_from_slice(&buffer[..count]);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The SHA-256 of bytes, in hexadecimal.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
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
