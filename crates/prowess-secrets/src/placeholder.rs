//! What a program gets instead of a secret.

use crate::secret::{LONGEST, Secret};

/// A placeholder has at least this many random characters, so that it is found nowhere by chance.
pub const FEWEST_RANDOM: usize = 8;

/// A text of the same shape as a secret, and the secret that it stands for.
///
/// Same shape: as long, letters for letters, digits for digits, everything else as it is. No letter or digit comes from
/// the secret, also not of a well-known beginning such as `ghp`: then a placeholder in a log would look like a leaked key.
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
        "its value has fewer than {FEWEST_RANDOM} letters and digits, which could be found anywhere"
    )]
    Short,
    /// More than can be looked for.
    #[error("its value is longer than {LONGEST} bytes")]
    Long,
    /// No header can hold it.
    #[error(
        "its value has a character that no header may have: a blank, a line break or one beyond ASCII"
    )]
    Character,
}

impl Placeholder {
    /// A placeholder for a secret. `random` gives numbers that nobody can guess. Blanks around the value are not part of
    /// it: files end in a line break.
    pub fn new(secret: &Secret, mut random: impl FnMut() -> u8) -> Result<Self, PlaceholderError> {
        let value = secret.core();
        if value.len() > LONGEST {
            return Err(PlaceholderError::Long);
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(PlaceholderError::Character);
        }
        if value.bytes().filter(u8::is_ascii_alphanumeric).count() < FEWEST_RANDOM {
            return Err(PlaceholderError::Short);
        }
        // Of a hexadecimal key the placeholder is hexadecimal too.
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

    /// What the program gets.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it stands for, without blanks around it.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }
}
