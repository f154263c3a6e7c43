//! Prompt skills in `prowess run`: the model, the knowledge and the skills around, and where the answer goes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Envelope, Event};
use prowess_engine::{
    Cancel, LoadedSkill, PromptCall, PromptSurroundings, SkillResolver, World, run_prompt,
};
use prowess_files::whole::{self, folder_of};
use prowess_format::skill::{Kind, Skill};
use prowess_knowledge::Bases;
use prowess_library::Library;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::render::run_events::{Format, Show};
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_writer;
use crate::terminal::printer::Printer;

/// What the user wants of a prompt skill.
pub(crate) struct Wish<'w> {
    pub(crate) sound: &'w LoadedSkill,
    pub(crate) values: &'w Map<String, Value>,
    /// `PROVIDER/NAME`, where it is said.
    pub(crate) model: Option<&'w str>,
    /// Where the answer is written to.
    pub(crate) output: Option<&'w Path>,
    pub(crate) format: Format,
}

/// Whether a skill is a prompt for a model: one with inputs, or a procedure that is written for this kind of runtime
/// (SRT §4.3).
pub(crate) fn is_prompt(skill: &Skill) -> bool {
    let is_procedure = skill.kind == Kind::Instructions
        && skill.runtime.is_some()
        && skill.runtime_or_default() == "markdown-skill";
    (skill.kind == Kind::Prompt || is_procedure) && skill.tools.is_empty()
}

/// Where knowledge bases are.
pub(crate) fn bases(world: &World) -> Bases {
    Bases::open(&world.state.knowledge())
}

/// Where skills are found by name: beside the one that is meant, and among the user's own.
fn skills(beside: Option<&Path>, library: &Arc<Library>) -> Arc<dyn SkillResolver> {
    let beside = beside.and_then(Path::parent).map(Path::to_owned);
    let own = library.world().state.skills();
    library.in_folders(beside.into_iter().chain([own]).collect())
}

/// A runtime for a conversation.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::failed(format!("cannot wait for a network: {error}")))
}

/// Runs a prompt skill and shows what happens.
pub(crate) fn run(
    wish: &Wish<'_>,
    cancel: &Cancel,
    printer: &mut Printer,
) -> Result<Envelope, Error> {
    let skill = &wish.sound.skill;
    let wants_file = skill
        .outputs
        .as_ref()
        .and_then(|outputs| outputs.kind.as_ref())
        .is_some_and(|kind| kind.as_str() == "file");
    if wants_file && wish.output.is_none() {
        return Err(Error::usage("the skill writes a file (`outputs.type: file`)")
            .hint("say where: `--output FILE`"));
    }
    if let Some(output) = wish.output {
        refuse_unwritable(output)?;
    }
    let library = session::library()?;
    let world = library.world();
    let model = library.models().open(wish.model);
    let skills = skills(wish.sound.directory.as_deref(), &library);
    let bases = bases(world);
    let around = PromptSurroundings {
        world,
        model: model.as_deref(),
        retriever: Some(&bases),
        skills: skills.as_ref(),
        cancel,
    };
    let seconds = skill.timeout_secs.as_ref().and_then(|secs| u64::try_from(secs.value).ok());
    let call = PromptCall {
        skill: wish.sound,
        values: wish.values,
        arguments: None,
        history: &[],
        time: seconds.map(Duration::from_secs),
    };
    let mut show = Show::new(wish.format, printer);
    if wish.output.is_some() {
        show.keep_tokens();
    }
    show.wait_for(wish.sound.name.as_str());
    let mut sink = |event: &Event| {
        show.event(event);
        // As with any program in a pipe: who has no reader any more has nothing left to do.
        if show.is_unread() {
            cancel.cancel_by(tool_run::SIGPIPE);
        }
    };
    let envelope = runtime()?.block_on(run_prompt(&call, &around, &mut sink));
    show.finish();
    if let Some(output) = wish.output.filter(|_| envelope.is_success()) {
        let mut text = envelope.output.clone();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        skill_writer::whole_file(output, text.as_bytes())?;
        printer.note(&format!("wrote `{}`", output.display()));
    }
    Ok(envelope)
}

/// What can't be written later is better known before a model is paid.
fn refuse_unwritable(output: &Path) -> Result<(), Error> {
    if output == Path::new("-") {
        return Err(Error::usage("`--output` wants a file")
            .hint("leave `--output` out: the answer goes to standard output anyway"));
    }
    let target = skill_writer::behind_links(output);
    if target.is_dir() {
        return Err(Error::usage(format!("`{}` is a folder", output.display()))
            .hint("name a file: `--output FOLDER/FILE`"));
    }
    // A device or a pipe can't be replaced as a whole, and must not be.
    if target.exists() && !target.is_file() {
        return Err(Error::usage(format!("`{}` is not a regular file", output.display()))
            .hint("leave `--output` out and redirect standard output"));
    }
    let folder = folder_of(&target);
    whole::can_write_into(folder).map_err(|source| Error::io("write into", folder, &source))
}
