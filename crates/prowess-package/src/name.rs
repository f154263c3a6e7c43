//! The canonical name of a skill, which is a safe path component (R2, NEG-1).

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::path::is_reserved_on_windows;

/// Maximum length of a name, in bytes (R2).
pub const MOST_NAME_BYTES: usize = 64;

/// A name in the canonical form `[a-z0-9]+(-[a-z0-9]+)*`, at most 64 bytes (R2).
///
/// Skills are installed, moved and removed by this name and never by an untrusted path (attack
/// registry-B13).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

/// An invalid canonical name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a valid skill name, expected lower case letters and digits with single hyphens between \
     them, at most {MOST_NAME_BYTES}{}",
    prowess_format::text::visible(&prowess_format::text::shorten(.text, 80)),
    suggestion(.text)
)]
pub struct SkillNameError {
    text: String,
}

impl SkillName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SkillName {
    type Err = SkillNameError;

    fn from_str(text: &str) -> Result<Self, SkillNameError> {
        let part_is_fine = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
        };
        let is_canonical = text.len() <= MOST_NAME_BYTES
            && text.split('-').all(part_is_fine)
            && !is_reserved_on_windows(text);
        if is_canonical {
            Ok(Self(text.to_owned()))
        } else {
            Err(SkillNameError { text: text.to_owned() })
        }
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The canonical name that a text may mean; `None` if letters would be lost.
pub fn similar(text: &str) -> Option<SkillName> {
    // `näme` is decomposed to `na`, a mark, `me`.
    let plain: String = text.nfkd().filter(|letter| !is_combining_mark(*letter)).collect();
    let is_lost = |letter: char| letter.is_alphanumeric() && !letter.is_ascii();
    let slug = prowess_format::text::slug(&plain);
    // `skill` is the slug of an empty text.
    if plain.chars().any(is_lost) || slug == "skill" {
        return None;
    }
    slug.parse().ok()
}

fn suggestion(text: &str) -> String {
    similar(text).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(similar(text).as_ref().map(SkillName::as_str), expected, "{text}");
    }

    #[test]
    fn a_similar_name_loses_no_letters() {
        check("Azure CLI", Some("azure-cli"));
        check("daily_devotion", Some("daily-devotion"));
        check("näme", Some("name"));
        check("名前", None);
        check("skill-名", None);
        check("!!!", None);
        check("con", None);
    }
}
