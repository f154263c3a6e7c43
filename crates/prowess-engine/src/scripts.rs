//! The scripts among the files of a skill: which files are scripts, and what starts them.
//!
//! No dialect declares scripts, and nearly every published skill has some. A script is a file with a `#!` line, with a
//! known extension, or a binary that this machine can execute. The `#!` line decides before the extension.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_format::skill::{Parameter, Skill, Tool, ToolKind};
use prowess_format::span::Spanned;
use prowess_format::text::closest;

use crate::platform;

/// The parameter of every script and command line: its arguments, one item each.
pub const ARGUMENTS: &str = "arguments";
/// The most files of a skill that are examined.
const MAX_FILES: usize = 10_000;
/// The most scripts that a message names.
const MAX_NAMED: usize = 10;
/// What is read of a file to tell what it is.
const HEAD: u64 = 4096;
/// Folders whose files are somebody else's, or made by a program.
const SKIPPED_FOLDERS: &[&str] = &["__pycache__", "node_modules", "venv"];

/// What a script is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptKind {
    /// `sh`, `bash` and the like.
    Shell,
    /// Python.
    Python,
    /// JavaScript.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// Ruby.
    Ruby,
    /// Perl.
    Perl,
    /// PHP.
    Php,
    /// Lua.
    Lua,
    /// R.
    R,
    /// `PowerShell`.
    PowerShell,
    /// A language that only its `#!` line tells.
    Other,
    /// A binary.
    Binary,
}

impl ScriptKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ScriptKind::Shell => "shell",
            ScriptKind::Python => "python",
            ScriptKind::JavaScript => "javascript",
            ScriptKind::TypeScript => "typescript",
            ScriptKind::Ruby => "ruby",
            ScriptKind::Perl => "perl",
            ScriptKind::Php => "php",
            ScriptKind::Lua => "lua",
            ScriptKind::R => "r",
            ScriptKind::PowerShell => "powershell",
            ScriptKind::Other => "other",
            ScriptKind::Binary => "binary",
        }
    }
}

/// A language by the extensions of its files.
struct Language {
    kind: ScriptKind,
    extensions: &'static [&'static str],
    /// Command lines that run a file, the best first. The first program that is there counts.
    interpreters: &'static [&'static [&'static str]],
}

const LANGUAGES: &[Language] = &[
    Language { kind: ScriptKind::Python, extensions: &["py"], interpreters: &[&["python3"]] },
    Language {
        kind: ScriptKind::Shell,
        extensions: &["sh", "bash"],
        // Most files called `.sh` were written for bash, which runs the others as well.
        interpreters: &[&["bash"], &["sh"]],
    },
    Language { kind: ScriptKind::Shell, extensions: &["zsh"], interpreters: &[&["zsh"]] },
    Language { kind: ScriptKind::Shell, extensions: &["ksh"], interpreters: &[&["ksh"]] },
    Language { kind: ScriptKind::Shell, extensions: &["fish"], interpreters: &[&["fish"]] },
    Language {
        kind: ScriptKind::JavaScript,
        extensions: &["js", "mjs", "cjs"],
        interpreters: &[&["node"], &["bun"]],
    },
    Language {
        kind: ScriptKind::TypeScript,
        extensions: &["ts", "mts", "cts"],
        // Node.js runs TypeScript from version 22.18 on.
        interpreters: &[&["bun"], &["tsx"], &["node"]],
    },
    Language { kind: ScriptKind::Ruby, extensions: &["rb"], interpreters: &[&["ruby"]] },
    Language { kind: ScriptKind::Perl, extensions: &["pl"], interpreters: &[&["perl"]] },
    Language { kind: ScriptKind::Php, extensions: &["php"], interpreters: &[&["php"]] },
    Language { kind: ScriptKind::Lua, extensions: &["lua"], interpreters: &[&["lua"]] },
    Language { kind: ScriptKind::R, extensions: &["r"], interpreters: &[&["Rscript"]] },
    Language {
        kind: ScriptKind::PowerShell,
        extensions: &["ps1"],
        interpreters: &[&["pwsh", "-File"]],
    },
];

/// Interpreters by their names; digits and dots at the end of a name do not count.
const INTERPRETERS: &[(ScriptKind, &[&str])] = &[
    (ScriptKind::Shell, &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish"]),
    // `uv run --script` is Python with the packages that the file names.
    (ScriptKind::Python, &["python", "pypy", "uv"]),
    (ScriptKind::JavaScript, &["node", "nodejs", "bun", "deno"]),
    (ScriptKind::TypeScript, &["tsx", "ts-node"]),
    (ScriptKind::Ruby, &["ruby"]),
    (ScriptKind::Perl, &["perl"]),
    (ScriptKind::Php, &["php"]),
    (ScriptKind::Lua, &["lua", "luajit"]),
    (ScriptKind::R, &["Rscript"]),
    (ScriptKind::PowerShell, &["pwsh", "powershell"]),
];

/// A script of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its path below the skill's folder, with `/` between the parts.
    pub path: String,
    /// What it is written in.
    pub kind: ScriptKind,
    /// The interpreters that may run it, the best first, each with its options. Empty for a binary.
    pub interpreters: Vec<Vec<String>>,
}

impl Script {
    /// The name of its interpreter, for display; `None` for a binary.
    pub fn interpreter(&self) -> Option<&str> {
        let first = self.interpreters.first()?.first()?;
        Some(first.rsplit('/').next().unwrap_or(first))
    }
}

/// Why a path names no script of a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The skill is a single file.
    #[error("`{0}` is a single file, so it has no scripts")]
    NoFolder(String),
    /// Not there.
    #[error("`{skill}` has no tool and no script `{path}`")]
    NotFound {
        /// The skill.
        skill: String,
        /// The path.
        path: String,
        /// What may be meant.
        similar: Option<String>,
        /// What is there.
        known: Vec<String>,
    },
    /// Outside the skill (NEG-15).
    #[error("`{path}` is outside the folder of `{skill}`")]
    Outside {
        /// The skill.
        skill: String,
        /// The path.
        path: String,
    },
    /// A folder.
    #[error("`{path}` is a folder of `{skill}`, not a script")]
    Folder {
        /// The skill.
        skill: String,
        /// The path.
        path: String,
        /// The scripts in it.
        known: Vec<String>,
    },
}

impl From<ScriptError> for Problem {
    fn from(error: ScriptError) -> Self {
        let message = error.to_string();
        let (code, kind) = match &error {
            ScriptError::NoFolder(_) | ScriptError::NotFound { .. } => {
                ("script-not-found", ProblemKind::NotFound)
            }
            ScriptError::Outside { .. } => ("script-outside-skill", ProblemKind::Refused),
            ScriptError::Folder { .. } => ("script-is-folder", ProblemKind::InvalidInput),
        };
        let remedies = match error {
            ScriptError::NoFolder(_) => Vec::new(),
            ScriptError::NotFound { similar: Some(similar), .. } => {
                vec![Remedy::Advice(format!("did you mean `{similar}`?"))]
            }
            ScriptError::NotFound { known, .. } | ScriptError::Folder { known, .. } => {
                vec![Remedy::Advice(match known.as_slice() {
                    [] => "there are no scripts".to_owned(),
                    known => format!("the scripts are {}", listed(known)),
                })]
            }
            ScriptError::Outside { .. } => {
                vec![Remedy::Advice("copy the file into the skill's folder".to_owned())]
            }
        };
        Problem { code, kind, message, remedies }
    }
}

/// Some scripts in words.
pub fn listed(paths: &[String]) -> String {
    let mut words: Vec<String> =
        paths.iter().take(MAX_NAMED).map(|path| format!("`{path}`")).collect();
    match paths.len().saturating_sub(MAX_NAMED) {
        0 => {}
        more => words.push(format!("{more} more")),
    }
    words.join(", ")
}

/// The scripts of a skill, sorted by path. Modules that a tool of the skill is made of are not among them.
pub fn scripts(skill: &Skill, directory: &Path) -> Vec<Script> {
    let is_tool = |path: &str| {
        let of_handler = |tool: &Tool| match (&tool.handler, tool.kind) {
            (Some(handler), ToolKind::Handler) => {
                handler.split(':').next().unwrap_or_default().trim_start_matches("./") == path
            }
            _ => false,
        };
        let has_functions = || skill.tools.iter().any(|tool| tool.kind == ToolKind::Python);
        skill.tools.iter().any(of_handler) || (path == "tools.py" && has_functions())
    };
    let mut found = in_folder(directory);
    found.retain(|script| !is_tool(&script.path));
    found
}

/// The tool that a script is.
pub fn script_tool(
    skill: &Skill,
    name: &str,
    directory: Option<&Path>,
    path: &str,
) -> Result<Tool, ScriptError> {
    let Some(directory) = directory else { return Err(ScriptError::NoFolder(name.to_owned())) };
    let outside = || ScriptError::Outside { skill: name.to_owned(), path: path.to_owned() };
    let Some(relative) = inside(path) else { return Err(outside()) };
    let known = |below: &str| -> Vec<String> {
        let all = scripts(skill, directory).into_iter().map(|script| script.path);
        all.filter(|path| Path::new(path).starts_with(below)).collect()
    };
    let not_found = || {
        let known = known("");
        let file_name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let wanted = file_name(&relative);
        let names: Vec<String> = known.iter().map(|path| file_name(path)).collect();
        let similar = closest(&relative, known.iter().map(String::as_str)).map(str::to_owned);
        let similar = similar.or_else(|| {
            let name = closest(&wanted, names.iter().map(String::as_str))?;
            known.iter().find(|path| file_name(path) == name).cloned()
        });
        ScriptError::NotFound {
            skill: name.to_owned(),
            path: relative.clone(),
            similar,
            known: known.clone(),
        }
    };
    let Ok(real) = directory.join(&relative).canonicalize() else { return Err(not_found()) };
    let folder = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    if !real.starts_with(&folder) {
        return Err(outside());
    }
    if real.is_dir() {
        let known = known(&relative);
        return Err(ScriptError::Folder { skill: name.to_owned(), path: relative, known });
    }
    Ok(tool(ToolKind::Script, &relative, &relative))
}

/// The tool of a command line that a user gives, to be run as the skill would run it.
pub fn command_line_tool(program: &str) -> Tool {
    tool(ToolKind::CommandLine, &format!("exec:{program}"), program)
}

fn tool(kind: ToolKind, name: &str, handler: &str) -> Tool {
    let text = |text: &str| Spanned { value: text.to_owned(), ..Spanned::default() };
    Tool {
        name: text(name),
        description: String::new(),
        kind,
        parameters: vec![Parameter {
            name: text(ARGUMENTS),
            kind: text("array"),
            description: Some("Arguments, one item each".to_owned()),
            ..Parameter::default()
        }],
        parameters_declared: true,
        command: None,
        handler: Some(text(handler)),
        returns: None,
        atomic: None,
        output_shape: None,
        extra: Vec::new(),
    }
}

/// A path below a skill's folder in one spelling; `None` for one that leaves it.
fn inside(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

fn in_folder(directory: &Path) -> Vec<Script> {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(directory.join(&folder)) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_FILES {
                break;
            }
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let path = folder.join(name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    if !name.starts_with('.') && !SKIPPED_FOLDERS.contains(&name) {
                        open.push(path);
                    }
                }
                // A link to a folder is not followed. One to a file of the skill is that file.
                Ok(_) if name != "__init__.py" => found
                    .extend(path.to_str().and_then(|path| read(directory, path).ok().flatten())),
                Ok(_) | Err(_) => {}
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// Reads what a file is; `None` for one that is no script.
pub(crate) fn read(directory: &Path, path: &str) -> io::Result<Option<Script>> {
    let file = directory.join(path);
    let data = std::fs::metadata(&file)?;
    // Opening a pipe would wait for somebody to write to it.
    if !data.is_file() {
        return Ok(None);
    }
    let extension = Path::new(path).extension().and_then(|it| it.to_str()).unwrap_or_default();
    let extension = extension.to_ascii_lowercase();
    // A text for people may begin with anything.
    if matches!(extension.as_str(), "md" | "txt") {
        return Ok(None);
    }
    let mut head = Vec::new();
    File::open(&file)?.take(HEAD).read_to_end(&mut head)?;
    let script = |kind, interpreters| Script { path: path.to_owned(), kind, interpreters };
    let language =
        LANGUAGES.iter().find(|language| language.extensions.contains(&extension.as_str()));
    if let Some(words) = interpreter_words(&head) {
        let kind = kind_of(&words[0]);
        let kind = match (kind, language) {
            (ScriptKind::JavaScript, Some(language)) => language.kind,
            (kind, _) => kind,
        };
        let words = if name_of(&words[0]) == "uv" { vec!["python3".to_owned()] } else { words };
        return Ok(Some(script(kind, vec![words])));
    }
    if let Some(language) = language {
        let words = |words: &&[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let interpreters = language.interpreters.iter().map(words).collect();
        return Ok(Some(script(language.kind, interpreters)));
    }
    let is_binary = head.starts_with(b"\x7fELF") || is_mach_o(&head);
    if is_binary && platform::is_executable(&file).unwrap_or(false) {
        return Ok(Some(script(ScriptKind::Binary, Vec::new())));
    }
    Ok(None)
}

/// The magic numbers of macOS, for one processor or several.
fn is_mach_o(head: &[u8]) -> bool {
    matches!(head.get(..4), Some([0xcf, 0xfa, 0xed, 0xfe] | [0xca, 0xfe, 0xba, 0xbe | 0xbf]))
}

/// The interpreter of a `#!` line and its options, with `env` looked through. Windows line endings do not count.
fn interpreter_words(head: &[u8]) -> Option<Vec<String>> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let line = head.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    if words.first().is_some_and(|word| name_of(word) == "env") {
        words.remove(0);
        // `-S` splits what follows, as is done here anyway; `-Spython3` is one word.
        let called = words.iter().position(|word| !word.starts_with('-') && !word.contains('='));
        let joined = words.iter().position(|word| word.len() > 2 && word.starts_with("-S"));
        match (called, joined) {
            (called, Some(joined)) if called.is_none_or(|called| joined < called) => {
                words.drain(..joined);
                words[0].drain(..2);
            }
            (Some(called), _) => {
                words.drain(..called);
            }
            (None, _) => return None,
        }
    }
    (!words.is_empty()).then_some(words)
}

fn kind_of(interpreter: &str) -> ScriptKind {
    let name = name_of(interpreter);
    let stem = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let known =
        INTERPRETERS.iter().find(|(_, names)| names.contains(&name) || names.contains(&stem));
    known.map_or(ScriptKind::Other, |(kind, _)| *kind)
}

pub(crate) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_interpreter_and_options() {
        for (head, expected) in [
            ("#!/bin/sh\n", Some("/bin/sh")),
            ("#!/bin/bash -e\r\nx", Some("/bin/bash -e")),
            ("#! /usr/bin/env python3\n", Some("python3")),
            ("#!/usr/bin/env -S python3 -u\n", Some("python3 -u")),
            ("#!/usr/bin/env -Spython3 -u\n", Some("python3 -u")),
            ("#!/usr/bin/env -S -i A=b node --test\n", Some("node --test")),
            ("#!/usr/bin/env -S uv run --script\n", Some("uv run --script")),
            ("\u{feff}#!/usr/bin/perl", Some("/usr/bin/perl")),
            ("#!/usr/bin/env\n", None),
            ("#!\n", None),
            ("# !/bin/sh\n", None),
            ("", None),
        ] {
            let words = interpreter_words(head.as_bytes()).map(|words| words.join(" "));
            assert_eq!(words.as_deref(), expected, "{head:?}");
        }
    }

    #[test]
    fn kinds_follow_the_interpreter() {
        for (interpreter, kind) in [
            ("/bin/sh", ScriptKind::Shell),
            ("python3.12", ScriptKind::Python),
            ("/opt/homebrew/bin/node", ScriptKind::JavaScript),
            ("lua5.4", ScriptKind::Lua),
            ("/usr/bin/wish", ScriptKind::Other),
        ] {
            assert_eq!(kind_of(interpreter), kind, "{interpreter}");
        }
    }

    #[test]
    fn paths_stay_inside() {
        for (path, expected) in [
            ("scripts/x.py", Some("scripts/x.py")),
            ("./scripts//x.py", Some("scripts/x.py")),
            ("../x", None),
            ("scripts/../../x", None),
            ("/etc/passwd", None),
            (".", None),
            ("", None),
        ] {
            assert_eq!(inside(path).as_deref(), expected, "{path}");
        }
    }
}
