//! Compares the skills in an agent's manifest with the installed ones (GAIA §9.1).

use std::path::PathBuf;

use prowess_format::diagnostic::{Diagnostic, Severity};
use prowess_format::manifest::{ActiveSkills, AgentModel, parse_size};
use prowess_format::rules;
use prowess_format::skill::{OptionalText, Requirements, SkillDependency};
use prowess_resolve::Range;
use semver::Version;

use crate::discovery::{Listing, read_bounded};
use crate::metadata::parse_installed_metadata;

/// An installed skill, as far as an agent is concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct InstalledVersion {
    /// Its folder.
    pub directory: PathBuf,
    /// Its declared version.
    pub version: Option<String>,
    /// Its requirements.
    pub requirements: Requirements,
    /// The reason why it can't be used, if it can't.
    pub broken: Option<String>,
}

/// A skill of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Member<'m> {
    /// Its entry in the manifest.
    pub dependency: &'m SkillDependency,
    /// The installed skill of that name.
    pub present: Option<InstalledVersion>,
    /// Whether it satisfies the manifest.
    pub fit: Fit,
}

/// Whether an installed skill satisfies the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It does.
    Fits,
    /// No skill of that name is installed.
    Missing,
    /// The installed skill can't be used.
    Broken,
    /// Its version is not in the range.
    OtherVersion,
    /// It has no version, but the manifest has a range (GAIX-19).
    Unversioned,
}

impl Fit {
    /// The name in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Fit::Fits => "fits",
            Fit::Missing => "missing",
            Fit::Broken => "broken",
            Fit::OtherVersion => "other-version",
            Fit::Unversioned => "unversioned",
        }
    }
}

/// The skills of an agent, with diagnostics.
#[derive(Debug)]
pub struct Composition<'m> {
    /// The skills, in the order of the manifest.
    pub members: Vec<Member<'m>>,
    /// The diagnostics, with their positions in the manifest.
    pub diagnostics: Vec<Diagnostic>,
}

/// The name under which a skill is installed: `namespace/name` without its namespace.
pub fn installed_name(dependency: &SkillDependency) -> &str {
    let name = dependency.name.as_str();
    name.rsplit_once('/').map_or(name, |(_, name)| name)
}

/// Whether a version satisfies the manifest.
pub fn fit(dependency: &SkillDependency, version: Option<&str>) -> Fit {
    if dependency.range.trim().is_empty() {
        return Fit::Fits;
    }
    let Some(version) = version else { return Fit::Unversioned };
    // An unreadable range matches no version (GAIA §10.2); checking the manifest has reported it.
    let is_inside = Version::parse(version)
        .ok()
        .zip(Range::declared(dependency).ok())
        .is_some_and(|(version, range)| range.contains(&version));
    if is_inside { Fit::Fits } else { Fit::OtherVersion }
}

/// The skill that is installed under a name; its file is read again, because a listing is not authoritative.
pub fn present(listing: &Listing, name: &str) -> Option<InstalledVersion> {
    let found = match listing.find(name) {
        Some(found) => found,
        None => listing.broken().find(|found| found.name == name)?,
    };
    let mut present = InstalledVersion {
        directory: found.directory.clone(),
        version: found.summary.version.clone(),
        requirements: Requirements::default(),
        broken: found.summary.errors.first().map(|error| error.message.clone()),
    };
    let chosen = found.name_by_folder();
    match read_bounded(&found.file)
        .map(|bytes| parse_installed_metadata(&bytes, name, chosen.as_ref()))
    {
        Ok(Ok(described)) => {
            present.version = described.declares_version.then(|| described.version.to_string());
            present.requirements = described.skill.requirements;
        }
        Ok(Err(error)) => present.broken = present.broken.or_else(|| Some(error.to_string())),
        Err(error) => present.broken = present.broken.or_else(|| Some(error.to_string())),
    }
    Some(present)
}

/// Compares a manifest with the installed skills. `lookup` returns the skill that is installed under a name.
pub fn compose<'m>(
    active: &ActiveSkills<'m>,
    model: &AgentModel,
    mut lookup: impl FnMut(&str) -> Option<InstalledVersion>,
) -> Composition<'m> {
    let mut composition = Composition { members: Vec::new(), diagnostics: Vec::new() };
    for dependency in &active.skills {
        let present = lookup(installed_name(dependency));
        let fit = match &present {
            None => Fit::Missing,
            Some(present) if present.broken.is_some() => Fit::Broken,
            Some(present) => fit(dependency, present.version.as_deref()),
        };
        let member = Member { dependency, present, fit };
        composition.diagnostics.extend(problem(&member));
        composition.diagnostics.extend(model_gaps(&member, model));
        composition.members.push(member);
    }
    composition.diagnostics.sort_by_key(|found| found.span);
    composition
}

impl Composition<'_> {
    /// Whether a required skill is missing or unusable.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| found.severity == Severity::Error)
    }
}

fn found(rule: &str, dependency: &SkillDependency, message: String) -> Diagnostic {
    let rule = rules::by_name(rule).expect("the rule is in the list of rules");
    let found = rule.at(dependency.name.span, message);
    if dependency.required {
        return found;
    }
    // GAIA §9.1: a missing optional skill is a warning.
    Diagnostic { severity: Severity::Warning, strict: Severity::Warning, ..found }
}

fn problem(member: &Member<'_>) -> Option<Diagnostic> {
    let Member { dependency, present, fit } = member;
    let name = dependency.name.as_str();
    let range = dependency.range.trim();
    let place = present.as_ref().map(|it| it.directory.display().to_string()).unwrap_or_default();
    let version = present.as_ref().and_then(|it| it.version.clone()).unwrap_or_default();
    let (rule, message, help) = match fit {
        Fit::Fits => return None,
        Fit::Missing => (
            "skill-not-installed",
            format!("`{name}` is not installed"),
            "`prowess agent install` with this file installs it".to_owned(),
        ),
        Fit::Broken => {
            let why = present.as_ref().and_then(|it| it.broken.clone()).unwrap_or_default();
            (
                "skill-not-installed",
                format!("`{name}` is installed but broken: {why}"),
                format!("`prowess check {place}` shows what is wrong"),
            )
        }
        Fit::OtherVersion => (
            "skill-version-mismatch",
            format!("`{name}` is installed as {version}, which is not in `{range}`"),
            format!("update it, or change the range; it is in `{place}`"),
        ),
        Fit::Unversioned => (
            "skill-version-mismatch",
            format!("`{name}` is installed without a version, but `{range}` is required"),
            format!("write a `version:` into its front matter (`{place}`), or omit the range"),
        ),
    };
    Some(found(rule, dependency, message).help(help))
}

/// Diagnostics if a skill requires a larger model or context than the agent promises. Missing values are not compared.
fn model_gaps(member: &Member<'_>, model: &AgentModel) -> Vec<Diagnostic> {
    let Some(present) = &member.present else { return Vec::new() };
    let size = |text: &OptionalText| text.as_ref().and_then(|text| parse_size(text).ok());
    let rows = [
        ("minimum", "a model of", &model.minimum, &present.requirements.model),
        ("context", "a context of", &model.context, &present.requirements.context),
    ];
    let mut gaps = Vec::new();
    for (field, what, promised, required) in rows {
        let (Some(has), Some(needs)) = (size(promised), size(required)) else { continue };
        if has >= needs {
            continue;
        }
        let text =
            |text: &OptionalText| text.as_ref().map(|it| it.trim().to_owned()).unwrap_or_default();
        let (promised, required) = (text(promised), text(required));
        let name = member.dependency.name.as_str();
        let message = format!("`{name}` needs {what} {required}, and the agent's is {promised}");
        let help = format!("write `{field}: \"{required}\"` under `model:`");
        gaps.push(found("model-below-requirement", member.dependency, message).help(help));
    }
    gaps
}

#[cfg(test)]
mod tests;
