//! Runs prompt skills for `prowess run`: opens the model and the knowledge bases, and writes the answer.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Envelope, Event};
use prowess_engine::{
    CancellationToken, LoadedSkill, PromptCall, PromptContext, SkillResolver, World, run_prompt,
};
use prowess_files::atomic::{self, folder_of};
use prowess_format::skill::{Skill, SkillKind};
use prowess_knowledge::KnowledgeBases;
use prowess_library::Library;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::render::run_events::{EventPrinter, Format};
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_writer;
use crate::terminal::printer::Printer;

/// A prompt skill with its values, and where the answer goes.
pub(crate) struct PromptRequest<'r> {
    pub(crate) world: &'r World,
    pub(crate) skill: &'r LoadedSkill,
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
    let around = PromptContext {
        world,
        model: model.as_deref(),
        retriever: Some(&bases),
        skills: skills.as_ref(),
        cancel,
    };
    let seconds = skill.timeout_secs.as_ref().and_then(|secs| u64::try_from(secs.value).ok());
    let call = PromptCall {
        skill: request.skill,
        values: request.values,
        arguments: None,
        history: &[],
        time: seconds.map(Duration::from_secs),
    };
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
