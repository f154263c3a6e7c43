//! From what the user names to bytes: a file, a directory that holds a skill, or standard input.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

pub(crate) use prowess_engine::SPELLINGS;
use prowess_files::whole::folder_of;
use prowess_format::document::{Form, MAX_FILE_BYTES};
use prowess_format::form_of;
use prowess_store::reference::Named;

use crate::error::Error;
use crate::installed;

/// A directory that is one tool pack (TP-1).
pub(crate) const TOOL_PACK: &str = "toolpack.json";
/// How the names of other tool packs end (TP-1).
pub(crate) const TOOL_PACK_ENDING: &str = ".tool.json";
/// Agent manifests (GAIA §9.1).
pub(crate) const MANIFESTS: &[&str] = &["AGENT.yaml", "gaia-agent.yaml"];
/// What is read of a file: one byte more than a skill may have, so that its reader sees that it is too large.
pub(crate) const MOST_BYTES: u64 = MAX_FILE_BYTES as u64 + 1;
/// What is read of a list of paths: enough for millions.
const MOST_LIST_BYTES: u64 = 256 << 20;
/// What standard input is called in results.
pub(crate) const STDIN: &str = "<stdin>";

/// A skill's main file, in memory.
pub(crate) struct Loaded {
    /// Where it was read from.
    pub(crate) path: PathBuf,
    /// The same for people.
    pub(crate) shown: String,
    /// Its last part.
    pub(crate) file_name: String,
    /// What kind of text it is.
    pub(crate) form: Form,
    /// What it holds.
    pub(crate) bytes: Vec<u8>,
    /// The skill's directory; `None` for a text, or a file with a name of its own.
    pub(crate) directory: Option<PathBuf>,
}

impl Loaded {
    /// The directory's name.
    pub(crate) fn directory_name(&self) -> Option<Cow<'_, str>> {
        self.directory.as_deref().and_then(directory_name)
    }
}

/// Loads what the user named.
pub(crate) fn load(reference: &Path) -> Result<Loaded, Error> {
    if reference == Path::new("-") {
        return load_stdin();
    }
    let metadata = match fs::metadata(reference) {
        Ok(metadata) => metadata,
        // What is no path may be the name of an installed skill.
        Err(source) => match installed::find(reference)? {
            Some(directory) => return load(&directory),
            None => return Err(not_there(reference, &source)),
        },
    };
    if !metadata.is_dir() {
        return load_file(reference, None);
    }
    let Some(path) = main_file(reference)? else {
        return Err(no_skill(reference));
    };
    load_file(&path, Some(reference))
}

/// What is neither a path nor an installed skill.
fn not_there(reference: &Path, source: &io::Error) -> Error {
    let is_name = reference.to_str().is_some_and(|text| text.parse::<Named>().is_ok());
    if source.kind() != io::ErrorKind::NotFound || !is_name {
        return Error::io("read", reference, source);
    }
    Error::not_found(format!(
        "`{}` is neither a file or folder nor an installed skill",
        shown(reference)
    ))
    .hint("check the spelling; `prowess list` shows the installed skills, and a path is relative to the current folder")
}

fn load_stdin() -> Result<Loaded, Error> {
    let mut bytes = Vec::new();
    read_bounded(&mut io::stdin().lock(), &mut bytes).map_err(|source| {
        Error::failed(format!("cannot read standard input: {}", crate::error::reason(&source)))
    })?;
    // Nothing else tells a tool pack on standard input from a SKILL.md.
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let form = if first == Some(&b'{') { Form::Json } else { Form::Markdown };
    Ok(Loaded {
        path: PathBuf::from("-"),
        shown: STDIN.to_owned(),
        file_name: "SKILL.md".to_owned(),
        form,
        bytes,
        directory: None,
    })
}

/// The paths that a file lists, ended by NUL bytes where it holds any, otherwise by line breaks; `-` is standard input.
pub(crate) fn path_list(list: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut bytes = Vec::new();
    let read = if list == Path::new("-") {
        io::stdin().lock().take(MOST_LIST_BYTES + 1).read_to_end(&mut bytes)
    } else {
        File::open(list).and_then(|file| file.take(MOST_LIST_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|source| Error::io("read", list, &source))?;
    if bytes.len() as u64 > MOST_LIST_BYTES {
        return Err(Error::failed(format!("`{}` is longer than any list of paths", shown(list)))
            .hint("name the folder instead, it is walked on all cores"));
    }
    let ended_by_nul = bytes.contains(&0);
    let separator = if ended_by_nul { 0 } else { b'\n' };
    let lines = bytes.split(|byte| *byte == separator).map(|line| match line {
        [line @ .., b'\r'] if !ended_by_nul => line,
        line => line,
    });
    lines.filter(|line| !line.is_empty()).map(|line| path_from(line, list)).collect()
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems know paths that are no text")]
fn path_from(bytes: &[u8], _list: &Path) -> Result<PathBuf, Error> {
    use std::os::unix::ffi::OsStrExt as _;
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn path_from(bytes: &[u8], list: &Path) -> Result<PathBuf, Error> {
    let text = std::str::from_utf8(bytes).map_err(|_| {
        Error::failed(format!("`{}` lists a path that is not UTF-8", shown(list)))
            .hint("save the list as UTF-8")
    })?;
    Ok(PathBuf::from(text))
}

fn load_file(path: &Path, directory: Option<&Path>) -> Result<Loaded, Error> {
    let bytes = read(path).map_err(|source| Error::io("read", path, &source))?;
    let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own = is_main_name(&file_name).then(|| folder_of(path));
    let directory = directory.or(own).map(Path::to_owned);
    Ok(Loaded {
        path: path.to_owned(),
        shown: shown(path),
        form: form_of(&file_name),
        file_name,
        bytes,
        directory,
    })
}

/// Loads a skill for a verb that makes something of it; an agent manifest is none.
pub(crate) fn load_skill(reference: &Path) -> Result<Loaded, Error> {
    let loaded = load(reference)?;
    if loaded.form == Form::Yaml {
        return Err(Error::failed(format!("`{}` is an agent manifest, not a skill", loaded.shown))
            .hint("`prowess check` and `prowess show` read manifests too"));
    }
    Ok(loaded)
}

/// The same for a verb that takes several tool packs of one folder together.
pub(crate) fn load_skills(reference: &Path) -> Result<Vec<Loaded>, Error> {
    if !reference.is_dir() || main_file(reference)?.is_some() {
        return Ok(vec![load_skill(reference)?]);
    }
    let packs = tool_packs(reference)?;
    if packs.is_empty() {
        return Err(no_skill(reference));
    }
    packs.iter().map(|path| load_file(path, Some(reference))).collect()
}

/// The tool packs of a folder, sorted.
fn tool_packs(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let names = names_in(directory)?;
    let packs = names.iter().filter(|name| name.ends_with(TOOL_PACK_ENDING));
    Ok(packs.map(|name| directory.join(name)).filter(|path| path.is_file()).collect())
}

fn names_in(directory: &Path) -> Result<Vec<String>, Error> {
    let entries =
        fs::read_dir(directory).map_err(|source| Error::io("list", directory, &source))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// The main file of a skill's directory: SKILL.md before its other spellings, then tool packs, then manifests.
pub(crate) fn main_file(directory: &Path) -> Result<Option<PathBuf>, Error> {
    let names = names_in(directory)?;
    let exact = SPELLINGS.iter().chain([&TOOL_PACK]).chain(MANIFESTS);
    let exactly = exact.copied().find(|wanted| names.iter().any(|name| name == wanted));
    let found = exactly.or_else(|| {
        let mut packs = names.iter().filter(|name| name.ends_with(TOOL_PACK_ENDING));
        packs.next().filter(|_| packs.next().is_none()).map(String::as_str)
    });
    Ok(found.map(|name| directory.join(name)).filter(|path| path.is_file()))
}

fn no_skill(directory: &Path) -> Error {
    let shown = shown(directory);
    if let Some(first) = tool_packs(directory).ok().and_then(|packs| packs.into_iter().next()) {
        let first = self::shown(&first);
        return Error::not_found(format!("`{shown}` holds several tool packs and no SKILL.md"))
            .hint(format!("name one, such as `{first}`"))
            .hint(format!("or join them: `prowess convert {shown} --to gibberish --output DIR`"));
    }
    let error = Error::not_found(format!("`{shown}` holds no skill"));
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
            error.hint(format!("there are skills below it: name one, such as `{first}`"))
        }
        None => error.hint("name a directory with a SKILL.md, or the file itself"),
    }
}

/// Whether a file name is the main file of a skill's directory.
pub(crate) fn is_main_name(name: &str) -> bool {
    SPELLINGS.contains(&name) || name == TOOL_PACK || MANIFESTS.contains(&name)
}

/// A path as people read it: without the `./` that a walk of `.` puts in front.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let short = text.trim_start_matches("./");
    if short.is_empty() { ".".to_owned() } else { short.to_owned() }
}

/// The name of a directory. Only `.` and `..` need a look at the disk.
pub(crate) fn directory_name(directory: &Path) -> Option<Cow<'_, str>> {
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
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_bounded(&mut File::open(path)?, &mut bytes)?;
    Ok(bytes)
}

/// Refuses what was cut off.
pub(crate) fn within_bounds(bytes: &[u8], shown: &str) -> Result<(), Error> {
    if bytes.len() <= MAX_FILE_BYTES {
        return Ok(());
    }
    Err(Error::failed(format!("`{shown}` is larger than {} MiB", MAX_FILE_BYTES >> 20))
        .hint("give a smaller file"))
}

fn read_bounded(source: &mut dyn Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    source.take(MOST_BYTES).read_to_end(bytes).map(|_| ())
}

/// A buffer that is filled again and again: a walk reads thousands of files and keeps none.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// Room for most skills; the median is 3.4 KB.
    const START: usize = 64 << 10;

    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; Self::START] }
    }

    /// Reads a file.
    pub(crate) fn read(&mut self, path: &Path) -> io::Result<&[u8]> {
        self.read_from(&mut File::open(path)?)
    }

    /// Reads an open file to its end, without asking for its size first.
    pub(crate) fn read_from(&mut self, file: &mut File) -> io::Result<&[u8]> {
        let mut filled = 0;
        loop {
            if filled == self.bytes.len() {
                if filled > MAX_FILE_BYTES {
                    break;
                }
                self.bytes.resize((filled * 2).min(MAX_FILE_BYTES + 1), 0);
            }
            match file.read(&mut self.bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.bytes[..filled])
    }
}

/// The files that a skill brings along in `scripts/`, `references/` and `assets/` (GIB §1.1), sorted.
pub(crate) fn resources(directory: &Path) -> Vec<String> {
    /// A skill with more files than this is not listed in full.
    const MOST: usize = 10_000;
    let mut found = Vec::new();
    let mut open: Vec<String> =
        ["scripts", "references", "assets"].iter().map(|name| (*name).to_owned()).collect();
    while let Some(relative) = open.pop() {
        let Ok(entries) = fs::read_dir(directory.join(&relative)) else { continue };
        for entry in entries.flatten() {
            let path = format!("{relative}/{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                // A link may lead anywhere, so it is listed and not entered (NEG-15).
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(_) if found.len() < MOST => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}
