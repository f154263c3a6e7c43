//! The part of a skill that a node runs, and its inputs (AFL §7.3).

use prowess_format::render::parse_input;
use prowess_format::skill::{Parameter, Skill, SkillKind, Tool};
use prowess_format::text::closest;
use serde_json::{Map, Value};

use super::graph::{MappingSource, SkillUse};
use super::template::{Lookup, text_of};
use crate::loaded::LoadedSkill;

/// The part of a skill to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SkillPart<'s> {
    /// Its prompt.
    Prompt(&'s Skill),
    /// One of its tools.
    Tool(&'s Tool),
}

/// Why nothing of a skill can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkillPartError {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl<'s> SkillPart<'s> {
    /// Resolves `skill/tool`, or `skill` alone.
    pub(crate) fn of(found: &'s LoadedSkill, tool: Option<&str>) -> Result<Self, SkillPartError> {
        let (skill, name) = (&found.skill, &found.name);
        let names: Vec<&str> = skill.tools.iter().map(|tool| tool.name.as_str()).collect();
        let list =
            || names.iter().map(|it| format!("`{name}/{it}`")).collect::<Vec<_>>().join(", ");
        if let Some(tool) = tool {
            return skill.tool(tool).map(SkillPart::Tool).ok_or_else(|| SkillPartError {
                message: format!("`{name}` has no tool `{tool}`"),
                hint: match closest(tool, names.iter().copied()) {
                    Some(similar) => format!("did you mean `{name}/{similar}`?"),
                    None if names.is_empty() => format!("it has no tools: write `{name}`"),
                    None => format!("its tools are {}", list()),
                },
            });
        }
        match (skill.kind, skill.tools.as_slice()) {
            (SkillKind::Tools, [only]) => Ok(SkillPart::Tool(only)),
            (SkillKind::Tools, [_, _, ..]) => Err(SkillPartError {
                message: format!("`{name}` has several tools"),
                hint: format!("name one: {}", list()),
            }),
            _ => Ok(SkillPart::Prompt(skill)),
        }
    }

    /// The parameters.
    pub(crate) fn parameters(self) -> &'s [Parameter] {
        match self {
            SkillPart::Prompt(skill) => &skill.inputs,
            SkillPart::Tool(tool) => &tool.parameters,
        }
    }

    /// The input that gets the output of the previous node by default: the first required one, or else the first.
    pub(crate) fn default_input(self) -> Option<&'s Parameter> {
        let parameters = self.parameters();
        parameters.iter().find(|parameter| parameter.required).or(parameters.first())
    }

    /// The values for a run. An unresolved mapping is omitted, so that the skill's default applies.
    pub(crate) fn values(
        self,
        used: &SkillUse,
        input: &Value,
        lookup: &dyn Lookup,
    ) -> Result<Map<String, Value>, String> {
        let mut values = Map::new();
        let mut put = |parameter: Option<&Parameter>, name: &str, value: Value| {
            let kind = parameter.map_or("string", |parameter| parameter.kind.as_str());
            let value = fitting(value, kind).map_err(|why| format!("the input `{name}`: {why}"))?;
            values.insert(name.to_owned(), value);
            Ok::<(), String>(())
        };
        if used.mappings.is_empty() {
            if let Some(parameter) = self.default_input() {
                put(Some(parameter), &parameter.name.value, input.clone())?;
            }
            return Ok(values);
        }
        for mapping in &used.mappings {
            let parameter = self.parameters().iter().find(|it| *it.name == mapping.input);
            let value = match &mapping.source {
                MappingSource::Node(reference) => lookup.value(reference).cloned(),
                MappingSource::Template(template) => match template.lone_reference() {
                    Some(reference) => lookup.value(reference).cloned(),
                    None => Some(template.render(lookup).into()),
                },
                // `concise` is a literal and never becomes `{{concise}}`.
                MappingSource::Literal(value) => Some(value.clone()),
            };
            if let Some(value) = value.filter(|value| !value.is_null()) {
                put(parameter, &mapping.input, value)?;
            }
        }
        Ok(values)
    }
}

/// Converts a value to the required type: models and programs write numbers as text, and objects may be required as
/// text.
fn fitting(value: Value, kind: &str) -> Result<Value, String> {
    match value {
        Value::String(text) => parse_input(&text, kind).map_err(|error| error.to_string()),
        value if matches!(parse_input("x", kind), Ok(Value::String(_))) => {
            Ok(text_of(&value).into())
        }
        value => Ok(value),
    }
}
