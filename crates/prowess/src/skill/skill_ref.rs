//! Resolves what the user names to the bytes of a skill: a file, a folder, an installed skill or standard input.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(crate) use prowess_engine::SPELLINGS;
use prowess_format::document::{Form, MAX_FILE_BYTES};
pub(crate) use prowess_library::{
    MANIFESTS, MOST_BYTES, TOOL_PACK, TOOL_PACK_ENDING, directory_name, is_main_name, main_file,
    read, shown,
};
use prowess_library::{SkillFile, path_problem};

use crate::error::Error;
use crate::render::problem_text;
use crate::session;
use crate::terminal::printer::Printer;

/// The most bytes of a list of paths: enough for millions.
const MOST_LIST_BYTES: u64 = 256 << 20;
/// The name of standard input in results.
pub(crate) const STDIN: &str = "<stdin>";

/// A skill's main file, in memory.
pub(crate) type Loaded = SkillFile;

/// Finds a path or an installed skill, and reads its main file.
pub(crate) fn load(reference: &Path, printer: &mut Printer) -> Result<Loaded, Error> {
    locate(reference, Tools::NotNamed, printer).map(|(loaded, _)| loaded)
}

/// Whether a tool may follow the skill.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tools {
    MayBeNamed,
    NotNamed,
}

/// Finds a skill and, if allowed, the name of a tool. If the reference is ambiguous, a note says so.
pub(crate) fn locate(
    reference: &Path,
    tools: Tools,
    printer: &mut Printer,
) -> Result<(Loaded, Option<String>), Error> {
    if reference == Path::new("-") {
        return load_stdin().map(|loaded| (loaded, None));
    }
    let library = session::library()?;
    let located = library.locate(reference)?;
    if located.tool.is_some() && tools == Tools::NotNamed {
        return Err(path_problem("read", reference, &io::ErrorKind::NotFound.into()).into());
    }
    if let Some(note) = problem_text::ambiguity(reference, &located, library.places()) {
        printer.note(&note);
    }
    Ok((located.file, located.tool))
}

/// Whether a name is a spelling of SKILL.md in any case, or one of the other names that skills are found by.
pub(crate) fn is_main_spelling(name: &str) -> bool {
    is_main_name(name) || name.eq_ignore_ascii_case(SPELLINGS[0])
}

pub(crate) fn load_stdin() -> Result<Loaded, Error> {
    let mut bytes = Vec::new();
    read_bounded(&mut io::stdin().lock(), &mut bytes).map_err(|source| {
        Error::failed(format!(
            "cannot read standard input: {}",
            prowess_core::system_reason(&source)
        ))
    })?;
    // Nothing else distinguishes a tool pack on standard input from a SKILL.md.
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

/// Reads a list of paths, separated by NUL bytes if there are any, otherwise by line breaks; `-` is standard input.
pub(crate) fn path_list(list: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut bytes = Vec::new();
    let read = if list == Path::new("-") {
        io::stdin().lock().take(MOST_LIST_BYTES + 1).read_to_end(&mut bytes)
    } else {
        File::open(list).and_then(|file| file.take(MOST_LIST_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|source| Error::io("read", list, &source))?;
    if bytes.len() as u64 > MOST_LIST_BYTES {
        return Err(Error::failed(format!("`{}` is too large for a list of paths", shown(list)))
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
#[expect(clippy::unnecessary_wraps, reason = "it can fail on other systems")]
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

/// Loads a skill, and refuses an agent manifest.
pub(crate) fn load_skill(reference: &Path, printer: &mut Printer) -> Result<Loaded, Error> {
    let loaded = load(reference, printer)?;
    refuse_manifest(&loaded)?;
    Ok(loaded)
}

/// Refuses an agent manifest where a skill is needed.
pub(crate) fn refuse_manifest(loaded: &Loaded) -> Result<(), Error> {
    if loaded.form != Form::Yaml {
        return Ok(());
    }
    Err(Error::failed(format!("`{}` is an agent manifest, not a skill", loaded.shown))
        .hint("`prowess check` and `prowess show` read manifests too"))
}

/// Loads all tool packs of a folder that has no other main file, or the one skill that is named.
pub(crate) fn load_skills(reference: &Path, printer: &mut Printer) -> Result<Vec<Loaded>, Error> {
    if !reference.is_dir() || main_file(reference)?.is_some() {
        return Ok(vec![load_skill(reference, printer)?]);
    }
    Ok(SkillFile::all_at(reference)?)
}

/// Refuses a file that is larger than the limit.
pub(crate) fn within_bounds(bytes: &[u8], shown: &str) -> Result<(), Error> {
    if bytes.len() <= MAX_FILE_BYTES {
        return Ok(());
    }
    Err(Error::failed(format!("`{shown}` is larger than {} MiB", MAX_FILE_BYTES >> 20))
        .hint("use a smaller file"))
}

fn read_bounded(source: &mut dyn Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    source.take(MOST_BYTES).read_to_end(bytes).map(|_| ())
}

/// A buffer that is reused for many files, for a walk that reads thousands of them.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// Enough for most skills; the median is 3.4 KB.
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

/// The files of a skill in `scripts/`, `references/` and `assets/` (GIB §1.1), sorted.
pub(crate) fn resources(directory: &Path) -> Vec<String> {
    /// The most files that are listed.
    const MOST: usize = 10_000;
    let mut found = Vec::new();
    let mut open: Vec<String> =
        ["scripts", "references", "assets"].iter().map(|name| (*name).to_owned()).collect();
    while let Some(relative) = open.pop() {
        let Ok(entries) = fs::read_dir(directory.join(&relative)) else { continue };
        for entry in entries.flatten() {
            let path = format!("{relative}/{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                // A link may point anywhere, so it is listed and not followed (NEG-15).
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(_) if found.len() < MOST => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}
