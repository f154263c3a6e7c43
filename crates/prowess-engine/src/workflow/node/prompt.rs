//! Nodes that ask a model: prompt skills, and prompts of the workflow itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use prowess_format::render::{self, RenderContext};
use serde_json::Value;

use super::super::graph::{LlmNode, SkillUse};
use super::super::skill::SkillPart;
use super::{Failure, NodeContext, blocking};
use crate::loaded::LoadedSkill;
use crate::prompt::generation::{self, Deadline, Halt};
use crate::prompt::knowledge;
use crate::prompt::{CommandOutputs, PromptCall, PromptContext, run_prompt};
use prowess_core::{AnswerDetails, INTERRUPTED, TIMED_OUT};
use prowess_core::{Event, Thought};
use prowess_core::{Message, ModelRequest};

/// The default system prompt (AFL).
const DEFAULT_SYSTEM: &str = "You are a helpful assistant.";
/// The default temperature (AFL §3.2).
const DEFAULT_TEMPERATURE: f64 = 0.7;

/// Resolves the skill of a node.
async fn find(
    scene: &NodeContext<'_, '_, '_>,
    used: &SkillUse,
) -> Result<Arc<LoadedSkill>, Failure> {
    let (name, _) = used.skill_and_tool();
    let (skills, name) = (Arc::clone(&scene.context.skills), name.to_owned());
    Ok(blocking(move || skills.resolve(&name)).await??)
}

/// Runs a prompt skill.
pub(super) async fn skill(
    scene: &NodeContext<'_, '_, '_>,
    used: &SkillUse,
) -> Result<Value, Failure> {
    let context = scene.context;
    let found = find(scene, used).await?;
    let part = SkillPart::Prompt(&found.skill);
    let values = part.values(used, &scene.input.value, &scene.scope).map_err(Failure::new)?;
    let call = PromptCall {
        skill: &found,
        values: &values,
        arguments: None,
        history: &[],
        time: Some(context.limits.prompt),
        commands: CommandOutputs::NotRun,
    };
    let model = context.models.model(None);
    let surroundings = PromptContext {
        world: &context.engine.world,
        model: model.as_deref(),
        retriever: context.retriever.as_deref(),
        skills: context.skills.as_ref(),
        quizzes: &context.engine.quizzes,
        cancel: &context.cancel,
        hooks: None,
    };
    let mut tell = |event: &Event| scene.teller.inside(&scene.node.id, event);
    let envelope = run_prompt(&call, &surroundings, &mut tell).await;
    if envelope.is_success() {
        Ok(envelope.parsed.unwrap_or(Value::String(envelope.output)))
    } else {
        Err(Failure::of(&envelope))
    }
}

/// Asks a model. With a skill, its body is the system prompt, and its settings apply (AFL §7.3).
pub(super) async fn llm(scene: &NodeContext<'_, '_, '_>, llm: &LlmNode) -> Result<Value, Failure> {
    let context = scene.context;
    let time = context.limits.prompt;
    let patience = Deadline { cancel: &context.cancel, until: Some((Instant::now() + time, time)) };
    let mut tell = |event: &Event| scene.teller.inside(&scene.node.id, event);
    let model = context.models.model(llm.model.as_deref())?;
    let (system, temperature, max_tokens) = match &llm.skill {
        Some(used) => {
            let found = find(scene, used).await?;
            let system = body(scene, used, &found, &patience, &mut tell).await?;
            let sampling = found.skill.sampling.as_ref().and_then(|it| it.temperature);
            (system, sampling.or(llm.temperature), Some(found.skill.max_tokens_or_default()))
        }
        None => {
            let system = llm.system.as_ref().map(|(_, template)| template.render(&scene.scope));
            (system.unwrap_or_else(|| DEFAULT_SYSTEM.to_owned()), llm.temperature, None)
        }
    };
    let mut messages = if llm.inherits_history { context.history.to_vec() } else { Vec::new() };
    messages.push(Message::User(scene.input.text.clone()));
    let request = ModelRequest {
        system: Some(system),
        messages,
        temperature: Some(temperature.unwrap_or(DEFAULT_TEMPERATURE)),
        max_tokens: max_tokens.and_then(|most| u32::try_from(most).ok()),
        tools: Vec::new(),
        schema: None,
    };
    tell(&Event::Thought(Thought {
        kind: "generation",
        status: "start",
        message: None,
        details: Vec::new(),
    }));
    let mut answer = AnswerDetails::default();
    let text =
        generation::stream(model.as_ref(), &request, &mut answer, &patience, &mut tell, true)
            .await
            .map_err(|halt| halted(halt, scene))?;
    Ok(text.into())
}

/// The rendered body of a skill, with passages of its knowledge base.
async fn body(
    scene: &NodeContext<'_, '_, '_>,
    used: &SkillUse,
    found: &LoadedSkill,
    patience: &Deadline<'_>,
    tell: &mut crate::prompt::Sink<'_>,
) -> Result<String, Failure> {
    scene.context.engine.quizzes.require_passed(found)?;
    let part = SkillPart::Prompt(&found.skill);
    let values = part.values(used, &scene.input.value, &scene.scope).map_err(Failure::new)?;
    let directory = found.directory.as_deref().map(Path::to_string_lossy);
    let project = scene.context.engine.world.working_directory.to_string_lossy();
    let context = RenderContext {
        skill_dir: directory.as_deref(),
        project_dir: Some(&project),
        ..RenderContext::of_inputs(&values)
    };
    let rendered = render::prompt(&found.skill, &context).map_err(|errors| {
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::new(all.join("; ")).advice("set the inputs of the skill in `inputMappings`")
    })?;
    tell(&Event::Thought(Thought {
        kind: "skill",
        status: "complete",
        message: None,
        details: vec![("skill_name", found.name.clone().into())],
    }));
    let Some(base) = &found.skill.knowledge_base else { return Ok(rendered.text) };
    let query = &scene.input.text;
    let look = knowledge::look_up(base.as_str(), query, scene.context.retriever.as_deref(), tell);
    let context = patience.bound(look).await.map_err(|halt| halted(halt, scene))?;
    let blocks: Vec<String> = super::knowledge::blocks(&context.sources);
    if blocks.is_empty() {
        return Ok(rendered.text);
    }
    Ok(format!("{}\n\nContext:\n{}", rendered.text, blocks.join("\n\n")))
}

fn halted(halt: Halt, scene: &NodeContext<'_, '_, '_>) -> Failure {
    match halt {
        Halt::Model(error) => error.into(),
        Halt::TimedOut(time) => Failure {
            exit_code: TIMED_OUT,
            ..Failure::new(format!("the model did not finish within {} s", time.as_secs_f64()))
        },
        Halt::Cancelled => Failure {
            exit_code: scene.context.cancel.exit_code().unwrap_or(INTERRUPTED),
            ..Failure::new("it was cancelled")
        },
    }
}
