//! The trust store: trusted keys, the skills they may sign, and their roles.

mod file;

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

pub use file::{TrustStoreError, load_trust_store, update_trust_store};

use crate::contents::Contents;
use crate::material::Material;
use crate::timestamp::Timestamp;

/// Trusted keys, and the user's decisions about changed signers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrustStore {
    keys: Vec<TrustedKey>,
    accepted: Vec<Accepted>,
    /// Entries of newer versions: kept but ignored.
    foreign: Vec<Value>,
    extra: Map<String, Value>,
}

/// A trusted key.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustedKey {
    /// The key itself.
    pub material: Material,
    /// The owner, as the user named them.
    pub label: Option<String>,
    /// The role, which decides what its signatures prove.
    pub role: Role,
    /// The skills it may sign.
    pub names: Vec<NamePattern>,
    /// Earlier signatures are not accepted.
    pub not_before: Option<Timestamp>,
    /// Later signatures are not accepted.
    pub not_after: Option<Timestamp>,
    /// The time of its revocation; someone else may have the key since then (attack registry-C15).
    pub revoked_at: Option<Timestamp>,
    /// When it was added.
    pub added_at: Option<Timestamp>,
    /// Unknown fields.
    pub extra: Map<String, Value>,
}

/// The role of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A root of trust: what it signs is verified (GAIA §4.1).
    Root,
    /// A publisher: what they sign is at most community (GAIA §4.2).
    Publisher,
    /// An auditor: their sign-off makes a publisher's skill verified (GAIA §4.4), but proves nothing alone.
    Auditor,
}

/// A new signer of a skill that the user has accepted (attack registry-C4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The skill.
    pub skill: String,
    /// The identifier of the new signer's key.
    pub key_id: String,
    /// The time of the decision.
    pub at: Timestamp,
}

/// The error for an unknown role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role, expected `root`, `publisher` or `auditor`")]
pub struct RoleError(String);

/// A pattern of names that a key may sign: `*` matches any characters except `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(String);

/// The error for an invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a pattern of names, expected one like `web-search`, `web-*`, `acme/*` or `*`"
)]
pub struct NamePatternError(String);

impl TrustStore {
    /// Creates a store without keys, for which every skill is experimental (GAIX-4).
    pub fn empty() -> Self {
        Self::default()
    }

    /// The trusted keys.
    pub fn keys(&self) -> impl Iterator<Item = &TrustedKey> {
        self.keys.iter()
    }

    /// Adds a key. An existing entry for the same key is replaced and returned.
    pub fn add(&mut self, key: TrustedKey) -> Option<TrustedKey> {
        let same = self.keys.iter().position(|known| known.material == key.material);
        match same {
            Some(index) => Some(std::mem::replace(&mut self.keys[index], key)),
            None => {
                self.keys.push(key);
                None
            }
        }
    }

    /// Removes the keys with this identifier.
    pub fn remove(&mut self, id: &str) -> Vec<TrustedKey> {
        self.keys.extract_if(.., |key| key.id() == id).collect()
    }

    /// Marks the keys with this identifier as revoked since a time; returns how many there are.
    pub fn revoke(&mut self, id: &str, at: Timestamp) -> usize {
        let mut count = 0;
        for key in self.keys.iter_mut().filter(|key| key.id() == id) {
            key.revoked_at = Some(key.revoked_at.map_or(at, |earlier| earlier.min(at)));
            count += 1;
        }
        count
    }

    /// The key with this identifier.
    pub fn get(&self, id: &str) -> Option<&TrustedKey> {
        self.keys.iter().find(|key| key.id() == id)
    }

    /// Accepts this signer for a skill.
    pub fn accept(&mut self, skill: &str, key_id: &str, at: Timestamp) {
        if !self.accepts(skill, key_id) {
            self.accepted.push(Accepted { skill: skill.to_owned(), key_id: key_id.to_owned(), at });
        }
    }

    /// Revokes the acceptance of a signer, for one skill or for all; returns the skills concerned.
    pub fn take_back(&mut self, key_id: &str, skill: Option<&str>) -> Vec<Accepted> {
        let is_meant = |entry: &mut Accepted| {
            entry.key_id == key_id && skill.is_none_or(|skill| entry.skill == skill)
        };
        self.accepted.extract_if(.., is_meant).collect()
    }

    /// Whether the user has accepted this signer for a skill.
    pub fn accepts(&self, skill: &str, key_id: &str) -> bool {
        self.accepted.iter().any(|entry| entry.skill == skill && entry.key_id == key_id)
    }

    /// The accepted signers.
    pub fn accepted(&self) -> &[Accepted] {
        &self.accepted
    }
}

impl TrustedKey {
    /// Creates a key that is trusted for every skill at any time.
    pub fn new(material: Material, role: Role) -> Self {
        Self {
            material,
            label: None,
            role,
            names: vec![NamePattern::every()],
            not_before: None,
            not_after: None,
            revoked_at: None,
            added_at: None,
            extra: Map::new(),
        }
    }

    /// The identifier.
    pub fn id(&self) -> String {
        self.material.id()
    }

    /// Whether it may sign a skill.
    pub fn may_sign(&self, contents: &Contents) -> bool {
        self.names.iter().any(|pattern| pattern.matches(contents))
    }
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Root, Role::Publisher, Role::Auditor];

    /// The name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Root => "root",
            Role::Publisher => "publisher",
            Role::Auditor => "auditor",
        }
    }
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        let known = Self::ALL.into_iter().find(|role| role.as_str() == text);
        known.ok_or_else(|| RoleError(text.to_owned()))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl NamePattern {
    /// The pattern that matches every name in every namespace.
    pub fn every() -> Self {
        Self("*".to_owned())
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches a skill. One with `/` requires a namespace, so it never matches a skill whose
    /// namespace is unknown.
    pub fn matches(&self, contents: &Contents) -> bool {
        match (self.0.split_once('/'), &contents.namespace) {
            (None, _) => fits(&self.0, &contents.name),
            (Some(_), None) => false,
            (Some((namespace, name)), Some(actual)) => {
                fits(namespace, actual) && fits(name, &contents.name)
            }
        }
    }
}

impl FromStr for NamePattern {
    type Err = NamePatternError;

    fn from_str(text: &str) -> Result<Self, NamePatternError> {
        let allowed = |character: char| {
            character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | '*' | '@')
        };
        let part_is_fine = |part: &str| !part.is_empty() && part.chars().all(allowed);
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() > 2 || !parts.iter().all(|part| part_is_fine(part)) {
            return Err(NamePatternError(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Whether a name matches a pattern. The parts between stars are searched from left to right, so that matching takes
/// linear time.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}
