//! The `<available_skills>` block of the Agent Skills standard, byte for byte that of its reference implementation.

use std::borrow::Cow;
use std::fmt::Write as _;

use prowess_core::Problem;

use super::budget::View;
use super::files::resources;
use super::{Catalogue, DisclosureLevel, description};
use crate::loaded::LoadedSkill;
use crate::quiz::Quizzes;

/// The end tag of a body, which a body must not contain.
const END: &str = "</skill_content>";

/// Without a final line break, like the reference. From level 2 on, a `<skill_content>` per skill follows, as the standard's
/// guide for clients shows it.
pub(super) fn write(catalogue: &Catalogue, level: Option<DisclosureLevel>, view: View) -> String {
    let mut text = String::from("<available_skills>\n");
    let skills = || catalogue.for_model.iter().take(view.entries);
    for skill in skills() {
        let _ = write!(
            text,
            "<skill>\n<name>\n{}\n</name>\n<description>\n{}\n</description>\n<location>\n{}\n</location>\n</skill>\n",
            escaped(&skill.name),
            escaped(&view.short(description(skill))),
            location(skill),
        );
    }
    text.push_str("</available_skills>");
    if level >= Some(DisclosureLevel::Bodies) {
        for skill in skills().take(view.bodies) {
            text.push('\n');
            content(catalogue, skill, level, &mut text);
        }
    }
    text
}

/// The `<skill_content>` of one skill with its files: what a model gets when it loads the skill. `body` is the body as it
/// was rendered. A skill whose quiz is not passed is a problem.
pub fn skill_content(
    skill: &LoadedSkill,
    body: &str,
    quizzes: &Quizzes,
) -> Result<String, Problem> {
    quizzes.require_passed(skill)?;
    let mut text = String::new();
    disclose(skill, body, Some(DisclosureLevel::Files), &mut text);
    Ok(text)
}

fn content(
    catalogue: &Catalogue,
    skill: &LoadedSkill,
    level: Option<DisclosureLevel>,
    text: &mut String,
) {
    if catalogue.is_closed(skill) {
        let _ = writeln!(text, "<skill_content name=\"{}\">", escaped(&skill.name));
        text.push_str("Withheld until the quiz of this skill is passed.\n");
        text.push_str(END);
        return;
    }
    disclose(skill, &skill.skill.body, level, text);
}

fn disclose(skill: &LoadedSkill, body: &str, level: Option<DisclosureLevel>, text: &mut String) {
    let _ = writeln!(text, "<skill_content name=\"{}\">", escaped(&skill.name));
    let body = body.trim_matches('\n');
    let _ = writeln!(text, "{}", body.replace(END, "&lt;/skill_content>"));
    if let Some(directory) = &skill.directory {
        let _ = writeln!(text, "\nSkill directory: {}", plain(&directory.to_string_lossy()));
    }
    let files = match level {
        Some(DisclosureLevel::Files) => resources(skill, true),
        _ => Vec::new(),
    };
    if !files.is_empty() {
        text.push_str("<skill_resources>\n");
        for file in files {
            let tokens = file.tokens.map(|tokens| format!(" tokens=\"{tokens}\""));
            let (bytes, tokens) = (file.bytes, tokens.unwrap_or_default());
            let _ =
                writeln!(text, "<file bytes=\"{bytes}\"{tokens}>{}</file>", escaped(&file.path));
        }
        text.push_str("</skill_resources>\n");
    }
    text.push_str(END);
}

/// The path of the main file. The reference does not escape it, so that an agent can open it.
fn location(skill: &LoadedSkill) -> String {
    plain(&skill.file.to_string_lossy()).into_owned()
}

/// A path as it is, unless it could be mistaken for a tag or a line of the manifest: the folders of a clone have the names
/// that a stranger gave them.
fn plain(path: &str) -> Cow<'_, str> {
    if path.contains(['<', '>']) || path.contains(char::is_control) {
        return Cow::Owned(escaped(&prowess_format::text::visible_line(path)));
    }
    Cow::Borrowed(path)
}

/// As Python's `html.escape` does it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#x27;"),
            other => escaped.push(other),
        }
    }
    escaped
}
