//! Skills in folders by name, with the trust of installed skills.

use std::path::PathBuf;
use std::sync::Arc;

use prowess_core::{Problem, ProblemKind};
use prowess_engine::{LoadedSkill, SkillFolders, SkillResolver};

use crate::installed;

/// Skills in folders. One in a store is trusted as `installed::trust` says, like one that is named on the command line.
pub(crate) struct FolderSkills {
    folders: SkillFolders,
}

impl FolderSkills {
    /// The folders, the most important first.
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders: SkillFolders { folders } }
    }
}

impl SkillResolver for FolderSkills {
    fn resolve(&self, reference: &str) -> Result<Arc<LoadedSkill>, Problem> {
        let found = self.folders.resolve(reference)?;
        let trust =
            installed::trust(&found.skill, found.directory.as_deref()).map_err(|error| {
                let problem = Problem::new("untrusted-skill", ProblemKind::Refused, error.message);
                error.hints.into_iter().fold(problem, Problem::advice)
            })?;
        Ok(Arc::new(LoadedSkill { trust, ..Arc::unwrap_or_clone(found) }))
    }
}
