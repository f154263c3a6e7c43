//! From the name of a program to everything that has to be in view for it to start: images, interpreters, libraries.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use prowess_policy::scope::Program;
use prowess_policy::utilities;

use crate::closure;
use crate::platform;

/// The kernel follows interpreters of interpreters this far.
const MAX_INTERPRETERS: usize = 4;
/// What the kernel reads of a script's first line.
const FIRST_LINE: u64 = 256;

/// Why a program can't be started (GIB §9.3).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramLookupError {
    /// It is not there.
    #[error("the program `{name}` was not found{}", detail(.why.as_ref()))]
    NotFound {
        /// What was looked for.
        name: String,
        /// What was found instead.
        why: Option<String>,
    },
    /// It is there and can't be executed.
    #[error("`{name}` can't be executed: {reason}")]
    NotExecutable {
        /// What was to be started.
        name: String,
        /// Why not.
        reason: String,
    },
}

fn detail(why: Option<&String>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}

/// Images and what they need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Images {
    /// Images by the names they are called, as absolute paths; the first is the one to start.
    pub(crate) programs: Vec<PathBuf>,
    /// Folders of programs of their own.
    pub(crate) execute: Vec<PathBuf>,
    /// Folders and files that they read.
    pub(crate) support: Vec<PathBuf>,
    /// Base utilities of the system. They are not pinned: only root can replace them.
    pub(crate) utilities: Vec<PathBuf>,
}

/// Looks for programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finder<'f> {
    /// Folders, in order.
    pub(crate) search_path: &'f [PathBuf],
    /// The skill's own folder.
    pub(crate) skill_directory: Option<&'f Path>,
}

impl Images {
    /// The folders of all images, each once: the PATH inside.
    pub(crate) fn search_path(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> = Vec::new();
        let programs = self.programs.iter().chain(&self.utilities);
        for folder in programs.filter_map(|program| program.parent()) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    /// Adds the base utilities that this machine has. One that is itself a script counts if another one interprets it.
    pub(crate) fn add_utilities(&mut self) {
        let folders: Vec<PathBuf> =
            utilities::FOLDERS.iter().map(PathBuf::from).filter(|it| it.is_dir()).collect();
        let is_usable = |path: &PathBuf| {
            let starts = || match interpreter_of(path) {
                Ok(None) => true,
                Ok(Some(words)) => words.first().is_some_and(|interpreter| {
                    Program::parse(interpreter).is_ok_and(|it| utilities::contain(&it))
                }),
                Err(_) => false,
            };
            path.is_file() && platform::is_executable(path).unwrap_or(false) && starts()
        };
        for name in utilities::names() {
            let found = folders.iter().map(|folder| folder.join(name)).find(is_usable);
            let Some(path) = found.filter(|path| !self.programs.contains(path)) else { continue };
            if let Some(closure) = closure::of(&path) {
                for folder in closure::present(&path, &path, closure.support) {
                    Self::add(&mut self.support, folder);
                }
            }
            self.utilities.push(path);
        }
    }

    fn add(list: &mut Vec<PathBuf>, path: PathBuf) {
        if !list.contains(&path) {
            list.push(path);
        }
    }
}

impl Finder<'_> {
    /// Everything that some programs need. The first one is the one to start; a program that is granted and not there is
    /// left out, because then it can't be started anyway.
    pub(crate) fn images(
        &self,
        start: &Program,
        granted: &[Program],
    ) -> Result<Images, ProgramLookupError> {
        let mut images = Images::default();
        self.collect(&self.locate(start)?, &mut images, 0)?;
        for program in granted {
            if let Ok(path) = self.locate(program) {
                self.collect(&path, &mut images, 0)?;
            }
        }
        Ok(images)
    }

    /// Whether a program of this name is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        Program::parse(name).is_ok_and(|program| self.locate(&program).is_ok())
    }

    /// The absolute path of a program, by the name that it is called.
    pub(crate) fn locate(&self, program: &Program) -> Result<PathBuf, ProgramLookupError> {
        let not_found = |why: Option<&str>| ProgramLookupError::NotFound {
            name: program.to_string(),
            why: why.map(str::to_owned),
        };
        match program {
            Program::Named(name) => self.on_search_path(name),
            Program::At(path) => {
                let path = PathBuf::from(path);
                if path.exists() { usable(path, program) } else { Err(not_found(None)) }
            }
            // R30: inside the skill, whatever the working directory is.
            Program::Own(relative) => {
                let folder = self.skill_directory;
                let folder =
                    folder.ok_or_else(|| not_found(Some("the skill has no folder of its own")))?;
                let path = folder.join(relative);
                let Ok(real) = path.canonicalize() else {
                    return Err(not_found(Some("the skill has no such file")));
                };
                if !real.starts_with(folder) {
                    return Err(not_found(Some("it points outside the skill's folder")));
                }
                usable(path, program)
            }
        }
    }

    fn on_search_path(&self, name: &str) -> Result<PathBuf, ProgramLookupError> {
        let mut unusable = None;
        let mut shim = None;
        for folder in self.search_path {
            let path = folder.join(name);
            if !path.is_file() {
                continue;
            }
            if closure::is_of_shims(folder) {
                shim.get_or_insert(path);
                continue;
            }
            match usable(path, &Program::Named(name.to_owned())) {
                Ok(path) => return Ok(path),
                Err(error) => unusable = unusable.or(Some(error)),
            }
        }
        let why = shim.map(|path| {
            let path = path.display();
            format!("`{path}` only starts another program, which is not on PATH")
        });
        Err(unusable.unwrap_or(ProgramLookupError::NotFound { name: name.to_owned(), why }))
    }

    /// An image, the interpreters of a script, and what they all need.
    fn collect(
        &self,
        path: &Path,
        images: &mut Images,
        depth: usize,
    ) -> Result<(), ProgramLookupError> {
        if images.programs.iter().any(|known| known == path) {
            return Ok(());
        }
        Images::add(&mut images.programs, path.to_owned());
        let name = || path.display().to_string();
        let failed = |error: io::Error| ProgramLookupError::NotExecutable {
            name: name(),
            reason: error.to_string(),
        };
        let real = path.canonicalize().map_err(failed)?;
        if let Some(closure) = closure::of(path).or_else(|| closure::of(&real)) {
            for folder in closure::present(path, &real, closure.execute) {
                Images::add(&mut images.execute, folder);
            }
            for folder in closure::present(path, &real, closure.support) {
                Images::add(&mut images.support, folder);
            }
            for needed in closure.programs {
                if let Ok(needed) = self.on_search_path(needed) {
                    self.collect(&needed, images, depth)?;
                }
            }
        }
        let Some(words) = interpreter_of(&real).map_err(failed)? else { return Ok(()) };
        if depth == MAX_INTERPRETERS {
            let reason = "its interpreters are nested too deeply".to_owned();
            return Err(ProgramLookupError::NotExecutable { name: name(), reason });
        }
        let missing = |interpreter: &str| ProgramLookupError::NotExecutable {
            name: name(),
            reason: format!("its interpreter `{interpreter}` does not exist"),
        };
        let [interpreter, rest @ ..] = words.as_slice() else { return Ok(()) };
        let interpreter_path = PathBuf::from(interpreter);
        if !interpreter_path.is_absolute() || !interpreter_path.is_file() {
            return Err(missing(interpreter));
        }
        self.collect(&interpreter_path, images, depth + 1)?;
        if interpreter_path.file_name().is_some_and(|name| name == "env") {
            // `env -S` splits what follows; other options and assignments are not names of programs.
            let mut names =
                rest.iter().filter(|word| !word.starts_with('-') && !word.contains('='));
            if let Some(called) = names.next() {
                let found = self.on_search_path(called).map_err(|_| missing(called))?;
                self.collect(&found, images, depth + 1)?;
            }
        }
        Ok(())
    }
}

fn usable(path: PathBuf, program: &Program) -> Result<PathBuf, ProgramLookupError> {
    let reason = match platform::is_executable(&path) {
        Ok(_) if !path.is_file() => "it is not a file".to_owned(),
        Ok(true) => return Ok(path),
        Ok(false) => format!("permission denied (try `chmod +x {}`)", path.display()),
        Err(error) => error.to_string(),
    };
    Err(ProgramLookupError::NotExecutable { name: program.to_string(), reason })
}

/// The words of a script's first line behind `#!`; `None` for anything else.
fn interpreter_of(image: &Path) -> io::Result<Option<Vec<String>>> {
    let mut start = Vec::new();
    File::open(image)?.take(FIRST_LINE).read_to_end(&mut start)?;
    let Some(line) = start.strip_prefix(b"#!") else { return Ok(None) };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    Ok(Some(line.split_ascii_whitespace().map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests;
