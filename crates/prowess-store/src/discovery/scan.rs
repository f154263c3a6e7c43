//! Searches one root for skills.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use prowess_format::document::MAX_FILE_BYTES;

use super::cache::{Cache, Identity};
use super::{DiscoverOptions, DiscoveryNote, FoundSkill, ScanCache, SkillSummary, folder_name};

/// Maximum depth below a root, not counting the root. The client guide of the open standard advises 4 to 6, and other
/// clients would not see deeper skills.
const MOST_DEPTH: usize = 6;
/// Maximum number of folders in a root. Codex stops at 2,000; a user's own store may be larger.
const MOST_FOLDERS: usize = 20_000;
/// Maximum number of entries in a folder.
const MOST_ENTRIES: usize = 50_000;
/// A large folder that never contains skills.
const SKIPPED: &str = "node_modules";
/// The spellings of the main file, the preferred one first (OC-7).
pub(crate) const SPELLINGS: &[&str] =
    &["SKILL.md", "skill.md", "Skill.md", "skills.md", "SKILLS.md"];

/// The skills found in one root.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) skills: Vec<FoundSkill>,
    pub(crate) notes: Vec<DiscoveryNote>,
}

/// Reads skills; unchanged files are read once.
#[derive(Debug)]
pub(crate) struct Scanner {
    cache: Option<Cache>,
    now: std::time::SystemTime,
}

/// A folder that may contain a skill, or folders of skills.
struct Folder {
    /// The path as it was reached.
    shown: PathBuf,
    /// The path with symbolic links resolved.
    real: PathBuf,
    depth: usize,
    /// Whether it is a symbolic link. Its subfolders are not searched, which also ends cycles.
    is_link: bool,
}

impl Scanner {
    pub(crate) fn new(options: &DiscoverOptions<'_>) -> Self {
        let cache = match options.memory {
            ScanCache::None => None,
            ScanCache::Kept { stamp } => Some(Cache::read(&options.places.cache, stamp)),
        };
        Self { cache, now: options.now }
    }

    /// Writes the cache. A failure is ignored: the next run reads the files again.
    pub(crate) fn finish(self) {
        if let Some(cache) = self.cache {
            cache.write();
        }
    }

    /// The skills of a folder; `None` if it does not exist.
    pub(crate) fn scan(&mut self, root: &Path, follow_links: bool) -> Option<Scanned> {
        let mut scanned = Scanned::default();
        let real = match root.canonicalize() {
            Ok(real) if real.is_dir() => real,
            Ok(_) => return None,
            Err(error) if is_absent(&error) => return None,
            Err(error) => {
                scanned.note(root, format!("cannot be read: {error}"));
                return Some(scanned);
            }
        };
        let top = Folder { shown: root.to_owned(), real, depth: 0, is_link: false };
        let mut open = vec![top];
        let mut folders = 0;
        while let Some(folder) = open.pop() {
            if folder.depth > 0 {
                if let Some(skill) = self.skill(&folder, &mut scanned) {
                    scanned.skills.push(skill);
                    continue;
                }
                if folder.is_link {
                    continue;
                }
            }
            let mut below = Self::below(&folder, follow_links, &mut scanned);
            if folder.depth == MOST_DEPTH {
                if !below.is_empty() {
                    let why =
                        format!("folders nested more than {MOST_DEPTH} deep were not searched");
                    scanned.note(&folder.shown, why);
                }
                continue;
            }
            let left = MOST_FOLDERS - folders;
            if below.len() > left {
                below.truncate(left);
                let why = format!("more than {MOST_FOLDERS} folders: the others were not searched");
                scanned.note(root, why);
            }
            folders += below.len();
            // A stack, so the folders are pushed in reverse order of their names.
            open.extend(below.into_iter().rev());
        }
        Some(scanned)
    }

    /// The subfolders of a folder, sorted by name.
    fn below(folder: &Folder, follow_links: bool, scanned: &mut Scanned) -> Vec<Folder> {
        let entries = match fs::read_dir(&folder.real) {
            Ok(entries) => entries,
            Err(error) => {
                scanned.note(&folder.shown, format!("cannot be listed: {error}"));
                return Vec::new();
            }
        };
        let mut below = Vec::new();
        for (number, entry) in entries.flatten().enumerate() {
            if number == MOST_ENTRIES {
                let why = format!("more than {MOST_ENTRIES} entries: the others were not searched");
                scanned.note(&folder.shown, why);
                break;
            }
            let name = entry.file_name();
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            if is_hidden || name == SKIPPED {
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let shown = folder.shown.join(&name);
            let inside = folder.real.join(&name);
            let depth = folder.depth + 1;
            if kind.is_dir() {
                below.push(Folder { shown, real: inside, depth, is_link: false });
            } else if kind.is_symlink() && folder.depth == 0 {
                match inside.canonicalize() {
                    Ok(real) if real.is_dir() && follow_links => {
                        below.push(Folder { shown, real, depth, is_link: true });
                    }
                    Ok(real) if real.is_dir() => {
                        let why = "is a symbolic link, which this store never contains: it was not followed";
                        scanned.note(&shown, why.to_owned());
                    }
                    Ok(_) => {}
                    Err(error) => {
                        scanned.note(&shown, format!("is a dangling link: {error}"));
                    }
                }
            }
        }
        below.sort_by(|a, b| a.shown.cmp(&b.shown));
        below
    }

    /// The skill of a folder, if it contains a main file.
    fn skill(&mut self, folder: &Folder, scanned: &mut Scanned) -> Option<FoundSkill> {
        let (file, data) = match main_file(&folder.real) {
            Ok(found) => found?,
            Err(error) => {
                scanned.note(&folder.shown, format!("cannot be read: {error}"));
                return None;
            }
        };
        let directory = folder_name(&folder.shown);
        let summary = if data.is_symlink() {
            linked(&folder.real, &file)
        } else {
            self.summary(&file, &data)
        };
        let name = summary.name.clone().filter(|name| !name.is_empty()).unwrap_or(directory);
        Some(FoundSkill {
            name,
            directory: folder.shown.clone(),
            real: folder.real.clone(),
            file,
            root: 0,
            summary,
            shadowed_by: None,
            also_at: Vec::new(),
        })
    }

    fn summary(&mut self, file: &Path, data: &Metadata) -> SkillSummary {
        let identity = Identity::of(data, self.now);
        if let Some(known) = self
            .cache
            .as_mut()
            .zip(identity.as_ref())
            .and_then(|(cache, identity)| cache.get(file, identity))
        {
            return known;
        }
        let summary = read(file);
        if let Some((cache, identity)) = self.cache.as_mut().zip(identity) {
            cache.put(file, identity, &summary);
        }
        summary
    }
}

impl Scanned {
    fn note(&mut self, path: &Path, why: String) {
        self.notes.push(DiscoveryNote { path: path.to_owned(), why });
    }
}

/// The summary of a main file that is a symbolic link, which may only lead to another file of the skill (NEG-15).
fn linked(folder: &Path, file: &Path) -> SkillSummary {
    match file.canonicalize() {
        Ok(real) if real.starts_with(folder) => read(&real),
        Ok(_) => SkillSummary::unreadable(
            "the file is a link to a path outside the skill's folder".to_owned(),
            "replace the link with the file",
        ),
        Err(error) => SkillSummary::unreadable(
            format!("the file is a dangling link: {error}"),
            "replace the link with the file",
        ),
    }
}

fn read(file: &Path) -> SkillSummary {
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    match read_bounded(file) {
        Ok(bytes) => SkillSummary::of(&bytes, &file_name),
        Err(error) => SkillSummary::unreadable(
            format!("the file can't be read: {error}"),
            "check its permissions",
        ),
    }
}

/// Reads a file up to one byte above the size limit, so that the parser can detect a file that is too large.
pub(crate) fn read_bounded(file: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would block.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The main file of a folder and its metadata, without following symbolic links.
fn main_file(folder: &Path) -> io::Result<Option<(PathBuf, Metadata)>> {
    for spelling in SPELLINGS {
        let file = folder.join(spelling);
        match fs::symlink_metadata(&file) {
            // A folder of that name is ignored.
            Ok(data) if data.is_dir() => {}
            Ok(data) => return Ok(Some((file, data))),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
