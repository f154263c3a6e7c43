//! Names of skills: one safe part of a path.

use std::fmt;
use std::str::FromStr;

use crate::problem::ApiProblem;

/// Maximum length (specification §4).
const MAX_CHARACTERS: usize = 64;

/// A valid name of a skill. It is a single part of a path, so that nothing made of it leaves the folder of skills.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SkillName(String);

/// The rule that a name breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSkillName {
    /// It is empty or too long.
    #[error("Skill name must have 1 to 64 characters")]
    Length,
    /// It has upper-case letters.
    #[error("Skill name must be lowercase")]
    UpperCase,
    /// It has other characters.
    #[error("Skill name can only contain lowercase letters, numbers and hyphens")]
    Characters,
    /// It starts or ends with a hyphen.
    #[error("Skill name cannot start or end with a hyphen")]
    OuterHyphen,
    /// It has two hyphens in a row.
    #[error("Skill name cannot contain consecutive hyphens")]
    DoubleHyphen,
}

impl SkillName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SkillName {
    type Err = InvalidSkillName;

    fn from_str(text: &str) -> Result<Self, InvalidSkillName> {
        if text.is_empty() || text.chars().nth(MAX_CHARACTERS).is_some() {
            return Err(InvalidSkillName::Length);
        }
        if text.chars().any(char::is_uppercase) {
            return Err(InvalidSkillName::UpperCase);
        }
        if !text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')) {
            return Err(InvalidSkillName::Characters);
        }
        if text.starts_with('-') || text.ends_with('-') {
            return Err(InvalidSkillName::OuterHyphen);
        }
        if text.contains("--") {
            return Err(InvalidSkillName::DoubleHyphen);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<InvalidSkillName> for ApiProblem {
    fn from(error: InvalidSkillName) -> Self {
        ApiProblem::invalid("name", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_its_own_message() {
        // AFL-4-1, AFL-10-1
        let check = |name: &str, expected: Result<(), InvalidSkillName>| {
            assert_eq!(name.parse::<SkillName>().map(|_| ()), expected, "{name:?}");
        };
        for valid in ["article-summary", "layer", "my-skill-v2", "a", &"a".repeat(64)] {
            check(valid, Ok(()));
        }
        check("", Err(InvalidSkillName::Length));
        check(&"a".repeat(65), Err(InvalidSkillName::Length));
        check("Article-Summary", Err(InvalidSkillName::UpperCase));
        check("-my-skill", Err(InvalidSkillName::OuterHyphen));
        check("my-skill-", Err(InvalidSkillName::OuterHyphen));
        check("my--skill", Err(InvalidSkillName::DoubleHyphen));
        for unsafe_name in [
            "my skill",
            "../x",
            "..",
            ".",
            "a/b",
            "a\\b",
            "a\n",
            "a\0",
            "a.b",
            "ä",
            "a_b",
            "\u{202e}a",
        ] {
            check(unsafe_name, Err(InvalidSkillName::Characters));
        }
    }
}
