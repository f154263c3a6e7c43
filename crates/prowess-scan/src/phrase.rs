//! Phrases: words that are searched for in one pass over a text, and a pattern for the surroundings of each hit.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::{Regex, RegexBuilder};

use crate::document::Document;
use crate::view::folded;

/// A phrase in the language of views: lower case, one space between words.
pub(crate) struct Phrase {
    /// What it is, for those who debug rules.
    pub(crate) name: &'static str,
    /// Words without which it can't be there. They are folded like a text.
    pub(crate) triggers: &'static [&'static str],
    /// The pattern, without Unicode classes. `\n` is the end of a unit. An empty one is any of the triggers.
    pub(crate) pattern: &'static str,
    /// The compiled pattern.
    pub(crate) compiled: OnceLock<Option<Regex>>,
}

impl fmt::Debug for Phrase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Declares phrases.
macro_rules! phrases {
    ($($name:ident: [$($trigger:literal),+ $(,)?] => $pattern:expr;)+) => {
        $(pub(crate) static $name: $crate::phrase::Phrase = $crate::phrase::Phrase {
            name: stringify!($name),
            triggers: &[$($trigger),+],
            pattern: $pattern,
            compiled: std::sync::OnceLock::new(),
        };)+
        /// The phrases of this file.
        pub(crate) static PHRASES: &[&$crate::phrase::Phrase] = &[$(&$name),+];
    };
}
pub(crate) use phrases;

/// A hit.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    /// The index of the document.
    pub(crate) document: usize,
    /// The phrase.
    pub(crate) phrase: &'static Phrase,
    /// The bytes of the view.
    pub(crate) view: Range<usize>,
}

/// How far around a word the pattern is matched.
const WINDOW: usize = 400;
/// The most hits of one phrase in one document. A text with more has a finding that says so.
const MAX_HITS: usize = 20_000;

struct Index {
    automaton: AhoCorasick,
    /// The phrase of each word.
    owners: Vec<Vec<usize>>,
}

static ALL: LazyLock<Vec<&'static Phrase>> = LazyLock::new(|| {
    crate::rules::PHRASES.iter().flat_map(|phrases| phrases.iter().copied()).collect()
});

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut words: Vec<String> = Vec::new();
    let mut owners: Vec<Vec<usize>> = Vec::new();
    for (at, phrase) in ALL.iter().enumerate() {
        for trigger in phrase.triggers {
            let word = if trigger.is_ascii() { (*trigger).to_owned() } else { folded(trigger) };
            match words.iter().position(|known| *known == word) {
                Some(known) => owners[known].push(at),
                None => {
                    words.push(word);
                    owners.push(vec![at]);
                }
            }
        }
    }
    let automaton = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&words);
    let automaton = automaton.unwrap_or_else(|_| {
        // The words are constants, and a test builds the automaton of all of them.
        AhoCorasick::new([""; 0]).expect("an automaton without words can be built")
    });
    Index { automaton, owners }
});

impl Phrase {
    fn regex(&self) -> Option<&Regex> {
        self.compiled
            .get_or_init(|| {
                RegexBuilder::new(self.pattern).unicode(false).size_limit(1 << 22).build().ok()
            })
            .as_ref()
    }
}

/// Finds all phrases in a document. The result is whether all hits are there.
pub(crate) fn find(document: usize, text: &Document, hits: &mut Vec<Hit>) -> bool {
    let bytes = text.view.text.as_bytes();
    let mut windows: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
    let mut counts = vec![0_usize; ALL.len()];
    let mut last = vec![0_usize; ALL.len()];
    let mut is_whole = true;
    for found in INDEX.automaton.find_overlapping_iter(bytes) {
        for owner in &INDEX.owners[found.pattern().as_usize()] {
            let phrase = ALL[*owner];
            if phrase.pattern.is_empty() {
                counts[*owner] += 1;
                if counts[*owner] <= MAX_HITS {
                    hits.push(Hit { document, phrase, view: found.range() });
                } else {
                    is_whole = false;
                }
                continue;
            }
            // Windows of one phrase overlap by half at most.
            if found.start() < last[*owner] {
                continue;
            }
            let start = boundary(bytes, found.start().saturating_sub(WINDOW));
            let end = boundary(bytes, (found.end() + 2 * WINDOW).min(bytes.len()));
            last[*owner] = found.end() + WINDOW;
            windows.insert((*owner, start, end));
        }
    }
    for (owner, start, end) in windows {
        let phrase = ALL[owner];
        let Some(regex) = phrase.regex() else { continue };
        for found in regex.find_iter(&bytes[start..end]) {
            let view = start + found.start()..start + found.end();
            let is_known = hits.iter().rev().take(8).any(|hit| {
                std::ptr::eq(hit.phrase, phrase) && hit.document == document && hit.view == view
            });
            if is_known || view.is_empty() {
                continue;
            }
            counts[owner] += 1;
            if counts[owner] > MAX_HITS {
                is_whole = false;
                break;
            }
            hits.push(Hit { document, phrase, view });
        }
    }
    is_whole
}

/// The start of a character at or before an offset.
fn boundary(bytes: &[u8], at: usize) -> usize {
    (0..=at).rev().find(|at| bytes.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for phrase in ALL.iter() {
            assert!(phrase.pattern.is_empty() || phrase.regex().is_some(), "{phrase:?}");
            assert!(
                phrase.triggers.iter().all(|word| !word.is_empty()
                    && (!word.is_ascii() || **word == word.to_ascii_lowercase())),
                "{phrase:?}"
            );
        }
        assert!(INDEX.automaton.patterns_len() > 0);
    }
}
