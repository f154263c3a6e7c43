//! Names of skills and namespaces: which are reserved, and which are too similar to another.

use std::fmt;
use std::str::FromStr;

use prowess_package::name::{SkillName, SkillNameError};

/// The namespace of prose (SRT §8). Nobody owns it.
pub const ANONYMOUS: &str = "anon";

/// Namespaces that nobody can have: they are the first part of a URL of the registry itself.
pub const RESERVED_NAMESPACES: &[&str] = &[
    "about",
    "account",
    "admin",
    "anon",
    "api",
    "badge",
    "clawhub",
    "docs",
    "favicon",
    "feed",
    "health",
    "help",
    "login",
    "logout",
    "mcp",
    "metrics",
    "moderation",
    "opensearch",
    "organisations",
    "publish",
    "publisher",
    "publishers",
    "ready",
    "report",
    "robots",
    "search",
    "set-up",
    "setup",
    "sign-in",
    "sign-out",
    "sitemap",
    "skills",
    "static",
    "status",
    "well-known",
];

/// Names that no skill can have: a route below `/skills/{namespace}` or `/skills` has them (attack registry-A4).
pub const RESERVED_NAMES: &[&str] = &[
    "api",
    "admin",
    "archive",
    "compare",
    "deprecate",
    "download",
    "downloads",
    "feed",
    "files",
    "index",
    "owner",
    "owners",
    "provenance",
    "rating",
    "report",
    "reports",
    "resolve",
    "reviews",
    "scan",
    "search",
    "signatures",
    "transfer",
    "versions",
];

/// Prefixes that only the publishers whom an administrator has allowed may use (GAIA §2.3).
pub const RESERVED_PREFIXES: &[&str] = &["amd-", "gaia-", "mcp-"];

/// A skill in a registry: `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillId {
    /// The namespace of the publisher.
    pub namespace: SkillName,
    /// The name.
    pub name: SkillName,
}

/// A text that is not `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillIdError {
    /// There is no slash.
    #[error("expected `namespace/name`")]
    NoNamespace,
    /// One of the parts is not a name.
    #[error(transparent)]
    Name(#[from] SkillNameError),
}

impl SkillId {
    /// Parses both parts.
    pub fn new(namespace: &str, name: &str) -> Result<Self, SkillIdError> {
        Ok(Self { namespace: namespace.parse()?, name: name.parse()? })
    }
}

impl FromStr for SkillId {
    type Err = SkillIdError;

    fn from_str(text: &str) -> Result<Self, SkillIdError> {
        let text = text.strip_prefix('@').unwrap_or(text);
        let (namespace, name) = text.split_once('/').ok_or(SkillIdError::NoNamespace)?;
        Self::new(namespace, name)
    }
}

impl fmt::Display for SkillId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// The form in which two names are compared: `foo-bar` and `foobar` are the same (attack registry-A3).
pub fn canonical(name: &str) -> String {
    name.chars().filter(|character| *character != '-').flat_map(char::to_lowercase).collect()
}

/// The reserved prefix that a name begins with.
pub fn reserved_prefix(name: &str) -> Option<&'static str> {
    RESERVED_PREFIXES.iter().copied().find(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_named_with_its_namespace() {
        let id: SkillId = "@acme/weather".parse().expect("a skill");
        assert_eq!(id.to_string(), "acme/weather");
        assert_eq!("weather".parse::<SkillId>(), Err(SkillIdError::NoNamespace));
        // NEG-5: no part contains a path separator.
        for text in ["acme/../x", "../weather", "acme/we\\ather", "Acme/weather", "acme/we_ather"] {
            assert!(text.parse::<SkillId>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_that_differ_in_hyphens_are_the_same() {
        assert_eq!(canonical("foo-bar"), canonical("foobar"));
        assert_ne!(canonical("foo-bar"), canonical("foo-baz"));
        assert_eq!(reserved_prefix("amd-npu"), Some("amd-"));
        assert_eq!(reserved_prefix("amdahl"), None);
    }
}
