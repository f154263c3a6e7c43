//! Names of bases: one safe part of a path, and nothing else.

use std::fmt;
use std::str::FromStr;

/// Long enough for people, short enough for every file system.
const MOST_BYTES: usize = 64;

/// The name of a base. Only `FromStr` makes one, so it can't lead out of the folder of bases.
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

/// Why a text is not the name of a base.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` can't be the name of a base: letters, digits, `-`, `_` and `.` may be in it, it begins with a letter or \
     digit, and it has at most {MOST_BYTES} bytes"
)]
pub struct InvalidName(String);

impl FromStr for BaseName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let inside = |character: char| character.is_alphanumeric() || "-_.".contains(character);
        let is_name = text.len() <= MOST_BYTES
            && text.starts_with(char::is_alphanumeric)
            && text.chars().all(inside);
        if is_name { Ok(Self(text.to_owned())) } else { Err(InvalidName(text.to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::BaseName;

    #[test]
    fn a_name_is_one_safe_part_of_a_path() {
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
