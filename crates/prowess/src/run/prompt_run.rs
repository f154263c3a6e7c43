//! Runs prompt skills for `prowess run`: opens the model and the knowledge bases, and writes the answer.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Envelope, Event};
use prowess_engine::quiz::Quizzes;
use prowess_engine::service::new_run_id;
use prowess_engine::{
    CancellationToken, CommandOutputs, Consent, Engine, HookFacts, HookSession, LoadedSkill,
    PromptCall, PromptContext, RunError, SkillResolver, UserGrants, World, approve,
    has_prompt_hooks, prepare_hooks, render_call, run_prompt,
};
use prowess_files::atomic::{self, folder_of};
use prowess_format::skill::{Skill, SkillKind};
use prowess_knowledge::KnowledgeBases;
use prowess_library::Library;
use prowess_policy::Mode;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::render::run_events::{EventPrinter, Format};
use crate::run::hook_services::hook_services;
use crate::run::injected_run::InjectedCommands;
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_writer;
use crate::terminal::approval_prompt::TerminalApprover;
use crate::terminal::printer::Printer;

/// A prompt skill with its values, and where the answer goes.
pub(crate) struct PromptRequest<'r> {
    pub(crate) world: &'r Arc<World>,
    pub(crate) skill: &'r Arc<LoadedSkill>,
    /// The mode that is on, for commands in the text.
    pub(crate) mode: Mode,
    /// Whether commands in the text are approved in advance.
    pub(crate) consent: Consent,
    /// The hooks around it that may run.
    pub(crate) hooks: Option<&'r HookSession>,
    pub(crate) values: &'r Map<String, Value>,
    /// `PROVIDER/NAME`, if the user named one.
    pub(crate) model: Option<&'r str>,
    /// The file for the answer.
    pub(crate) output: Option<&'r Path>,
    pub(crate) format: Format,
}

/// Whether a skill is a prompt for a model: one with inputs, or a procedure for the runtime `markdown-skill` (SRT §4.3).
pub(crate) fn is_prompt(skill: &Skill) -> bool {
    let is_procedure = skill.kind == SkillKind::Instructions
        && skill.runtime.is_some()
        && skill.runtime_or_default() == "markdown-skill";
    (skill.kind == SkillKind::Prompt || is_procedure) && skill.tools.is_empty()
}

/// The knowledge bases of this machine.
pub(crate) fn bases(world: &World) -> KnowledgeBases {
    KnowledgeBases::open(&world.state.knowledge())
}

/// Finds skills by name: in the folder around the given one, and among the installed skills.
fn skills(beside: Option<&Path>, library: &Arc<Library>) -> Arc<dyn SkillResolver> {
    let beside = beside.and_then(Path::parent).map(Path::to_owned);
    let own = library.world().state.skills();
    library.in_folders(beside.into_iter().chain([own]).collect())
}

/// A runtime for requests to models.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::failed(format!("cannot start the async runtime: {error}")))
}

/// The hooks around a prompt, after the user has approved them; `None` where there are none.
pub(crate) fn hooks(
    skill: &Arc<LoadedSkill>,
    mode: Mode,
    consent: Consent,
    world: &Arc<World>,
    model: Option<&str>,
    printer: &mut Printer,
) -> Result<Option<HookSession>, RunError> {
    if !has_prompt_hooks(&skill.skill) {
        return Ok(None);
    }
    let user = UserGrants::none();
    let Some(prepared) = prepare_hooks(skill, mode, &user, world)? else { return Ok(None) };
    let services = session::library().and_then(|library| hook_services(&library, model));
    let services = services.map_err(|error| RunError::Unsupported(error.message))?;
    let engine = Engine { hooks: services, ..Engine::new(Arc::clone(world)) };
    let ready = approve(prepared, &engine, consent, &mut TerminalApprover { printer })?;
    let session_id = new_run_id().map_err(|problem| RunError::Unsupported(problem.message))?;
    let facts = HookFacts { session_id: session_id.to_string(), ..HookFacts::default() };
    let session = HookSession::new(&engine, facts);
    session.register(ready);
    Ok(Some(session))
}

/// Runs a prompt skill and shows what happens.
pub(crate) fn run(
    request: &PromptRequest<'_>,
    cancel: &CancellationToken,
    printer: &mut Printer,
) -> Result<Envelope, Error> {
    let skill = &request.skill.skill;
    let wants_file = skill
        .outputs
        .as_ref()
        .and_then(|outputs| outputs.kind.as_ref())
        .is_some_and(|kind| kind.as_str() == "file");
    if wants_file && request.output.is_none() {
        return Err(Error::usage("the skill writes a file (`outputs.type: file`)")
            .hint("name it with `--output FILE`"));
    }
    if let Some(output) = request.output {
        refuse_unwritable(output)?;
    }
    let library = session::library()?;
    let world = request.world;
    let model = library.models().open(request.model);
    let skills = skills(request.skill.directory.as_deref(), &library);
    let bases = bases(world);
    let quizzes = Quizzes::of_user(world);
    let around = PromptContext {
        world,
        model: model.as_deref(),
        retriever: Some(&bases),
        skills: skills.as_ref(),
        quizzes: &quizzes,
        cancel,
        hooks: request.hooks,
    };
    let seconds = skill.timeout_secs.as_ref().and_then(|secs| u64::try_from(secs.value).ok());
    let call = PromptCall {
        skill: request.skill,
        values: request.values,
        arguments: None,
        history: &[],
        time: seconds.map(Duration::from_secs),
        commands: CommandOutputs::NotRun,
    };
    let outputs = injected(request, &call, model.is_ok(), cancel, printer)?;
    let commands = match &outputs {
        Injected::None => CommandOutputs::NotRun,
        Injected::Disabled => CommandOutputs::Disabled,
        Injected::Outputs(outputs) => CommandOutputs::Given(outputs),
    };
    let call = PromptCall { commands, ..call };
    let mut show = EventPrinter::new(request.format, printer);
    if request.output.is_some() {
        show.hide_tokens();
    }
    show.wait_for(request.skill.name.as_str());
    let mut sink = |event: &Event| {
        show.event(event);
        // As with any program in a pipe, a closed output ends it.
        if show.is_closed() {
            cancel.cancel_by(tool_run::SIGPIPE);
        }
    };
    let envelope = runtime()?.block_on(run_prompt(&call, &around, &mut sink));
    show.finish();
    if let Some(output) = request.output.filter(|_| envelope.is_success()) {
        let mut text = envelope.output.clone();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        skill_writer::whole_file(output, text.as_bytes())?;
        printer.note(&format!("wrote `{}`", output.display()));
    }
    Ok(envelope)
}

/// What takes the place of the commands in a text.
enum Injected {
    None,
    Disabled,
    Outputs(Vec<String>),
}

/// Runs the commands in the text, before the model is asked. Where there is no model, or the inputs are wrong, that is
/// reported by the run itself, and no command runs.
fn injected(
    request: &PromptRequest<'_>,
    call: &PromptCall<'_>,
    has_model: bool,
    cancel: &CancellationToken,
    printer: &mut Printer,
) -> Result<Injected, Error> {
    let Ok(rendered) = render_call(call, request.world) else { return Ok(Injected::None) };
    if rendered.commands.is_empty() || !has_model {
        return Ok(Injected::None);
    }
    if session::library()?.disables_injected_commands()? {
        return Ok(Injected::Disabled);
    }
    let commands = InjectedCommands {
        skill: request.skill,
        rendered: &rendered,
        mode: request.mode,
        consent: request.consent,
        user: UserGrants::none(),
        world: request.world,
    };
    commands.outputs(cancel, printer).map(Injected::Outputs)
}

/// Refuses an output file that can't be written, before the model is asked.
fn refuse_unwritable(output: &Path) -> Result<(), Error> {
    if output == Path::new("-") {
        return Err(Error::usage("`--output` expects a file")
            .hint("run without `--output`: the answer goes to standard output by default"));
    }
    let target = skill_writer::follow_links(output);
    if target.is_dir() {
        return Err(Error::usage(format!("`{}` is a folder", output.display()))
            .hint("name a file: `--output FOLDER/FILE`"));
    }
    // A device or a pipe can't be replaced atomically, and must not be.
    if target.exists() && !target.is_file() {
        return Err(Error::usage(format!("`{}` is not a regular file", output.display()))
            .hint("run without `--output` and redirect standard output"));
    }
    let folder = folder_of(&target);
    atomic::can_write_into(folder).map_err(|source| Error::io("write into", folder, &source))
}
