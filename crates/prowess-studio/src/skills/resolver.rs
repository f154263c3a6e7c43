//! Skills as one owner sees them: runs, chats and workflows find no others.

use std::path::PathBuf;
use std::sync::Arc;

use prowess_core::{Problem, ProblemKind};
use prowess_engine::{LoadedSkill, SkillResolver};
use prowess_format::skill::SkillKind;
use prowess_policy::{Origin, Tier, Trust};

use super::content::{model_of, owner_of};
use super::{SkillFiles, SkillName};

/// Finds the skills of one owner.
#[derive(Clone)]
pub(crate) struct OwnerSkills {
    pub(crate) files: SkillFiles,
    /// The owner's id; `None` sees all, as administrators do.
    pub(crate) owner: Option<String>,
}

impl SkillResolver for OwnerSkills {
    fn resolve(&self, reference: &str) -> Result<Arc<LoadedSkill>, Problem> {
        let missing = || {
            let shown = prowess_format::text::shorten(reference, 100);
            let message = format!("there is no skill `{shown}`");
            Problem::new("skill-not-found", ProblemKind::NotFound, message)
        };
        let name: SkillName = reference.parse().map_err(|_| missing())?;
        let stored = self.files.read(&name).map_err(|_| missing())?;
        let loaded = load_text(&stored.text, &name).map_err(|reason| {
            let message = format!("the skill `{name}` can't be used: {reason}");
            Problem::new("invalid-skill", ProblemKind::InvalidInput, message)
        })?;
        // NEG-9: the answer is the one for a skill that does not exist.
        if let Some(owner) = &self.owner
            && owner_of(&loaded.skill) != Some(owner)
        {
            return Err(missing());
        }
        let is_tools = loaded.skill.kind == SkillKind::Tools || !loaded.skill.tools.is_empty();
        Ok(Arc::new(if is_tools { self.in_folder(loaded, &name, &stored.text)? } else { loaded }))
    }
}

impl OwnerSkills {
    /// Tools work in the skill's folder, and their approvals are about its files.
    fn in_folder(
        &self,
        loaded: LoadedSkill,
        name: &SkillName,
        text: &str,
    ) -> Result<LoadedSkill, Problem> {
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("cannot read the folder of `{name}`: {error}");
            Problem::new("skill-unreadable", ProblemKind::Failed, message)
        };
        let directory = self.files.directory(name, text).map_err(|error| failed(&error))?;
        let directory = directory.canonicalize().map_err(|error| failed(&error))?;
        let file = directory.join("SKILL.md");
        Ok(LoadedSkill { directory: Some(directory), file, ..loaded })
    }
}

/// A skill from its text. It has no folder, so that no path of this machine reaches a prompt.
pub(crate) fn load_text(text: &str, name: &SkillName) -> Result<LoadedSkill, String> {
    let (skill, diagnostics) = model_of(text, name.as_str())?;
    Ok(LoadedSkill {
        name: name.as_str().to_owned(),
        trust: Trust::of(&skill, Tier::Experimental, None, Origin::Local),
        skill,
        directory: None,
        file: PathBuf::from(format!("{name}/SKILL.md")),
        diagnostics,
        digest: None,
    })
}

/// The owner of a stored skill; `None` also for a file that is not valid.
pub(crate) fn stored_owner(stored: &super::StoredSkill) -> Option<String> {
    let (skill, _) = model_of(&stored.text, stored.name.as_str()).ok()?;
    owner_of(&skill).map(str::to_owned)
}
