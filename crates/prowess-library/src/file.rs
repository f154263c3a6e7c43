//! The main file of a skill: finding it in a folder, and reading it within bounds.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use prowess_core::{Problem, ProblemKind, system_reason};
use prowess_engine::SPELLINGS;
use prowess_files::atomic::folder_of;
use prowess_format::document::{Form, MAX_FILE_BYTES};
use prowess_format::form_of;

use crate::fetch::TemporaryFolder;

/// A directory that is one tool pack (TP-1).
pub const TOOL_PACK: &str = "toolpack.json";
/// How the names of other tool packs end (TP-1).
pub const TOOL_PACK_ENDING: &str = ".tool.json";
/// Agent manifests (GAIA §9.1).
pub const MANIFESTS: &[&str] = &["AGENT.yaml", "gaia-agent.yaml"];
/// The most that is read of a file: one byte more than a skill may have, so that its reader sees that it is too large.
pub const MOST_BYTES: u64 = MAX_FILE_BYTES as u64 + 1;

/// A skill's main file, in memory.
#[derive(Clone, Debug)]
pub struct SkillFile {
    /// Where it was read from.
    pub path: PathBuf,
    /// Its path for people.
    pub shown: String,
    /// The last part of its path.
    pub file_name: String,
    /// What kind of text it is.
    pub form: Form,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The skill's directory; `None` for a text, or a file with a name of its own.
    pub directory: Option<PathBuf>,
    /// The temporary folder around a skill that was fetched, which goes away with the last copy of this.
    pub temporary: Option<Arc<TemporaryFolder>>,
}

impl SkillFile {
    /// Reads a skill by path: a file, or a directory with a main file.
    pub fn at(path: &Path) -> Result<Self, Problem> {
        let metadata = fs::metadata(path).map_err(|source| path_problem("read", path, &source))?;
        if !metadata.is_dir() {
            return Self::read(path, None);
        }
        let Some(file) = main_file(path)? else { return Err(no_skill(path)) };
        Self::read(&file, Some(path))
    }

    /// Reads all tool packs of a directory that has no other main file, or the one skill that a path leads to.
    pub fn all_at(path: &Path) -> Result<Vec<Self>, Problem> {
        if !path.is_dir() || main_file(path)?.is_some() {
            return Ok(vec![Self::at(path)?]);
        }
        let packs = tool_packs(path)?;
        if packs.is_empty() {
            return Err(no_skill(path));
        }
        packs.iter().map(|pack| Self::read(pack, Some(path))).collect()
    }

    fn read(path: &Path, directory: Option<&Path>) -> Result<Self, Problem> {
        let bytes = read(path).map_err(|source| path_problem("read", path, &source))?;
        let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let own = is_main_name(&file_name).then(|| folder_of(path));
        let directory = directory.or(own).map(Path::to_owned);
        Ok(Self {
            path: path.to_owned(),
            shown: shown(path),
            form: form_of(&file_name),
            file_name,
            bytes,
            directory,
            temporary: None,
        })
    }

    /// The directory's name.
    pub fn directory_name(&self) -> Option<Cow<'_, str>> {
        self.directory.as_deref().and_then(directory_name)
    }

    /// The skill's directory, or the file that stands alone.
    pub fn place(&self) -> &Path {
        self.directory.as_deref().unwrap_or(&self.path)
    }
}

/// The main file of a skill's directory: SKILL.md before its other spellings, then tool packs, then manifests.
pub fn main_file(directory: &Path) -> Result<Option<PathBuf>, Problem> {
    let names = names_in(directory)?;
    let exact = SPELLINGS.iter().chain([&TOOL_PACK]).chain(MANIFESTS);
    let exactly = exact.copied().find(|wanted| names.iter().any(|name| name == wanted));
    let found = exactly.or_else(|| {
        let mut packs = names.iter().filter(|name| name.ends_with(TOOL_PACK_ENDING));
        packs.next().filter(|_| packs.next().is_none()).map(String::as_str)
    });
    Ok(found.map(|name| directory.join(name)).filter(|path| path.is_file()))
}

/// The tool packs of a folder, sorted.
fn tool_packs(directory: &Path) -> Result<Vec<PathBuf>, Problem> {
    let names = names_in(directory)?;
    let packs = names.iter().filter(|name| name.ends_with(TOOL_PACK_ENDING));
    Ok(packs.map(|name| directory.join(name)).filter(|path| path.is_file()).collect())
}

fn names_in(directory: &Path) -> Result<Vec<String>, Problem> {
    let entries =
        fs::read_dir(directory).map_err(|source| path_problem("list", directory, &source))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

fn no_skill(directory: &Path) -> Problem {
    let shown = shown(directory);
    let not_found = |message| Problem::new("skill-not-found", ProblemKind::NotFound, message);
    if let Some(first) = tool_packs(directory).ok().and_then(|packs| packs.into_iter().next()) {
        let first = self::shown(&first);
        return not_found(format!("`{shown}` holds several tool packs and no SKILL.md"))
            .advice(format!("name one, such as `{first}`"))
            .advice(format!(
                "or join them: `prowess convert {shown} --to gibberish --output DIR`"
            ));
    }
    let problem = not_found(format!("`{shown}` contains no skill"));
    let mut below: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| SPELLINGS.iter().any(|name| entry.path().join(name).is_file()))
        .map(|entry| self::shown(&entry.path()))
        .collect();
    below.sort();
    match below.first() {
        Some(first) => {
            problem.advice(format!("there are skills below it: name one, such as `{first}`"))
        }
        None => problem.advice("name a directory with a SKILL.md, or the file itself"),
    }
}

/// Whether a file is an archive, by its first bytes.
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(b"PK\x03\x04")
}

/// Whether a file name is the main file of a skill's directory.
pub fn is_main_name(name: &str) -> bool {
    SPELLINGS.contains(&name) || name == TOOL_PACK || MANIFESTS.contains(&name)
}

/// A path as people read it: without the `./` that a walk of `.` puts in front.
pub fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let short = text.trim_start_matches("./");
    if short.is_empty() { ".".to_owned() } else { short.to_owned() }
}

/// The name of a directory. Only `.` and `..` are looked up on disk.
pub fn directory_name(directory: &Path) -> Option<Cow<'_, str>> {
    static CURRENT: OnceLock<Option<String>> = OnceLock::new();
    match directory.components().next_back() {
        Some(Component::Normal(name)) => Some(name.to_string_lossy()),
        Some(Component::CurDir) | None => CURRENT
            .get_or_init(|| {
                let current = std::env::current_dir().ok()?;
                Some(current.file_name()?.to_string_lossy().into_owned())
            })
            .as_deref()
            .map(Cow::Borrowed),
        Some(Component::ParentDir) => {
            let full = directory.canonicalize().ok()?;
            Some(Cow::Owned(full.file_name()?.to_string_lossy().into_owned()))
        }
        Some(Component::RootDir | Component::Prefix(_)) => None,
    }
}

/// The bytes of a file, one more than the limit at most, so that the reader can see that it is too large.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file or directory that can't be used; `doing` is a phrase such as "read".
pub fn path_problem(doing: &str, path: &Path, source: &io::Error) -> Problem {
    let shown = path.display();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let message = format!("`{shown}` does not exist");
            Problem::new("path-not-found", ProblemKind::NotFound, message)
                .advice("check the spelling; a path is relative to the current folder")
        }
        io::ErrorKind::PermissionDenied => {
            let message = format!("cannot {doing} `{shown}`: permission denied");
            Problem::new("permission-denied", ProblemKind::Failed, message)
                .advice(format!("look at its permissions with `ls -ld {shown}`"))
        }
        _ => {
            let message = format!("cannot {doing} `{shown}`: {}", system_reason(source));
            Problem::new("file-error", ProblemKind::Failed, message)
        }
    }
}
