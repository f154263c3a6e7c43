//! Everything that a model may call, under names that never change while the agent works.

use std::collections::BTreeSet;
use std::sync::Arc;

use prowess_core::ToolSpec;
use prowess_engine::manifest::Catalogue;
use prowess_engine::{LoadedSkill, ToolHandle, script_tool, scripts};
use prowess_format::permission::Level;
use prowess_format::skill::{Parameter, Skill, SkillKind, Tool, ToolKind};
use prowess_format::text::{closest, visible};
use prowess_policy::grants;
use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::limits::MAX_TOOLS;
use crate::native_tools::NativeTool;

/// The longest name that all providers accept.
const MAX_NAME: usize = 64;
/// The most scripts of one skill.
const MAX_SCRIPTS: usize = 64;
/// The longest description of a tool, in characters.
const MAX_DESCRIPTION: usize = 1024;

/// All tools, each by its name.
pub(crate) struct Roster {
    entries: Vec<Entry>,
}

/// Tools that a conversation can reach.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'r> {
    /// The skills that are loaded.
    pub(crate) loaded: &'r BTreeSet<String>,
    /// The skills whose quizzes are passed.
    pub(crate) open: &'r BTreeSet<String>,
    /// Whether tools that can change something are out of reach.
    pub(crate) only_reads: bool,
}

/// A tool.
#[derive(Clone)]
pub(crate) struct Entry {
    spec: ToolSpec,
    pub(crate) target: Target,
    /// The skill that has to be loaded before it is offered.
    after_loading: Option<String>,
    /// The skill whose quiz has to be passed before it is offered.
    after_quiz: Option<String>,
}

/// The target of a call.
#[derive(Clone)]
pub(crate) enum Target {
    /// A part of the loop.
    Native(NativeTool),
    /// A tool or a script of a skill.
    Tool(Arc<SkillTool>),
    /// A prompt skill, which the model answers.
    Prompt(Arc<LoadedSkill>),
}

/// A tool or a script of a skill.
pub(crate) struct SkillTool {
    pub(crate) skill: Arc<LoadedSkill>,
    pub(crate) tool: Tool,
    pub(crate) handle: ToolHandle,
    /// Whether it can't change anything outside of its sandbox, so that the order of calls does not matter.
    pub(crate) only_reads: bool,
}

impl SkillTool {
    fn new(agent: &Agent, skill: &Arc<LoadedSkill>, tool: Tool) -> Arc<Self> {
        let requested = grants::of_tool(&skill.skill, &tool).for_tool(&tool.name.value);
        let changes =
            |level: Level| matches!(level, Level::Write | Level::Control | Level::Connect);
        let only_reads = !requested.grants().iter().any(|grant| changes(grant.level()));
        let handle = ToolHandle::new(Arc::clone(skill), tool.clone(), agent.mode);
        Arc::new(Self { skill: Arc::clone(skill), tool, handle, only_reads })
    }

    /// Whether it works in the current folder, as in a shell.
    pub(crate) fn is_script(&self) -> bool {
        matches!(self.tool.kind, ToolKind::Script | ToolKind::CommandLine)
    }
}

impl Roster {
    /// All tools of an agent.
    pub(crate) fn new(agent: &Agent, catalogue: &Catalogue, native: &[NativeTool]) -> Self {
        let skills = || agent.skills.iter().chain(&agent.own);
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut entries = Vec::new();
        for tool in native {
            taken.insert(tool.name().to_owned());
            let target = Target::Native(*tool);
            let spec = tool.spec(catalogue);
            entries.push(Entry { spec, target, after_loading: None, after_quiz: None });
        }
        for offered in &catalogue.offer.tools {
            let Some(skill) = skills().find(|skill| skill.name == offered.skill) else { continue };
            let Some(tool) = skill.skill.tool(&offered.tool) else { continue };
            taken.insert(offered.name.clone());
            let spec = ToolSpec {
                name: offered.name.clone(),
                description: cut(&offered.description),
                parameters: offered.parameters.clone(),
            };
            let target = Target::Tool(SkillTool::new(agent, skill, tool.clone()));
            entries.push(Entry { spec, target, after_loading: None, after_quiz: gate(skill) });
        }
        for skill in &catalogue.for_model {
            if is_prompt(&skill.skill) {
                let spec = ToolSpec {
                    name: unused(&format!("{}__run", skill.name), &mut taken),
                    description: cut(skill.skill.model_description(&skill.name)),
                    parameters: inputs_schema(&skill.skill.inputs),
                };
                let target = Target::Prompt(Arc::clone(skill));
                let after_quiz = gate(skill);
                entries.push(Entry { spec, target, after_loading: None, after_quiz });
            } else if let (SkillKind::Instructions, Some(directory)) =
                (skill.skill.kind, &skill.directory)
            {
                for script in scripts(&skill.skill, directory).into_iter().take(MAX_SCRIPTS) {
                    let tool =
                        script_tool(&skill.skill, &skill.name, Some(directory), &script.path);
                    let Ok(tool) = tool else { continue };
                    let spec = ToolSpec {
                        name: unused(&script_name(&skill.name, &script.path), &mut taken),
                        description: cut(&format!(
                            "Runs `{}` of the skill `{}`",
                            script.path, skill.name
                        )),
                        parameters: tool.arguments_schema(),
                    };
                    let target = Target::Tool(SkillTool::new(agent, skill, tool));
                    let after_loading = Some(skill.name.clone());
                    entries.push(Entry { spec, target, after_loading, after_quiz: gate(skill) });
                }
            }
        }
        Self { entries }
    }

    /// The tools for the next request, and how many there is no room for.
    pub(crate) fn offered(&self, reach: Reach<'_>) -> (Vec<ToolSpec>, usize) {
        let mut specs: Vec<ToolSpec> = self
            .entries
            .iter()
            .filter(|entry| entry.is_offered(reach))
            .map(|entry| entry.spec.clone())
            .collect();
        let too_many = specs.len().saturating_sub(MAX_TOOLS);
        specs.truncate(MAX_TOOLS);
        (specs, too_many)
    }

    /// Finds what a call means, or says why it means nothing.
    pub(crate) fn find(&self, name: &str, reach: Reach<'_>) -> Result<&Entry, String> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.spec.name == name) {
            return match (&entry.after_quiz, &entry.after_loading) {
                (Some(skill), _) if !reach.open.contains(skill) => Err(format!(
                    "`{name}` is available when the quiz of `{skill}` is passed: call `quiz_next`"
                )),
                (_, Some(skill)) if !reach.loaded.contains(skill) => {
                    Err(format!("`{name}` is available after `load_skill` with `{skill}`"))
                }
                _ if reach.only_reads && entry.changes() => {
                    Err(format!("`{name}` can change something, and this agent only reads"))
                }
                _ => Ok(entry),
            };
        }
        let names: Vec<&str> = self
            .entries
            .iter()
            .filter(|entry| entry.is_offered(reach))
            .map(|entry| entry.spec.name.as_str())
            .collect();
        let name = prowess_format::text::shorten(&visible(name), MAX_NAME);
        Err(match closest(&name, names.iter().copied()) {
            Some(similar) => format!("there is no tool `{name}`; did you mean `{similar}`?"),
            None if names.is_empty() => format!("there is no tool `{name}`, and no other"),
            None => format!("there is no tool `{name}`; the tools are {}", names.join(", ")),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Entry {
    fn is_offered(&self, reach: Reach<'_>) -> bool {
        self.after_loading.as_ref().is_none_or(|skill| reach.loaded.contains(skill))
            && self.after_quiz.as_ref().is_none_or(|skill| reach.open.contains(skill))
            && !(reach.only_reads && self.changes())
    }

    fn changes(&self) -> bool {
        matches!(&self.target, Target::Tool(tool) if !tool.only_reads)
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }
}

impl Target {
    /// The skill and its tool, for events.
    pub(crate) fn skill_and_tool(&self) -> (Option<String>, Option<String>) {
        match self {
            Target::Native(_) => (None, None),
            Target::Tool(tool) => {
                (Some(tool.skill.name.clone()), Some(tool.tool.name.value.clone()))
            }
            Target::Prompt(skill) => (Some(skill.name.clone()), None),
        }
    }
}

/// The skill that a quiz may close.
fn gate(skill: &LoadedSkill) -> Option<String> {
    skill.skill.is_gated().then(|| skill.name.clone())
}

/// Whether a skill is a prompt for a model: one with inputs, or a procedure for the runtime `markdown-skill` (SRT §4.3).
fn is_prompt(skill: &Skill) -> bool {
    let is_procedure = skill.kind == SkillKind::Instructions
        && skill.runtime.is_some()
        && skill.runtime_or_default() == "markdown-skill";
    (skill.kind == SkillKind::Prompt || is_procedure) && skill.tools.is_empty()
}

fn cut(text: &str) -> String {
    prowess_format::text::shorten(&visible(text), MAX_DESCRIPTION)
}

/// The name of a script, as for MCP: that of its file, without the extension and with `_` for `-`.
fn script_name(skill: &str, path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let stem = if stem.is_empty() { file } else { stem };
    format!("{skill}__{}", stem.replace('-', "_"))
}

/// A name of letters, digits, `_` and `-`, which no other tool has.
fn unused(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(MAX_NAME).collect();
    let mut wanted = name.clone();
    let mut number = 2_usize;
    while !taken.insert(wanted.clone()) {
        let end = format!("_{number}");
        wanted = name.chars().take(MAX_NAME - end.len()).collect();
        wanted.push_str(&end);
        number += 1;
    }
    wanted
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
