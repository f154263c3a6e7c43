//! Incremental decoding of UTF-8.

/// Decodes bytes that arrive in chunks, and holds back a character until it is complete.
#[derive(Debug, Default)]
pub struct Utf8Decoder {
    /// The first bytes of an incomplete character.
    rest: Vec<u8>,
}

/// The decoded text of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedText {
    /// The complete characters.
    pub text: String,
    /// Whether invalid UTF-8 was replaced.
    pub is_lossy: bool,
}

impl Utf8Decoder {
    /// Adds a chunk and returns the characters that it completes.
    pub fn push(&mut self, bytes: &[u8]) -> DecodedText {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut is_lossy = false;
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let unfinished =
                std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if chunks.peek().is_none() && unfinished {
                self.rest = invalid.to_vec();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
                is_lossy = true;
            }
        }
        DecodedText { text, is_lossy }
    }

    /// Whether the input so far ends inside a character.
    pub fn is_inside_character(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Ends the text; an incomplete character becomes a replacement character.
    pub fn finish(&mut self) -> Option<char> {
        let rest = std::mem::take(&mut self.rest);
        (!rest.is_empty()).then_some(char::REPLACEMENT_CHARACTER)
    }
}
