//! `prowess workflow`: checks, runs and resumes workflows, which are graphs of skills.

mod list;
mod show;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Args, Subcommand, ValueEnum};
use prowess_core::{Event, Model, ModelError};
use prowess_engine::workflow::{
    self, CheckContext, FileRuns, InputsError, ModelLookup, NodeExecutor, OpenRun, RunRecord,
    RunStore as _, RunStoreError, Workflow, WorkflowContext, WorkflowLimits, WorkflowOutcome,
};
use prowess_engine::{
    ApprovalReply, ApprovalRequest, Approver, BlockingApprover, CancellationToken, Consent, Engine,
    PythonWorkers, SkillResolver, World,
};
use prowess_files::atomic::folder_of;
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
use crate::run::hook_services::hook_services;
use crate::run::inputs::{self, InputOptions};
use crate::run::prompt_run;
use crate::run::tool_run;
use crate::session;
use crate::skill::check_report::{self, CheckOptions, FindingsReader};
use crate::skill::skill_ref;
use crate::terminal::approval_prompt::TerminalApprover;
use crate::terminal::printer::Printer;
use crate::walk::Walked;
use show::WorkflowPrinter;

/// Check and run workflows: graphs of skills, models, requests and programs
///
/// A workflow is a JSON file with `nodes` and `edges`, as Agent Flow Lite writes
/// them. Independent branches run in parallel, and a node waits for all branches
/// that lead to it and are taken. The result of every node is saved, so that a
/// stopped run can be resumed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess workflow check examples/release-workflow.json
  prowess workflow check examples/release-workflow.json --format mermaid
  prowess workflow run examples/release-workflow.json --input log=
  prowess workflow list

Each subcommand has its own exit codes, see `prowess workflow run --help`.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// The exit codes of `run` and `resume`, for their help.
macro_rules! exit_codes {
    ($not_found:literal) => {
        concat!(
            "\
Exit codes:
    0  all nodes on the way succeeded
    1  a node failed
    2  an input is missing or invalid, or the arguments are wrong
    3  ",
            $not_found,
            "
  124  a model timed out
  125  refused: the workflow has errors, a tool was not approved, there is no
       model, or another process is executing the run
  129, 130, 143, 141
       ended by SIGHUP, Ctrl-C or SIGTERM, or because its output was closed"
        )
    };
}

#[derive(Subcommand)]
enum Action {
    /// Find what is wrong with a workflow, or draw it
    ///
    /// Finds cycles, unreachable nodes, dangling references, and skills that are
    /// missing or do not get their inputs, each with its position and what to do.
    /// Nothing is run, and no model or server is contacted.
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
        /// The output format
        #[arg(long, value_enum, default_value_t = CheckFormat::Full)]
        format: CheckFormat,
    },
    /// Run a workflow
    ///
    /// The workflow is checked first; one with errors is not run. The result goes to
    /// standard output. The run's name and its steps are shown on a terminal, or
    /// with `--verbose`. A run that stops early prints the command that resumes it.
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
        /// The mode you are in: Global, Dev, Meeting or Writer
        #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
        mode: Mode,
        #[command(flatten)]
        run: RunOptions,
    },
    /// Resume a run that was stopped or failed
    ///
    /// Nodes that have finished are not run again; interrupted ones are. The workflow
    /// and its inputs are those that the run was started with. Without a name, the
    /// runs that can be resumed are listed.
    #[command(after_long_help = concat!("\
Examples:
  prowess workflow resume release-notes-x7Gk2pQz
  prowess workflow resume release-notes-x7Gk2pQz --model ollama/llama3.2

", exit_codes!("the run does not exist")))]
    Resume {
        /// The run's name, as `prowess workflow list` shows it
        #[arg(value_name = "RUN")]
        run_name: Option<String>,
        #[command(flatten)]
        run: RunOptions,
    },
    List(list::Arguments),
}

/// The options that say where skills are.
#[derive(Args)]
struct SkillOptions {
    /// A folder of skills, searched before the workflow's folder, its `skills`
    /// folder and the installed skills; may be repeated
    #[arg(long = "skills", value_name = "DIR")]
    folders: Vec<PathBuf>,
}

/// The options of a run.
#[derive(Args)]
struct RunOptions {
    #[arg(
        long,
        value_name = "PROVIDER/NAME",
        help = "The model for nodes that name none [env: PROWESS_MODEL]"
    )]
    model: Option<String>,
    /// Approve everything that can be approved in advance, for this run only
    #[arg(short, long)]
    yes: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// Source lines with the position underlined
    Full,
    /// One line per finding
    Concise,
    /// One JSON object
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// Annotations for GitHub workflows
    Github,
    /// A Mermaid diagram of the workflow
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
            report_not_run(options.format, &error, printer);
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
    // Without the list, missing bases are not reported.
    let bases = prompt_run::bases(world).names().ok();
    let bases = bases.map(|it| it.iter().map(ToString::to_string).collect::<Vec<_>>());
    workflow::check(text, CheckContext { skills, bases: bases.as_deref() })
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
        reader: FindingsReader::Author,
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

/// Finds skills by name: in the named folders, beside the workflow, and among the installed ones.
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
) -> Result<WorkflowOutcome, Error> {
    let text = load(file)?;
    let world = session::world()?;
    let resolver = skills_of(&skills.folders, file, &world)?;
    let workflow = require_valid(&text, file, resolver.as_ref(), &world, printer)?;
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
    let runs = FileRuns::of(&world.state);
    let open = runs.create(&name, record).map_err(|error| store_error(&error))?;
    let run = WorkflowRun { workflow: &workflow, skills: &resolver, world: &world, mode, options };
    run.execute(open, options.model.as_deref(), printer)
}

fn resume(
    name: Option<&str>,
    options: &RunOptions,
    printer: &mut Printer,
) -> Result<WorkflowOutcome, Error> {
    let world = session::world()?;
    let store = FileRuns::of(&world.state);
    let Some(name) = name else {
        return Err(list::offer(Error::usage("the name of the run is missing"), &store));
    };
    let open = store.open(name).map_err(|error| match error {
        RunStoreError::NotThere(_) => list::offer(Error::not_found(error.to_string()), &store),
        other => store_error(&other),
    })?;
    let settings = &open.record.settings;
    let file = PathBuf::from(settings["file"].as_str().unwrap_or_default());
    let folders = settings["skills"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let folders = folders.map(PathBuf::from).collect::<Vec<_>>();
    let skills = skills_of(&folders, &file, &world)?;
    let mode = settings["mode"].as_str().and_then(|mode| mode.parse().ok()).unwrap_or(Mode::Global);
    let model = options.model.clone().or_else(|| settings["model"].as_str().map(str::to_owned));
    let workflow = require_valid(&open.record.text, &file, skills.as_ref(), &world, printer)?;
    let run = WorkflowRun { workflow: &workflow, skills: &skills, world: &world, mode, options };
    run.execute(open, model.as_deref(), printer)
}

/// Checks a workflow, prints its findings, and refuses one with errors.
fn require_valid(
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

fn store_error(error: &RunStoreError) -> Error {
    let failed = match error {
        RunStoreError::NotThere(_) => Error::not_found(error.to_string()),
        RunStoreError::Busy(_) | RunStoreError::Broken { .. } | RunStoreError::Disk { .. } => {
            tool_run::refused(error.to_string())
        }
    };
    hints(&[error.remedy()]).iter().fold(failed, Error::hint)
}

/// A workflow with everything that a run needs.
struct WorkflowRun<'w> {
    workflow: &'w Workflow,
    skills: &'w Arc<dyn SkillResolver>,
    world: &'w Arc<World>,
    mode: Mode,
    options: &'w RunOptions,
}

impl WorkflowRun<'_> {
    fn execute(
        &self,
        mut open: OpenRun,
        model: Option<&str>,
        printer: &mut Printer,
    ) -> Result<WorkflowOutcome, Error> {
        let world = self.world;
        let configured =
            Configured { default: model.map(str::to_owned), library: session::library()? };
        let limits = WorkflowLimits::USUAL;
        let cancel = CancellationToken::default();
        tool_run::listen_for_signals(&cancel);
        let context = WorkflowContext {
            // A Python tool that several nodes call is loaded once.
            engine: Engine {
                workers: PythonWorkers::new(limits.parallel),
                hooks: hook_services(&session::library()?, model)?,
                ..prowess_library::engine(Arc::clone(world))
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
            executor: NodeExecutor::default(),
        };
        // Events and approval prompts share the terminal.
        let show =
            Mutex::new(WorkflowPrinter::new(self.options.format, self.workflow.speaker(), printer));
        let mut sink = |event: &Event| {
            let mut show = show.lock().unwrap_or_else(PoisonError::into_inner);
            show.event(event);
            // As with any program in a pipe, a closed output ends it.
            if show.is_closed() {
                cancel.cancel_by(tool_run::SIGPIPE);
            }
        };
        let mut approver = BlockingApprover(SharedApprover { show: &show });
        let span = tracing::info_span!("run", run_id = open.id.as_str());
        let work = workflow::run(self.workflow, &mut open, &context, &mut approver, &mut sink);
        let ended = prompt_run::runtime()?.block_on(work.instrument(span));
        let show = show.into_inner().unwrap_or_else(PoisonError::into_inner);
        show.ended(open.id.as_str(), &ended);
        Ok(ended)
    }
}

/// The configured models. Each is opened once, and its connections serve all nodes.
struct Configured {
    /// The model for nodes that name none.
    default: Option<String>,
    library: Arc<Library>,
}

impl ModelLookup for Configured {
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn Model>, ModelError> {
        self.library.models().open(name.or(self.default.as_deref()))
    }
}

/// Asks on the terminal that also shows the events.
struct SharedApprover<'a, 'p> {
    show: &'a Mutex<WorkflowPrinter<'p>>,
}

impl Approver for SharedApprover<'_, '_> {
    fn ask(&mut self, asked: &ApprovalRequest) -> ApprovalReply {
        let mut show = self.show.lock().unwrap_or_else(PoisonError::into_inner);
        TerminalApprover { printer: show.printer() }.ask(asked)
    }
}

/// Prints the error of a run that did not start, for programs that read JSON.
fn report_not_run(format: Format, error: &Error, printer: &mut Printer) {
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
