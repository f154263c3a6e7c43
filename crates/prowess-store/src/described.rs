//! What the files of a skill say about it, as far as installing it is concerned.

use std::borrow::Cow;

use prowess_format::diagnostic::Severity;
use prowess_format::skill::{Skill, SkillDependency};
use prowess_format::{ReadOptions, check_bytes};
use prowess_package::content::MANIFEST;
use prowess_package::name::{NameError, SkillName};
use prowess_package::tree::Tree;
use prowess_policy::{GrantSet, grants};

/// The newest release of the registry client that other skills are written for, whose features are all here (SKL layer
/// 3): a skill that asks for a later one asks for something that is not.
pub const COMPATIBLE_CLIENT: semver::Version = semver::Version::new(1, 0, 0);

/// A skill that was read from its files.
#[derive(Debug, Clone)]
pub struct Described {
    /// Its name, in the form in which it can be installed.
    pub name: SkillName,
    /// Its version.
    pub version: semver::Version,
    /// Whether that version is its own, and not the one that stands for none (R5).
    pub declares_version: bool,
    /// Everything it declares.
    pub skill: Skill,
    /// Everything it asks for.
    pub grants: GrantSet,
    /// What is wrong with it without keeping it from being installed.
    pub warnings: Vec<String>,
}

/// Why a skill can't be installed, whoever vouches for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescribeError {
    /// Its front matter can't be read.
    #[error("its `{MANIFEST}` can't be read: {0}")]
    Unreadable(String),
    /// Its name is none (R2, NEG-1).
    #[error("{0}")]
    Name(#[from] NameError),
    /// Its version is none.
    #[error("its version `{0}` is not of the form `1.2.3`")]
    Version(String),
    /// It is written for a later client (SKL layer 3).
    #[error(
        "it asks for a client of version {wanted}, and this one does what {COMPATIBLE_CLIENT} does"
    )]
    NewerClient {
        /// What it asks for.
        wanted: String,
    },
}

/// Reads a skill. `known_as` is what it is called where it comes from, which counts when it has no name itself (R3).
pub fn describe(tree: &Tree, known_as: &str) -> Result<Described, DescribeError> {
    describe_manifest(tree.manifest(), known_as)
}

/// The same from the bytes of a `SKILL.md`.
pub fn describe_manifest(bytes: &[u8], known_as: &str) -> Result<Described, DescribeError> {
    let mut text = Cow::Borrowed("");
    let checked = check_bytes(bytes, &mut text, ReadOptions::DETECT);
    let errors = checked.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<String> = errors.map(|found| found.message.clone()).collect();
    if !checked.is_skill() {
        let first = errors.first().cloned().unwrap_or_else(|| "it is no text".to_owned());
        return Err(DescribeError::Unreadable(first));
    }
    let skill = checked.skill;
    let name = skill.name_or(known_as).parse()?;
    let declared = skill.version.as_ref().map(|version| version.as_str());
    let version = match declared {
        Some(text) => text.parse().map_err(|_| DescribeError::Version(text.to_owned()))?,
        None => semver::Version::new(0, 0, 0),
    };
    if let Some(wanted) = &skill.min_client_version {
        // One that can't be read may be anything.
        let is_enough =
            semver::Version::parse(wanted.as_str()).is_ok_and(|wanted| wanted <= COMPATIBLE_CLIENT);
        if !is_enough {
            return Err(DescribeError::NewerClient { wanted: wanted.as_str().to_owned() });
        }
    }
    let mut warnings = Vec::new();
    if let Some(first) = errors.first() {
        let more = match errors.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        warnings.push(format!("agents may not load it: {first}{more}"));
    }
    let grants = grants::of(&skill);
    let declares_version = declared.is_some();
    Ok(Described { name, version, declares_version, skill, grants, warnings })
}

impl Described {
    /// The skills it can't do without, and the ones it would like (GAIA §10.3, SRT §4.6).
    pub fn dependencies(&self) -> &[SkillDependency] {
        &self.skill.requirements.skills
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_package::limits::Limits;
    use prowess_package::tree::TreeFile;

    #[track_caller]
    fn check(front_matter: &str, expected: &str) {
        let text = format!("---\n{front_matter}\n---\n\n# A skill\n");
        let file = TreeFile { bytes: text.into_bytes(), executable: false };
        let path = MANIFEST.parse().expect("a path");
        let tree = Tree::from_files([(path, file)], &Limits::PACKAGE).expect("a tree");
        let shown = match describe(&tree, "known-as") {
            Ok(described) => format!("{} {}", described.name, described.version),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{front_matter}");
    }

    #[test]
    fn what_can_be_installed() {
        check("name: greet\ndescription: Greets\nversion: 1.2.3", "greet 1.2.3");
        check("name: greet\ndescription: Greets", "greet 0.0.0");
        check("description: Greets", "known-as 0.0.0");
        check("name: greet\ndescription: Greets\nmin-skillli-version: 0.3.0", "greet 0.0.0");
    }

    #[test]
    fn what_can_not() {
        // NEG-1, SKL-L3-6, R2.
        check(
            "name: ../../../x\ndescription: Greets",
            "`../../../x` is not a name that can be installed, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `x`?)",
        );
        check(
            "name: greet\ndescription: Greets\nversion: new",
            "its version `new` is not of the form `1.2.3`",
        );
        check(
            "name: greet\ndescription: Greets\nmin-skillli-version: 2.0.0",
            "it asks for a client of version 2.0.0, and this one does what 1.0.0 does",
        );
        check(
            "name: greet\ndescription: Greets\nmin-skillli-version: latest",
            "it asks for a client of version latest, and this one does what 1.0.0 does",
        );
    }
}
