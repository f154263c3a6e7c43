//! Applies the fixes of findings to a text, and never makes it worse.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Edit, Fix, FixSafety, Severity, apply_edits};
use crate::document::{Form, FrontMatter};
use crate::manifest;
use crate::read::{ReadOptions, check};

/// The most rounds of fixes: one fix may uncover another problem.
const ROUNDS: usize = 8;
/// The most fixes that are tried one by one in a round, because together they would make the text worse.
const MOST_SINGLE: usize = 100;

/// A text after its fixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedText {
    /// How many problems were fixed.
    pub problems: usize,
    /// The new text.
    pub text: String,
}

/// Applies the fixes of a text that are at least as safe as `least`, except those of findings that `is_disabled` selects;
/// `None` if there are none.
///
/// A fix that would lead to an error that was not there before, or to front matter that is harder to read, is not applied.
/// Errors may appear if front matter that could not be read at all becomes readable: they were there before, unseen.
pub fn fix(
    text: &str,
    options: ReadOptions<'_>,
    least: FixSafety,
    is_disabled: &dyn Fn(&Diagnostic) -> bool,
) -> Option<FixedText> {
    let look = |text: &str| View::of(text, options, is_disabled);
    let mut fixed = FixedText { problems: 0, text: text.to_owned() };
    let mut before = look(text);
    for _ in 0..ROUNDS {
        let fixes = before.fixes(least);
        let (edits, count) = choose(&fixes);
        if count == 0 {
            break;
        }
        let mut best: Option<(String, View, usize)> = None;
        let mut offer = |edits: &[Edit], count: usize| {
            let candidate = apply_edits(&fixed.text, edits);
            if candidate == fixed.text {
                return false;
            }
            let after = look(&candidate);
            let is_accepted = after.is_no_worse_than(&before);
            if is_accepted {
                best = Some((candidate, after, count));
            }
            is_accepted
        };
        if !offer(&edits, count) {
            // One of them is to blame; the first that is acceptable alone is applied, and the others have further rounds.
            for fix in fixes.iter().take(MOST_SINGLE) {
                if offer(&fix.edits, 1) {
                    break;
                }
            }
        }
        let Some((text, view, count)) = best else { break };
        fixed.text = text;
        fixed.problems += count;
        before = view;
    }
    (fixed.problems > 0).then_some(fixed)
}

/// What a check says about a text.
struct View {
    diagnostics: Vec<Diagnostic>,
    front_matter: FrontMatter,
    /// The top-level keys.
    keys: Vec<String>,
}

impl View {
    fn of(text: &str, options: ReadOptions<'_>, is_disabled: &dyn Fn(&Diagnostic) -> bool) -> Self {
        let (mut diagnostics, front_matter, keys) = if options.form == Form::Yaml {
            (manifest::check(text).diagnostics, FrontMatter::Read, Vec::new())
        } else {
            let checked = check(text, options);
            let entries = checked.document.root.entries.iter();
            let keys = entries.map(|entry| entry.key.trim().to_lowercase()).collect();
            (checked.diagnostics, checked.document.front_matter, keys)
        };
        diagnostics.retain(|found| found.file.is_none() && !is_disabled(found));
        Self { diagnostics, front_matter, keys }
    }

    fn fixes(&self, least: FixSafety) -> Vec<&Fix> {
        let fixes = self.diagnostics.iter().filter_map(|found| found.fix.as_ref());
        fixes.filter(|fix| least == FixSafety::Suggested || fix.safety == FixSafety::Safe).collect()
    }

    /// The number of errors of each rule, usually and under `--strict`.
    fn errors(&self, strict: bool) -> BTreeMap<&'static str, usize> {
        let mut errors = BTreeMap::new();
        for found in &self.diagnostics {
            if found.effective(strict) == Severity::Error {
                *errors.entry(found.rule.name).or_default() += 1;
            }
        }
        errors
    }

    fn is_no_worse_than(&self, before: &Self) -> bool {
        let was_unread = matches!(before.front_matter, FrontMatter::Absent | FrontMatter::Broken);
        if was_unread && ease(self.front_matter) > ease(before.front_matter) {
            // The same yardstick as for a text that was never broken: what can be read must not be garbled.
            return !self
                .diagnostics
                .iter()
                .any(|found| matches!(found.rule.name, "invalid-yaml" | "duplicate-key"));
        }
        let has_new = |strict: bool| {
            let known = before.errors(strict);
            self.errors(strict)
                .iter()
                .any(|(rule, count)| known.get(rule).is_none_or(|known| count > known))
        };
        ease(self.front_matter) >= ease(before.front_matter)
            && before.keys.iter().all(|key| self.keys.contains(key) || is_similar(key, &self.keys))
            && !has_new(false)
            && !has_new(true)
    }
}

/// Whether a key was respelt: the fix of a misspelt field.
fn is_similar(key: &str, keys: &[String]) -> bool {
    let plain =
        |key: &str| -> String { key.chars().filter(|letter| letter.is_alphanumeric()).collect() };
    keys.iter().any(|other| plain(other) == plain(key))
        || crate::text::closest(key, keys.iter().map(String::as_str)).is_some()
}

/// How well front matter can be read.
fn ease(front_matter: FrontMatter) -> u8 {
    match front_matter {
        FrontMatter::Broken => 0,
        FrontMatter::Absent => 1,
        FrontMatter::Repaired => 2,
        FrontMatter::Read => 3,
    }
}

/// The edits of the fixes that don't overlap, and how many fixes these are; the others wait for the next round.
fn choose(fixes: &[&Fix]) -> (Vec<Edit>, usize) {
    let mut chosen: Vec<Edit> = Vec::new();
    let mut count = 0;
    for fix in fixes {
        let touches = |edit: &Edit| {
            chosen
                .iter()
                .any(|other| edit.span.start <= other.span.end && other.span.start <= edit.span.end)
        };
        if fix.edits.iter().all(|edit| chosen.contains(edit)) {
            count += 1;
        } else if !fix.edits.iter().any(touches) {
            chosen.extend(fix.edits.iter().cloned());
            count += 1;
        }
    }
    (chosen, count)
}
