//! Migrates OpenClaw skills to GAIA (GAIA §8.2), from the shape of published skills and from the
//! older one of seed 001 §8.
//!
//! Never grants more than the source declares: coarse network access becomes the two levels that
//! the seed prescribes, required programs become a scoped grant, and everything that needs a
//! decision is omitted and listed for review. Every migrated skill is experimental, because trust
//! must be established again.

mod install;
mod permissions;
mod published;
mod source;
mod tools;
mod wrapper;

use serde_json::{Map, Value};

use crate::convert::{self, Carried};
use crate::diagnostic::Severity;
use crate::dialect;
use crate::document::FrontMatter;
use crate::formats;
use crate::read::Checked;
use crate::rules;
use crate::skill::{Skill, ToolKind};
use crate::span::{LineIndex, Span, Spanned};
use crate::specification::GAIA;
use crate::text::{shorten, slug};

pub use published::PublishedSkill;
pub use source::{Obstacle, SourceKind, as_instructions, in_place, obstacle, source_kind};

/// The result of a migration.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Migration {
    /// The files to write, by path relative to the new directory; `SKILL.md` first. Empty when the source can't be read.
    pub files: Vec<(String, String)>,
    /// Files of the skill to copy unchanged.
    pub copied: Vec<String>,
    /// Files of the skill to copy under another name because the old one is taken: from, to.
    pub renamed: Vec<(String, String)>,
    /// Items for review.
    pub review: Vec<ReviewItem>,
    /// The name of the migrated skill, and of its directory.
    pub name: String,
}

/// Something that a person should review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewItem {
    /// The subject.
    pub what: String,
    /// Why it needs a decision and what to do next.
    pub why: String,
}

/// What is known about a skill besides its main file.
#[derive(Clone, Copy)]
pub struct Surroundings<'s> {
    /// The other files of the skill, by path relative to its directory.
    pub listing: &'s [String],
    /// The name of its directory.
    pub directory: Option<&'s str>,
    /// What the registry says about it (`_meta.json`).
    pub published: Option<&'s PublishedSkill>,
    /// Another name than its own, because that one is taken.
    pub name: Option<&'s str>,
}

/// Migrates an OpenClaw skill. `listing` names the other files of the skill, `directory` the folder
/// it is in.
pub fn migrate(checked: &Checked<'_>, listing: &[String], directory: Option<&str>) -> Migration {
    migrate_in(checked, Surroundings { listing, directory, published: None, name: None })
}

/// Migrates an OpenClaw skill of which more is known than its files. What is wrong with the source is
/// listed for review; [`obstacle`] says whether it can be migrated at all.
pub fn migrate_in(checked: &Checked<'_>, surroundings: Surroundings<'_>) -> Migration {
    let Surroundings { listing, published, .. } = surroundings;
    let slug = published.and_then(|published| published.slug.as_deref());
    let directory = slug.or(surroundings.directory);
    let Some(gaia) = dialect::by_id("gaia").filter(|_| checked.is_skill()) else {
        return unreadable(directory);
    };
    let source = &checked.skill;
    let Carried { mut skill, mut notes, .. } = convert::carry(checked, gaia, directory);
    let known_version = published.and_then(published_version);
    // The registry's version replaces one that the source lacks or misspells.
    notes.retain(|(what, _)| *what != "version" || known_version.is_none());
    let mut review: Vec<ReviewItem> =
        notes.into_iter().map(|(what, why)| ReviewItem { what: what.to_owned(), why }).collect();
    problems(checked, &mut review);
    if let Some(version) = known_version {
        use_version(source, version, &mut skill, &mut review);
    }
    if let Some(name) = surroundings.name {
        rename(name, &mut skill, &mut review);
    }
    let renamed = renamed(listing, source);
    let tools = tools::tools(source, listing, &renamed, &mut review);
    skill.tools.retain(|tool| tool.kind == ToolKind::Python);
    skill.tools.extend(tools.iter().map(|wrapped| wrapped.tool.clone()));
    skill.permissions =
        permissions::permissions(checked, std::mem::take(&mut skill.permissions), &mut review);
    requirements(source, &mut skill, &mut review);
    reset_tier(source, &mut skill, &mut review);
    left_to_decide(source, &skill, published, &mut review);
    keep_invocation(source, &mut skill);
    let name = skill.name_text().unwrap_or("skill").to_owned();
    let lines = convert::take_lines(checked, &mut skill, gaia);
    let written = (gaia.write)(&skill);
    let text = if lines.is_empty() {
        written.text
    } else {
        convert::insert_lines(&written.text, &lines.concat())
    };
    let text = convert::own_line_breaks(&checked.document, text);
    let mut files = vec![("SKILL.md".to_owned(), text)];
    if !tools.is_empty() {
        files.push(("tools.py".to_owned(), wrapper::tools_py(&name, &tools)));
    }
    let copied = listing
        .iter()
        .filter(|path| !is_skill_file(path) && !files.iter().any(|(file, _)| file == *path))
        .filter(|path| !renamed.iter().any(|(from, _)| from == *path))
        .cloned()
        .collect();
    Migration { files, copied, renamed, review, name }
}

fn unreadable(directory: Option<&str>) -> Migration {
    let review = vec![ReviewItem {
        what: "SKILL.md".to_owned(),
        why: "it can't be read: run `prowess check` and fix the errors first".to_owned(),
    }];
    Migration { review, name: slug(directory.unwrap_or("skill")), ..Migration::default() }
}

/// Whether a path is the skill file in any spelling (OC-7), or its lock file, which is never
/// content (R25).
fn is_skill_file(path: &str) -> bool {
    let lower = path.to_lowercase();
    matches!(lower.as_str(), "skill.md" | "skills.md" | "skill.md.lock" | "skills.md.lock")
}

/// Renames a `tools.py` of the source to make room for the wrapper.
fn renamed(listing: &[String], source: &Skill) -> Vec<(String, String)> {
    let taken = listing.iter().any(|path| path == "tools.py");
    if taken && source.tools.iter().any(|tool| tool.kind == ToolKind::Handler) {
        vec![("tools.py".to_owned(), "openclaw_tools.py".to_owned())]
    } else {
        Vec::new()
    }
}

/// The version that the registry published, in the form that GAIA requires.
fn published_version(published: &PublishedSkill) -> Option<String> {
    let version = published.version.as_deref()?;
    if (formats::VERSION.check)(version).is_ok() {
        return Some(version.to_owned());
    }
    formats::normal_version(version)
}

fn use_version(source: &Skill, version: String, skill: &mut Skill, review: &mut Vec<ReviewItem>) {
    let own = source.version.as_ref().map(|own| own.as_str()).filter(|own| *own != version);
    if let Some(own) = own {
        item(
            review,
            "version",
            format!(
                "the file says `{}`, `_meta.json` `{version}`: the published one is used",
                shorten(own, 40)
            ),
        );
    }
    skill.version = Some(Spanned::new(version, Span::default()));
}

fn rename(name: &str, skill: &mut Skill, review: &mut Vec<ReviewItem>) {
    let own = skill.name_text().unwrap_or_default();
    if own == name {
        return;
    }
    item(
        review,
        "name",
        format!(
            "another skill of the same source is called `{}`: this one is called `{name}`",
            shorten(own, 80)
        ),
    );
    skill.name = Some(Spanned::new(name.to_owned(), Span::default()));
}

/// Lists what is wrong with the source. Fields that could not be read are missing from the result.
fn problems(checked: &Checked<'_>, review: &mut Vec<ReviewItem>) {
    /// The most findings that are listed: a broken file can have thousands.
    const MOST: usize = 20;
    if checked.document.front_matter == FrontMatter::Absent {
        item(review, "front matter", "the source has none: it is migrated as instructions");
    }
    let text = checked.document.text;
    let lines = LineIndex::new(text);
    // The migration has its own words for these, or resolves them.
    let resolved = [&rules::MISSING_FRONT_MATTER, &rules::UNUSABLE_HANDLER, &rules::DUPLICATE_TOOL];
    let mut errors = checked
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error && !resolved.contains(&found.rule));
    for found in errors.by_ref().take(MOST) {
        let what = match &found.file {
            Some(file) => shorten(file, 80),
            None => format!("line {}", lines.position(text, found.span.start as usize).line),
        };
        item(review, what, format!("{} ({})", found.message, found.rule.name));
    }
    let more = errors.count();
    if more > 0 {
        item(review, "SKILL.md", format!("{more} more errors"));
    }
}

fn item(review: &mut Vec<ReviewItem>, what: impl Into<String>, why: impl Into<String>) {
    review.push(ReviewItem { what: what.into(), why: why.into() });
}

fn listed(words: &[&str]) -> String {
    words
        .iter()
        .take(10)
        .map(|word| format!("`{}`", shorten(word, 60)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn requirements(source: &Skill, skill: &mut Skill, review: &mut Vec<ReviewItem>) {
    let Some(vendor) = &source.openclaw else { return };
    install::install(&vendor.install, &mut skill.requirements, review);
    let (needed, optional) = install::described_variables(&vendor.env_vars);
    for name in needed {
        if !skill.requirements.env_vars.iter().any(|known| *known.value == name) {
            skill.requirements.env_vars.push(Spanned::new(name, Span::default()));
        }
    }
    if !optional.is_empty() {
        let names: Vec<&str> = optional.iter().map(String::as_str).collect();
        item(
            review,
            "environment variables",
            format!("optional: {}; GAIA only has required variables", listed(&names)),
        );
    }
}

/// Resets the security tier and reports a lost claim (§8.2, step 4; GAIX-22).
fn reset_tier(source: &Skill, skill: &mut Skill, review: &mut Vec<ReviewItem>) {
    skill.extra.retain(|(key, _)| key != "security_tier");
    skill.security_tier = Some(Spanned::new("experimental".to_owned(), Span::default()));
    let in_extra = source
        .extra
        .iter()
        .find(|(key, _)| key == "security_tier")
        .and_then(|(_, value)| value.as_str());
    let claimed = source.security_tier.as_ref().map(|tier| tier.as_str()).or(in_extra);
    if let Some(claimed) = claimed.filter(|claimed| *claimed != "experimental") {
        item(
            review,
            "security tier",
            format!(
                "the file claims `{}`: a migrated skill is experimental until it is signed",
                shorten(claimed, 40)
            ),
        );
    }
}

/// Reports what the target has no field for, and required fields that are missing.
fn left_to_decide(
    source: &Skill,
    skill: &Skill,
    published: Option<&PublishedSkill>,
    review: &mut Vec<ReviewItem>,
) {
    let wanted = &source.requirements;
    let words = |texts: &[Spanned<String>]| {
        listed(&texts.iter().map(|text| text.as_str()).collect::<Vec<_>>())
    };
    if !wanted.any_programs.is_empty() {
        item(
            review,
            "running programs",
            format!(
                "one of {} is needed: choose one and add it to `shell:execute:…`",
                words(&wanted.any_programs)
            ),
        );
    }
    if !wanted.config.is_empty() {
        item(
            review,
            "settings",
            format!("OpenClaw gates the skill on {}: GAIA has no such gate", words(&wanted.config)),
        );
    }
    if !wanted.os.is_empty() {
        item(
            review,
            "operating system",
            format!(
                "the skill is for {} only: GAIA has no such gate, so mention it in the body",
                words(&wanted.os)
            ),
        );
    }
    if let Some(vendor) = &source.openclaw {
        if vendor.always == Some(true) {
            item(
                review,
                "gates",
                "`always: true` skips OpenClaw's gates: GAIA always checks requirements",
            );
        }
        if let Some(primary) = &vendor.primary_env {
            item(
                review,
                "main secret",
                format!(
                    "`{}` is the skill's own key: the user must set it; GAIA stores no keys",
                    shorten(primary, 60)
                ),
            );
        }
    }
    let invocation = &source.invocation;
    if let Some(tool) = invocation.command_tool.as_ref().or(invocation.command_dispatch.as_ref()) {
        item(
            review,
            "command dispatch",
            format!(
                "OpenClaw sends the command straight to `{}`: GAIA has no such dispatch",
                shorten(tool, 60)
            ),
        );
    }
    if source.tools.iter().any(|tool| tool.kind == ToolKind::Handler) {
        item(
            review,
            "handlers",
            "they get no files, programs or variables: read the code and declare what it needs",
        );
    }
    if skill.tools.is_empty() {
        item(
            review,
            "tools",
            format!(
                "the skill has instructions only: GAIA loads it, but its specification requires at least one tool ({})",
                GAIA.at("2.2")
            ),
        );
    }
    let missing: Vec<&str> =
        [("author", skill.authors.is_empty()), ("license", skill.license.is_none())]
            .into_iter()
            .filter(|(_, missing)| *missing)
            .map(|(key, _)| key)
            .collect();
    if !missing.is_empty() {
        // Whoever published a skill need not be its author, so the owner is a hint and not a value.
        let owner = published.and_then(|published| published.owner.as_deref());
        let owner =
            owner.filter(|_| missing.contains(&"author")).map_or_else(String::new, |owner| {
                format!("; it was published by `{}`", shorten(owner, 60))
            });
        item(
            review,
            "identity",
            format!(
                "GAIA requires {}, which the source does not have ({}){owner}",
                listed(&missing),
                GAIA.at("2.2")
            ),
        );
    }
    if skill.description.as_ref().is_some_and(|description| description.chars().count() > 200) {
        item(
            review,
            "description",
            format!("shorten it: GAIA allows 200 characters ({})", GAIA.at("2.2")),
        );
    }
}

/// Keeps invocation fields, which have no counterpart: those that other hosts know stay, OpenClaw's
/// own go to its block.
fn keep_invocation(source: &Skill, skill: &mut Skill) {
    let invocation = &source.invocation;
    for (key, flag) in [
        ("user-invocable", &invocation.user_invocable),
        ("disable-model-invocation", &invocation.disable_model_invocation),
    ] {
        skill.extra.extend(flag.as_ref().map(|flag| (key.to_owned(), Value::Bool(flag.value))));
    }
    let own = [
        ("command-dispatch", &invocation.command_dispatch),
        ("command-tool", &invocation.command_tool),
        ("command-arg-mode", &invocation.command_arg_mode),
    ];
    let own: Map<String, Value> = own
        .into_iter()
        .filter_map(|(key, text)| {
            Some((key.to_owned(), Value::String(text.as_ref()?.value.clone())))
        })
        .collect();
    if own.is_empty() {
        return;
    }
    let namespace = source.openclaw.as_ref().map(|block| block.namespace.as_str());
    let namespace = namespace.filter(|namespace| !namespace.is_empty()).unwrap_or("openclaw");
    match skill.metadata.iter_mut().find(|(key, _)| key == namespace) {
        Some((_, Value::Object(block))) => block.extend(own),
        Some(_) => {}
        None => skill.metadata.insert(0, (namespace.to_owned(), Value::Object(own))),
    }
}
