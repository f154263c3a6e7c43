//! Loaded skills, and the trait that resolves references to them.
//!
//! The engine decides no trust. The resolver decides how far a skill is trusted, and every use of a skill (a run, a
//! workflow node, a dependency of a prompt) gets the same [`LoadedSkill`] from the same resolver.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::Problem;
use prowess_format::diagnostic::Diagnostic;
use prowess_format::skill::Skill;
use prowess_policy::{Digest, Trust};

/// A skill without errors, with its trust.
#[derive(Clone, Debug)]
pub struct LoadedSkill {
    /// The parsed skill.
    pub skill: Skill,
    /// The effective name (R3).
    pub name: String,
    /// Its folder, free of symbolic links; `None` for a single file.
    pub directory: Option<PathBuf>,
    /// Its main file, free of symbolic links.
    pub file: PathBuf,
    /// How far it is trusted.
    pub trust: Trust,
    /// Warnings and notes about it.
    pub diagnostics: Vec<Diagnostic>,
    /// The digest of all its files when it was read, if known. A call is refused if the files have changed.
    pub digest: Option<Digest>,
}

impl LoadedSkill {
    /// Its folder, or its single file.
    pub fn place(&self) -> &Path {
        self.directory.as_deref().unwrap_or(&self.file)
    }
}

/// Finds skills by reference.
pub trait SkillResolver: Send + Sync {
    /// Resolves a reference such as `name`. A skill with errors is rejected: its behaviour would be unclear.
    ///
    /// It may read the disk, so asynchronous callers call it on a blocking pool.
    fn resolve(&self, reference: &str) -> Result<Arc<LoadedSkill>, Problem>;
}
