//! `prowess workflow`: checks graphs of skills, runs them, and goes on with runs that did not end.

mod list;
mod show;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Args, Subcommand, ValueEnum};
use prowess_core::{Event, Model, ModelError};
use prowess_engine::workflow::{
    self, CheckSurroundings, Ended, FileRuns, InputsError, Limits, Models, OpenRun, RunRecord,
    RunStore as _, RunStoreError, Workflow, WorkflowContext,
};
use prowess_engine::{
    ApprovalRequest, Approver, Blocking, Cancel, Consent, Engine, PythonWorkers, Reply,
    SkillResolver, World,
};
use prowess_files::whole::folder_of;
use prowess_format::diagnostic::{Diagnostic, Severity};
use prowess_library::Library;
use prowess_policy::Mode;
use serde_json::{Value, json};
use tracing::Instrument as _;

use super::Outcome;
use crate::error::Error;
use crate::render::problem_text::hints;
use crate::render::run_events::Format;
use crate::render::{concise, full, github, json, sarif};
use crate::run::inputs::{self, InputOptions};
use crate::run::prompt_run;
use crate::run::tool_run;
use crate::session;
use crate::skill::check_report::{self, CheckOptions};
use crate::skill::skill_ref;
use crate::terminal::approval_prompt::Terminal;
use crate::terminal::printer::Printer;
use crate::walk::Walked;
use show::Show;

/// Check and run workflows: graphs of skills, models, requests and programs
///
/// A workflow is a JSON file with `nodes` and `edges`, as Agent Flow Lite writes
/// them. Independent branches run at the same time, a node waits for all branches
/// that lead to it and are taken, and every node that has ended is written down:
/// a run that was stopped goes on where it was.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess workflow check examples/release-workflow.json
  prowess workflow check examples/release-workflow.json --format mermaid
  prowess workflow run examples/release-workflow.json --input log=
  prowess workflow list

Each verb has exit codes of its own, see `prowess workflow run --help`.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// The codes that `run` and `resume` end with, for their help.
macro_rules! exit_codes {
    ($not_found:literal) => {
        concat!(
            "\
Exit codes:
    0  all nodes that were to run have ended well
    1  a node failed
    2  an input is missing or wrong, or the arguments are
    3  ",
            $not_found,
            "
  124  a model took too long
  125  it was refused: the workflow has errors, a tool was not approved, there
       is no model, or another process is at work on the run
  129, 130, 143, 141
       it was ended by SIGHUP, Ctrl-C or SIGTERM, or nobody read its output"
        )
    };
}

#[derive(Subcommand)]
enum Action {
    /// Find what is wrong with a workflow, or draw it
    ///
    /// Cycles, nodes that nothing leads to, references that find nothing, skills
    /// that are not there or do not get their inputs: each with its place and what
    /// to do. Nothing is run, and no model or server is asked.
    #[command(after_long_help = "\
Examples:
  prowess workflow check examples/release-workflow.json
  prowess workflow check examples/release-workflow.json --format sarif
  prowess workflow check examples/release-workflow.json --format mermaid

Exit codes:
  0  it can be run; there may be warnings
  1  findings at error level
  2  the arguments are wrong
  3  the file does not exist")]
    Check {
        /// The workflow's file; `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        skills: SkillOptions,
        /// How findings are written
        #[arg(long, value_enum, default_value_t = CheckFormat::Full)]
        format: CheckFormat,
    },
    /// Run a workflow
    ///
    /// The workflow is checked first, and one with errors is not run. The result
    /// goes to standard output; the run's name and its steps are said on a
    /// terminal, or with `--verbose`. A run that stops early prints the command
    /// that goes on with it.
    #[command(after_long_help = concat!("\
Examples:
  prowess workflow run examples/release-workflow.json --input log=
  prowess workflow run examples/release-workflow.json --input log= --format json

", exit_codes!("the file does not exist")))]
    Run {
        /// The workflow's file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        inputs: InputOptions,
        #[command(flatten)]
        skills: SkillOptions,
        /// The situation: Global, Dev, Meeting or Writer
        #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
        mode: Mode,
        #[command(flatten)]
        run: RunOptions,
    },
    /// Go on with a run that was stopped or failed
    ///
    /// Nodes that have ended are not run again; what was interrupted is. The
    /// workflow and its inputs are those that the run was started with. Without a
    /// name it says which runs there are to go on with.
    #[command(after_long_help = concat!("\
Examples:
  prowess workflow resume release-notes-x7Gk2pQz
  prowess workflow resume release-notes-x7Gk2pQz --model ollama/llama3.2

", exit_codes!("the run does not exist")))]
    Resume {
        /// The run's name, which it printed when it stopped; `workflow list` has it
        #[arg(value_name = "RUN")]
        run_name: Option<String>,
        #[command(flatten)]
        run: RunOptions,
    },
    List(list::Arguments),
}

/// Where skills are.
#[derive(Args)]
struct SkillOptions {
    /// A folder with skills, before the workflow's own folder, `skills` in it, and
    /// the installed ones. May be repeated
    #[arg(long = "skills", value_name = "DIR")]
    folders: Vec<PathBuf>,
}

/// How a workflow is run.
#[derive(Args)]
struct RunOptions {
    /// The model for nodes that name none; `PROWESS_MODEL` when absent
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Say yes to everything that may be answered in advance, for this one run
    #[arg(short, long)]
    yes: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// Source lines with the place underlined
    Full,
    /// One line per finding
    Concise,
    /// One JSON object
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// Annotations for GitHub workflows
    Github,
    /// A picture in the language of Mermaid
    Mermaid,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let (options, ended) = match &arguments.action {
        Action::Check { file, skills, format } => return check(file, skills, *format, printer),
        Action::List(arguments) => return list::run(arguments, printer),
        Action::Run { file, inputs, skills, mode, run } => {
            (run, start(file, inputs, skills, *mode, run, printer))
        }
        Action::Resume { run_name, run } => (run, resume(run_name.as_deref(), run, printer)),
    };
    match ended {
        Ok(ended) => Ok(Outcome::Ended(u8::try_from(ended.exit_code & 0xff).unwrap_or(1))),
        Err(error) => {
            tell_not_run(options.format, &error, printer);
            Err(error)
        }
    }
}

fn check(
    file: &Path,
    skills: &SkillOptions,
    format: CheckFormat,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let text = load(file)?;
    let world = session::world()?;
    let skills = skills_of(&skills.folders, file, &world)?;
    let (workflow, diagnostics) = examined(&text, skills.as_ref(), &world);
    if format == CheckFormat::Mermaid
        && let Some(workflow) = &workflow
    {
        printer.data(&workflow::mermaid(workflow));
        let errors = diagnostics.iter().any(is_error);
        return Ok(if errors { Outcome::Findings } else { Outcome::Fine });
    }
    let walked = Walked::of_one(examine(file, &text, workflow.as_ref(), diagnostics, format));
    let colour = printer.colour();
    match format {
        CheckFormat::Full | CheckFormat::Mermaid => {
            printer.report(&full::render(&walked.reports, colour));
        }
        CheckFormat::Concise => printer.report(&concise::render(&walked.reports, colour)),
        CheckFormat::Json => printer.json(&json::render(&walked, false)),
        CheckFormat::Sarif => printer.json(&sarif::render(&walked.reports)),
        CheckFormat::Github => printer.report(&github::render(&walked.reports)),
    }
    if walked.errors > 0 {
        return Ok(Outcome::Findings);
    }
    if let (CheckFormat::Full | CheckFormat::Concise, Some(workflow)) = (format, &workflow)
        && !printer.is_quiet()
    {
        let (nodes, edges) = (workflow.nodes.len(), workflow.edges.len());
        let shown = skill_ref::shown(file);
        printer.data(&format!("{shown}: ok (workflow, {nodes} nodes, {edges} edges)\n"));
    }
    Ok(Outcome::Fine)
}

fn examined(
    text: &str,
    skills: &dyn SkillResolver,
    world: &World,
) -> (Option<Workflow>, Vec<Diagnostic>) {
    // Without the list nobody can say that a base is missing.
    let bases = prompt_run::bases(world).names().ok();
    let bases = bases.map(|it| it.iter().map(ToString::to_string).collect::<Vec<_>>());
    workflow::check(text, CheckSurroundings { skills, bases: bases.as_deref() })
}

fn examine(
    file: &Path,
    text: &str,
    workflow: Option<&Workflow>,
    diagnostics: Vec<Diagnostic>,
    format: CheckFormat,
) -> check_report::Examined {
    let options = CheckOptions {
        dialect: None,
        strict: false,
        least: Severity::Warning,
        clean_files: true,
        excerpts: matches!(format, CheckFormat::Full | CheckFormat::Mermaid),
        clients: &[],
    };
    let name = workflow.and_then(|workflow| workflow.name.clone());
    check_report::examine_workflow(file, text, name, diagnostics, &options)
}

fn is_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error
}

fn load(file: &Path) -> Result<String, Error> {
    let bytes = if file == Path::new("-") {
        skill_ref::load_stdin()?.bytes
    } else {
        skill_ref::read(file).map_err(|source| Error::io("read", file, &source))?
    };
    let shown = skill_ref::shown(file);
    skill_ref::within_bounds(&bytes, &shown)?;
    String::from_utf8(bytes).map_err(|_| {
        Error::failed(format!("`{shown}` is not UTF-8")).hint("save the workflow as UTF-8")
    })
}

/// Skills by their names: of the folders that are named, beside the workflow, and installed.
fn skills_of(
    named: &[PathBuf],
    file: &Path,
    world: &World,
) -> Result<Arc<dyn SkillResolver>, Error> {
    let beside = folder_of(file);
    let own = world.state.skills();
    let folders = named.iter().cloned().chain([beside.to_owned(), beside.join("skills"), own]);
    Ok(session::library()?.in_folders(folders.collect()))
}

fn start(
    file: &Path,
    given: &InputOptions,
    skills: &SkillOptions,
    mode: Mode,
    options: &RunOptions,
    printer: &mut Printer,
) -> Result<Ended, Error> {
    let text = load(file)?;
    let world = session::world()?;
    let resolver = skills_of(&skills.folders, file, &world)?;
    let workflow = sound(&text, file, resolver.as_ref(), &world, printer)?;
    let inputs = inputs::values(given, &[])?;
    let inputs = workflow::inputs_of(&workflow, inputs).map_err(|error| wrong_inputs(&error))?;
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folders = skills.folders.iter().map(|folder| absolute(folder).display().to_string());
    let settings = json!({
        "file": absolute(file).display().to_string(),
        "skills": folders.collect::<Vec<_>>(),
        "model": options.model,
        "mode": mode.to_string(),
    });
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = workflow.name.clone().unwrap_or(stem);
    let record = RunRecord { text, inputs, settings };
    let open = FileRuns::of(&world.state).create(&name, record).map_err(|it| not_kept(&it))?;
    let whole = Whole { workflow: &workflow, skills: &resolver, world: &world, mode, options };
    whole.run(open, options.model.as_deref(), printer)
}

fn resume(name: Option<&str>, options: &RunOptions, printer: &mut Printer) -> Result<Ended, Error> {
    let world = session::world()?;
    let store = FileRuns::of(&world.state);
    let Some(name) = name else {
        return Err(list::offer(Error::usage("the name of the run is missing"), &store));
    };
    let open = store.open(name).map_err(|error| match error {
        RunStoreError::NotThere(_) => list::offer(Error::not_found(error.to_string()), &store),
        other => not_kept(&other),
    })?;
    let settings = &open.record.settings;
    let file = PathBuf::from(settings["file"].as_str().unwrap_or_default());
    let folders = settings["skills"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let folders = folders.map(PathBuf::from).collect::<Vec<_>>();
    let skills = skills_of(&folders, &file, &world)?;
    let mode = settings["mode"].as_str().and_then(|mode| mode.parse().ok()).unwrap_or(Mode::Global);
    let model = options.model.clone().or_else(|| settings["model"].as_str().map(str::to_owned));
    let workflow = sound(&open.record.text, &file, skills.as_ref(), &world, printer)?;
    let whole = Whole { workflow: &workflow, skills: &skills, world: &world, mode, options };
    whole.run(open, model.as_deref(), printer)
}

/// A workflow without errors; one with errors is shown and refused.
fn sound(
    text: &str,
    file: &Path,
    skills: &dyn SkillResolver,
    world: &World,
    printer: &mut Printer,
) -> Result<Workflow, Error> {
    let (workflow, diagnostics) = examined(text, skills, world);
    let failed = diagnostics.iter().any(is_error);
    let examined = examine(file, text, workflow.as_ref(), diagnostics, CheckFormat::Full);
    let reports = examined.report.as_slice();
    printer.talk_report(|colour| full::render(reports, colour));
    if !failed && let Some(workflow) = workflow {
        return Ok(workflow);
    }
    let error =
        tool_run::refused(format!("`{}` has errors and was not run", skill_ref::shown(file)))
            .hint("correct them first");
    Err(Error { findings: reports.iter().flat_map(json::diagnostics).collect(), ..error })
}

fn wrong_inputs(error: &InputsError) -> Error {
    hints(&[error.remedy()]).iter().fold(Error::usage(error.to_string()), Error::hint)
}

fn not_kept(error: &RunStoreError) -> Error {
    let told = match error {
        RunStoreError::NotThere(_) => Error::not_found(error.to_string()),
        RunStoreError::Busy(_) | RunStoreError::Broken { .. } | RunStoreError::Disk { .. } => {
            tool_run::refused(error.to_string())
        }
    };
    hints(&[error.remedy()]).iter().fold(told, Error::hint)
}

/// A workflow with everything around it.
struct Whole<'w> {
    workflow: &'w Workflow,
    skills: &'w Arc<dyn SkillResolver>,
    world: &'w Arc<World>,
    mode: Mode,
    options: &'w RunOptions,
}

impl Whole<'_> {
    fn run(
        &self,
        mut open: OpenRun,
        model: Option<&str>,
        printer: &mut Printer,
    ) -> Result<Ended, Error> {
        let world = self.world;
        let configured =
            Configured { default: model.map(str::to_owned), library: session::library()? };
        let limits = Limits::USUAL;
        let cancel = Cancel::default();
        tool_run::listen_for_signals(&cancel);
        let context = WorkflowContext {
            // A Python tool that several nodes call is loaded once.
            engine: Engine {
                workers: PythonWorkers::new(limits.parallel),
                ..Engine::new(Arc::clone(world))
            },
            models: Arc::new(configured),
            retriever: Some(Arc::new(prompt_run::bases(world))),
            skills: Arc::clone(self.skills),
            fetcher: Arc::new(workflow::public_fetcher()),
            consent: if self.options.yes { Consent::InAdvance } else { Consent::None },
            mode: self.mode,
            history: Arc::default(),
            cancel: cancel.clone(),
            limits,
        };
        // Whoever is asked and whoever watches look at the same terminal.
        let show = Mutex::new(Show::new(self.options.format, self.workflow.speaker(), printer));
        let mut sink = |event: &Event| {
            let mut show = show.lock().unwrap_or_else(PoisonError::into_inner);
            show.event(event);
            // As with any program in a pipe: who has no reader any more has nothing left to do.
            if show.is_unread() {
                cancel.cancel_by(tool_run::SIGPIPE);
            }
        };
        let mut approver = Blocking(Asking { show: &show });
        let span = tracing::info_span!("run", run_id = open.id.as_str());
        let work = workflow::run(self.workflow, &mut open, &context, &mut approver, &mut sink);
        let ended = prompt_run::runtime()?.block_on(work.instrument(span));
        let show = show.into_inner().unwrap_or_else(PoisonError::into_inner);
        show.ended(open.id.as_str(), &ended);
        Ok(ended)
    }
}

/// The models that are configured. Each is opened once: its connections serve all nodes.
struct Configured {
    /// The one for nodes that name none.
    default: Option<String>,
    library: Arc<Library>,
}

impl Models for Configured {
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn Model>, ModelError> {
        self.library.models().open(name.or(self.default.as_deref()))
    }
}

/// Asks on the terminal, in the middle of what is shown.
struct Asking<'a, 'p> {
    show: &'a Mutex<Show<'p>>,
}

impl Approver for Asking<'_, '_> {
    fn ask(&mut self, asked: &ApprovalRequest) -> Reply {
        let mut show = self.show.lock().unwrap_or_else(PoisonError::into_inner);
        Terminal { printer: show.printer() }.ask(asked)
    }
}

/// Programs that read JSON get their answer also when nothing ran.
fn tell_not_run(format: Format, error: &Error, printer: &mut Printer) {
    let mut data = json!({ "error": error.message });
    if !error.hints.is_empty() {
        data["hints"] = error.hints.clone().into();
    }
    if !error.findings.is_empty() {
        data["findings"] = error.findings.clone().into();
    }
    match format {
        Format::Text => {}
        Format::Json => {
            data["success"] = false.into();
            data["exit_code"] = i32::from(error.kind.exit_code()).into();
            printer.json(&data);
        }
        Format::Events => printer.json_line(&json!({ "event": "workflow_error", "data": data })),
    }
}
