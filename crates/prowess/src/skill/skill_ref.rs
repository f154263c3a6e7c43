//! Resolves what the user names to the bytes of a skill: a file, a folder, an installed skill, standard input, or anything
//! that can be fetched.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use prowess_core::{Problem, ProblemKind};
pub(crate) use prowess_engine::SPELLINGS;
use prowess_format::document::{Form, MAX_FILE_BYTES};
use prowess_library::{
    Fetched, FetchedSkill, Found, Located, SkillChoice, SkillFile, path_problem,
};
pub(crate) use prowess_library::{
    MANIFESTS, MOST_BYTES, TOOL_PACK, TOOL_PACK_ENDING, directory_name, is_main_name, main_file,
    read, shown,
};

use crate::error::Error;
use crate::packages::manager;
use crate::packages::sources::SourceSession;
use crate::render::problem_text;
use crate::session;
use crate::terminal::printer::Printer;
use crate::terminal::signals::{self, Repaired};

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
    /// A tool, or a script by its path in the skill.
    OrScripts,
    NotNamed,
}

/// How a skill that has to be fetched is read.
#[derive(Args, Clone)]
pub(crate) struct ReferenceOptions {
    /// The skill to read from a source with several
    #[arg(long = "skill", value_name = "NAME")]
    pub(crate) skill: Option<String>,
    /// Don't use the network
    #[arg(long)]
    pub(crate) offline: bool,
}

impl ReferenceOptions {
    /// The skill that was chosen, or what is meant without one.
    pub(crate) fn choice(&self, otherwise: SkillChoice) -> SkillChoice {
        self.skill.clone().map_or(otherwise, SkillChoice::Named)
    }
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
    let located = match tools {
        Tools::OrScripts => library.locate_with_scripts(reference)?,
        Tools::MayBeNamed | Tools::NotNamed => library.locate(reference)?,
    };
    here(reference, located, tools, printer)
}

/// Finds a skill like [`locate`], and fetches one that is not on this machine. Nothing is installed.
pub(crate) fn read_reference(
    reference: &Path,
    tools: Tools,
    options: &ReferenceOptions,
    printer: &mut Printer,
) -> Result<(Loaded, Option<String>), Error> {
    if reference == Path::new("-") {
        return load_stdin().map(|loaded| (loaded, None));
    }
    let problem = match find_as(reference, tools, options)? {
        Found::Here(located) => return here(reference, *located, tools, printer),
        Found::Elsewhere { here } => here,
    };
    let choice = options.choice(SkillChoice::OnlyOne);
    let reference = if reference.exists() { as_path(reference) } else { reference.to_owned() };
    let fetched = fetch(&reference, &choice, problem, options, printer)?;
    let skill = fetched.skills.first().ok_or_else(|| Error::not_found("there is no skill"))?;
    announce(skill, printer);
    Ok((skill.file()?, None))
}

/// A path that can't be taken for a name.
pub(crate) fn as_path(word: &Path) -> PathBuf {
    let text = word.to_string_lossy();
    if text.starts_with(['/', '.', '~']) { word.to_owned() } else { Path::new(".").join(word) }
}

/// Finds out whether a reference means something on this machine.
pub(crate) fn find(reference: &Path, options: &ReferenceOptions) -> Result<Found, Error> {
    find_as(reference, Tools::NotNamed, options)
}

fn find_as(reference: &Path, tools: Tools, options: &ReferenceOptions) -> Result<Found, Error> {
    let library = session::library()?;
    let found = match tools {
        Tools::OrScripts => library.find_with_scripts(reference),
        Tools::MayBeNamed | Tools::NotNamed => library.find(reference),
    };
    match (found, &options.skill) {
        (Ok(Found::Here(located)), Some(_)) => {
            let message = format!("`{}` is one skill, so none can be chosen", located.file.shown);
            Err(Error::usage(message).hint("run it without `--skill`"))
        }
        // A folder of skills, of which the user has chosen one.
        (Err(problem), Some(_)) if reference.is_dir() && problem.kind == ProblemKind::NotFound => {
            Ok(Found::Elsewhere { here: Some(problem) })
        }
        (found, _) => Ok(found?),
    }
}

/// Fetches skills to be read. Files that were fetched are removed when the result is dropped, or by a signal.
pub(crate) fn fetch(
    reference: &Path,
    choice: &SkillChoice,
    here: Option<Problem>,
    options: &ReferenceOptions,
    printer: &mut Printer,
) -> Result<Fetched, Error> {
    static CLEANUPS: Mutex<Vec<Repaired>> = Mutex::new(Vec::new());
    let text = reference.to_str().ok_or_else(|| {
        Error::failed(format!("`{}` is not UTF-8", reference.display())).hint("rename the folder")
    })?;
    let library = session::library()?;
    let sources = SourceSession::open(&manager()?, printer, options.offline)?;
    let fetched = library.fetch(text, choice, &sources.as_sources(), here)?;
    let folders: Vec<PathBuf> =
        fetched.skills.iter().filter_map(|skill| skill.temporary().map(Path::to_owned)).collect();
    let cleanup = signals::repaired_by(move || {
        for folder in &folders {
            let _ = fs::remove_dir_all(folder);
        }
    });
    CLEANUPS.lock().unwrap_or_else(PoisonError::into_inner).push(cleanup);
    for note in &fetched.notes {
        printer.warning(note);
    }
    Ok(fetched)
}

/// Reports where a skill that is read comes from, and what is wrong with its signatures.
pub(crate) fn announce(skill: &FetchedSkill, printer: &mut Printer) {
    for note in &skill.notes {
        printer.warning(note);
    }
    for refusal in &skill.held.attestation.refused {
        printer.warning(&format!("`{}` can't be installed: {refusal}", skill.name));
    }
    if skill.temporary().is_some() {
        printer.note(&format!("read from {}; nothing was installed", skill.pinned));
    }
}

fn here(
    reference: &Path,
    located: Located,
    tools: Tools,
    printer: &mut Printer,
) -> Result<(Loaded, Option<String>), Error> {
    if located.tool.is_some() && tools == Tools::NotNamed {
        return Err(path_problem("read", reference, &io::ErrorKind::NotFound.into()).into());
    }
    note_others(reference, &located, printer)?;
    Ok((located.file, located.tool))
}

/// Reports what else a reference could mean.
pub(crate) fn note_others(
    reference: &Path,
    located: &Located,
    printer: &mut Printer,
) -> Result<(), Error> {
    let library = session::library()?;
    if let Some(note) = problem_text::ambiguity(reference, located, library.places()) {
        printer.note(&note);
    }
    Ok(())
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
        temporary: None,
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
