//! Whether agents see what was installed, and which skills a source offers.

use std::collections::BTreeSet;

use prowess_package::name::SkillName;
use prowess_store::agents::{self, Agent};
use prowess_store::install::InstallError;
use prowess_store::placement;
use prowess_store::places::Scope;

use super::change::PlanError;
use super::{ChangeRequest, PackageManager, SkillSources};

/// The problem code of a source that holds several skills of which none was chosen.
pub const SEVERAL_SKILLS: &str = "several-skills";

/// The skills of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedSkills {
    /// The source, as the user wrote it.
    pub reference: String,
    /// The names of its skills.
    pub names: Vec<String>,
}

impl PackageManager {
    /// The agents on this machine that have a folder in a scope.
    pub fn present_agents(&self, scope: Scope) -> Vec<&'static Agent> {
        let has_folder = |agent: &&Agent| agent.locate(scope, &self.places).is_some();
        agents::present(&self.places).into_iter().filter(has_folder).collect()
    }

    /// The skills that no agent sees: they were placed for none, and none looks into the folder they are in.
    pub fn unseen(&self, scope: Scope, names: &BTreeSet<SkillName>) -> Vec<SkillName> {
        let placed = placement::placed(&self.places, scope).unwrap_or_default();
        let is_placed = |name: &SkillName| placed.iter().any(|known| known.skill == *name);
        let rest: Vec<&SkillName> = names.iter().filter(|name| !is_placed(name)).collect();
        if rest.is_empty() {
            return Vec::new();
        }
        let listing = self.listing();
        let folder = self.store_path(scope).join("skills");
        let is_seen = |name: &SkillName| {
            let directory = folder.join(name.as_str());
            let mut copies = listing.skills.iter().filter(|found| found.directory == directory);
            copies.any(|found| !listing.seen_by(found).is_empty())
        };
        rest.into_iter().filter(|name| !is_seen(name)).cloned().collect()
    }

    /// The skills of the first source of a request that holds several and for which none was chosen.
    pub fn offered_skills(
        &self,
        request: &ChangeRequest,
        sources: &SkillSources<'_>,
    ) -> Option<OfferedSkills> {
        match self.prepare_once(request, sources, "installed") {
            Err(PlanError::Install(InstallError::Several { reference, names })) => {
                Some(OfferedSkills { reference, names })
            }
            _ => None,
        }
    }
}
