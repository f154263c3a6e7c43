//! Converts a skill to another dialect and lists what that dialect can't express.

mod carry;
mod entries;
mod facets;
mod join;
mod losses;
mod nouns;

use crate::diagnostic::Findings;
use crate::dialect::{self, Dialect};
use crate::document::Document;
use crate::document::markdown::{Block, blocks};
use crate::emit::WrittenSkill;
use crate::read::{Checked, form_of, read_layers};
use crate::skill::Skill;

pub(crate) use carry::{Carried, carry, json_type, known_type};
pub(crate) use entries::insert as insert_lines;
pub use facets::facets;
pub use join::{JoinError, ToolPackFile, convert_packs};

/// The result of a conversion.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Conversion {
    /// The files to write, by path relative to the skill's directory. Empty if the target can't
    /// express any of the source; the notes say why.
    pub files: Vec<(String, String)>,
    /// Parts of the source that a reader of the target does not see.
    pub losses: Vec<Loss>,
    /// What was filled in, renamed or moved, for review.
    pub notes: Vec<String>,
    /// The name of the converted skill, and of its directory; `None` if it has no name.
    pub name: Option<String>,
}

/// Something that the target can't express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The facet, such as `tools` or `requirements.env_vars`.
    pub field: String,
    /// A phrase without a full stop.
    pub detail: String,
}

/// Converts a skill to a dialect. A skill that is written in it already is returned byte for byte.
pub fn convert(checked: &Checked<'_>, to: &'static Dialect) -> Conversion {
    convert_in(checked, to, None)
}

/// Converts a skill in a known directory, whose name is used if the file has none (R3).
pub fn convert_in(
    checked: &Checked<'_>,
    to: &'static Dialect,
    directory: Option<&str>,
) -> Conversion {
    if !checked.is_skill() {
        let notes = vec!["the file can't be read, so there is nothing to convert".to_owned()];
        return Conversion { notes, ..Conversion::default() };
    }
    let source = &checked.skill;
    if *source.dialect == *to {
        let files = vec![(file_name(source), checked.document.text.to_owned())];
        let name = source.name_text().or(directory).map(str::to_owned);
        return Conversion { files, name, ..Conversion::default() };
    }
    if to.id != "prose" && source.description.is_none() && !has_text(&checked.document) {
        let note = "nothing is written: there is no description, and no text to take one from";
        return Conversion { notes: vec![note.to_owned()], ..Conversion::default() };
    }
    if source.has_layer("openclaw") && to.id == "gaia" {
        return migrated(checked, to, directory);
    }
    if to.id == "tool-pack" && !source.tools.iter().any(|tool| tool.command.is_some()) {
        let note = "nothing is written: a tool pack is a command tool, and the source has none";
        return Conversion { notes: vec![note.to_owned()], ..Conversion::default() };
    }
    let carry::Carried { mut skill, kept, lifted, notes } = carry::carry(checked, to, directory);
    // A name or a version that changed is among the losses.
    let changed = |what: &str| match what {
        "name" => source.name.is_some(),
        "version" => source.version.is_some(),
        _ => false,
    };
    let notes = notes.into_iter().filter(|(what, _)| !changed(what));
    let mut notes: Vec<String> = notes.map(|(_, note)| note).collect();
    let copied = take_lines(checked, &mut skill, to);
    let lost = entries::comments_lost(&checked.document, &copied);
    if lost > 0 {
        let noun = if lost == 1 { "line" } else { "lines" };
        notes.push(format!("comments in the front matter are not copied: {lost} {noun}"));
    }
    let mut written = (to.write)(&skill);
    if !copied.is_empty() && to.id != "prose" {
        written.text = entries::insert(&written.text, &copied.concat());
    }
    written.text = own_line_breaks(&checked.document, written.text);
    let mut conversion = finish(source, written, to, &kept, notes);
    conversion.name = skill.name_text().or(directory).map(str::to_owned);
    conversion.losses.extend(not_understood(checked, &conversion));
    let is_lifted = |field: &str| {
        field.strip_prefix("metadata.").is_some_and(|key| lifted.iter().any(|known| known == key))
    };
    conversion.losses.retain(|loss| !is_lifted(&loss.field));
    conversion
}

/// Uses the line endings of the source throughout, including the front matter.
pub(crate) fn own_line_breaks(document: &Document<'_>, text: String) -> String {
    let (all, windows) =
        (document.text.matches('\n').count(), document.text.matches("\r\n").count());
    if windows > 0 && all == windows {
        text.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        text
    }
}

/// The path from OpenClaw to GAIA has rules of its own (GAIA §8.2).
fn migrated(checked: &Checked<'_>, to: &'static Dialect, directory: Option<&str>) -> Conversion {
    // Nothing is known about the files here, so the handlers are assumed to exist.
    let handlers: Vec<String> = checked.skill.tools.iter().filter_map(handler_file).collect();
    let migration = crate::migrate::migrate(checked, &handlers, directory);
    let kept = carry::carry(checked, to, directory).kept;
    let notes = migration.review.into_iter().map(|item| format!("{}: {}", item.what, item.why));
    let name = migration.name;
    let mut files = migration.files.into_iter();
    let Some((file_name, text)) = files.next() else { return Conversion::default() };
    let written = WrittenSkill { text, file_name, files: files.collect() };
    let mut conversion = finish(&checked.skill, written, to, &kept, notes.collect());
    conversion.name = Some(name);
    // The flag became permissions, and `tools.py` calls the handlers.
    conversion.losses.retain(|loss| loss.field != "network" && !loss.field.ends_with(".handler"));
    conversion
}

fn handler_file(tool: &crate::skill::Tool) -> Option<String> {
    let handler = tool.handler.as_ref()?;
    Some(handler.split_once(':').map_or(handler.as_str(), |(path, _)| path).to_owned())
}

/// Reads what was written and compares.
fn finish(
    source: &Skill,
    written: WrittenSkill,
    to: &'static Dialect,
    kept: &[carry::Kept],
    mut notes: Vec<String>,
) -> Conversion {
    let mut findings = Findings::default();
    let document = parse(&written.file_name, &written.text, &mut findings);
    let mut after = read_layers(&document, &reading_layers(to));
    for (path, text) in &written.files {
        if to.id == "tool-pack" {
            let document = parse(path, text, &mut findings);
            after.tools.extend(read_layers(&document, &[to]).tools);
        }
    }
    if to.id == "tool-pack" {
        after.body = tool_text(source);
    }
    // The open standard is the fallback when nothing indicates another dialect, so that is not
    // worth a note.
    let detected = dialect::detect(&document)[0];
    if *detected != *to && !dialect::FAMILY.contains(&detected.id) {
        notes.push(format!(
            "without `--dialect {}` the file is read as {}, because of fields that it still contains",
            to.id, detected.id
        ));
    }
    let losses = losses::losses(source, &after, to, kept, &mut notes);
    let mut files = vec![(written.file_name, written.text)];
    files.extend(written.files);
    Conversion { files, losses, notes, name: None }
}

/// Whether a body has any text. A description is never invented.
fn has_text(document: &Document<'_>) -> bool {
    document.blocks().iter().any(|block| match block {
        Block::Heading { text, .. } | Block::Text { text, .. } => !text.trim().is_empty(),
        Block::Code { .. } | Block::Table { .. } => false,
    })
}

fn parse<'t>(file_name: &str, text: &'t str, findings: &mut Findings) -> Document<'t> {
    match form_of(file_name) {
        crate::document::Form::Json => Document::json(text, findings),
        _ => Document::markdown(text, findings),
    }
}

/// The layers with which a written file is read again. Registry fields in `metadata` belong to the
/// open standard's family of dialects.
fn reading_layers(to: &'static Dialect) -> Vec<&'static Dialect> {
    let mut layers = dialect::layers_of(to);
    if dialect::FAMILY.contains(&to.id) {
        layers.extend(dialect::by_id("skillli").filter(|layer| !layers.contains(layer)));
    }
    layers
}

/// Fields of the source that its own dialect could not read, so they are missing from the model.
fn not_understood(checked: &Checked<'_>, conversion: &Conversion) -> Vec<Loss> {
    let unreadable = |span| {
        let mut found = checked.diagnostics.iter();
        found.any(|found| {
            found.rule.name == "wrong-type" && found.file.is_none() && found.span == span
        })
    };
    let Some((path, text)) = conversion.files.first() else { return Vec::new() };
    let mut findings = Findings::default();
    let written = parse(path, text, &mut findings);
    let entries = checked.document.root.entries.iter();
    entries
        .filter(|entry| unreadable(entry.value.span) && !written.root.has(&entry.key))
        .map(|entry| Loss {
            field: entry.key.to_string(),
            detail: format!(
                "`{}` is not understood in the source, so it can't be carried",
                entry.key
            ),
        })
        .collect()
}

/// Removes the unknown fields from the model whose lines can be copied from the source, and returns
/// those lines.
pub(crate) fn take_lines(checked: &Checked<'_>, skill: &mut Skill, to: &Dialect) -> Vec<String> {
    if matches!(to.id, "tool-pack" | "prose") {
        return Vec::new();
    }
    let mut copied = Vec::new();
    skill.extra.retain(|(key, _)| match entries::lines(&checked.document, key) {
        Some(lines) => {
            copied.push(lines);
            false
        }
        None => true,
    });
    copied
}

/// A tool pack has no body, so nothing is lost when the body only spelled out the tools.
fn tool_text(source: &Skill) -> String {
    let mut inside = false;
    for block in blocks(&source.body, 0) {
        if let Block::Heading { level, text, .. } = &block
            && *level <= 3
        {
            inside = *level == 3 && source.tool(text).is_some();
        }
        if !inside {
            return String::new();
        }
    }
    source.body.clone()
}

fn file_name(skill: &Skill) -> String {
    match skill.tools.first() {
        Some(tool) if skill.dialect.id == "tool-pack" => format!("{}.tool.json", tool.name.value),
        _ => "SKILL.md".to_owned(),
    }
}
