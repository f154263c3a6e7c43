//! Matchers: which tools, or other values, a group of hooks is for.

use prowess_format::hook_events::{HookEvent, MatchedField};
use regex::bytes::{Regex, RegexBuilder};

/// The longest matcher that is used, in bytes.
pub const MAX_MATCHER_BYTES: usize = 1024;
/// The most memory of a compiled matcher, in bytes.
const MAX_COMPILED: usize = 1 << 18;

/// The matcher of a group of hooks.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// Everything.
    All,
    /// One of these names, exactly.
    Names(Vec<String>),
    /// A pattern, anywhere in the value.
    Pattern(Regex),
    /// A pattern that can't be used here, and why.
    Unusable(String),
}

impl Matcher {
    /// The matcher of a group on an event.
    pub fn of(event: &HookEvent, text: Option<&str>) -> Self {
        let separators: &[char] = match event.matched {
            MatchedField::None => return Self::All,
            MatchedField::Tool | MatchedField::Field(_) => &['|', ','],
            MatchedField::NarrowField(_) => &['|'],
        };
        let text = text.unwrap_or_default();
        if text.is_empty() || text == "*" {
            return Self::All;
        }
        let is_narrow = separators == ['|'];
        let is_exact = |character: char| match character {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '|' => true,
            ' ' | ',' | '-' => !is_narrow,
            _ => false,
        };
        if text.chars().all(is_exact) {
            let names = text.split(separators).map(|name| name.trim().to_owned());
            return Self::Names(names.collect());
        }
        pattern(text).map_or_else(Self::Unusable, Self::Pattern)
    }

    /// Whether it matches a value; an error says why nobody can tell.
    pub fn matches(&self, value: &str) -> Result<bool, &str> {
        match self {
            Self::All => Ok(true),
            Self::Names(names) => Ok(names.iter().any(|name| name == value)),
            Self::Pattern(pattern) => Ok(pattern.is_match(value.as_bytes())),
            Self::Unusable(why) => Err(why),
        }
    }
}

/// A regular expression of JavaScript, as far as it can be tested in linear time: without look-around and back-references.
/// As there, `\d` and `\w` are ASCII.
fn pattern(text: &str) -> Result<Regex, String> {
    if text.len() > MAX_MATCHER_BYTES {
        return Err(format!("the matcher is longer than {MAX_MATCHER_BYTES} bytes"));
    }
    RegexBuilder::new(text)
        .unicode(false)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .nest_limit(32)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => format!("the matcher `{text}` is too large"),
            _ => format!(
                "the matcher `{text}` is not a regular expression that can be used here (look-around and back-references can't)"
            ),
        })
}
