//! Skills that take inputs, as MCP prompts: the client's user fills them in.

use std::sync::Arc;

use prowess_engine::{LoadedSkill, World, plugin_root};
use prowess_format::render::{self, RenderContext, RenderedPrompt, parse_input};
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

/// The name of the argument for skills that take one text, as after `/name`.
const ARGUMENTS: &str = "arguments";

/// The MCP prompt of a skill; `None` for a skill without inputs or one that users may not invoke.
pub(crate) fn of_skill(skill: &Arc<LoadedSkill>) -> Option<Prompt> {
    let parsed = &skill.skill;
    let is_hidden = parsed.invocation.user_invocable.as_ref().is_some_and(|flag| !flag.value);
    if is_hidden {
        return None;
    }
    let mut arguments: Vec<PromptArgument> = parsed
        .inputs
        .iter()
        .map(|input| {
            let argument =
                PromptArgument::new(input.name.value.clone()).with_required(input.required);
            match input.description.as_ref().or(input.label.as_ref()) {
                Some(about) => argument.with_description(about.clone()),
                None => argument,
            }
        })
        .collect();
    if arguments.is_empty() && takes_arguments(skill) {
        let hint = parsed.invocation.argument_hint.as_ref();
        let argument = PromptArgument::new(ARGUMENTS).with_required(false);
        arguments.push(match hint {
            Some(hint) => argument.with_description(hint.value.clone()),
            None => argument,
        });
    }
    if arguments.is_empty() {
        return None;
    }
    let about = parsed.description.as_ref().map(|text| text.value.clone());
    Some(Prompt::new(skill.name.clone(), about, Some(arguments)))
}

/// Whether the text of a skill uses what a user types after its name.
fn takes_arguments(skill: &LoadedSkill) -> bool {
    let invocation = &skill.skill.invocation;
    !invocation.arguments.is_empty()
        || invocation.argument_hint.is_some()
        || skill.skill.body.contains("$ARGUMENTS")
}

/// The text of a skill with its inputs. Commands in it are not run yet: their places are marked.
pub(crate) fn render(
    skill: &LoadedSkill,
    arguments: Map<String, Value>,
    session_id: &str,
    world: &World,
) -> Result<RenderedPrompt, ErrorData> {
    let parsed = &skill.skill;
    let mut inputs = Map::new();
    let mut typed = None;
    for (name, value) in arguments {
        let declared = parsed.inputs.iter().find(|input| input.name.value == name);
        match (declared, value) {
            (None, Value::String(text)) if name == ARGUMENTS && parsed.inputs.is_empty() => {
                typed = Some(text);
            }
            // Arguments of prompts are text, whatever the input is.
            (Some(input), Value::String(text)) => {
                let value = parse_input(&text, input.kind.as_str())
                    .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
                inputs.insert(name, value);
            }
            (_, value) => {
                inputs.insert(name, value);
            }
        }
    }
    let directory = skill.directory.as_ref().map(|it| it.to_string_lossy().into_owned());
    let plugin = skill.directory.as_deref().and_then(plugin_root);
    let plugin = plugin.map(|root| root.to_string_lossy().into_owned());
    let project = world.working_directory.to_string_lossy();
    let context = RenderContext {
        arguments: typed.as_deref(),
        session_id: Some(session_id),
        skill_dir: directory.as_deref(),
        project_dir: Some(&project),
        plugin_root: plugin.as_deref(),
        ..RenderContext::of_inputs(&inputs)
    };
    render::prompt(parsed, &context).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        ErrorData::invalid_params(errors.join("; "), None)
    })
}

/// A text as the answer to a client.
pub(crate) fn result(skill: &LoadedSkill, text: String) -> GetPromptResult {
    let message = PromptMessage::new_text(Role::User, text);
    let mut result = GetPromptResult::new(vec![message]);
    result.description = skill.skill.description.as_ref().map(|text| text.value.clone());
    result
}
