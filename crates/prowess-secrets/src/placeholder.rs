//! Placeholders that a program gets replacement of secrets.

use crate::secret::{MAX_SECRET_BYTES, Secret};

/// Minimum number of random characters in a placeholder, so that it never occurs by chance.
pub const MIN_RANDOM_CHARACTERS: usize = 8;

/// A random text of the same shape as a secret, and the secret it replaces.
///
/// Same shape means the same length, letters for letters, digits for digits, everything else
/// unchanged. No letter or digit comes from the secret, not even a well-known prefix such as `ghp`:
/// a placeholder in a log would look like a leaked key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    text: String,
    secret: Secret,
}

/// Why there is no placeholder for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// Too few letters and digits.
    #[error(
        "its value has fewer than {MIN_RANDOM_CHARACTERS} letters and digits, which could occur by chance"
    )]
    Short,
    /// Too long to search for.
    #[error("its value is longer than {MAX_SECRET_BYTES} bytes")]
    Long,
    /// Not allowed in a header.
    #[error(
        "its value has a character that is not allowed in a header: a space, a line break or a non-ASCII character"
    )]
    Character,
}

impl Placeholder {
    /// Creates a placeholder for a secret. `random` must be unpredictable. White space around the
    /// value is ignored: files end in a line break.
    pub fn new(secret: &Secret, mut random: impl FnMut() -> u8) -> Result<Self, PlaceholderError> {
        let value = secret.core();
        if value.len() > MAX_SECRET_BYTES {
            return Err(PlaceholderError::Long);
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(PlaceholderError::Character);
        }
        if value.bytes().filter(u8::is_ascii_alphanumeric).count() < MIN_RANDOM_CHARACTERS {
            return Err(PlaceholderError::Short);
        }
        // The placeholder of a hexadecimal key is hexadecimal too.
        let is_hex = |byte: u8| !byte.is_ascii_alphabetic() || byte.is_ascii_hexdigit();
        let letters = if value.bytes().all(is_hex) { 6 } else { 26 };
        let mut replace = |byte: u8| match byte {
            b'0'..=b'9' => b'0' + random() % 10,
            b'a'..=b'z' => b'a' + random() % letters,
            b'A'..=b'Z' => b'A' + random() % letters,
            other => other,
        };
        let text = value.bytes().map(|byte| char::from(replace(byte))).collect();
        Ok(Self { text, secret: Secret::new(secret.name(), value) })
    }

    /// The text that the program gets instead of the secret.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The secret, without surrounding white space.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }
}
