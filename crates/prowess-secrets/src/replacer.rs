//! Replaces secrets in a stream, independent of chunk boundaries.
//!
//! The leftmost secret is replaced, and the longest of several that begin at the same byte. There
//! are few secrets with some thirty encodings each, so the first two bytes rule out nearly every
//! position. An automaton over all of them was tried: building it took minutes for a key of some
//! kilobytes, and every start of a tool would wait for it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::encodings;
use crate::placeholder::Placeholder;
use crate::secret::Secret;

/// Replaces secrets by a table, which clones share.
#[derive(Clone, Default)]
pub struct Replacer(Option<Arc<Table>>);

struct Table {
    /// The patterns, sorted, without duplicates and none shorter than two bytes.
    patterns: Vec<Vec<u8>>,
    /// The replacement of each pattern.
    replacements: Vec<Vec<u8>>,
    /// The first two bytes of the patterns.
    prefixes: Vec<bool>,
    longest: usize,
}

impl Replacer {
    /// Replaces each secret with a visible mark: `[redacted: NAME]`.
    pub fn redacting(secrets: &[Secret]) -> Self {
        let pairs = secrets.iter().filter(|secret| secret.is_searchable()).flat_map(|secret| {
            let mark = format!("[redacted: {}]", secret.name());
            encodings::of(secret.core()).into_iter().map(move |encoding| (encoding, mark.clone()))
        });
        Self::of(pairs.collect())
    }

    /// Replaces each secret with its placeholder in the same encoding. The length of a stream does
    /// not change.
    pub fn substituting(placeholders: &[Placeholder]) -> Self {
        let pairs = placeholders.iter().flat_map(|placeholder| {
            let real = encodings::of(placeholder.secret().reveal_value());
            real.into_iter().zip(encodings::of(placeholder.text()))
        });
        Self::of(pairs.collect())
    }

    fn of(mut pairs: Vec<(String, String)>) -> Self {
        // The sort is stable: of two secrets with the same value the first name is used.
        pairs.sort_by(|one, other| one.0.cmp(&other.0));
        pairs.dedup_by(|one, other| one.0 == other.0);
        let longest = pairs.iter().map(|(pattern, _)| pattern.len()).max();
        let Some(longest) = longest else { return Self(None) };
        let (patterns, replacements): (Vec<Vec<u8>>, Vec<Vec<u8>>) = pairs
            .into_iter()
            .map(|(pattern, replacement)| (pattern.into_bytes(), replacement.into_bytes()))
            .unzip();
        let mut prefixes = vec![false; 1 << 16];
        for pattern in &patterns {
            prefixes[pair(pattern[0], pattern[1])] = true;
        }
        Self(Some(Arc::new(Table { patterns, replacements, prefixes, longest })))
    }

    /// Whether there is nothing to replace.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Replaces secrets in a complete text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Patterns and replacements are text, and UTF-8 text never matches inside a character.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Replaces secrets in complete bytes.
    pub fn bytes<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let Some(table) = &self.0 else { return Cow::Borrowed(bytes) };
        if table.find(bytes, 0).is_none() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        table.replace(bytes, Rest::Nothing, &mut out);
        Cow::Owned(out)
    }

    /// Starts a stream.
    pub fn stream(&self) -> ReplacerStream {
        ReplacerStream { replacer: self.clone(), held: Vec::new() }
    }
}

impl std::fmt::Debug for Replacer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replacer").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}

/// A stream that arrives in chunks. The result does not depend on the chunk boundaries.
///
/// It holds back only what may be the beginning of a secret: fewer bytes than the longest pattern.
pub struct ReplacerStream {
    replacer: Replacer,
    held: Vec<u8>,
}

impl ReplacerStream {
    /// Takes a chunk and returns the output that is final.
    pub fn push<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let Some(table) = &self.replacer.0 else { return Cow::Borrowed(bytes) };
        if self.held.is_empty()
            && table.first_open(bytes, 0, Rest::Unknown) == bytes.len()
            && table.find(bytes, 0).is_none()
        {
            return Cow::Borrowed(bytes);
        }
        self.held.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(self.held.len());
        let done = table.replace(&self.held, Rest::Unknown, &mut out);
        self.held.drain(..done);
        Cow::Owned(out)
    }

    /// Ends the stream and returns what was held back.
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.replacer.bytes(&held).into_owned()
    }

    /// The number of bytes held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

impl std::fmt::Debug for ReplacerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The held bytes may be part of a secret.
        f.debug_struct("ReplacerStream").field("held", &self.held.len()).finish_non_exhaustive()
    }
}

/// What follows a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    Unknown,
}

/// A match in a chunk.
struct Match {
    start: usize,
    end: usize,
    /// The index of its pattern.
    index: usize,
}

impl Table {
    /// Writes the final output of a chunk and returns how much of the chunk it covers.
    fn replace(&self, bytes: &[u8], rest: Rest, out: &mut Vec<u8>) -> usize {
        let mut at = 0;
        let mut open = self.first_open(bytes, at, rest);
        loop {
            // Later input can't change anything before `open`.
            let Some(found) = self.find(bytes, at).filter(|found| found.start < open) else {
                out.extend_from_slice(&bytes[at..open]);
                return open;
            };
            out.extend_from_slice(&bytes[at..found.start]);
            out.extend_from_slice(&self.replacements[found.index]);
            at = found.end;
            if at > open {
                open = self.first_open(bytes, at, rest);
            }
        }
    }

    /// The first match at or after `from`, and the longest of several there.
    fn find(&self, bytes: &[u8], from: usize) -> Option<Match> {
        let pairs = bytes[from..].windows(2).enumerate();
        let mut starts = pairs.filter(|(_, two)| self.prefixes[pair(two[0], two[1])]);
        starts.find_map(|(at, two)| {
            let start = from + at;
            let first = self.patterns.partition_point(|pattern| pattern[..2] < *two);
            let candidates =
                self.patterns[first..].iter().take_while(|pattern| pattern[..2] == *two);
            // They are sorted, so the longest match comes last.
            let (index, pattern) = candidates
                .enumerate()
                .filter(|(_, pattern)| bytes[start..].starts_with(pattern))
                .last()?;
            Some(Match { start, end: start + pattern.len(), index: first + index })
        })
    }

    /// The first position from index the rest may be the prefix of a pattern.
    fn first_open(&self, bytes: &[u8], from: usize, rest: Rest) -> usize {
        if rest == Rest::Nothing {
            return bytes.len();
        }
        let first = from.max(bytes.len().saturating_sub(self.longest - 1));
        (first..bytes.len()).find(|&at| self.begins_longer(&bytes[at..])).unwrap_or(bytes.len())
    }

    /// Whether these bytes are a proper prefix of a pattern.
    fn begins_longer(&self, bytes: &[u8]) -> bool {
        if let [one, other, ..] = bytes
            && !self.prefixes[pair(*one, *other)]
        {
            return false;
        }
        // Patterns with this prefix are adjacent, the prefix itself first.
        let at = self.patterns.partition_point(|pattern| pattern.as_slice() < bytes);
        let mut candidates = self.patterns[at..].iter().take(2);
        candidates.any(|pattern| pattern.len() > bytes.len() && pattern.starts_with(bytes))
    }
}

/// Two bytes as one number.
fn pair(one: u8, other: u8) -> usize {
    usize::from(one) << 8 | usize::from(other)
}
