//! Changes that the user accepts in advance: patterns of paths, for a skill as long as its files stay the same.

use std::io;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use prowess_files::atomic::{self, MAX_SMALL_FILE_BYTES, WriteOptions};
use prowess_files::{private, with_lock};
use serde_json::{Value, json};

use crate::world::StateFolders;

/// The version of the file.
const VERSION: u64 = 1;
/// Maximum number of patterns that are remembered; the oldest are forgotten first.
const MAX_REMEMBERED: usize = 1000;

/// A pattern of paths whose changes are accepted, with everything below what it matches.
#[derive(Clone, Debug)]
pub struct AcceptPattern {
    text: String,
    matcher: GlobMatcher,
}

/// Why a pattern can't be used.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a pattern of paths: {reason}")]
pub struct AcceptPatternError {
    text: String,
    reason: String,
}

impl AcceptPattern {
    /// Parses a pattern: `*` and `?` stay within a name, `**` matches folders. A relative one is relative to `folder`.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, AcceptPatternError> {
        let error =
            |reason: &str| AcceptPatternError { text: text.to_owned(), reason: reason.to_owned() };
        let plain = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        if plain.is_empty() {
            return Err(error("it is empty"));
        }
        if Path::new(plain).components().any(|part| part == std::path::Component::ParentDir) {
            return Err(error("it contains `..`"));
        }
        let whole = if Path::new(plain).is_absolute() {
            plain.to_owned()
        } else {
            // The folder is a path and not a pattern.
            let folder = folder.to_str().ok_or_else(|| error("the current folder is not UTF-8"))?;
            format!("{}/{plain}", globset::escape(folder.trim_end_matches('/')))
        };
        Self::absolute(&whole)
            .map_err(|reason| AcceptPatternError { text: text.to_owned(), reason })
    }

    fn absolute(text: &str) -> Result<Self, String> {
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        let matcher = glob.map_err(|error| error.kind().to_string())?.compile_matcher();
        Ok(Self { text: text.to_owned(), matcher })
    }

    /// Whether changes of a path are accepted: it matches, or a folder that it is in.
    pub fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.matcher.is_match(above))
    }
}

/// What the user has accepted for the runs to come.
#[derive(Debug, Default)]
pub(crate) struct AcceptedChanges {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    skill: String,
    digest: String,
    pattern: AcceptPattern,
}

impl AcceptedChanges {
    /// What is remembered. If the file can't be used, everything is asked about.
    pub(crate) fn load(state: &StateFolders) -> Self {
        Self::read(state).unwrap_or_default()
    }

    fn read(state: &StateFolders) -> io::Result<Self> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
        let Some(text) = private::read_own_text(&file(state), MAX_SMALL_FILE_BYTES)? else {
            return Ok(Self::default());
        };
        let value: Value = serde_json::from_str(&text)?;
        if value["version"].as_u64() != Some(VERSION) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is of another version"));
        }
        let entry = |value: &Value| {
            Some(Entry {
                skill: value["skill"].as_str()?.to_owned(),
                digest: value["digest"].as_str()?.to_owned(),
                pattern: AcceptPattern::absolute(value["pattern"].as_str()?).ok()?,
            })
        };
        let entries = value["accepted"].as_array().ok_or_else(damaged)?;
        let entries = entries.iter().map(entry).collect::<Option<_>>().ok_or_else(damaged)?;
        Ok(Self { entries })
    }

    /// Whether a change of a skill is accepted.
    pub(crate) fn covers(&self, skill: &str, digest: &str, path: &Path) -> bool {
        let of_skill =
            self.entries.iter().filter(|entry| entry.skill == skill && entry.digest == digest);
        of_skill.into_iter().any(|entry| entry.pattern.covers(path))
    }

    /// Remembers patterns for a skill, until one of its files changes.
    pub(crate) fn remember(
        state: &StateFolders,
        skill: &str,
        digest: &str,
        patterns: &[AcceptPattern],
    ) -> io::Result<()> {
        let path = file(state);
        with_lock(&path, || {
            let mut known = Self::read(state)?;
            for pattern in patterns {
                known.entries.retain(|entry| {
                    (entry.skill.as_str(), entry.digest.as_str(), entry.pattern.text.as_str())
                        != (skill, digest, pattern.text.as_str())
                });
                let (skill, digest) = (skill.to_owned(), digest.to_owned());
                known.entries.push(Entry { skill, digest, pattern: pattern.clone() });
            }
            let surplus = known.entries.len().saturating_sub(MAX_REMEMBERED);
            known.entries.drain(..surplus);
            atomic::write(&path, known.to_json().to_string().as_bytes(), WriteOptions::PRIVATE)
        })
    }

    fn to_json(&self) -> Value {
        let entry = |entry: &Entry| {
            json!({
                "skill": entry.skill, "digest": entry.digest, "pattern": entry.pattern.text,
            })
        };
        let entries: Vec<Value> = self.entries.iter().map(entry).collect();
        json!({ "version": VERSION, "accepted": entries })
    }
}

fn file(state: &StateFolders) -> PathBuf {
    state.data.join("accepted-changes.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_what_they_match_and_what_is_below() {
        let covers = |pattern: &str, path: &str| {
            let pattern = AcceptPattern::parse(pattern, Path::new("/p[1]")).expect("a pattern");
            pattern.covers(Path::new(path))
        };
        assert!(covers(".venv", "/p[1]/.venv"));
        assert!(covers("./.venv/", "/p[1]/.venv/lib/x.pth"));
        assert!(!covers(".venv", "/p1/.venv"));
        assert!(!covers(".venv", "/p[1]/.venv2"));
        assert!(covers("**/*.toml", "/p[1]/a/b.toml"));
        assert!(!covers("*.toml", "/p[1]/a/b.toml"));
        assert!(covers("/p*/.npmrc", "/p[1]/.npmrc"));
        assert!(!covers("/p*", "/other"));
    }

    #[test]
    fn patterns_that_lead_out_are_refused() {
        for wrong in ["", "./", "../x", "a/../b", "[a"] {
            assert!(AcceptPattern::parse(wrong, Path::new("/p")).is_err(), "{wrong:?}");
        }
    }
}
