//! The text of a skill: what is refused when it is saved, and who owns it.

use prowess_format::diagnostic::{Diagnostic, Severity};
use prowess_format::document::{Document, FrontMatter};
use prowess_format::emit;
use prowess_format::rules::SkillLocation;
use prowess_format::skill::{Skill, SkillKind};
use prowess_format::{Checked, ReadOptions, check, dialect};
use serde_json::{Value, json};

use crate::problem::ApiProblem;
use crate::skills::SkillName;

/// Maximum size of a text, in bytes of UTF-8 (specification §2).
pub const MAX_CONTENT_BYTES: usize = 51_200;
/// The dialect of prompt skills.
const AGENT_FLOW: &str = "agent-flow";
/// The front matter field with the owner.
const OWNER: &str = "user_id";
/// Maximum length of an owner's id (specification §3.2).
const MAX_OWNER: usize = 256;

/// A text that may be saved.
pub(crate) struct CheckedContent {
    /// The text, with its owner.
    pub(crate) text: String,
    /// The model.
    pub(crate) skill: Skill,
}

/// Reads a text as the studio does: as a prompt skill, unless it declares tools in another dialect.
///
/// Detection alone would read the smallest prompt skill, a name and a text, as instructions for an agent.
pub(crate) fn read<'t>(text: &'t str, name: Option<&str>) -> Checked<'t> {
    let place = SkillLocation { directory: name, files: None };
    let detected = check(text, ReadOptions { place, ..ReadOptions::DETECT });
    if detected.skill.kind == SkillKind::Tools || !detected.skill.tools.is_empty() {
        return detected;
    }
    check(text, ReadOptions { place, dialect: dialect::by_id(AGENT_FLOW), ..ReadOptions::DETECT })
}

/// The model of a text that was checked before.
pub(crate) fn model_of(text: &str, name: &str) -> Result<(Skill, Vec<Diagnostic>), String> {
    let Checked { document, skill, diagnostics } = read(text, Some(name));
    if document.front_matter != FrontMatter::Read && document.front_matter != FrontMatter::Repaired
        || document.root.entries.is_empty()
    {
        return Err("the file has no front matter".to_owned());
    }
    if let Some(error) = diagnostics.iter().find(|found| found.severity == Severity::Error) {
        return Err(error.message.clone());
    }
    Ok((skill, diagnostics))
}

/// Checks a text that somebody wants to save under a name (specification §9.1, §9.4). `owner` is written into it where
/// it names none. `stored` is the text that it replaces.
pub(crate) fn check_content(
    content: &str,
    name: &SkillName,
    owner: Option<&str>,
    stored: Option<&str>,
) -> Result<CheckedContent, ApiProblem> {
    require_size(content, owner, stored)?;
    let checked = read(content, Some(name.as_str()));
    require_valid(&checked, name)?;
    let text = match owner {
        Some(owner) if checked.skill.owner.is_none() => {
            with_owner(content, &checked.document, owner)
        }
        _ => content.to_owned(),
    };
    let Checked { skill, .. } = read(&text, Some(name.as_str()));
    // Front matter in braces has no line for it.
    if owner.is_some() && skill.owner.is_none() {
        let message = "Cannot add the owner to this front matter: write it as `key: value` lines";
        return Err(ApiProblem::invalid(OWNER, message));
    }
    Ok(CheckedContent { text, skill })
}

/// Refuses a text that is too large. The owner's line does not count if the server made the stored text too large by adding
/// it: a text of the maximum size stays editable with the line that it got.
fn require_size(
    content: &str,
    owner: Option<&str>,
    stored: Option<&str>,
) -> Result<(), ApiProblem> {
    let line = owner.map(owner_line);
    let has_line = |line: &String| content.lines().any(|it| it == line);
    let was_added = stored.is_some_and(|stored| stored.len() > MAX_CONTENT_BYTES);
    let added = line.filter(has_line).filter(|_| was_added).map_or(0, |line| line.len() + 1);
    if content.len().saturating_sub(added) <= MAX_CONTENT_BYTES {
        return Ok(());
    }
    let message = format!(
        "Skill content has {} bytes, at most {MAX_CONTENT_BYTES} are allowed (50 KB)",
        content.len()
    );
    Err(ApiProblem::invalid("content", message))
}

fn require_valid(checked: &Checked<'_>, name: &SkillName) -> Result<(), ApiProblem> {
    let Checked { document, skill, diagnostics } = checked;
    if document.front_matter == FrontMatter::Absent
        || document.front_matter != FrontMatter::Broken && document.root.entries.is_empty()
    {
        let message = "Skill content needs front matter between two lines `---`";
        return Err(ApiProblem::invalid("content", message));
    }
    if let Some(said) = skill.name_text()
        && said != name.as_str()
    {
        let said = prowess_format::text::shorten(said, 100);
        let message = format!("Front matter name '{said}' does not match skill name '{name}'");
        return Err(ApiProblem::invalid("name", message));
    }
    let owner = document.root.get(OWNER);
    if owner.is_some_and(|node| !node.is_null() && node.scalar().is_none()) {
        return Err(ApiProblem::invalid(OWNER, "The owner must be text"));
    }
    let Some(error) = diagnostics.iter().find(|found| found.severity == Severity::Error) else {
        return Ok(());
    };
    let field = field_of(document, error).unwrap_or_else(|| "content".to_owned());
    Err(ApiProblem::invalid(field, sentence(&error.message)))
}

/// The front matter field that a finding is about.
fn field_of(document: &Document<'_>, found: &Diagnostic) -> Option<String> {
    let entries = document.root.entries.iter();
    let mut around = entries.filter(|entry| {
        entry.key_span.join(entry.value.span).covers(found.span) && !found.span.is_empty()
    });
    around.next().map(|entry| prowess_format::text::shorten(&entry.key, 64))
}

/// A finding as a sentence without a full stop, as the specification's messages are.
fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

fn owner_line(owner: &str) -> String {
    format!("{OWNER}: {}", emit::scalar(owner))
}

/// Adds the owner as the last line of the front matter. Everything else stays byte for byte.
fn with_owner(content: &str, document: &Document<'_>, owner: &str) -> String {
    // An entry with an empty value is completed; a second one would be a duplicate key.
    let line = owner_line(owner);
    let line_break = if content.contains("\r\n") { "\r\n" } else { "\n" };
    if let Some(entry) = document.root.entries.iter().find(|entry| entry.key == OWNER) {
        let from = entry.key_span.start as usize;
        let to = content[from..].find(['\r', '\n']).map_or(content.len(), |at| from + at);
        return format!("{}{line}{}", &content[..from], &content[to..]);
    }
    let last =
        document.root.entries.iter().map(|entry| entry.value.span.end.max(entry.key_span.end));
    let after = last.max().map_or(0, |end| end as usize);
    // The closing fence is the first line `---` after the last value; a block of text ends at the fence itself.
    let begins_line = content[..after].ends_with('\n');
    let mut at = after;
    for text in content[after..].split_inclusive('\n') {
        if (at > after || begins_line) && text.trim_end() == "---" {
            return format!("{}{line}{line_break}{}", &content[..at], &content[at..]);
        }
        at += text.len();
    }
    content.to_owned()
}

/// The owner's id in a text, if it is one.
pub(crate) fn owner_of(skill: &Skill) -> Option<&str> {
    let owner = skill.owner.as_ref().map(|owner| owner.as_str())?;
    (!owner.is_empty() && owner.chars().count() <= MAX_OWNER).then_some(owner)
}

/// Findings with positions for people and for editors, whose offsets are in UTF-16.
pub(crate) fn diagnostics_json(text: &str, diagnostics: &[Diagnostic]) -> Vec<Value> {
    let place = Positions::new(text);
    diagnostics
        .iter()
        .filter(|found| found.file.is_none())
        .map(|found| {
            let (start, end) = (found.span.start as usize, found.span.end as usize);
            let (line, column) = place.line(start);
            let fix = found.fix.as_ref().map(|fix| {
                let edits: Vec<Value> = fix
                    .edits
                    .iter()
                    .map(|edit| {
                        let (start, end) = (edit.span.start as usize, edit.span.end as usize);
                        json!({
                            "start": start, "end": end,
                            "from": place.utf16(start), "to": place.utf16(end),
                            "text": edit.text,
                        })
                    })
                    .collect();
                json!({ "title": fix.title, "edits": edits })
            });
            json!({
                "rule": found.rule.name, "severity": found.severity.as_str(),
                "message": found.message, "help": found.help,
                "start": start, "end": end,
                "from": place.utf16(start), "to": place.utf16(end),
                "line": line, "column": column, "fix": fix,
            })
        })
        .collect()
}

/// Converts byte offsets. Each is looked up from the start of its line, so that many findings stay cheap.
struct Positions<'t> {
    text: &'t str,
    /// The byte and UTF-16 offsets of each line.
    lines: Vec<(usize, usize)>,
}

impl<'t> Positions<'t> {
    fn new(text: &'t str) -> Self {
        let mut lines = vec![(0, 0)];
        let (mut bytes, mut units) = (0, 0);
        for line in text.split_inclusive('\n') {
            bytes += line.len();
            units += line.encode_utf16().count();
            lines.push((bytes, units));
        }
        Self { text, lines }
    }

    fn at(&self, offset: usize) -> (usize, &str, usize) {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let line = self.lines.partition_point(|(start, _)| *start <= offset).saturating_sub(1);
        let (start, units) = self.lines[line];
        (line, &self.text[start..offset], units)
    }

    fn utf16(&self, offset: usize) -> usize {
        let (_, before, units) = self.at(offset);
        units + before.encode_utf16().count()
    }

    fn line(&self, offset: usize) -> (usize, usize) {
        let (line, before, _) = self.at(offset);
        (line + 1, before.chars().count() + 1)
    }
}

#[cfg(test)]
mod tests;
