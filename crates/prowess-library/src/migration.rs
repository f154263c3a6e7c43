//! OpenClaw skills to GAIA, one or a whole archive: which skills there are, what each becomes, and where it goes.
//!
//! ```text
//! survey ──► Survey ──► prepare (each) ──► assign ──► prepare (renamed) ──► files to write
//!              │            │
//!              └─ skipped ──┴─ Obstacle: every skill that is not migrated has a reason
//! ```
//!
//! Nothing is written here, and nothing of a skill is run.

mod files;
mod survey;
mod targets;

use std::borrow::Cow;
use std::path::Path;

use prowess_format::convert::convert_in;
use prowess_format::diagnostic::Severity;
use prowess_format::dialect::{self, Dialect};
use prowess_format::document::{Form, FrontMatter};
use prowess_format::migrate::{
    Migration, Obstacle, PublishedSkill, ReviewItem, SourceKind, Surroundings, as_instructions,
    in_place, migrate_in, obstacle, source_kind,
};
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::text::slug;
use prowess_format::{Checked, ReadOptions, check_bytes};

use prowess_engine::DirectoryFiles;

use crate::SkillFile;
pub use files::{OmittedFile, SkillListing, list_files};
pub use survey::{SkippedSource, Survey, survey};
pub use targets::{Claim, Target, assign};

/// What the registry says about a skill in its public archive.
const REGISTRY_ENTRY: &str = "_meta.json";

/// How a skill became a GAIA skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// By GAIA's rules for OpenClaw skills.
    Migrated,
    /// From a dialect with tools of its own.
    Converted(&'static str),
    /// It was one already, and is copied unchanged.
    Copied,
}

/// A skill that is ready to be written.
#[derive(Clone, Debug)]
pub struct PreparedSkill {
    /// The files and the items to review.
    pub migration: Migration,
    /// How it was made.
    pub transition: Transition,
    /// The registry's entry.
    pub published: Option<PublishedSkill>,
}

/// What is migrated when a skill is not one of OpenClaw's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherDialects {
    /// They are refused with a reason: the user named this skill and may have meant something else.
    Refused,
    /// GAIA skills are copied and others converted: the user wants a folder of GAIA skills.
    Included,
}

/// What to make of a skill.
#[derive(Clone, Copy, Debug)]
pub struct PrepareOptions<'o> {
    /// The dialect to read it as; `None` detects it.
    pub dialect: Option<&'static Dialect>,
    /// Whether skills of other dialects are taken too.
    pub others: OtherDialects,
    /// Another name, because its own is taken.
    pub name: Option<&'o str>,
}

/// Migrates a skill that was read from disk. `Err` says why there is nothing to write.
pub fn prepare(file: &SkillFile, options: PrepareOptions<'_>) -> Result<PreparedSkill, Obstacle> {
    let listing = file.directory.as_deref().map(list_files).unwrap_or_default();
    let published = file.directory.as_deref().and_then(read_entry);
    let utf16 = from_utf16(&file.bytes);
    let bytes = utf16.as_deref().map_or(file.bytes.as_slice(), str::as_bytes);
    let mut prepared = read_and_migrate(file, bytes, options, &listing, published.as_ref())?;
    prepared.migration.review.extend(utf16.is_some().then(|| ReviewItem {
        what: "SKILL.md".to_owned(),
        why: "the source is UTF-16: the result is UTF-8".to_owned(),
    }));
    prepared.migration.review.extend(listing.review());
    prepared.published = published;
    Ok(prepared)
}

/// The owner of a skill: the account that published it.
///
/// In the public archive, `skills/OWNER/NAME`, the folder is the registry's word; a `_meta.json` that says something else
/// is not believed. Elsewhere the file is the only word there is, and the folder above is a guess.
pub fn owner(root: &Path, folder: &Path, published: Option<&PublishedSkill>) -> Option<String> {
    let said = published.and_then(|published| published.owner.clone());
    let below = folder.strip_prefix(root).unwrap_or(folder);
    let full = root.canonicalize().unwrap_or_else(|_| root.to_owned()).join(below);
    let mut above = full.ancestors().skip(1).filter_map(|path| path.file_name());
    let parent = above.next().map(|name| name.to_string_lossy().into_owned());
    let is_archive = above.next().is_some_and(|name| name == "skills");
    if is_archive && parent.is_some() {
        return parent;
    }
    let is_below_root = below.components().count() > 1;
    said.or_else(|| parent.filter(|_| is_below_root))
}

fn read_entry(directory: &Path) -> Option<PublishedSkill> {
    let path = directory.join(REGISTRY_ENTRY);
    let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
    PublishedSkill::read(&crate::read(&path).ok().filter(|_| is_file)?)
}

/// The text of a file that says that it is UTF-16. Other encodings do not say what they are, and are not guessed.
fn from_utf16(bytes: &[u8]) -> Option<String> {
    let (order, units): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xff, 0xfe, units @ ..] => (u16::from_le_bytes, units),
        [0xfe, 0xff, units @ ..] => (u16::from_be_bytes, units),
        _ => return None,
    };
    let (pairs, rest) = units.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| order(*pair)).collect();
    String::from_utf16(&units).ok().filter(|text| rest.is_empty() && !text.is_empty())
}

fn read_and_migrate(
    file: &SkillFile,
    bytes: &[u8],
    options: PrepareOptions<'_>,
    listing: &SkillListing,
    published: Option<&PublishedSkill>,
) -> Result<PreparedSkill, Obstacle> {
    let mut text = Cow::Borrowed("");
    let detect = ReadOptions { form: file.form, ..ReadOptions::DETECT };
    let detected = check_bytes(bytes, &mut text, detect);
    if let Some((corrected, what)) = in_place(&detected) {
        let mut text = Cow::Borrowed("");
        let again = check_bytes(corrected.as_bytes(), &mut text, detect);
        // Anything else is migrated as instructions, as it stands.
        if matches!(again.document.front_matter, FrontMatter::Read | FrontMatter::Repaired) {
            let bytes = corrected.as_bytes();
            let mut prepared = read_and_migrate(file, bytes, options, listing, published)?;
            let why = format!("{what}: it was read as front matter all the same");
            prepared
                .migration
                .review
                .insert(0, ReviewItem { what: "front matter".to_owned(), why });
            return Ok(prepared);
        }
    }
    if let Some(instructions) = as_instructions(&detected) {
        return read_and_migrate(file, instructions.as_bytes(), options, listing, published);
    }
    let is_included = options.others == OtherDialects::Included;
    let kind = match options.dialect {
        Some(dialect) => SourceKind::OpenClaw(Some(dialect)),
        None => match source_kind(&detected) {
            // A file with errors is no GAIA skill yet: it only looks like one.
            SourceKind::Gaia if is_included && has_errors(&detected) => {
                SourceKind::OpenClaw(dialect::by_id("openclaw"))
            }
            kind => kind,
        },
    };
    let dialect = match kind {
        SourceKind::OpenClaw(dialect) => dialect,
        SourceKind::Gaia | SourceKind::Other(_) if is_included => None,
        SourceKind::Gaia => {
            return Err(Obstacle { reason: "it is already a GAIA skill".to_owned(), help: None });
        }
        SourceKind::Other(dialect) => {
            let reason = format!("it is written in {}, not for OpenClaw", dialect.id);
            return Err(Obstacle { reason, help: None });
        }
    };
    // The result gets a folder of its own, so the name of this one does not matter.
    let files = file.directory.as_deref().map(DirectoryFiles::new);
    let place = SkillLocation {
        directory: None,
        files: files.as_ref().map(|files| files as &dyn SkillFiles),
    };
    let mut text = Cow::Borrowed("");
    let checked = check_bytes(bytes, &mut text, ReadOptions { form: file.form, dialect, place });
    if let Some(obstacle) = obstacle(&checked) {
        return Err(obstacle);
    }
    let directory = file.directory_name();
    let surroundings = Surroundings {
        listing: &listing.files,
        directory: directory.as_deref(),
        published,
        name: options.name,
    };
    let (migration, transition) = match kind {
        SourceKind::OpenClaw(_) => (migrate_in(&checked, surroundings), Transition::Migrated),
        SourceKind::Gaia => (copied(&checked, surroundings), Transition::Copied),
        SourceKind::Other(dialect) => {
            (converted(file, &checked, surroundings)?, Transition::Converted(dialect.id))
        }
    };
    Ok(PreparedSkill { migration, transition, published: None })
}

/// A GAIA skill, unchanged. A name that is taken only changes its folder.
fn copied(checked: &Checked<'_>, surroundings: Surroundings<'_>) -> Migration {
    let own = checked.skill.name_text().or(surroundings.directory).unwrap_or("skill");
    let mut review = vec![ReviewItem {
        what: "SKILL.md".to_owned(),
        why: "it is a GAIA skill already and is copied unchanged".to_owned(),
    }];
    review.extend(other_folder(&slug(own), surroundings.name));
    Migration {
        files: vec![("SKILL.md".to_owned(), checked.document.text.to_owned())],
        copied: others(surroundings.listing, &["SKILL.md"]),
        review,
        name: surroundings.name.map_or_else(|| slug(own), str::to_owned),
        renamed: Vec::new(),
    }
}

/// Reports a folder that does not have the name of the skill in it.
fn other_folder(own: &str, folder: Option<&str>) -> Option<ReviewItem> {
    let folder = folder.filter(|folder| *folder != own)?;
    Some(ReviewItem {
        what: "name".to_owned(),
        why: format!(
            "another skill is called `{own}`: the folder of this one is `{folder}`, so rename it"
        ),
    })
}

/// A skill of another dialect, with what is lost among the items to review.
fn converted(
    file: &SkillFile,
    checked: &Checked<'_>,
    surroundings: Surroundings<'_>,
) -> Result<Migration, Obstacle> {
    let from = checked.skill.dialect.id;
    let refused = |reason: String| Obstacle {
        reason: format!("it is written in {from} and can't be written as GAIA: {reason}"),
        help: None,
    };
    let gaia = dialect::by_id("gaia").ok_or_else(|| refused("there is no such dialect".into()))?;
    let conversion = convert_in(checked, gaia, surroundings.directory);
    let Some((_, text)) = conversion.files.first() else {
        return Err(refused(conversion.notes.join("; ")));
    };
    let again = ReadOptions { form: Form::Markdown, dialect: Some(gaia), ..ReadOptions::DETECT };
    let read = prowess_format::check(text, again);
    let errors = read.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<&str> = errors.map(|found| found.message.as_str()).collect();
    if !errors.is_empty() {
        return Err(refused(errors.join("; ")));
    }
    let notes = conversion.notes.into_iter();
    let mut review: Vec<ReviewItem> =
        notes.map(|why| ReviewItem { what: "conversion".to_owned(), why }).collect();
    let losses = conversion.losses.into_iter();
    review.extend(losses.map(|loss| ReviewItem { what: loss.field, why: loss.detail }));
    let mut written: Vec<&str> = conversion.files.iter().map(|(path, _)| path.as_str()).collect();
    written.push(&file.file_name);
    let copied = others(surroundings.listing, &written);
    let own = conversion.name.map_or_else(|| "skill".to_owned(), |name| slug(&name));
    review.extend(other_folder(&own, surroundings.name));
    let name = surroundings.name.map_or(own, str::to_owned);
    Ok(Migration { files: conversion.files, copied, review, name, renamed: Vec::new() })
}

fn has_errors(checked: &Checked<'_>) -> bool {
    checked.diagnostics.iter().any(|found| found.severity == Severity::Error)
}

fn others(listing: &[String], written: &[&str]) -> Vec<String> {
    let is_written = |path: &String| {
        written.iter().any(|known| known.eq_ignore_ascii_case(path))
            || prowess_engine::SPELLINGS.contains(&path.as_str())
    };
    listing.iter().filter(|path| !is_written(path)).cloned().collect()
}
