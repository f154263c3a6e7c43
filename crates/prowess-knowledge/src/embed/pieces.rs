//! Byte pair encoding with a `tokenizer.json` of the Llama family: spaces are written as `▁`, and unknown characters as
//! bytes.
//!
//! The crate that supports every such file has eighty dependencies and a C library; this kind takes a hundred lines.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use serde_json::Value;

use super::EmbedError;

const BLANK: char = '▁';
/// Maximum size of a vocabulary.
const MOST_PIECES: usize = 1 << 20;
/// Maximum length of a word in bytes. Longer ones are data and are split, because merging takes time.
const LONGEST_WORD: usize = 1 << 12;

/// A vocabulary.
pub(super) struct Pieces {
    vocabulary: HashMap<String, u32>,
    /// Maps two neighbours to the rank of their merge and the merged piece.
    merges: HashMap<(u32, u32), (u32, u32)>,
    bytes: Vec<Option<u32>>,
}

impl Pieces {
    /// Parses a `tokenizer.json`.
    pub(super) fn read(json: &[u8]) -> Result<Self, EmbedError> {
        let value: Value = serde_json::from_slice(json)
            .map_err(|error| EmbedError::new(format!("the vocabulary is not JSON: {error}")))?;
        let model = &value["model"];
        let kind = model["type"].as_str().unwrap_or("unknown");
        if kind != "BPE" || model["byte_fallback"] != Value::Bool(true) {
            return Err(EmbedError::new(format!(
                "the vocabulary is of kind `{kind}`, but only BPE with byte fallback is supported"
            ))
            .hint("use a table of the Llama family, such as WordLlama's"));
        }
        let odd = || {
            EmbedError::new(
                "the `vocab` and `merges` of the vocabulary are missing or inconsistent",
            )
        };
        let entries = model["vocab"].as_object().filter(|all| all.len() <= MOST_PIECES);
        let mut vocabulary = HashMap::new();
        for (piece, id) in entries.ok_or_else(odd)? {
            let id = id.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(odd)?;
            vocabulary.insert(piece.clone(), id);
        }
        let mut merges = HashMap::new();
        let all = model["merges"].as_array().filter(|all| all.len() <= 4 * MOST_PIECES);
        for (rank, merge) in (0..).zip(all.ok_or_else(odd)?) {
            // Older files have "a b", later ones ["a", "b"].
            let (left, right) = match merge {
                Value::String(both) => both.split_once(' '),
                both => both[0].as_str().zip(both[1].as_str()),
            }
            .ok_or_else(odd)?;
            let id = |piece: &str| vocabulary.get(piece).copied().ok_or_else(odd);
            let whole = id(&format!("{left}{right}"))?;
            merges.entry((id(left)?, id(right)?)).or_insert((rank, whole));
        }
        let bytes = (0..=255).map(|byte: u8| vocabulary.get(&format!("<0x{byte:02X}>")).copied());
        Ok(Self { bytes: bytes.collect(), vocabulary, merges })
    }

    /// The largest id.
    pub(super) fn largest(&self) -> Option<u32> {
        self.vocabulary.values().max().copied()
    }

    /// The pieces of a text, in order. Whitespace is collapsed to one space, which the vocabulary's own
    /// normalizer would not do; it does not affect the meaning of a text.
    pub(super) fn of(&self, text: &str, known: &mut HashMap<String, Vec<u32>>) -> Vec<u32> {
        let mut pieces = Vec::new();
        for word in text.split_whitespace() {
            let mut rest = word;
            while rest.len() > LONGEST_WORD {
                let cut = rest.floor_char_boundary(LONGEST_WORD);
                pieces.extend(self.of_word(&rest[..cut]));
                rest = &rest[cut..];
            }
            if let Some(found) = known.get(rest) {
                pieces.extend_from_slice(found);
                continue;
            }
            let found = self.of_word(rest);
            pieces.extend_from_slice(&found);
            known.insert(rest.to_owned(), found);
        }
        pieces
    }

    /// The pieces of a word. No piece contains a space, so words are independent of each other.
    fn of_word(&self, word: &str) -> Vec<u32> {
        let mut parts: Vec<Part> = Vec::with_capacity(word.len() + 1);
        let mut one = [0; 4];
        for character in std::iter::once(BLANK).chain(word.chars()) {
            let text = character.encode_utf8(&mut one);
            match self.vocabulary.get(text) {
                Some(&id) => parts.push(Part::of(id)),
                None => parts.extend(
                    text.bytes().filter_map(|byte| self.bytes[usize::from(byte)]).map(Part::of),
                ),
            }
        }
        let count = parts.len();
        for (at, part) in parts.iter_mut().enumerate() {
            part.before = at.checked_sub(1);
            part.after = (at + 1 < count).then_some(at + 1);
        }
        self.merge(&mut parts);
        parts.iter().filter(|part| part.alive).map(|part| part.id).collect()
    }

    /// Applies merges by rank, the leftmost first among equals.
    fn merge(&self, parts: &mut [Part]) {
        let mut queue = BinaryHeap::new();
        let candidate = |parts: &[Part], left: usize| {
            let right = parts[left].after?;
            let (rank, merged) = *self.merges.get(&(parts[left].id, parts[right].id))?;
            Some(Reverse((rank, left, right, parts[left].id, parts[right].id, merged)))
        };
        queue.extend((0..parts.len()).filter_map(|left| candidate(parts, left)));
        while let Some(Reverse((_, left, right, left_id, right_id, merged))) = queue.pop() {
            let is_current = parts[left].alive
                && parts[right].alive
                && parts[left].after == Some(right)
                && (parts[left].id, parts[right].id) == (left_id, right_id);
            if !is_current {
                continue;
            }
            parts[left].id = merged;
            parts[left].after = parts[right].after;
            parts[right].alive = false;
            if let Some(after) = parts[left].after {
                parts[after].before = Some(left);
            }
            queue.extend(candidate(parts, left));
            if let Some(before) = parts[left].before {
                queue.extend(candidate(parts, before));
            }
        }
    }
}

/// A piece to merge, in a linked list of indexes.
struct Part {
    id: u32,
    before: Option<usize>,
    after: Option<usize>,
    alive: bool,
}

impl Part {
    fn of(id: u32) -> Self {
        Self { id, before: None, after: None, alive: true }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::Pieces;

    fn pieces(text: &str) -> Vec<u32> {
        let mut vocabulary = json!({
            "<unk>": 0, "▁": 1, "l": 2, "o": 3, "w": 4, "▁l": 5, "ow": 6, "▁low": 7, "lo": 8, "e": 9,
        });
        for (byte, id) in (0..=255_u8).zip(100..) {
            vocabulary[format!("<0x{byte:02X}>")] = json!(id);
        }
        let model = json!({ "model": {
            "type": "BPE", "byte_fallback": true, "vocab": vocabulary,
            "merges": ["o w", ["▁", "l"], "▁l ow", "l o"],
        } });
        let pieces = Pieces::read(model.to_string().as_bytes()).expect("it is a vocabulary");
        pieces.of(text, &mut HashMap::new())
    }

    #[test]
    fn merges_are_applied_by_rank() {
        assert_eq!(pieces("low"), [7]);
        assert_eq!(pieces("low  low\n"), [7, 7]);
        // "l o" comes after "▁ l", so that it never applies at the front of a word.
        assert_eq!(pieces("lo"), [5, 3]);
        assert_eq!(pieces("elo"), [1, 9, 8]);
    }

    #[test]
    fn unknown_characters_become_bytes() {
        assert_eq!(pieces("é"), [1, 100 + 0xC3, 100 + 0xA9]);
    }

    #[test]
    fn other_kinds_of_tokenizers_are_rejected() {
        let error =
            Pieces::read(br#"{"model":{"type":"WordPiece"}}"#).err().expect("it is refused");
        assert!(error.message.contains("`WordPiece`"), "{error}");
    }
}
