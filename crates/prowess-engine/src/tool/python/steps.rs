//! The seven steps of loading a skill, by name (GAIA §5.1). Where one fails, nothing of the later ones happens.

use std::fmt;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadStep {
    /// The skill's folder is found.
    Resolve,
    /// SKILL.md is read.
    Parse,
    /// The permissions are held against the tier, and the user is asked where that is due.
    Permissions,
    /// The Python packages are installed.
    Dependencies,
    /// `tools.py` is imported in the sandbox.
    Import,
    /// Every declared tool is a function that is decorated. What can be seen without importing is verified before any
    /// package is installed.
    Verify,
    /// The tools get their names.
    Register,
}

impl LoadStep {
    /// All of them, in their order.
    pub const ALL: [LoadStep; 7] = [
        LoadStep::Resolve,
        LoadStep::Parse,
        LoadStep::Permissions,
        LoadStep::Dependencies,
        LoadStep::Import,
        LoadStep::Verify,
        LoadStep::Register,
    ];

    /// Its number, from 1.
    pub fn number(self) -> usize {
        Self::ALL.iter().position(|step| *step == self).map_or(0, |at| at + 1)
    }

    /// What it does, in a few words.
    pub fn name(self) -> &'static str {
        match self {
            LoadStep::Resolve => "find the skill's folder",
            LoadStep::Parse => "read SKILL.md",
            LoadStep::Permissions => "check the permissions",
            LoadStep::Dependencies => "install the Python packages",
            LoadStep::Import => "import tools.py",
            LoadStep::Verify => "verify the tools",
            LoadStep::Register => "register the tools",
        }
    }
}

/// A skill that was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{skill}` can't be loaded (step {} of 7, {}): {reason}", .step.number(), .step.name())]
pub struct LoadError {
    /// The skill.
    pub skill: String,
    /// The step that failed.
    pub step: LoadStep,
    /// Why.
    pub reason: String,
    /// What would help.
    pub remedies: Vec<prowess_core::Remedy>,
}

impl LoadError {
    pub(super) fn new(skill: &str, step: LoadStep, reason: &dyn fmt::Display) -> Self {
        Self { skill: skill.to_owned(), step, reason: reason.to_string(), remedies: Vec::new() }
    }
}
