//! The skills that a workflow can use: found by name, by somebody who knows where they are.

use std::path::PathBuf;
use std::sync::Arc;

use prowess_format::skill::{Kind, Parameter, Skill, Tool};
use prowess_format::text::closest;
use prowess_policy::Trust;

use crate::prepare::Subject;

/// Finds skills.
pub trait Skills: Send + Sync {
    /// The skill of this name, read and without errors.
    fn find(&self, name: &str) -> Result<Arc<KnownSkill>, SkillError>;
}

/// A skill that was found.
#[derive(Clone, Debug)]
pub struct KnownSkill {
    /// What it declares.
    pub skill: Skill,
    /// The name that counts (R3).
    pub name: String,
    /// Its folder, free of symbolic links.
    pub directory: Option<PathBuf>,
    /// Its main file.
    pub file: PathBuf,
    /// How far it is trusted.
    pub trust: Trust,
}

/// Why there is no such skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SkillError {
    /// A phrase in lower case.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// What is to be run of a skill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part<'s> {
    /// Its text.
    Prompt(&'s Skill),
    /// One of its tools.
    Tool(&'s Tool),
}

impl KnownSkill {
    /// The skill as the engine wants it.
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            skill: &self.skill,
            name: &self.name,
            directory: self.directory.as_deref(),
            file: &self.file,
            trust: self.trust.clone(),
        }
    }

    /// What `skill/tool`, or `skill` alone, means.
    pub(crate) fn part(&self, tool: Option<&str>) -> Result<Part<'_>, SkillError> {
        let name = &self.name;
        let names: Vec<&str> = self.skill.tools.iter().map(|tool| tool.name.as_str()).collect();
        let list =
            || names.iter().map(|it| format!("`{name}/{it}`")).collect::<Vec<_>>().join(", ");
        if let Some(tool) = tool {
            return self.skill.tool(tool).map(Part::Tool).ok_or_else(|| SkillError {
                message: format!("`{name}` has no tool `{tool}`"),
                hint: match closest(tool, names.iter().copied()) {
                    Some(similar) => format!("did you mean `{name}/{similar}`?"),
                    None if names.is_empty() => format!("it has no tools: write `{name}`"),
                    None => format!("there are {}", list()),
                },
            });
        }
        match (self.skill.kind, self.skill.tools.as_slice()) {
            (Kind::Tools, [only]) => Ok(Part::Tool(only)),
            (Kind::Tools, [_, _, ..]) => Err(SkillError {
                message: format!("`{name}` has several tools"),
                hint: format!("name one: {}", list()),
            }),
            _ => Ok(Part::Prompt(&self.skill)),
        }
    }
}

impl<'s> Part<'s> {
    /// What it can be given.
    pub(crate) fn parameters(self) -> &'s [Parameter] {
        match self {
            Part::Prompt(skill) => &skill.inputs,
            Part::Tool(tool) => &tool.parameters,
        }
    }

    /// AFL §7.3: what gets the output of the node before, when nothing else is said.
    pub(crate) fn default_input(self) -> Option<&'s Parameter> {
        let parameters = self.parameters();
        parameters.iter().find(|parameter| parameter.required).or(parameters.first())
    }
}
