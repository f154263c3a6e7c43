//! Joins the tool packs of one folder into one skill. Each pack declares what a skill declares once
//! for all of its tools: a value that is safe for all packs is used, and packs that disagree about
//! a grant are not joined.

use std::fmt;

use super::carry::computed;
use super::{Conversion, convert_in};
use crate::dialect::Dialect;
use crate::read::Checked;
use crate::skill::Skill;
use crate::span::{Span, Spanned};
use crate::text::{shorten, slug};

/// A tool pack and its file name.
#[derive(Debug)]
pub struct ToolPackFile<'a> {
    /// The file's name.
    pub file_name: String,
    /// The parsed pack.
    pub checked: Checked<'a>,
}

/// Why packs can't be joined into one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// Two packs have different values where a skill can only have one.
    Differ {
        /// The field of the packs.
        field: String,
        /// A file.
        one: String,
        /// The other file.
        other: String,
    },
    /// Two packs define the same tool.
    SameTool {
        /// The tool.
        tool: String,
        /// A file.
        one: String,
        /// The other file.
        other: String,
    },
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Differ { field, one, other } => write!(
                f,
                "`{one}` and `{other}` differ in `{field}`, which a skill declares once for all its tools"
            ),
            JoinError::SameTool { tool, one, other } => {
                write!(f, "`{one}` and `{other}` both define the tool `{tool}`")
            }
        }
    }
}

impl std::error::Error for JoinError {}

/// The joined description is truncated where prompts truncate it (R1).
const MOST_DESCRIPTION: usize = 255;

/// Converts the packs of a folder to one skill named after the folder. A conversion to tool packs
/// returns them byte for byte.
pub fn convert_packs(
    packs: Vec<ToolPackFile<'_>>,
    to: &'static Dialect,
    directory: &str,
) -> Result<Conversion, JoinError> {
    let name = slug(directory);
    if to.id == "tool-pack" {
        let text = |pack: ToolPackFile<'_>| (pack.file_name, pack.checked.document.text.to_owned());
        let files = packs.into_iter().map(text).collect();
        return Ok(Conversion { files, name: Some(name), ..Conversion::default() });
    }
    refuse(&packs)?;
    let mut packs = packs.into_iter().map(|pack| pack.checked);
    let Some(mut joined) = packs.next() else { return Ok(Conversion::default()) };
    let others: Vec<Skill> = packs.map(|checked| checked.skill).collect();
    let mut notes = vec![format!("the packs become one skill named after their folder, `{name}`")];
    let skill = &mut joined.skill;
    notes.extend(policy(skill, &others));
    skill.name = Some(computed(name));
    skill.description = description(skill, &others);
    for other in others {
        let known = |key: &str| skill.extra.iter().any(|(known, _)| known == key);
        let extra: Vec<_> = other.extra.into_iter().filter(|(key, _)| !known(key)).collect();
        skill.extra.extend(extra);
        skill.tools.extend(other.tools);
    }
    let mut conversion = convert_in(&joined, to, Some(directory));
    conversion.notes.splice(..0, notes);
    Ok(conversion)
}

/// Rejects packs whose grants would widen if one value applied to all: a network that one tool
/// needs, a mode in which one tool is offered.
fn refuse(packs: &[ToolPackFile<'_>]) -> Result<(), JoinError> {
    for (at, one) in packs.iter().enumerate() {
        for other in &packs[at + 1..] {
            let (first, second) = (&one.checked.skill, &other.checked.skill);
            let files = || (one.file_name.clone(), other.file_name.clone());
            if let Some(tool) = second.tools.iter().find(|tool| first.tool(&tool.name).is_some()) {
                let (tool, (one, other)) = (tool.name.value.clone(), files());
                return Err(JoinError::SameTool { tool, one, other });
            }
            if let Some(field) = difference(first, second) {
                let (one, other) = files();
                return Err(JoinError::Differ { field, one, other });
            }
        }
    }
    Ok(())
}

fn difference(one: &Skill, other: &Skill) -> Option<String> {
    let network = |skill: &Skill| skill.network.as_ref().is_some_and(|network| network.value);
    if network(one) != network(other) {
        return Some("policy.requires_network".to_owned());
    }
    let modes = |skill: &Skill| {
        let mut modes: Vec<String> = skill.modes.iter().map(|mode| mode.value.clone()).collect();
        modes.sort();
        modes
    };
    if modes(one) != modes(other) {
        return Some("modes".to_owned());
    }
    let differs = |(key, value): &&(String, serde_json::Value)| {
        other.extra.iter().any(|(known, other)| known == key && other != value)
    };
    one.extra.iter().find(differs).map(|(key, _)| key.clone())
}

/// Sets the most restrictive value of each policy on the first skill and notes each change.
fn policy(skill: &mut Skill, others: &[Skill]) -> Vec<String> {
    let mut notes = Vec::new();
    let flag = |flag: &Option<Spanned<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
    let read_only: Vec<bool> = all(skill, others, |skill| flag(&skill.read_only));
    skill.read_only = Some(without_span(!read_only.contains(&false)));
    if read_only.contains(&true) && read_only.contains(&false) {
        notes.push("the skill is not read-only, because not every pack is".to_owned());
    }
    let ask: Vec<bool> = all(skill, others, |skill| flag(&skill.always_ask));
    if ask.contains(&true) {
        skill.always_ask = Some(without_span(true));
        if ask.contains(&false) {
            notes.push("every tool asks before it runs, because one of the packs does".to_owned());
        }
    }
    let timeouts = all(skill, others, Skill::timeout_secs_or_default);
    let longest = timeouts.iter().copied().max().unwrap_or_default();
    if timeouts.iter().any(|timeout| *timeout != longest) {
        skill.timeout_secs = Some(without_span(longest));
        notes.push(format!("every tool may run for {longest} s, the longest timeout of the packs"));
    }
    let mut versions = all(skill, others, |skill| skill.version.clone().map(|text| text.value));
    versions.retain(Option::is_some);
    versions.sort();
    versions.dedup();
    match versions.as_slice() {
        [] => {}
        [version] => skill.version = version.clone().map(computed),
        _ => {
            skill.version = None;
            notes.push("the packs have different versions, so none is kept".to_owned());
        }
    }
    notes
}

fn all<T>(skill: &Skill, others: &[Skill], of: impl Fn(&Skill) -> T) -> Vec<T> {
    std::iter::once(skill).chain(others).map(of).collect()
}

fn description(skill: &Skill, others: &[Skill]) -> Option<Spanned<String>> {
    let texts = all(skill, others, |skill| skill.description.clone());
    let texts = texts.into_iter().flatten().map(|text| text.trim_end_matches('.').to_owned());
    let text = texts.collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then(|| computed(shorten(&text, MOST_DESCRIPTION)))
}

/// A computed value, which has no position in the source.
fn without_span<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::default())
}
