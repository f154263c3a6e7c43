//! Permission strings: `domain:level` or `domain:level:scope` (GAIA §3).

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::text::{alternatives, closest};

/// The domain of a permission (GAIA §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Domain {
    /// Files.
    Filesystem,
    /// Outgoing requests.
    Network,
    /// Programs.
    Shell,
    /// Mouse, keyboard, screen.
    Desktop,
    /// MCP servers.
    Mcp,
    /// Environment variables.
    Env,
    /// Databases.
    Database,
}

/// How much of a domain is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    None,
    /// Reading; for the network, requests that change nothing.
    Read,
    /// Reading and changing.
    Write,
    /// Running programs.
    Execute,
    /// Controlling the desktop.
    Control,
    /// Connecting.
    Connect,
}

/// A domain, its name, and the names of its levels.
pub type DomainNames = (Domain, &'static str, &'static [(&'static str, Level)]);

/// All domains with the names of their levels (GAIA §3.1).
pub const DOMAINS: &[DomainNames] = &[
    (
        Domain::Filesystem,
        "filesystem",
        &[("read", Level::Read), ("write", Level::Write), ("none", Level::None)],
    ),
    (
        Domain::Network,
        "network",
        &[("read", Level::Read), ("write", Level::Write), ("none", Level::None)],
    ),
    (Domain::Shell, "shell", &[("execute", Level::Execute), ("none", Level::None)]),
    (Domain::Desktop, "desktop", &[("control", Level::Control), ("none", Level::None)]),
    (Domain::Mcp, "mcp", &[("connect", Level::Connect), ("none", Level::None)]),
    (Domain::Env, "env", &[("read", Level::Read), ("none", Level::None)]),
    (
        Domain::Database,
        "database",
        &[("read", Level::Read), ("write", Level::Write), ("none", Level::None)],
    ),
];

/// A permission that a skill requests (R15).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permission {
    /// The domain.
    pub domain: Domain,
    /// The level.
    pub level: Level,
    /// The part of the domain; all of it if absent.
    pub scope: Option<String>,
}

/// Why a text is not a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionError {
    /// What is wrong.
    pub message: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
    /// The bytes of the trimmed text that are wrong.
    pub at: Range<usize>,
}

impl fmt::Display for PermissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PermissionError {}

impl Domain {
    /// The name of the domain.
    pub fn as_str(self) -> &'static str {
        DOMAINS.iter().find(|(domain, _, _)| *domain == self).map_or("", |(_, word, _)| word)
    }

    /// Every domain.
    pub fn all() -> impl Iterator<Item = Domain> {
        DOMAINS.iter().map(|(domain, _, _)| *domain)
    }
}

impl Level {
    /// The name of the level.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Read => "read",
            Level::Write => "write",
            Level::Execute => "execute",
            Level::Control => "control",
            Level::Connect => "connect",
        }
    }
}

impl FromStr for Permission {
    type Err = PermissionError;

    fn from_str(text: &str) -> Result<Self, PermissionError> {
        let text = text.trim();
        let error = |message: String, suggestion: Option<String>, at: Range<usize>| {
            PermissionError { message, suggestion, at }
        };
        let mut parts = text.splitn(3, ':');
        let domain_word = parts.next().unwrap_or_default();
        let domain_words: Vec<&str> = DOMAINS.iter().map(|(_, word, _)| *word).collect();
        let Some(level_word) = parts.next() else {
            let suggestion = DOMAINS.iter().find_map(|(_, word, levels)| {
                let rest = text.strip_prefix(word)?;
                levels
                    .iter()
                    .find(|(level, _)| *level == rest.trim_start_matches(['.', '-', '_', '/', ' ']))
                    .map(|(level, _)| format!("{word}:{level}"))
            });
            let message = format!("`{text}` is not of the form `domain:level`");
            return Err(error(message, suggestion, 0..text.len()));
        };
        let Some((domain, word, levels)) = DOMAINS.iter().find(|(_, word, _)| *word == domain_word)
        else {
            let suggestion = closest(domain_word, domain_words.iter().copied())
                .map(|word| text.replacen(domain_word, word, 1));
            return Err(error(
                format!(
                    "`{domain_word}` is not a permission domain, expected {}",
                    alternatives(&domain_words)
                ),
                suggestion,
                0..domain_word.len(),
            ));
        };
        let level_start = domain_word.len() + 1;
        let level_words: Vec<&str> = levels.iter().map(|(word, _)| *word).collect();
        let Some((_, level)) = levels.iter().find(|(word, _)| *word == level_word) else {
            let suggestion = closest(level_word, level_words.iter().copied()).map(|level| {
                text.replacen(&format!("{word}:{level_word}"), &format!("{word}:{level}"), 1)
            });
            let expected =
                level_words.iter().map(|level| format!("{word}:{level}")).collect::<Vec<_>>();
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            return Err(error(
                format!(
                    "`{word}:{level_word}` is not a permission, expected {}",
                    alternatives(&expected)
                ),
                suggestion,
                level_start..level_start + level_word.len(),
            ));
        };
        let scope = parts.next().map(str::to_owned);
        match &scope {
            Some(scope) if scope.trim().is_empty() => {
                return Err(error(
                    format!("`{text}` ends with an empty scope"),
                    Some(format!("{word}:{level_word}")),
                    level_start + level_word.len()..text.len(),
                ));
            }
            Some(_) if *level == Level::None => {
                return Err(error(
                    format!("`{word}:none` grants nothing and takes no scope"),
                    Some(format!("{word}:none")),
                    level_start + level_word.len()..text.len(),
                ));
            }
            _ => {}
        }
        Ok(Permission { domain: *domain, level: *level, scope })
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.domain.as_str(), self.level.as_str())?;
        match &self.scope {
            Some(scope) => write!(f, ":{scope}"),
            None => Ok(()),
        }
    }
}

impl Permission {
    /// Creates a permission from its parts.
    pub fn new(domain: Domain, level: Level, scope: Option<&str>) -> Self {
        Self { domain, level, scope: scope.map(str::to_owned) }
    }

    /// Whether this permission grants everything that `other` grants. Scopes are compared as text:
    /// only an equal or absent scope matches, so the result is conservative.
    pub fn covers(&self, other: &Permission) -> bool {
        if other.level == Level::None {
            return true;
        }
        let level =
            self.level == other.level || (self.level == Level::Write && other.level == Level::Read);
        let scope = match (&self.scope, &other.scope) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => {
                mine == theirs
                    || (self.domain == Domain::Shell
                        && theirs.split(',').all(|program| {
                            mine.split(',').any(|known| known.trim() == program.trim())
                        }))
            }
        };
        self.domain == other.domain && level && scope && self.level != Level::None
    }
}
