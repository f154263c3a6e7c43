//! The tools of a skill as MCP describes them.

use std::collections::BTreeSet;
use std::sync::Arc;

use prowess_engine::{LoadedSkill, ToolHandle, script_tool, scripts};
use prowess_format::skill::{Parameter, Skill, SkillKind, Tool, ToolKind};
use prowess_policy::Mode;
use serde_json::{Map, Value, json};

use crate::{annotations, names};

/// The dialect of JSON Schema that MCP expects.
const SCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";
/// The most scripts of one skill that become tools.
const MAX_SCRIPTS: usize = 64;
/// The most bytes of a description.
const MAX_DESCRIPTION: usize = 4096;

/// A tool that clients can call.
#[derive(Debug)]
pub(crate) struct ServedTool {
    /// As clients see it.
    pub(crate) definition: rmcp::model::Tool,
    /// The skill.
    pub(crate) skill: Arc<LoadedSkill>,
    /// The effect of a call.
    pub(crate) action: Action,
}

/// The effect of a call of a tool.
#[derive(Debug)]
pub(crate) enum Action {
    /// Runs a tool or a script in the sandbox.
    Run(Box<RunAction>),
    /// Asks a model.
    Prompt,
}

/// A tool to run.
#[derive(Debug)]
pub(crate) struct RunAction {
    /// The tool.
    pub(crate) tool: Tool,
    /// It, with the decision and the worker of earlier calls.
    pub(crate) handle: ToolHandle,
}

/// The tools of a skill, in a mode. One that only its user may invoke has none.
pub(crate) fn of_skill(
    skill: &Arc<LoadedSkill>,
    mode: Mode,
    taken: &mut BTreeSet<String>,
) -> Vec<ServedTool> {
    let parsed = &skill.skill;
    let is_for_user =
        parsed.invocation.disable_model_invocation.as_ref().is_some_and(|flag| flag.value);
    if is_for_user {
        return Vec::new();
    }
    if is_prompt(parsed) {
        return vec![prompt_tool(skill, taken)];
    }
    let declared = parsed.tools.iter().map(|tool| {
        let name = names::of_tool(&skill.name, &tool.name.value);
        run_tool(skill, tool.clone(), mode, &names::unused(&name, taken))
    });
    let mut tools: Vec<ServedTool> = declared.collect();
    if parsed.kind == SkillKind::Instructions
        && let Some(directory) = &skill.directory
    {
        for script in scripts(parsed, directory).into_iter().take(MAX_SCRIPTS) {
            let Ok(mut tool) = script_tool(parsed, &skill.name, Some(directory), &script.path)
            else {
                continue;
            };
            tool.description = format!("Runs `{}` of the skill `{}`", script.path, skill.name);
            let name = names::unused(&names::of_script(&skill.name, &script.path), taken);
            tools.push(run_tool(skill, tool, mode, &name));
        }
    }
    tools
}

/// Whether a skill is a prompt for a model: one with inputs, or a procedure for the runtime `markdown-skill` (SRT §4.3).
pub(crate) fn is_prompt(skill: &Skill) -> bool {
    let is_procedure = skill.kind == SkillKind::Instructions
        && skill.runtime.is_some()
        && skill.runtime_or_default() == "markdown-skill";
    (skill.kind == SkillKind::Prompt || is_procedure) && skill.tools.is_empty()
}

fn run_tool(skill: &Arc<LoadedSkill>, tool: Tool, mode: Mode, name: &str) -> ServedTool {
    let about = match tool.kind {
        ToolKind::Script => tool.description.clone(),
        _ => skill.skill.tool_description(&tool).to_owned(),
    };
    let mut definition =
        rmcp::model::Tool::new(name.to_owned(), cut(&about), input_schema(tool.arguments_schema()))
            .with_annotations(annotations::of(&skill.skill, &tool));
    if let Some(schema) = output_schema(&skill.skill, &tool) {
        definition = definition.with_raw_output_schema(Arc::new(schema));
    }
    let handle = ToolHandle::new(Arc::clone(skill), tool.clone(), mode);
    let action = Action::Run(Box::new(RunAction { tool, handle }));
    ServedTool { definition, skill: Arc::clone(skill), action }
}

fn prompt_tool(skill: &Arc<LoadedSkill>, taken: &mut BTreeSet<String>) -> ServedTool {
    let name = names::unused(&names::of_tool(&skill.name, "run"), taken);
    let about = skill.skill.description_or(&skill.name);
    let schema = input_schema(inputs_schema(&skill.skill.inputs));
    let definition =
        rmcp::model::Tool::new(name, cut(about), schema).with_annotations(annotations::of_prompt());
    ServedTool { definition, skill: Arc::clone(skill), action: Action::Prompt }
}

/// The JSON Schema of the inputs of a prompt.
fn inputs_schema(inputs: &[Parameter]) -> Value {
    let mut properties = Map::new();
    for input in inputs {
        let kind = match input.kind.as_str() {
            known @ ("string" | "integer" | "number" | "boolean" | "array" | "object") => known,
            _ => "string",
        };
        let mut schema = Map::from_iter([("type".to_owned(), Value::from(kind))]);
        let about = input.description.as_ref().or(input.label.as_ref());
        schema.extend(about.map(|about| ("description".to_owned(), Value::from(about.as_str()))));
        schema.extend(input.default.clone().map(|default| ("default".to_owned(), default)));
        properties.insert(input.name.value.clone(), Value::Object(schema));
    }
    let required: Vec<&str> =
        inputs.iter().filter(|input| input.required).map(|input| input.name.as_str()).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn input_schema(schema: Value) -> Map<String, Value> {
    let mut object = Map::from_iter([("$schema".to_owned(), Value::from(SCHEMA))]);
    if let Value::Object(schema) = schema {
        object.extend(schema);
    }
    object
}

/// The schema of the result, where one is declared that every client can use: of an object, with no other dialect.
fn output_schema(skill: &Skill, tool: &Tool) -> Option<Map<String, Value>> {
    let own = tool.returns.as_ref().and_then(|returns| returns.get("schema"));
    let schema = own.or_else(|| skill.outputs.as_ref().and_then(|it| it.schema.as_ref()))?;
    let schema = schema.as_object()?;
    (schema.get("type") == Some(&Value::from("object"))).then(|| schema.clone())
}

/// A description of bounded length.
fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_DESCRIPTION);
    text[..end].to_owned()
}
