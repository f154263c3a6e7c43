//! Whose word counts on this machine, for which skills, and how much.

mod file;

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

pub use file::{TrustStoreError, load_trust_store, update_trust_store};

use crate::contents::Contents;
use crate::material::Material;
use crate::timestamp::Timestamp;

/// Keys that count, and decisions of the user about changed signers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrustStore {
    keys: Vec<TrustedKey>,
    accepted: Vec<Accepted>,
    /// Entries of a newer version: they are kept and count for nothing.
    foreign: Vec<Value>,
    extra: Map<String, Value>,
}

/// A key that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustedKey {
    /// The key itself.
    pub material: Material,
    /// Whose it is, in the user's words.
    pub label: Option<String>,
    /// What its signatures prove.
    pub role: Role,
    /// The skills it may sign.
    pub names: Vec<NamePattern>,
    /// Earlier signatures don't count.
    pub not_before: Option<Timestamp>,
    /// Later signatures don't count.
    pub not_after: Option<Timestamp>,
    /// Since then somebody else may have it (attack registry-C15).
    pub revoked_at: Option<Timestamp>,
    /// When it was added.
    pub added_at: Option<Timestamp>,
    /// Fields that are unknown here.
    pub extra: Map<String, Value>,
}

/// What the signatures of a key prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A root of trust: what it signs is verified (GAIA §4.1).
    Root,
    /// A publisher: what they sign is at most community (GAIA §4.2).
    Publisher,
    /// An auditor: their sign-off makes a publisher's skill verified (GAIA §4.4), and is worth nothing alone.
    Auditor,
}

/// The user has accepted that a skill has a new signer (attack registry-C4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The skill.
    pub skill: String,
    /// The identifier of the new signer's key.
    pub key_id: String,
    /// When.
    pub at: Timestamp,
}

/// A word that is no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role, expected `root`, `publisher` or `auditor`")]
pub struct RoleError(String);

/// Names that a key may sign: `*` stands for any part of a name, and for nothing beyond a `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(String);

/// A text that is no pattern of names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a pattern of names, expected one like `web-search`, `web-*`, `acme/*` or `*`"
)]
pub struct NamePatternError(String);

impl TrustStore {
    /// A store without keys: nothing is more than experimental (GAIX-4).
    pub fn empty() -> Self {
        Self::default()
    }

    /// The keys that count.
    pub fn keys(&self) -> impl Iterator<Item = &TrustedKey> {
        self.keys.iter()
    }

    /// Adds a key. If it is there already, the new entry takes the place of the old one, which is returned.
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

    /// Removes the keys with an identifier.
    pub fn remove(&mut self, id: &str) -> Vec<TrustedKey> {
        self.keys.extract_if(.., |key| key.id() == id).collect()
    }

    /// Marks the keys with an identifier as in wrong hands since a moment; says how many there are.
    pub fn revoke(&mut self, id: &str, at: Timestamp) -> usize {
        let mut count = 0;
        for key in self.keys.iter_mut().filter(|key| key.id() == id) {
            key.revoked_at = Some(key.revoked_at.map_or(at, |earlier| earlier.min(at)));
            count += 1;
        }
        count
    }

    /// The key with an identifier.
    pub fn get(&self, id: &str) -> Option<&TrustedKey> {
        self.keys.iter().find(|key| key.id() == id)
    }

    /// Notes that a skill may have this signer from now on.
    pub fn accept(&mut self, skill: &str, key_id: &str, at: Timestamp) {
        if !self.accepts(skill, key_id) {
            self.accepted.push(Accepted { skill: skill.to_owned(), key_id: key_id.to_owned(), at });
        }
    }

    /// Takes back that this signer was accepted, for one skill or for all; says for which ones it was.
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

    /// What the user has accepted.
    pub fn accepted(&self) -> &[Accepted] {
        &self.accepted
    }
}

impl TrustedKey {
    /// A key that counts for every skill and at every time.
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

    /// Its identifier.
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

    /// The word for it.
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
    /// Every name, in every namespace.
    pub fn every() -> Self {
        Self("*".to_owned())
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A pattern with `/` asks for the namespace as well, so that it never fits a skill whose namespace is unknown.
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

/// Whether a name fits a pattern. The pieces between stars are looked for from left to right, so that no pattern takes long.
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
