//! Skills that are ready to be used, and the trait that finds them by reference.
//!
//! The engine decides no trust. Whoever resolves a reference says how far the skill is trusted, and every way to a skill (a
//! run, a workflow node, a dependency of a prompt) gets the same [`LoadedSkill`] from the same resolver.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::Problem;
use prowess_format::diagnostic::Diagnostic;
use prowess_format::skill::Skill;
use prowess_policy::{Digest, Trust};

/// A skill on this machine without errors, with how far it is trusted.
#[derive(Clone, Debug)]
pub struct LoadedSkill {
    /// What it declares.
    pub skill: Skill,
    /// The name that counts (R3).
    pub name: String,
    /// Its folder, free of symbolic links; `None` for a single file.
    pub directory: Option<PathBuf>,
    /// Its main file, free of symbolic links.
    pub file: PathBuf,
    /// How far it is trusted.
    pub trust: Trust,
    /// Warnings and notes about it.
    pub diagnostics: Vec<Diagnostic>,
    /// The digest of all its files when it was read, where it is known. A call of other files is refused.
    pub digest: Option<Digest>,
}

impl LoadedSkill {
    /// Its folder, or the single file that it is.
    pub fn place(&self) -> &Path {
        self.directory.as_deref().unwrap_or(&self.file)
    }
}

/// Finds skills by reference.
pub trait SkillResolver: Send + Sync {
    /// Resolves a reference such as `name`. A skill with errors is not given out: nobody can say what it would do.
    ///
    /// It may read the disk, so asynchronous callers call it on a blocking pool.
    fn resolve(&self, reference: &str) -> Result<Arc<LoadedSkill>, Problem>;
}
