//! The wire format of a registry, as described in `docs/design/registry-protocol.md`.
//!
//! Client, server and test registry share it, so that they can't disagree. Responses are untrusted: any bytes give a value
//! or an error, and texts are made visible and shortened before they become part of a message.

pub mod history;

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prowess_format::text::{shorten, visible};
use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;
use semver::{BuildMetadata, Version};
use serde_json::{Map, Value, json};

/// Maximum number of versions in an index.
pub const MAX_VERSIONS: usize = 10_000;

/// Maximum number of candidates that are read for an ambiguous name.
const MAX_CANDIDATES: usize = 20;

/// Maximum length of a registry's text in a message.
const MAX_TEXT: usize = 160;

/// One version of a skill: a line of the sparse index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexLine {
    /// The version. No two lines differ in build metadata alone.
    pub version: Version,
    /// The dependencies: names with version ranges, both as written.
    pub dependencies: Vec<(String, String)>,
    /// Whether the publisher yanked it: it is only installed from a lock file.
    pub yanked: bool,
    /// The reason why it was revoked: it can't be installed at all.
    pub revoked: Option<String>,
    /// The security tier that the registry attests.
    pub tier: Option<String>,
    /// The digest of the archive.
    pub sha256: Sha256Digest,
    /// The time of publication, in seconds since 1970.
    pub published: Option<u64>,
    /// A stable identifier of the owner, independent of names.
    pub owner: Option<String>,
}

impl IndexLine {
    /// The time of publication.
    pub fn published_at(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_secs(self.published?))
    }

    /// The line as JSON.
    pub fn to_json(&self) -> Value {
        let dependencies: Map<String, Value> = self
            .dependencies
            .iter()
            .map(|(name, range)| (name.clone(), range.as_str().into()))
            .collect();
        let mut line = json!({
            "version": self.version.to_string(),
            "sha256": self.sha256.to_string(),
            "dependencies": dependencies,
            "yanked": self.yanked,
        });
        let texts = [("revoked", &self.revoked), ("tier", &self.tier), ("owner", &self.owner)];
        for (key, text) in texts {
            if let Some(text) = text {
                line[key] = text.as_str().into();
            }
        }
        if let Some(published) = self.published {
            line["published"] = published.into();
        }
        line
    }

    fn read(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|_| "it is not JSON".to_owned())?;
        let version = value["version"].as_str().ok_or("it has no version")?;
        let version = Version::parse(version)
            .map_err(|_| format!("`{}` is not a version", short(version)))?;
        let sha256 = value["sha256"].as_str().unwrap_or_default();
        let sha256: Sha256Digest = sha256
            .parse()
            .map_err(|_| format!("{version} has no `sha256` of 64 hexadecimal digits"))?;
        let mut dependencies = Vec::new();
        if let Some(listed) = value.get("dependencies") {
            let listed = listed.as_object().ok_or("`dependencies` is not an object")?;
            for (name, range) in listed {
                let range = range.as_str().ok_or("a dependency has no range")?;
                dependencies.push((name.clone(), range.to_owned()));
            }
        }
        let revoked = match &value["revoked"] {
            Value::Null | Value::Bool(false) => None,
            Value::String(why) => Some(short(why)),
            _ => Some("the registry gives no reason".to_owned()),
        };
        Ok(Self {
            version,
            dependencies,
            yanked: value["yanked"].as_bool().unwrap_or(false),
            revoked,
            tier: value["tier"].as_str().map(str::to_owned),
            sha256,
            published: value["published"].as_u64(),
            owner: value["owner"].as_str().map(short),
        })
    }
}

/// The index of a skill: all its versions, optionally with a header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegistryIndex {
    /// The header, which tells an old index from a new one.
    pub head: Option<IndexHeader>,
    /// The versions, in the order of publication.
    pub lines: Vec<IndexLine>,
}

/// The header of an index, which protects against rollback to an old one (attack registry-C17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexHeader {
    /// A number that increases with every change.
    pub sequence: u64,
    /// The time until which the index is valid, in seconds since 1970.
    pub expires: Option<u64>,
}

impl RegistryIndex {
    /// Reads the index of `package`, which is `namespace/name`.
    ///
    /// An invalid line is an error for the whole index: skipping it would select a version other than the requested
    /// one.
    pub fn read(body: &[u8], package: &str) -> Result<Self, String> {
        let text = std::str::from_utf8(body).map_err(|_| "it is not UTF-8".to_owned())?;
        let mut head = None;
        let mut lines: Vec<IndexLine> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let at = |why: String| format!("line {}: {why}", number + 1);
            if lines.is_empty()
                && head.is_none()
                && let Some(found) = IndexHeader::read(line, package)
            {
                head = Some(found.map_err(at)?);
                continue;
            }
            if lines.len() == MAX_VERSIONS {
                return Err(format!("it has more than {MAX_VERSIONS} versions"));
            }
            let line = IndexLine::read(line).map_err(at)?;
            // Attack registry-C21.
            let version = without_build(&line.version);
            if lines.iter().any(|known| without_build(&known.version) == version) {
                return Err(at(format!("{} is listed twice", line.version)));
            }
            lines.push(line);
        }
        Ok(Self { head, lines })
    }

    /// Writes the index of `package`, which is `namespace/name`.
    pub fn write(&self, package: &str) -> String {
        let mut text = String::new();
        if let Some(IndexHeader { sequence, expires }) = self.head {
            let mut head = json!({ "index": package, "sequence": sequence });
            if let Some(expires) = expires {
                head["expires"] = expires.into();
            }
            let _ = writeln!(text, "{head}");
        }
        for line in &self.lines {
            let _ = writeln!(text, "{}", line.to_json());
        }
        text
    }
}

impl IndexHeader {
    /// Parses a header line; `None` if the line is not a header.
    fn read(line: &str, package: &str) -> Option<Result<Self, String>> {
        let value: Value = serde_json::from_str(line).ok()?;
        let named = value.get("index")?;
        // Rejects the index of another skill, whose number is valid for that skill.
        if named.as_str() != Some(package) {
            let named = named.as_str().unwrap_or("something else");
            return Some(Err(format!("it is the index of `{}`", short(named))));
        }
        let Some(sequence) = value["sequence"].as_u64() else {
            return Some(Err("it has no `sequence`".to_owned()));
        };
        let expires = match &value["expires"] {
            Value::Null => None,
            expires => match expires.as_u64() {
                Some(expires) => Some(expires),
                None => return Some(Err("`expires` is not a time".to_owned())),
            },
        };
        Some(Ok(Self { sequence, expires }))
    }
}

/// The metadata of a skill in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillInfo {
    /// The namespace of the publisher.
    pub namespace: SkillName,
    /// Its name.
    pub name: SkillName,
    /// An identifier of its owner.
    pub owner: Option<String>,
    /// The newest version.
    pub latest: Option<String>,
    /// All versions, in the order of publication.
    pub versions: Vec<String>,
}

impl SkillInfo {
    /// Parses the response to a request for a skill.
    pub fn read(body: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(body).ok()?;
        let versions = value["versions"].as_array().into_iter().flatten().take(MAX_VERSIONS);
        Some(Self {
            namespace: value["namespace"].as_str()?.parse().ok()?,
            name: value["name"].as_str()?.parse().ok()?,
            owner: value["owner"].as_str().map(short),
            latest: value["latest"].as_str().map(short),
            versions: versions.filter_map(Value::as_str).map(short).collect(),
        })
    }

    /// The response as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "namespace": self.namespace.as_str(),
            "name": self.name.as_str(),
            "owner": self.owner,
            "latest": self.latest,
            "versions": self.versions,
        })
    }
}

/// Parses the candidates for an ambiguous name, as `namespace/name` (attack registry-A7).
pub fn read_candidates(body: &[u8]) -> Vec<String> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let listed = value["candidates"].as_array().into_iter().flatten().take(MAX_CANDIDATES);
    listed.filter_map(Value::as_str).map(short).collect()
}

/// The response to an ambiguous name as JSON.
pub fn write_candidates(candidates: &[String]) -> Value {
    json!({ "title": "ambiguous name", "candidates": candidates })
}

/// Reads the message of a problem document (RFC 9457).
pub fn read_problem(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let text = value["detail"].as_str().or_else(|| value["title"].as_str())?;
    Some(short(text))
}

/// Writes a problem document (RFC 9457).
pub fn write_problem(status: u16, detail: &str) -> Value {
    json!({ "status": status, "detail": detail })
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The namespace of the publisher.
    pub namespace: Option<SkillName>,
    /// Its name.
    pub name: SkillName,
    /// The newest version, as the registry writes it.
    pub version: Option<String>,
    /// The description: untrusted text of any length.
    pub description: String,
    /// The security tier that the registry attests.
    pub tier: Option<String>,
}

impl SearchHit {
    /// Parses the response to a search. Results with invalid names are skipped (NEG-5).
    pub fn read_all(body: &[u8]) -> Option<Vec<Self>> {
        let value: Value = serde_json::from_slice(body).ok()?;
        let listed = value["results"].as_array()?;
        let hit = |entry: &Value| {
            let namespace = match entry["namespace"].as_str() {
                Some(text) => Some(text.parse().ok()?),
                None => None,
            };
            Some(Self {
                namespace,
                name: entry["name"].as_str()?.parse().ok()?,
                version: entry["version"].as_str().map(short),
                description: entry["description"].as_str().unwrap_or_default().to_owned(),
                tier: entry["tier"].as_str().map(short),
            })
        };
        Some(listed.iter().filter_map(hit).collect())
    }

    /// The response to a search as JSON.
    pub fn write_all(hits: &[Self]) -> Value {
        let hit = |hit: &Self| {
            json!({
                "namespace": hit.namespace.as_ref().map(SkillName::as_str),
                "name": hit.name.as_str(),
                "version": hit.version,
                "description": hit.description,
                "tier": hit.tier,
            })
        };
        json!({ "results": hits.iter().map(hit).collect::<Vec<_>>() })
    }
}

/// The version without build metadata, for comparisons.
fn without_build(version: &Version) -> Version {
    Version { build: BuildMetadata::EMPTY, ..version.clone() }
}

/// Makes an untrusted text visible and short, for messages.
fn short(text: &str) -> String {
    visible(&shorten(text, MAX_TEXT)).into_owned()
}

#[cfg(test)]
mod tests;
