//! `prowess exec`: runs one command line as a skill would, in the same sandbox.

use std::path::{Path, PathBuf};

use clap::Args;
use prowess_core::{Envelope, Problem};
use prowess_engine::{ARGUMENTS, Call, LoadedSkill, command_line_tool, script_tool};
use prowess_format::skill::{Tool, ToolKind};
use serde_json::Map;

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::log;
use crate::run::call_run::{self, NotRun, RunOptions};
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_ref;
use crate::terminal::printer::Printer;

/// Run a command as a skill would, in its sandbox
///
/// For agents that follow a skill, and for debugging one. The command gets what the
/// skill declares, and nothing else: the skill's files for reading, the files,
/// hosts, variables and programs of its permissions, and base utilities such as
/// `sort`, `grep` and `tar`. Unless the skill declares files, the current folder
/// can be read and written, or only read if the skill is read-only.
///
/// The policy decides and asks as for `prowess run`, and changes are held back,
/// examined and applied as there. The working directory is the
/// current folder. The command is a list of arguments and not a shell command; for
/// pipes and variables, run `sh -c '…'`. A program with a slash in its name is a
/// file of the skill, as in `scripts/words.sh`. `PROWESS_SKILL_DIR` is the
/// skill's folder.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess exec examples/word-count --yes -- ls examples
  prowess exec examples/word-count --yes -- scripts/words.sh examples/README.md
  prowess exec examples/word-count --yes --format json -- sh -c 'ls; pwd'

Exit codes:
    0  the command succeeded
    n  the command's own code, if it failed
    2  the arguments are wrong
    3  the skill does not exist
  124  the command timed out
  125  refused: by you, by the policy, by a hook of the skill, because nobody can
       be asked, because the skill has errors, or because no sandbox is available
  126  the program can't be executed
  127  the program was not found
Others are as for `prowess run`.")]
pub(crate) struct Arguments {
    /// A skill's folder or file, or the name of an installed skill
    #[arg(value_name = "SKILL")]
    path: PathBuf,
    #[command(flatten)]
    dialect: DialectOption,
    #[command(flatten)]
    options: RunOptions,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let result = start(arguments, printer);
    call_run::end(result, arguments.options.format, printer)
}

fn start(arguments: &Arguments, printer: &mut Printer) -> Result<Envelope, NotRun> {
    let _run = log::run_span().entered();
    let resolving = tracing::info_span!("resolve").entered();
    let loaded = skill_ref::load_skill(&arguments.path, printer)?;
    let skill = tool_run::load_without_errors(&loaded, arguments.dialect.dialect, "run", printer)?;
    drop(resolving);
    call_run::require_passed(&skill, &*session::world()?)?;
    let (program, rest) = arguments.command.split_first().unwrap_or_else(|| unreachable!());
    let tool = tool(program, &skill)?;
    let mut values = Map::new();
    values.insert(ARGUMENTS.to_owned(), rest.into());
    if tool.kind == ToolKind::CommandLine {
        let place = arguments.options.standing.cwd.as_deref().unwrap_or(Path::new("."));
        mention_files_of_skill(rest, place, &skill, printer);
    }
    let call = Call { skill, tool, values, mode: arguments.options.mode };
    call_run::start(call, &arguments.options, session::world()?, printer)
}

/// Instructions name files relative to the skill, and the command works in the current folder.
fn mention_files_of_skill(
    arguments: &[String],
    place: &Path,
    skill: &LoadedSkill,
    printer: &mut Printer,
) {
    let Some(folder) = &skill.directory else { return };
    let is_meant = |argument: &&String| {
        let path = Path::new(argument.as_str());
        let is_plain = path.is_relative() && !argument.is_empty() && !argument.starts_with('-');
        is_plain && !place.join(path).exists() && folder.join(path).is_file()
    };
    for argument in arguments.iter().filter(is_meant) {
        printer.note(&format!(
            "`{argument}` is a file of the skill, and the command works in the current folder"
        ));
        printer.hint(&format!("write `{}`", folder.join(argument).display()));
    }
}

/// A relative path is a script of the skill; everything else is a program of the machine.
fn tool(program: &str, skill: &LoadedSkill) -> Result<Tool, Error> {
    if !program.contains('/') || program.starts_with('/') {
        return Ok(command_line_tool(program));
    }
    let directory = skill.directory.as_deref();
    Ok(script_tool(&skill.skill, &skill.name, directory, program).map_err(Problem::from)?)
}
