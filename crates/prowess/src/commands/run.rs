//! `prowess run`: runs a tool or a script of a skill in a sandbox, after asking for approval, or a prompt skill on a model.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use prowess_core::Envelope;
use prowess_engine::{ARGUMENTS, Call, CancellationToken, Consent, LoadedSkill, listed, scripts};
use prowess_format::skill::Tool;

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::log;
use crate::run::call_run::{self, NotRun, RunOptions};
use crate::run::inputs::{self, InputOptions};
use crate::run::prompt_run::{self, PromptRequest};
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_ref;
use crate::skill::tool_ref;
use crate::terminal::printer::Printer;

/// Run a tool or a script of a skill in a sandbox, or a prompt skill on a model
///
/// First the values, the skill's files and the programs are checked. Then the
/// policy decides: the tool runs, is refused, or you are asked. The question
/// shows the exact command and everything that the tool may and may not do. Your
/// answer is remembered until a file of the skill or a program changes.
///
/// The sandbox contains only what was granted: no network, no other files, no
/// other programs, no secrets from the environment. The working directory is the
/// root of the repository around the current folder, or else your home. At the
/// time limit, or on Ctrl-C, the tool and everything it has started get SIGTERM,
/// and SIGKILL five seconds later. A second Ctrl-C sends SIGKILL at once. A third
/// ends prowess itself, without the check of what the tool has left behind.
///
/// What a tool writes in the folders that it may change is held back until it has
/// ended. Ordinary changes are applied then, all or none. Those of files that other
/// programs start or obey, of links that lead out, and of files that somebody else
/// has changed meanwhile wait for your decision, as does everything that a tool has
/// written before it failed: nothing is applied then. `prowess runs` shows, applies,
/// discards and undoes changes.
///
/// A script of a skill is a tool as well, whatever the dialect: name it by its
/// path in the skill, and put its arguments after `--`. They are passed on as they
/// are, without a shell, and it works in the current folder. The `#!` line chooses the interpreter, or else the
/// extension. A script may start base utilities such as `sort`, `grep` and `tar`;
/// other programs have to be declared by the skill.
///
/// Hooks that the skill declares run before and after its tools, in the sandbox and
/// after the same approval. One before a tool may refuse the call, and does so if it
/// does not work (`[hooks] strict = false` in config.toml changes that).
///
/// A prompt skill has no tools: its inputs are put into its text, passages of its
/// knowledge base are retrieved, and a model answers. `prowess models` lists the
/// models. A command in the text whose output belongs there runs first, in the
/// sandbox and after you were asked, and nothing else in the text is executed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess run examples/word-count --input file=examples/README.md --yes
  prowess run examples/word-count --input file=/dev/null --yes --format json
  prowess run examples/word-count/scripts/words.sh --yes -- examples/README.md
  prowess run examples/word-count --input file=/dev/null --yes --dry-run
  prowess run examples/release-notes --input commits=@log --model ollama/qwen3

Exit codes:
    0  the tool succeeded, or the model answered
    n  the tool's own code, if it failed; 1 if a function raised an error, the
       model failed, its answer is not what the skill declares, or somebody else
       has changed the same files
    2  a value is missing or invalid, or the arguments are wrong
    3  the skill or the tool does not exist
  124  the tool or the model timed out
  125  refused: by you, by the policy, by a hook of the skill, because the skill
       has errors or a quiz that is not passed, because no sandbox or model is
       available, or because some changes need a decision
  126  the program can't be executed
  127  the program was not found
  129, 130, 143, 141
       ended by SIGHUP, Ctrl-C or SIGTERM, or because its output was closed;
       a tool that exits with a code of its own on SIGTERM keeps that code
  137  killed because it used too much memory, printed or wrote too much
A tool may exit with 2, 3 or 124 to 127 itself: `outcome` in `--format json`
tells which it was.")]
pub(crate) struct Arguments {
    /// A skill's folder or file, or the name of an installed skill, with `/TOOL` for
    /// one of its tools or `/scripts/FILE` for one of its scripts
    #[arg(value_name = "PATH[/TOOL]")]
    path: PathBuf,
    #[command(flatten)]
    dialect: DialectOption,
    #[command(flatten)]
    inputs: InputOptions,
    #[command(flatten)]
    options: RunOptions,
    #[arg(
        long,
        value_name = "PROVIDER/NAME",
        help = "The model for a prompt skill [env: PROWESS_MODEL]"
    )]
    model: Option<String>,
    /// Write the answer of a prompt skill to a file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Arguments of a script, passed on as they are
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let result = start(arguments, printer);
    call_run::end(result, arguments.options.format, printer)
}

fn start(arguments: &Arguments, printer: &mut Printer) -> Result<Envelope, NotRun> {
    let _run = log::run_span().entered();
    let resolving = tracing::info_span!("resolve").entered();
    let (loaded, tool_name) = tool_ref::load_with_script(&arguments.path, printer)?;
    let skill = tool_run::load_without_errors(&loaded, arguments.dialect.dialect, "run", printer)?;
    drop(resolving);
    call_run::require_passed(&skill, &*session::world()?)?;
    if tool_name.is_none() && prompt_run::is_prompt(&skill.skill) {
        if !arguments.arguments.is_empty() {
            return Err(Error::usage("arguments after `--` are for scripts")
                .hint("give the inputs of a prompt with `--input NAME=VALUE`")
                .into());
        }
        return start_prompt(arguments, &skill, printer);
    }
    for (option, is_given) in
        [("--model", arguments.model.is_some()), ("--output", arguments.output.is_some())]
    {
        if is_given {
            let message = format!("`{option}` is for prompt skills, which `{}` is not", skill.name);
            return Err(Error::usage(message).hint(format!("run without `{option}`")).into());
        }
    }
    let tool = choose(&skill, tool_name.as_deref(), &loaded)?;
    let mut values = inputs::values(&arguments.inputs, &tool.parameters)?;
    if !arguments.arguments.is_empty() {
        call_run::refuse_arguments(&tool, values.contains_key(ARGUMENTS))?;
        values.insert(ARGUMENTS.to_owned(), arguments.arguments.clone().into());
    }
    let call = Call { skill, tool, values, mode: arguments.options.mode };
    call_run::start(call, &arguments.options, session::world()?, printer)
}

fn start_prompt(
    arguments: &Arguments,
    skill: &Arc<LoadedSkill>,
    printer: &mut Printer,
) -> Result<Envelope, NotRun> {
    if !arguments.options.standing.allow.is_empty() {
        let message = format!("`--allow` is for tools, and `{}` is a prompt", skill.name);
        return Err(Error::usage(message).hint("run without `--allow`").into());
    }
    if let Some(option) = arguments.options.changes.given() {
        let message = format!("`{option}` is for tools, and `{}` is a prompt", skill.name);
        return Err(Error::usage(message).hint(format!("run without `{option}`")).into());
    }
    let values = inputs::values(&arguments.inputs, &skill.skill.inputs)?;
    inputs::refuse_unknown(&values, &skill.skill.inputs)?;
    let cancel = CancellationToken::default();
    tool_run::listen_for_signals(&cancel);
    let world = arguments.options.standing.world(session::world()?)?;
    let consent = if arguments.options.yes { Consent::InAdvance } else { Consent::None };
    let hooks = prompt_run::hooks(
        skill,
        arguments.options.mode,
        consent,
        &world,
        arguments.model.as_deref(),
        printer,
    )?;
    let request = PromptRequest {
        skill,
        hooks: hooks.as_ref(),
        world: &world,
        mode: arguments.options.mode,
        consent: if arguments.options.yes { Consent::InAdvance } else { Consent::None },
        values: &values,
        model: arguments.model.as_deref(),
        output: arguments.output.as_deref(),
        format: arguments.options.format,
    };
    let envelope = prompt_run::run(&request, &cancel, printer)?;
    call_run::report(&envelope, arguments.options.format, printer);
    Ok(envelope)
}

fn choose(
    skill: &LoadedSkill,
    name: Option<&str>,
    loaded: &skill_ref::Loaded,
) -> Result<Tool, Error> {
    tool_ref::choose_or_script(skill, name, loaded, "run")?.ok_or_else(|| {
        let shown = &loaded.shown;
        let error = tool_run::refused(format!(
            "`{shown}` contains instructions for an agent and defines no tools"
        ));
        let scripts = skill.directory.as_deref().map(|folder| scripts(&skill.skill, folder));
        let scripts: Vec<String> =
            scripts.unwrap_or_default().into_iter().map(|script| script.path).collect();
        let place = skill_ref::shown(loaded.directory.as_deref().unwrap_or(&loaded.path));
        let error = match scripts.first() {
            Some(first) => error
                .hint(format!("its scripts are {}", listed(&scripts)))
                .hint(format!("run one of them, as in `prowess run {place}/{first}`")),
            None => error,
        };
        error
            .hint(format!("`prowess render {shown}` prints what an agent reads"))
            .hint("to use it, put its folder where your agent looks for skills")
    })
}
