//! Structural and format checks of an upload. They need nothing but its bytes.

use std::borrow::Cow;
use std::io::Cursor;

use bytes::Bytes;
use prowess_format::document::FrontMatter;
use prowess_format::{ReadOptions, check_bytes, diagnostic::Severity};
use prowess_package::digest::{Sha256Digest, content_digest};
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::pack::pack;
use prowess_package::tree::Tree;
use prowess_package::unpack::{UnpackError, UnpackOptions, unpack_to_memory};
use prowess_resolve::Range;
use semver::Version;

use crate::error::RegistryError;
use crate::facts::{FileFacts, VersionFacts};
use crate::names::{RESERVED_NAMES, SkillId};

/// Maximum number of problems in a message.
const MAX_NAMED: usize = 10;
/// Maximum size of prose. It is shown, not run.
const MAX_PROSE_BYTES: usize = 1 << 20;
/// The name under which a skill without one is unpacked to look at it.
const UNNAMED: &str = "prose";

/// An upload that can be published, as far as its bytes tell.
#[derive(Debug)]
pub enum CheckedUpload {
    /// A skill.
    Skill(Box<CheckedSkill>),
    /// A text without front matter (R8, SRT §8).
    Prose {
        /// The text.
        text: String,
        /// Its first line, without the marks of a heading.
        title: String,
    },
}

/// A skill that can be published.
#[derive(Debug)]
pub struct CheckedSkill {
    /// Its name in the registry.
    pub id: SkillId,
    /// Its version.
    pub version: Version,
    /// The archive that is stored.
    pub archive: Bytes,
    /// Its digest.
    pub sha256: Sha256Digest,
    /// The digest of its files.
    pub content_digest: Sha256Digest,
    /// The size of its files.
    pub unpacked: u64,
    /// The text of `SKILL.md`.
    pub manifest: String,
    /// Its files.
    pub files: Vec<FileFacts>,
    /// Its facts.
    pub facts: VersionFacts,
}

/// Checks an upload for a namespace.
pub fn check_upload(
    namespace: &SkillName,
    package: &Bytes,
) -> Result<CheckedUpload, RegistryError> {
    if is_archive(package) {
        return check_archive(namespace, package);
    }
    match std::str::from_utf8(package) {
        Ok(text) if !package.contains(&0) => check_prose(text),
        _ => Err(RegistryError::invalid("not-a-package", UnpackError::UnknownFormat.to_string())
            .advice("upload what `prowess pack` makes")),
    }
}

fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(b"PK")
}

fn check_archive(namespace: &SkillName, package: &Bytes) -> Result<CheckedUpload, RegistryError> {
    let refused = |error: UnpackError| RegistryError::invalid("invalid-package", error.to_string());
    let options = UnpackOptions { limits: PackageLimits::PACKAGE, name: None };
    let tree = match unpack_to_memory(Cursor::new(package), &options) {
        Ok((_, tree)) => tree,
        Err(error @ (UnpackError::Nameless | UnpackError::Unreadable)) => {
            // Prose has no name; it is unpacked under one of ours.
            let unnamed: SkillName = UNNAMED.parse().map_err(|_| RegistryError::no_skill())?;
            let options = UnpackOptions { name: Some(&unnamed), ..options };
            match unpack_to_memory(Cursor::new(package), &options) {
                Ok((_, tree)) => match std::str::from_utf8(tree.manifest()) {
                    Ok(text) if is_prose(text) => return check_prose(text),
                    _ => return Err(refused(error)),
                },
                Err(_) => return Err(refused(error)),
            }
        }
        Err(error) => return Err(refused(error)),
    };
    let text = std::str::from_utf8(tree.manifest())
        .map_err(|_| RegistryError::invalid("not-text", "`SKILL.md` is not UTF-8"))?
        .to_owned();
    if is_prose(&text) {
        return check_prose(&text);
    }
    // Our format is `.tar.gz`; a zip is packed anew, so that one hash stands for one format.
    let archive =
        if package.starts_with(b"PK") { Bytes::from(pack(&tree)) } else { package.clone() };
    let skill = check_skill(namespace, &tree, text, archive)?;
    Ok(CheckedUpload::Skill(Box::new(skill)))
}

fn check_skill(
    namespace: &SkillName,
    tree: &Tree,
    manifest: String,
    archive: Bytes,
) -> Result<CheckedSkill, RegistryError> {
    let mut text = Cow::Borrowed("");
    let checked = check_bytes(tree.manifest(), &mut text, ReadOptions::DETECT);
    let of = |severity: Severity| -> Vec<String> {
        let found = checked.diagnostics.iter().filter(|found| found.severity == severity);
        found.map(|found| found.message.clone()).collect()
    };
    let errors = of(Severity::Error);
    if !errors.is_empty() {
        let shown = errors.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join("; ");
        return Err(RegistryError::invalid(
            "invalid-skill",
            format!("`SKILL.md` is not valid: {shown}"),
        )
        .advice("`prowess check` shows each problem with its line"));
    }
    let skill = &checked.skill;
    let name: SkillName = skill.name_text().unwrap_or_default().parse().map_err(
        |error: prowess_package::name::SkillNameError| {
            RegistryError::invalid("invalid-name", error.to_string())
        },
    )?;
    if RESERVED_NAMES.contains(&name.as_str()) {
        let message = format!(
            "`{name}` is a word of this registry's addresses and can't be the name of a skill"
        );
        return Err(RegistryError::invalid("reserved-name", message).advice("choose another name"));
    }
    let id = SkillId { namespace: namespace.clone(), name };
    let version = version_of(skill.published_version())?;
    if skill.dialect.id == "gaia" && skill.license.is_none() {
        // R41.
        return Err(RegistryError::invalid(
            "no-license",
            "a skill of this dialect needs a `license` to be published",
        ));
    }
    if skill.description.is_none() {
        return Err(RegistryError::invalid(
            "no-description",
            "a published skill needs a `description`",
        ));
    }
    let facts = VersionFacts::read(skill, tree, id.namespace.as_str(), of(Severity::Warning));
    check_dependencies(skill, &facts)?;
    let hashes = tree.hashes();
    Ok(CheckedSkill {
        version,
        sha256: Sha256Digest::of(&archive),
        content_digest: content_digest(&hashes),
        unpacked: tree.files().map(|(_, file)| file.bytes.len() as u64).sum(),
        files: FileFacts::of_tree(tree),
        archive,
        facts,
        manifest,
        id,
    })
}

/// R5, GAIX-24: a published version is a semantic version and says something.
fn version_of(declared: Option<&str>) -> Result<Version, RegistryError> {
    let Some(declared) = declared else {
        return Err(RegistryError::invalid("no-version", "a published skill needs a `version`")
            .advice("add `version: 1.0.0` to `SKILL.md`"));
    };
    let version: Version = declared.trim().parse().map_err(|_| {
        let shown = prowess_format::text::visible(&prowess_format::text::shorten(declared, 40))
            .into_owned();
        RegistryError::invalid(
            "invalid-version",
            format!("`{shown}` is not a version of the form `1.2.3`"),
        )
    })?;
    if (version.major, version.minor, version.patch) == (0, 0, 0) {
        return Err(RegistryError::invalid(
            "zero-version",
            "`0.0.0` means that a skill has no version; it can't be published",
        )
        .advice("publish `0.1.0` or later"));
    }
    Ok(version)
}

fn check_dependencies(
    skill: &prowess_format::skill::Skill,
    facts: &VersionFacts,
) -> Result<(), RegistryError> {
    if skill.requirements.skills.len() > facts.dependencies.len() {
        let message = format!("a skill can depend on {} others", facts.dependencies.len());
        return Err(RegistryError::invalid("too-many-dependencies", message));
    }
    for (written, read) in skill.requirements.skills.iter().zip(&facts.dependencies) {
        let shown = prowess_format::text::visible(written.name.as_str()).into_owned();
        SkillId::new(&read.namespace, &read.name).map_err(|_| {
            RegistryError::invalid(
                "invalid-dependency",
                format!("`{shown}` is not the name of a skill"),
            )
        })?;
        Range::declared(written).map_err(|error| {
            RegistryError::invalid(
                "invalid-dependency",
                format!("the range of `{shown}` is not valid: {error}"),
            )
        })?;
    }
    Ok(())
}

fn is_prose(text: &str) -> bool {
    let checked = prowess_format::check(text, ReadOptions::DETECT);
    checked.document.front_matter == FrontMatter::Absent
}

fn check_prose(text: &str) -> Result<CheckedUpload, RegistryError> {
    if !is_prose(text) {
        return Err(RegistryError::invalid(
            "not-a-package",
            "a skill with front matter is uploaded as an archive",
        )
        .advice("upload what `prowess pack` makes"));
    }
    if text.len() > MAX_PROSE_BYTES {
        return Err(RegistryError::invalid(
            "prose-too-large",
            "a text without front matter has at most 1 MiB",
        ));
    }
    let title = text.lines().map(|line| line.trim().trim_start_matches('#').trim());
    let title: Option<String> =
        title.filter(|line| !line.is_empty()).map(|line| line.chars().take(120).collect()).next();
    let Some(title) = title else {
        return Err(RegistryError::invalid("empty", "the text is empty"));
    };
    Ok(CheckedUpload::Prose { text: text.to_owned(), title })
}
