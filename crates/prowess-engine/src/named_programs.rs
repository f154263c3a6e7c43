//! The programs that a script names and that the sandbox does not provide, found before anything starts.
//!
//! A shell goes on when a program is missing: `if grep -q …` is then simply false, and the tool succeeds with the wrong
//! answer. Nobody can tell that from its output, so the text of the script is read with a real parser, and what it names and
//! would not find is told before it runs and in its envelope. `docs/design/scripts.md` has the reasons.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use prowess_format::skill::ToolKind;
use prowess_format::text::visible;
use prowess_policy::scope::Program;
use prowess_policy::spec::Programs;
use prowess_python::PythonCommandKind;
use prowess_shell::ShellScript;

use crate::prepare::Call;
use crate::programs::{Finder, Images};
use crate::scripts::{self, ScriptKind, name_of};
use crate::skill_files;
use crate::world::World;

/// The most files of one skill that are read: the script, and those that it reads in.
const MAX_FILES: usize = 16;
/// The most programs that one sentence names.
const MAX_NAMED: usize = 20;

/// A program that a script names and would not find.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MissingProgram {
    name: String,
    /// Whether this machine has it, so that a grant would help.
    is_here: bool,
    /// Whether the script starts it, or only asks for it.
    is_started: bool,
}

impl MissingProgram {
    /// The name, as the script writes it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// The programs that a tool names and that are not among its images, each once, in the order of the text.
pub(crate) fn missing(
    call: &Call,
    (program, arguments): (&Program, &[String]),
    images: &Images,
    finder: Finder<'_>,
    world: &World,
) -> Vec<MissingProgram> {
    let scripts = texts(call, program, arguments, world);
    let functions: BTreeSet<&String> = scripts.iter().flat_map(|it| &it.functions).collect();
    let of_shell = scripts.iter().flat_map(ShellScript::programs);
    let of_shell = of_shell.map(|program| (program.name, program.is_started));
    let mut found: Vec<MissingProgram> = Vec::new();
    for (name, is_started) in of_shell.chain(of_python(call)) {
        let name = &name;
        // A relative path is a file of somebody's, and what a computed one means is not known.
        let is_name = !name.contains('/') || name.starts_with('/');
        let Some(parsed) = Program::parse(name).ok().filter(|_| is_name) else { continue };
        if functions.contains(name) || is_provided(&parsed, images) {
            continue;
        }
        match found.iter_mut().find(|known| known.name == *name) {
            Some(known) => known.is_started |= is_started,
            None => found.push(MissingProgram {
                name: name.clone(),
                is_here: finder.locate(&parsed).is_ok(),
                is_started,
            }),
        }
    }
    found
}

/// The programs that a Python script starts with a literal name, and whether they are started or only asked for.
fn of_python(call: &Call) -> Vec<(String, bool)> {
    let (Some(directory), ToolKind::Script) = (&call.skill.directory, call.tool.kind) else {
        return Vec::new();
    };
    let path = call.tool.handler.as_ref().map_or("", |path| path.as_str());
    let script = scripts::read(directory, path).ok().flatten();
    let Some(ScriptKind::Python) = script.map(|script| script.kind) else { return Vec::new() };
    let Ok(bytes) = skill_files::read_bounded(&directory.join(path)) else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    // What can't be parsed is told by Python itself.
    let commands = prowess_python::uses(&text).map(|uses| uses.commands).unwrap_or_default();
    let programs = commands.into_iter().flat_map(|command| match command.command {
        PythonCommandKind::Program(name) => vec![(name, true)],
        PythonCommandKind::Line(line) => {
            let programs = prowess_shell::parse(&line).programs().into_iter();
            programs.map(|program| (program.name, program.is_started)).collect()
        }
        PythonCommandKind::Computed => Vec::new(),
    });
    programs.collect()
}

fn is_provided(program: &Program, images: &Images) -> bool {
    let mut all = images.programs.iter().chain(&images.utilities);
    match program {
        Program::Named(name) => all.any(|image| image.ends_with(name)),
        Program::At(path) => {
            let path = Path::new(path);
            let real = path.canonicalize().ok();
            all.any(|image| image == path || (real.is_some() && image.canonicalize().ok() == real))
        }
        Program::Own(_) => true,
    }
}

/// What to tell about missing programs, one sentence for each thing that would help. Nothing where every program may run.
pub(crate) fn sentences(tool: &str, missing: &[MissingProgram], allowed: &Programs) -> Vec<String> {
    let pick = |is_here: bool, is_started: bool| -> Vec<&str> {
        let wanted = |it: &&MissingProgram| (it.is_here, it.is_started) == (is_here, is_started);
        missing.iter().filter(wanted).map(|it| it.name.as_str()).collect()
    };
    let tool = visible(tool);
    let mut told = Vec::new();
    for (is_started, verb) in [(true, "calls"), (false, "looks for")] {
        let here = pick(true, is_started);
        if !here.is_empty() && *allowed != Programs::Any {
            told.push(format!(
                "`{tool}` {verb} {}, which the sandbox does not provide; declare or grant `shell:execute:{}`",
                joined(&here),
                here.join(",")
            ));
        }
        let nowhere = pick(false, is_started);
        if !nowhere.is_empty() {
            told.push(format!(
                "`{tool}` {verb} {}, which {} not on this machine",
                joined(&nowhere),
                if nowhere.len() == 1 { "is" } else { "are" },
            ));
        }
    }
    told
}

fn joined(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
    match (shown.as_slice(), names.len().saturating_sub(MAX_NAMED)) {
        ([only], 0) => only.clone(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (all, more) => format!("{} and {more} more", all.join(", ")),
    }
}

/// The shell texts of a tool: its script with what that reads in, or the text after `-c`.
fn texts(call: &Call, program: &Program, arguments: &[String], world: &World) -> Vec<ShellScript> {
    let directory = call.skill.directory.as_deref();
    match (call.tool.kind, program, directory) {
        (ToolKind::Script, _, Some(folder)) => {
            let path = call.tool.handler.as_ref().map_or("", |path| path.as_str());
            of_file(folder, path)
        }
        (ToolKind::Command, Program::Own(path), Some(folder)) => of_file(folder, path),
        (ToolKind::Command | ToolKind::CommandLine, Program::Named(_) | Program::At(_), _)
            if is_shell(program) =>
        {
            of_shell_arguments(arguments, directory, world)
        }
        _ => Vec::new(),
    }
}

fn is_shell(program: &Program) -> bool {
    let (Program::Named(name) | Program::At(name)) = program else { return false };
    matches!(name_of(name), "sh" | "bash" | "dash" | "zsh" | "ksh")
}

/// The text after `-c`, or the script of the skill that a shell is given.
fn of_shell_arguments(
    arguments: &[String],
    directory: Option<&Path>,
    world: &World,
) -> Vec<ShellScript> {
    let first = arguments.iter().position(|argument| !argument.starts_with('-'));
    let Some(first) = first else { return Vec::new() };
    // `-c`, also with other letters, as in `-ec`.
    if arguments[..first].iter().any(|option| !option.starts_with("--") && option.contains('c')) {
        return vec![prowess_shell::parse(&arguments[first])];
    }
    let Some(directory) = directory else { return Vec::new() };
    let file = world.working_directory.join(&arguments[first]);
    let path = file.canonicalize().ok();
    let path = path.as_deref().and_then(|file| file.strip_prefix(directory).ok());
    path.and_then(Path::to_str).map(|path| of_file(directory, path)).unwrap_or_default()
}

/// A shell script of a skill, and the files of the skill that it reads in.
fn of_file(directory: &Path, path: &str) -> Vec<ShellScript> {
    let is_shell = |script: scripts::Script| script.kind == ScriptKind::Shell;
    if !scripts::read(directory, path).ok().flatten().is_some_and(is_shell) {
        return Vec::new();
    }
    let Ok(directory) = directory.canonicalize() else { return Vec::new() };
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    let mut open: VecDeque<PathBuf> = VecDeque::from([directory.join(path)]);
    let mut found = Vec::new();
    while let Some(file) = open.pop_front() {
        let Some(file) = file.canonicalize().ok().filter(|file| file.starts_with(&directory))
        else {
            continue;
        };
        if found.len() == MAX_FILES || !file.is_file() || !seen.insert(file.clone()) {
            continue;
        }
        let Ok(bytes) = skill_files::read_bounded(&file) else { continue };
        let script = prowess_shell::parse(&String::from_utf8_lossy(&bytes));
        let beside = file.parent().unwrap_or(&directory);
        open.extend(sourced(&script).flat_map(|name| [beside.join(name), directory.join(name)]));
        found.push(script);
    }
    found
}

/// The files that a script reads in, relative to its own folder. Of a name such as `$(dirname "$0")/lib.sh` the end counts:
/// nearly always the rest is the folder of the script.
fn sourced(script: &ShellScript) -> impl Iterator<Item = &str> {
    let words = script
        .commands
        .iter()
        .filter(|command| matches!(command.name.as_deref(), Some("." | "source")))
        .filter_map(|command| command.arguments.first());
    words.filter_map(|word| {
        let text = word.text.as_str();
        if word.is_literal {
            return Some(text);
        }
        let computed = text.rfind([')', '}', '"', '$', '`'])?;
        let rest = &text[computed + 1..];
        // Of `$HERE/lib.sh` the variable's name is no part of the path.
        let rest = if text[computed..].starts_with('$') { rest.split_once('/')?.1 } else { rest };
        let rest = rest.trim_start_matches('/');
        (!rest.is_empty()).then_some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_read_in_are_found_by_their_end() {
        for (text, expected) in [
            (". ./lib.sh", Some("./lib.sh")),
            ("source lib/common.sh", Some("lib/common.sh")),
            (". \"$(dirname \"$0\")/lib.sh\"", Some("lib.sh")),
            ("source \"${BASH_SOURCE%/*}/../lib.sh\"", Some("../lib.sh")),
            (". $HERE/lib.sh", Some("lib.sh")),
            (". \"$SCRIPT_DIR/lib/a.sh\"", Some("lib/a.sh")),
            (". $FILE", None),
            ("echo . x", None),
        ] {
            let script = prowess_shell::parse(text);
            assert_eq!(sourced(&script).next(), expected, "{text}");
        }
    }

    #[test]
    fn all_missing_programs_are_told_at_once() {
        let program = |name: &str, is_here, is_started| MissingProgram {
            name: name.to_owned(),
            is_here,
            is_started,
        };
        let missing = [
            program("curl", true, true),
            program("git", true, true),
            program("frobnicate", false, true),
            program("jq", true, false),
        ];
        let some = Programs::Only(Vec::new());
        assert_eq!(
            sentences("x.sh", &missing, &some),
            [
                "`x.sh` calls `curl` and `git`, which the sandbox does not provide; declare or grant `shell:execute:curl,git`",
                "`x.sh` calls `frobnicate`, which is not on this machine",
                "`x.sh` looks for `jq`, which the sandbox does not provide; declare or grant `shell:execute:jq`",
            ]
        );
        assert_eq!(
            sentences("x.sh", &missing, &Programs::Any),
            ["`x.sh` calls `frobnicate`, which is not on this machine"]
        );
    }
}
