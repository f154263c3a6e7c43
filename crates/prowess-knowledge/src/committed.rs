//! The payload of a commit: the committed lengths of the journals, and the ranges to erase.

use std::fmt;
use std::ops::Range;

use serde_json::{Value, json};

/// Maximum number of listed ranges: every reader reads the list with the commit.
const MOST_LISTED: usize = 1 << 14;

/// The payload of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Committed {
    /// The length of the journal of texts.
    pub(crate) texts: u64,
    /// The length of the journal of vectors.
    pub(crate) vectors: u64,
    /// Statistics about their content. If absent, the documents have to be counted.
    pub(crate) content: Option<Content>,
}

/// The content of the journals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// Number of bytes of texts that belong to documents.
    pub(crate) used: u64,
    /// Ranges of texts of removed documents that are not erased yet.
    pub(crate) gone_texts: FileRanges,
    /// Ranges of vectors of removed documents that are not erased yet.
    pub(crate) gone_vectors: FileRanges,
}

/// Ranges of a file, sorted and merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileRanges(Vec<Range<u64>>);

impl FileRanges {
    pub(crate) fn as_slice(&self) -> &[Range<u64>] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds ranges.
    pub(crate) fn extend(&mut self, parts: impl IntoIterator<Item = Range<u64>>) {
        self.0.extend(parts.into_iter().filter(|part| !part.is_empty()));
        self.0.sort_by_key(|part| part.start);
        self.0.dedup_by(|next, part| {
            let touches = next.start <= part.end;
            if touches {
                part.end = part.end.max(next.end);
            }
            touches
        });
    }

    fn parse(value: &Value) -> Option<Self> {
        let part = |value: &Value| Some(value.get(0)?.as_u64()?..value.get(1)?.as_u64()?);
        let mut parts = Self::default();
        parts.extend(value.as_array()?.iter().map(part).collect::<Option<Vec<_>>>()?);
        Some(parts)
    }

    fn to_json(&self) -> Value {
        self.0.iter().map(|part| json!([part.start, part.end])).collect()
    }
}

impl Committed {
    pub(crate) fn parse(payload: Option<&str>) -> Self {
        // The first commit of a knowledge base is made by tantivy and has no payload.
        let Some(payload) = payload else {
            return Self { content: Some(Content::default()), ..Self::default() };
        };
        let value: Value = serde_json::from_str(payload).unwrap_or_default();
        let number = |name: &str| value[name].as_u64().unwrap_or_default();
        let content = || {
            Some(Content {
                used: value["used"].as_u64()?,
                gone_texts: FileRanges::parse(&value["gone_texts"])?,
                gone_vectors: FileRanges::parse(&value["gone_vectors"])?,
            })
        };
        Self { texts: number("texts"), vectors: number("vectors"), content: content() }
    }
}

impl fmt::Display for Committed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = json!({ "texts": self.texts, "vectors": self.vectors });
        let is_listed = |content: &&Content| {
            content.gone_texts.0.len() + content.gone_vectors.0.len() <= MOST_LISTED
        };
        if let Some(content) = self.content.as_ref().filter(is_listed) {
            value["used"] = json!(content.used);
            value["gone_texts"] = content.gone_texts.to_json();
            value["gone_vectors"] = content.gone_vectors.to_json();
        }
        write!(f, "{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Committed, Content, FileRanges, MOST_LISTED};

    fn parts(parts: &[std::ops::Range<u64>]) -> FileRanges {
        let mut all = FileRanges::default();
        all.extend(parts.iter().cloned());
        all
    }

    #[test]
    fn adjacent_ranges_are_merged() {
        assert_eq!(parts(&[20..30, 0..10, 10..15, 40..40]).as_slice(), [0..15, 20..30]);
        let mut all = parts(&[0..10, 20..30]);
        all.extend([5..25, 50..60]);
        assert_eq!(all.as_slice(), [0..30, 50..60]);
        assert!(parts(&[]).is_empty());
    }

    #[test]
    fn the_payload_round_trips() {
        let content = Content {
            used: 7,
            gone_texts: parts(&[0..3, 5..6]),
            gone_vectors: parts(&[64..96, 100..128]),
        };
        let mut committed = Committed { texts: 12, vectors: 128, content: Some(content) };
        assert_eq!(Committed::parse(Some(&committed.to_string())), committed);
        // A list that is too long is omitted together with the other statistics.
        let many: Vec<_> = (0..=MOST_LISTED as u64).map(|at| 2 * at..2 * at + 1).collect();
        committed.content.as_mut().expect("it was put there").gone_texts = parts(&many);
        let read = Committed::parse(Some(&committed.to_string()));
        assert_eq!(read, Committed { texts: 12, vectors: 128, content: None });
        // The payload of an earlier version.
        let earlier = Committed::parse(Some(r#"{"texts":12,"vectors":128}"#));
        assert_eq!(earlier, read);
        assert_eq!(Committed::parse(None).content, Some(Content::default()));
    }
}
