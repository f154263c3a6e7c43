//! Text out of bytes that arrive in pieces.

/// Turns bytes that come in pieces into text, a whole character at a time.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a character whose end has not come yet.
    rest: Vec<u8>,
}

/// Text out of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The characters that are complete.
    pub text: String,
    /// Whether something was no UTF-8 and is replaced.
    pub is_lossy: bool,
}

impl Decoder {
    /// Takes a piece and gives the characters that are complete now.
    pub fn push(&mut self, bytes: &[u8]) -> Decoded {
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
        Decoded { text, is_lossy }
    }

    /// Whether the bytes so far end inside a character.
    pub fn is_inside_character(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Ends the text; a character that was cut off becomes a replacement character.
    pub fn finish(&mut self) -> Option<char> {
        let rest = std::mem::take(&mut self.rest);
        (!rest.is_empty()).then_some(char::REPLACEMENT_CHARACTER)
    }
}
