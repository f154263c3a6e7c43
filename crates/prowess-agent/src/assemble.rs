//! From a manifest to an agent: its skills with their trust, and its own tools.

use std::path::Path;
use std::sync::Arc;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_engine::LoadedSkill;
use prowess_format::diagnostic::Severity;
use prowess_format::manifest::{ActiveSkills, AgentManifest};
use prowess_format::skill::Requirements;
use prowess_library::packages::PackageManager;
use prowess_library::{Library, SkillFile};
use prowess_policy::Mode;
use prowess_store::composition::{Composition, Fit, compose, present};

use crate::agent::Agent;
use crate::own_tools;

/// A manifest without errors, and what is chosen of it.
#[derive(Clone, Copy, Debug)]
pub struct AgentSource<'a> {
    /// The manifest.
    pub manifest: &'a AgentManifest,
    /// Its text.
    pub text: &'a str,
    /// Its file.
    pub path: &'a Path,
    /// The folder it is in, free of links.
    pub folder: &'a Path,
    /// The skills that count.
    pub active: &'a ActiveSkills<'a>,
    /// The mode that is on.
    pub mode: Mode,
}

/// An agent, and what is missing of it without being required.
#[derive(Debug)]
pub struct AssembledAgent {
    /// The agent.
    pub agent: Agent,
    /// Warnings, one phrase each.
    pub warnings: Vec<String>,
}

/// Finds the skills of an agent, beside its manifest first, and loads each with its trust. Whatever is required and missing
/// or unusable is a problem; whatever is optional is left out with a warning.
pub fn assemble(
    library: &Library,
    packages: &PackageManager,
    source: &AgentSource<'_>,
) -> Result<AssembledAgent, Problem> {
    let name = source.manifest.name.as_ref().map_or("agent", |name| name.as_str()).to_owned();
    let listing = packages.listing();
    let composition =
        compose(source.active, &source.manifest.model, |name| present(&listing, name));
    refuse_incomplete(&composition, &name, source)?;
    let mut warnings: Vec<String> = composition
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Warning)
        .map(|found| found.message.clone())
        .collect();
    let mut skills: Vec<Arc<LoadedSkill>> = Vec::new();
    for member in composition.members.iter().filter(|member| member.fit == Fit::Fits) {
        let Some(present) = &member.present else { continue };
        let loaded = SkillFile::at(&present.directory).and_then(|file| library.load(&file, None));
        match loaded {
            Ok(skill) => match skills.iter().find(|other| other.name == skill.name) {
                Some(other) => return Err(same_name(&skill.name, other.place())),
                None => skills.push(skill),
            },
            Err(problem) if member.dependency.required => return Err(problem),
            Err(problem) => warnings.push(problem.message),
        }
    }
    let own = own_tools::load(library, &name, source)?;
    if let Some(own) = &own
        && let Some(other) = skills.iter().find(|skill| skill.name == own.name)
    {
        return Err(same_name(&own.name, other.place()));
    }
    let model = &source.manifest.model;
    let needs = Requirements {
        model: model.minimum.clone(),
        context: model.context.clone(),
        ..Requirements::default()
    };
    let description = source.manifest.description.as_ref().map(|text| text.value.clone());
    let agent = Agent { name, description, skills, own, needs, mode: source.mode };
    Ok(AssembledAgent { agent, warnings })
}

fn refuse_incomplete(
    composition: &Composition<'_>,
    name: &str,
    source: &AgentSource<'_>,
) -> Result<(), Problem> {
    let errors: Vec<&str> = composition
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| found.message.as_str())
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    let message = format!("`{name}` is incomplete: {}", errors.join("; "));
    Err(Problem::new("agent-incomplete", ProblemKind::Refused, message)
        .remedy(Remedy::InstallAgentSkills(source.path.display().to_string())))
}

fn same_name(name: &str, other: &Path) -> Problem {
    let message =
        format!("two parts of the agent are called `{name}`; one is in `{}`", other.display());
    Problem::new("duplicate-skill", ProblemKind::Conflict, message)
        .advice("give the agent or one of the skills another name")
}
