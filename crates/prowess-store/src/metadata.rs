//! The metadata of a skill that an installation needs, read from its files.

use std::borrow::Cow;

use prowess_format::diagnostic::Severity;
use prowess_format::document::{Form, FrontMatter};
use prowess_format::skill::{Skill, SkillDependency};
use prowess_format::text::{shorten, visible};
use prowess_format::{Checked, ReadOptions, check_bytes, read_bytes};
use prowess_package::content::MANIFEST;
use prowess_package::name::{SkillName, SkillNameError};
use prowess_package::tree::Tree;
use prowess_policy::{GrantSet, grants};

use crate::declared_version::{self, ParsedVersion};

/// The newest version of the registry client whose features are all supported (SKL layer 3). A skill that requires a
/// later one is rejected.
pub const COMPATIBLE_CLIENT: semver::Version = semver::Version::new(1, 0, 0);

/// Maximum length of a displayed name.
const MOST_SHOWN: usize = 80;
/// The rule about names, which does not apply if the user chose another name.
pub(crate) const NAME_RULE: &str = "invalid-name";

/// The metadata of a skill.
#[derive(Debug, Clone)]
pub struct SkillMetadata {
    /// The name under which it is installed.
    pub name: SkillName,
    /// Its declared name, if that can't be installed and the user chose `name` instead.
    pub calls_itself: Option<String>,
    /// Its version; `0.0.0` if it declares none (R5).
    pub version: semver::Version,
    /// Whether it declares a version (R5).
    pub declares_version: bool,
    /// The version as written, if it differs.
    pub written_version: Option<String>,
    /// The parsed skill.
    pub skill: Skill,
    /// The permissions it requests.
    pub grants: GrantSet,
    /// Whether it is text without front matter (R8).
    pub is_prose: bool,
    /// The errors that `check` reports.
    pub errors: Vec<String>,
    /// Warnings, which don't prevent the installation.
    pub warnings: Vec<String>,
}

/// Why a skill can't be installed, whatever its signatures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// Its front matter can't be parsed.
    #[error("its `{MANIFEST}` can't be read: {0}")]
    Unreadable(String),
    /// Its name is invalid (R2, NEG-1).
    #[error("{0}")]
    Name(#[from] SkillNameError),
    /// It is empty.
    #[error("its `{MANIFEST}` is empty")]
    Empty,
    /// Another name was chosen although its own can be installed.
    #[error(
        "it is named `{0}`, which is valid: only a skill whose own name is invalid can be given another one"
    )]
    HasName(SkillName),
    /// It requires a later client (SKL layer 3).
    #[error(
        "it requires client version {wanted}, but this program supports the features of version {COMPATIBLE_CLIENT}"
    )]
    NewerClient {
        /// The required version.
        wanted: String,
    },
}

/// Reads a skill. `known_as` is its name at its source, which is used if it declares none (R3). `chosen` is the name
/// that the user gave it because its own can't be installed.
pub fn read_metadata(
    tree: &Tree,
    known_as: &str,
    chosen: Option<&SkillName>,
) -> Result<SkillMetadata, MetadataError> {
    parse_metadata(tree.manifest(), known_as, chosen)
}

/// Parses the bytes of a `SKILL.md`.
pub fn parse_metadata(
    bytes: &[u8],
    known_as: &str,
    chosen: Option<&SkillName>,
) -> Result<SkillMetadata, MetadataError> {
    let mut text = Cow::Borrowed("");
    let checked = check_bytes(bytes, &mut text, ReadOptions::DETECT);
    describe_checked(checked, known_as, chosen)
}

/// Parses the `SKILL.md` of an installed skill: its name, version and model. It was checked when it was installed, so
/// no rule runs and [`SkillMetadata::errors`] contains parser errors only.
pub fn parse_installed_metadata(
    bytes: &[u8],
    known_as: &str,
    chosen: Option<&SkillName>,
) -> Result<SkillMetadata, MetadataError> {
    let mut text = Cow::Borrowed("");
    let checked = read_bytes(bytes, &mut text, Form::Markdown);
    describe_checked(checked, known_as, chosen)
}

fn describe_checked(
    checked: Checked<'_>,
    known_as: &str,
    chosen: Option<&SkillName>,
) -> Result<SkillMetadata, MetadataError> {
    let errors = checked.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<(&str, String)> =
        errors.map(|found| (found.rule.name, found.message.clone())).collect();
    if checked.document.text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(MetadataError::Empty);
    }
    // Prose is a skill (R8); bytes that are neither front matter nor text are not.
    let is_prose = checked.document.front_matter == FrontMatter::Absent;
    if !checked.is_skill() || (is_prose && !errors.is_empty()) {
        let first = errors.first().map(|(_, message)| message.clone());
        let first = first.unwrap_or_else(|| "it is not text".to_owned());
        return Err(MetadataError::Unreadable(first));
    }
    let skill = checked.skill;
    let (name, calls_itself) = installed_name(skill.name_or(known_as), chosen)?;
    let mut warnings = Vec::new();
    let written = skill.published_version();
    let reading = written.map(declared_version::read);
    let declares_version =
        matches!(reading, Some(ParsedVersion::Exact(_) | ParsedVersion::Evident(_)));
    let written_version = match (&reading, written) {
        (Some(ParsedVersion::Evident(_) | ParsedVersion::Nothing), Some(written)) => {
            Some(visible(&shorten(written, MOST_SHOWN)).into_owned())
        }
        _ => None,
    };
    let version = match reading {
        Some(ParsedVersion::Exact(version) | ParsedVersion::Evident(version)) => version,
        Some(ParsedVersion::Nothing) => {
            warnings.push(format!(
                "its version `{}` is not of the form `1.2.3`, so it is treated as a skill without a version",
                written_version.as_deref().unwrap_or_default()
            ));
            semver::Version::new(0, 0, 0)
        }
        None => semver::Version::new(0, 0, 0),
    };
    if let Some(wanted) = &skill.min_client_version {
        // An unreadable version may require anything.
        let is_enough =
            semver::Version::parse(wanted.as_str()).is_ok_and(|wanted| wanted <= COMPATIBLE_CLIENT);
        if !is_enough {
            return Err(MetadataError::NewerClient { wanted: wanted.as_str().to_owned() });
        }
    }
    if let Some(own) = &calls_itself {
        warnings.push(format!(
            "it declares the name `{own}`; agents that require the name of its folder may not load it"
        ));
    }
    let is_settled = |rule: &str| rule == NAME_RULE && calls_itself.is_some();
    let errors = errors.into_iter().filter(|(rule, _)| !is_settled(rule)).map(|(_, error)| error);
    let errors = errors.collect();
    let grants = grants::of(&skill);
    Ok(SkillMetadata {
        name,
        calls_itself,
        version,
        declares_version,
        written_version,
        skill,
        grants,
        is_prose,
        errors,
        warnings,
    })
}

/// The name under which a skill is installed, and its declared name if that differs.
///
/// Another name is only allowed if the declared one can't be installed. Otherwise a store could contain two skills with
/// the same declared name, and agents, which read the name in the file, would see only one of them.
fn installed_name(
    own: &str,
    chosen: Option<&SkillName>,
) -> Result<(SkillName, Option<String>), MetadataError> {
    match (own.parse::<SkillName>(), chosen) {
        (Ok(own), None) => Ok((own, None)),
        (Ok(own), Some(chosen)) if own == *chosen => Ok((own, None)),
        (Ok(own), Some(_)) => Err(MetadataError::HasName(own)),
        (Err(_), Some(chosen)) => {
            let shown = visible(&shorten(own, MOST_SHOWN)).into_owned();
            Ok((chosen.clone(), Some(shown)))
        }
        (Err(error), None) => Err(error.into()),
    }
}

impl SkillMetadata {
    /// Its required and optional dependencies (GAIA §10.3, SRT §4.6).
    pub fn dependencies(&self) -> &[SkillDependency] {
        &self.skill.requirements.skills
    }

    /// The name that signatures cover: the declared one, whatever it is installed as.
    pub fn own_name(&self) -> &str {
        self.calls_itself.as_deref().unwrap_or(self.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_package::limits::PackageLimits;
    use prowess_package::tree::TreeFile;

    #[track_caller]
    fn check(front_matter: &str, expected: &str) {
        let text = format!("---\n{front_matter}\n---\n\n# A skill\n");
        let file = TreeFile { bytes: text.into_bytes(), executable: false };
        let path = MANIFEST.parse().expect("a path");
        let tree = Tree::from_files([(path, file)], &PackageLimits::PACKAGE).expect("a tree");
        let shown = match read_metadata(&tree, "known-as", None) {
            Ok(metadata) => format!("{} {}", metadata.name, metadata.version),
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
        check("name: greet\ndescription: Greets\nversion: v1.2", "greet 1.2.0");
        check("name: greet\ndescription: Greets\nversion: new", "greet 0.0.0");
    }

    #[test]
    fn a_name_is_given_only_to_a_skill_that_has_none() {
        let chosen: SkillName = "chosen".parse().expect("a name");
        let named = |name: &str| {
            let text = format!("---\nname: {name}\ndescription: d\n---\n\n# A skill\n");
            let metadata = parse_metadata(text.as_bytes(), "x", Some(&chosen))?;
            assert!(metadata.errors.is_empty(), "{:?}", metadata.errors);
            Ok((metadata.name.to_string(), metadata.own_name().to_owned()))
        };
        let pair = |one: &str, other: &str| Ok((one.to_owned(), other.to_owned()));
        assert_eq!(named("Azure CLI"), pair("chosen", "Azure CLI"));
        assert_eq!(named("chosen"), pair("chosen", "chosen"));
        let own = "greet".parse().expect("a name");
        assert_eq!(named("greet"), Err(MetadataError::HasName(own)));
    }

    #[test]
    fn what_can_not() {
        // NEG-1, SKL-L3-6, R2.
        check(
            "name: ../../../x\ndescription: Greets",
            "`../../../x` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `x`?)",
        );
        check(
            "name: greet\ndescription: Greets\nmin-skillli-version: 2.0.0",
            "it requires client version 2.0.0, but this program supports the features of version 1.0.0",
        );
        check(
            "name: greet\ndescription: Greets\nmin-skillli-version: latest",
            "it requires client version latest, but this program supports the features of version 1.0.0",
        );
    }
}
