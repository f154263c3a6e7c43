//! Names of knowledge bases, each a safe path component.

use std::fmt;
use std::str::FromStr;

/// Maximum length of a name, in bytes; every file system allows it.
const MOST_BYTES: usize = 64;

/// The name of a knowledge base. Only `FromStr` creates one, so it can't escape the folder of knowledge bases.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BaseName(String);

impl BaseName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An invalid name of a knowledge base.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` can't be the name of a base: letters, digits, `-`, `_` and `.` may be in it, it begins with a letter or \
     digit, and it has at most {MOST_BYTES} bytes"
)]
pub struct InvalidBaseName(String);

impl FromStr for BaseName {
    type Err = InvalidBaseName;

    fn from_str(text: &str) -> Result<Self, InvalidBaseName> {
        let inside = |character: char| character.is_alphanumeric() || "-_.".contains(character);
        let is_name = text.len() <= MOST_BYTES
            && text.starts_with(char::is_alphanumeric)
            && text.chars().all(inside);
        if is_name { Ok(Self(text.to_owned())) } else { Err(InvalidBaseName(text.to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::BaseName;

    #[test]
    fn a_name_is_a_safe_path_component() {
        for good in ["papers", "Q3-2026", "handbuch_für.alle", "知识库", "a"] {
            assert_eq!(good.parse::<BaseName>().expect(good).as_str(), good);
        }
        let long = "x".repeat(65);
        for bad in
            ["", ".", "..", ".hidden", "a/b", "a\\b", "/etc", "-x", "a b", "a\0", "c:x", &long]
        {
            assert!(bad.parse::<BaseName>().is_err(), "{bad:?}");
        }
    }
}
