//! Files that are known to be malicious, by their digests. The list comes from the caller, who checks its signature.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// The longest list, in bytes, and the most digests in it.
pub const MAX_LIST_BYTES: usize = 32 << 20;
const MAX_DIGESTS: usize = 400_000;
/// The longest remark of a digest that is kept, in characters.
const MAX_REMARK: usize = 80;

/// Digests of files that are known to be malicious.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownBad {
    digests: BTreeMap<[u8; 32], String>,
}

/// Why a text is not a list of digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBadError {
    /// The line, from one.
    pub line: usize,
    /// What is wrong, as a phrase without a full stop.
    pub message: &'static str,
}

impl std::fmt::Display for KnownBadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for KnownBadError {}

impl KnownBad {
    /// Reads a list: one SHA-256 of a file in each line, as 64 lowercase hexadecimal digits, and a remark after a space. Empty
    /// lines and those that start with `#` are skipped. One wrong line makes the whole list invalid.
    pub fn parse(text: &str) -> Result<Self, KnownBadError> {
        let wrong = |line: usize, message| KnownBadError { line: line + 1, message };
        if text.len() > MAX_LIST_BYTES {
            return Err(wrong(0, "the list is too long"));
        }
        let mut digests = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if digests.len() >= MAX_DIGESTS {
                return Err(wrong(at, "the list has too many digests"));
            }
            let (digest, remark) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let digest = digest_of(digest)
                .ok_or_else(|| wrong(at, "not a SHA-256 in lowercase hexadecimal digits"))?;
            let remark = remark.trim().chars().filter(|it| !it.is_control()).take(MAX_REMARK);
            digests.insert(digest, remark.collect());
        }
        Ok(Self { digests })
    }

    /// How many files it names.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Whether it names no file.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// The remark about a file, if it is in the list.
    pub(crate) fn remark(&self, bytes: &[u8]) -> Option<&str> {
        if self.digests.is_empty() {
            return None;
        }
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        self.digests.get(&digest).map(String::as_str)
    }
}

fn digest_of(text: &str) -> Option<[u8; 32]> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 64 || !text.bytes().all(is_digit) {
        return None;
    }
    let mut digest = [0; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_line_makes_a_list_invalid() {
        let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let list = KnownBad::parse(&format!("# list\n\n{digest} an empty file\n")).expect("a list");
        assert_eq!((list.len(), list.remark(b"")), (1, Some("an empty file")));
        assert_eq!(list.remark(b"x"), None);
        for text in ["abc\n", &digest.to_uppercase(), &digest[1..]] {
            assert_eq!(KnownBad::parse(text).map_err(|error| error.line), Err(1), "{text}");
        }
    }
}
