//! Finds skills in folders by name, for workflows and for skills that depend on others.

use std::path::PathBuf;
use std::sync::Arc;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_engine::{LoadedSkill, SkillResolver};
use prowess_format::document::Form;

use crate::file::{SkillFile, main_file};
use crate::library::Library;

/// Skills in `FOLDER/NAME`, each with the trust that the library decides. The first folder that has the name wins.
#[derive(Debug)]
struct FolderSkills {
    library: Arc<Library>,
    folders: Vec<PathBuf>,
}

impl Library {
    /// Returns a resolver of names in folders, in order of precedence. Trust is decided as for every other reference.
    pub fn in_folders(self: &Arc<Self>, folders: Vec<PathBuf>) -> Arc<dyn SkillResolver> {
        Arc::new(FolderSkills { library: Arc::clone(self), folders })
    }
}

impl SkillResolver for FolderSkills {
    fn resolve(&self, name: &str) -> Result<Arc<LoadedSkill>, Problem> {
        // A name is one path component and can't lead out of the folder (NEG-1).
        let is_name = !name.is_empty()
            && !name.starts_with('.')
            && !name.contains(['/', '\\', '\0'])
            && name.len() <= 255;
        if !is_name {
            let message =
                format!("the skill `{name}` can't be used: that is not the name of a skill");
            return Err(Problem::new("invalid-skill", ProblemKind::InvalidInput, message));
        }
        for folder in &self.folders {
            let directory = folder.join(name);
            if !matches!(main_file(&directory), Ok(Some(_))) {
                continue;
            }
            let file = SkillFile::at(&directory)?;
            if file.form != Form::Yaml {
                return self.library.load(&file, None);
            }
        }
        let searched: Vec<String> =
            self.folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
        let searched = if searched.is_empty() {
            String::new()
        } else {
            format!(" in {}", searched.join(", "))
        };
        let message = format!("there is no skill `{name}`{searched}");
        Err(Problem::new("skill-not-found", ProblemKind::NotFound, message)
            .remedy(Remedy::NameSkillsFolder))
    }
}
