//! The seven steps of loading a skill (GAIA §5.1). If one fails, the later ones are not run.

use std::fmt;

/// A step of loading a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadStep {
    /// Find the skill's folder.
    Resolve,
    /// Parse SKILL.md.
    Parse,
    /// Check the permissions against the tier, and ask the user if needed.
    Permissions,
    /// Install the Python packages.
    Dependencies,
    /// Import `tools.py` in the sandbox.
    Import,
    /// Verify that every declared tool is a decorated function. Checks that don't need the import run before any
    /// package is installed.
    Verify,
    /// Register the tools.
    Register,
}

impl LoadStep {
    /// All steps, in order.
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

    /// A short description.
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

/// The error for a skill that can't be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{skill}` can't be loaded (step {} of 7, {}): {reason}", .step.number(), .step.name())]
pub struct LoadError {
    /// The skill.
    pub skill: String,
    /// The step that failed.
    pub step: LoadStep,
    /// The reason.
    pub reason: String,
    /// Remedies.
    pub remedies: Vec<prowess_core::Remedy>,
}

impl LoadError {
    pub(super) fn new(skill: &str, step: LoadStep, reason: &dyn fmt::Display) -> Self {
        Self { skill: skill.to_owned(), step, reason: reason.to_string(), remedies: Vec::new() }
    }
}
