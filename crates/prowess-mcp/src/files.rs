//! The files of a skill, as they are served: no links, no hidden files, within limits.

use std::io::{self, Read as _};
use std::path::Path;

use prowess_engine::LoadedSkill;
use prowess_engine::quiz::{Disclosure, Quizzes};
use prowess_files::folder::{EntryKind, Folder};
use sha2::{Digest as _, Sha256};

pub(crate) use crate::media::media_type;

/// The most files of one skill that are listed (SEP-2640).
pub(crate) const MAX_FILES: usize = 512;
/// The most bytes of one skill that are listed (SEP-2640).
pub(crate) const MAX_BYTES: u64 = 16 << 20;
/// How deep folders may be.
const MAX_DEPTH: usize = 16;
/// Folders whose files are made by programs.
const SKIPPED: &[&str] = &["__pycache__", "node_modules", "venv"];

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServedFile {
    /// Its path in the skill, with `/`.
    pub(crate) path: String,
    /// Its size.
    pub(crate) size: u64,
    /// `sha256:` and the digest of its bytes.
    pub(crate) digest: String,
}

/// The files of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Manifest {
    /// All of them, sorted by path.
    Complete(Vec<ServedFile>),
    /// There are more, or larger ones, than a list may have.
    TooLarge,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServedEntry {
    /// Its name.
    pub(crate) name: String,
    /// The size of a file; `None` for a folder.
    pub(crate) size: Option<u64>,
}

/// Whether a skill is served as files: a folder with a `SKILL.md` whose front matter has the skill's name.
pub(crate) fn is_document(skill: &LoadedSkill) -> bool {
    let is_named = skill.skill.name_text() == Some(skill.name.as_str());
    skill.directory.is_some() && is_named && main_name(skill).is_some()
}

/// The name of the main file, where that is Markdown.
pub(crate) fn main_name(skill: &LoadedSkill) -> Option<&str> {
    let name = skill.file.file_name()?.to_str()?;
    Path::new(name).extension().is_some_and(|it| it.eq_ignore_ascii_case("md")).then_some(name)
}

/// The text of the main file of a skill behind a quiz, which is all that is served of it; `None` if the skill is open. What
/// is served was read before: a file that changes meanwhile is judged by what it is now.
pub(crate) fn withheld(skill: &LoadedSkill, quizzes: &Quizzes) -> Option<String> {
    let directory = skill.directory.as_deref()?;
    let main = main_name(skill)?;
    // Without a main file there is nothing left to decide on.
    let bytes = read(directory, &[main.to_owned()]).ok().flatten().unwrap_or_default();
    match quizzes.disclosure(skill, &bytes) {
        Disclosure::Everything => None,
        Disclosure::MainFile(text) => Some(text),
    }
}

/// Lists and hashes all files below a folder, without those of other skills whose quiz is not passed.
pub(crate) fn manifest(directory: &Path, quizzes: &Quizzes) -> io::Result<Manifest> {
    let mut walk = Walk { directory, quizzes, files: Vec::new(), bytes: 0 };
    let root = Folder::open(directory)?;
    if !walk.folder(&root, "", 0)? {
        return Ok(Manifest::TooLarge);
    }
    walk.files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Manifest::Complete(walk.files))
}

struct Walk<'w> {
    directory: &'w Path,
    quizzes: &'w Quizzes,
    files: Vec<ServedFile>,
    bytes: u64,
}

impl Walk<'_> {
    /// Adds the files of a folder; false when there are too many.
    fn folder(&mut self, folder: &Folder, path: &str, depth: usize) -> io::Result<bool> {
        if depth > MAX_DEPTH {
            return Ok(false);
        }
        for entry in folder.entries()? {
            let Some(name) = served_name(&entry.name) else { continue };
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let fits = match entry.kind {
                EntryKind::Folder if self.quizzes.is_closed_folder(&self.directory.join(&path)) => {
                    true
                }
                EntryKind::Folder => {
                    self.folder(&folder.folder_bytes(&entry.name)?, &path, depth + 1)?
                }
                EntryKind::File => self.file(folder, &entry.name, path)?,
                EntryKind::Link | EntryKind::Other => true,
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn file(&mut self, folder: &Folder, name: &[u8], path: String) -> io::Result<bool> {
        let room = MAX_BYTES - self.bytes;
        let mut bytes = Vec::new();
        folder.file(name)?.take(room + 1).read_to_end(&mut bytes)?;
        let size = bytes.len() as u64;
        if size > room || self.files.len() >= MAX_FILES {
            return Ok(false);
        }
        self.bytes += size;
        self.files.push(ServedFile { path, size, digest: digest(&bytes) });
        Ok(true)
    }
}

/// The digest of bytes as SEP-2640 writes it.
pub(crate) fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The entries of a folder of a skill, sorted by name; `None` if there is no such folder. What belongs to other skills whose
/// quiz is not passed is left out.
pub(crate) fn entries(
    directory: &Path,
    path: &[String],
    quizzes: &Quizzes,
) -> io::Result<Option<Vec<ServedEntry>>> {
    if quizzes.closed_below(directory, path).is_some() {
        return Ok(None);
    }
    let Some(folder) = open(directory, path)? else { return Ok(None) };
    let place = directory.join(path.join("/"));
    let mut entries = Vec::new();
    for entry in folder.entries()? {
        let Some(name) = served_name(&entry.name) else { continue };
        let size = match entry.kind {
            EntryKind::Folder if quizzes.is_closed_folder(&place.join(name)) => continue,
            EntryKind::Folder => None,
            EntryKind::File => Some(folder.file(&entry.name)?.metadata()?.len()),
            EntryKind::Link | EntryKind::Other => continue,
        };
        entries.push(ServedEntry { name: name.to_owned(), size });
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Some(entries))
}

/// The bytes of a file of a skill; `None` if there is no such file, or it is larger than a skill may be.
pub(crate) fn read(directory: &Path, path: &[String]) -> io::Result<Option<Vec<u8>>> {
    let Some((name, folders)) = path.split_last() else { return Ok(None) };
    let Some(folder) = open(directory, folders)? else { return Ok(None) };
    let is_file = served_name(name.as_bytes()).is_some()
        && matches!(folder.kind(name.as_bytes())?, Some(EntryKind::File));
    if !is_file {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    folder.file(name.as_bytes())?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_BYTES).then_some(bytes))
}

fn open(directory: &Path, path: &[String]) -> io::Result<Option<Folder>> {
    let mut folder = Folder::open(directory)?;
    for name in path {
        let is_folder = served_name(name.as_bytes()).is_some()
            && matches!(folder.kind(name.as_bytes())?, Some(EntryKind::Folder));
        if !is_folder {
            return Ok(None);
        }
        folder = folder.folder(name)?;
    }
    Ok(Some(folder))
}

/// A name that is served: text, not hidden, not of files that programs make.
fn served_name(name: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(name).ok()?;
    (!name.starts_with('.') && !SKIPPED.contains(&name)).then_some(name)
}
