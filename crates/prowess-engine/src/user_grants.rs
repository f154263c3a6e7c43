//! What the user grants a skill beside what it declares: for one run, or remembered until the skill changes.

use std::path::PathBuf;

use prowess_format::permission::Domain;
use prowess_policy::scope::{PathRoot, RootedPath};
use prowess_policy::{
    Approvals, Grant, GrantScope, ProgramPin, Project, RememberedGrant, RunRequest, UserGrantError,
    parse_user_grant,
};

use crate::world::World;

/// The user's own grants. They are part of a decision like those that a skill declares, and never written into the skill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserGrants {
    given: Vec<Grant>,
    remembers: bool,
    known: Vec<RememberedGrant>,
    named: Vec<PathBuf>,
}

impl UserGrants {
    /// No grants.
    pub fn none() -> Self {
        Self::default()
    }

    /// Grants for one run. A relative path is relative to where the user is, whatever the working directory of the run is.
    pub fn parse(texts: &[String], world: &World) -> Result<Self, UserGrantError> {
        let standing = standing(world);
        let mut given: Vec<Grant> = Vec::new();
        for text in texts {
            let grants = parse_user_grant(text, standing.as_ref())?;
            given.extend(
                grants.into_iter().filter(|grant| !given.contains(grant)).collect::<Vec<_>>(),
            );
        }
        Ok(Self { given, ..Self::none() })
    }

    /// Remembers them for the skill, once the run is allowed.
    #[must_use]
    pub fn remembered_for_skill(mut self) -> Self {
        self.remembers = true;
        self
    }

    /// Adds what was remembered earlier. A record counts only for the skill, the files and the folder that it is for.
    #[must_use]
    pub fn with_earlier(mut self, approvals: &Approvals) -> Self {
        self.known = approvals.grants().to_vec();
        self
    }

    /// Adds files and folders that the user names as inputs: the tool may read them.
    #[must_use]
    pub fn reading(mut self, named: Vec<PathBuf>) -> Self {
        self.named = named;
        self
    }

    /// Files and folders that the user names as inputs.
    pub(crate) fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// Whether anything was granted now.
    pub fn is_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// The grants of this run.
    pub(crate) fn given(&self) -> &[Grant] {
        &self.given
    }

    /// Whether the grants of this run are to be remembered.
    pub(crate) fn remembers(&self) -> bool {
        self.remembers && self.is_given()
    }

    /// What was granted earlier and counts for this request, without what is granted again now.
    pub(crate) fn earlier(&self, request: &RunRequest) -> Vec<Grant> {
        let grants = self.records(request).flat_map(RememberedGrant::to_grants);
        let is_new =
            |grant: &Grant| !self.given.iter().any(|given| given.to_string() == grant.to_string());
        grants.filter(is_new).collect()
    }

    /// The images of programs that were granted earlier, as they were then.
    pub(crate) fn earlier_pins(&self, request: &RunRequest) -> Vec<ProgramPin> {
        self.records(request).flat_map(|record| record.pins.clone()).collect()
    }

    fn records(&self, request: &RunRequest) -> impl Iterator<Item = &RememberedGrant> {
        self.known.iter().filter(move |record| record.is_for(request))
    }

    /// The record to keep.
    pub(crate) fn record(
        &self,
        request: &RunRequest,
        pins: Vec<ProgramPin>,
        given_at: u64,
    ) -> Option<RememberedGrant> {
        if !self.remembers() {
            return None;
        }
        let is_relative = |grant: &Grant| match grant.scope() {
            GrantScope::Path(path) => path.root() == PathRoot::Working,
            _ => false,
        };
        let folders = request.folders();
        let project = match folders {
            _ if !self.given.iter().any(is_relative) => Project::Any,
            Some(folders) => Project::Folder(folders.project.clone()),
            None => Project::Unknown,
        };
        Some(RememberedGrant {
            skill: request.skill().to_owned(),
            skill_folder: folders.map(|folders| folders.skill.clone()),
            project,
            digest: request.digest().clone(),
            grants: self.given.iter().map(ToString::to_string).collect(),
            pins,
            given_at,
        })
    }
}

/// Whether a grant is for a program.
pub(crate) fn is_program(grant: &Grant) -> bool {
    grant.domain() == Domain::Shell
}

/// Where the user is, if that is not the working directory of a run.
fn standing(world: &World) -> Option<RootedPath> {
    if world.current == world.working_directory {
        return None;
    }
    let (root, rest) = match world.current.strip_prefix(&world.working_directory) {
        Ok(rest) => (PathRoot::Working, rest),
        Err(_) => (PathRoot::Absolute, world.current.as_path()),
    };
    let parts = rest.iter().map(|name| name.to_string_lossy().into_owned());
    Some(RootedPath { root, parts: parts.filter(|part| part != "/").collect() })
}
