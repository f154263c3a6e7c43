//! What a registry says, as `docs/design/registry-protocol.md` writes it down.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;
use semver::Version;
use serde_json::Value;

use crate::sources::short;

/// How many versions a skill may have.
pub(super) const MOST_LINES: usize = 10_000;

/// A line of the sparse index: one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexLine {
    pub(super) version: Version,
    /// Names with ranges, both as written.
    pub(super) dependencies: Vec<(String, String)>,
    pub(super) yanked: bool,
    /// Why nobody may have it any more.
    pub(super) revoked: Option<String>,
    pub(super) tier: Option<String>,
    /// `sha256:` and hexadecimal digits.
    pub(super) sha256: String,
    pub(super) published: Option<u64>,
    pub(super) owner: Option<String>,
}

impl IndexLine {
    pub(super) fn published_at(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_secs(self.published?))
    }
}

/// The versions of a skill, and perhaps the number of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Index {
    pub(super) head: Option<Head>,
    pub(super) lines: Vec<IndexLine>,
}

/// What tells an old index from a new one (attack C17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Higher with every change.
    pub(super) sequence: u64,
    /// Seconds since 1970, until which it may be believed.
    pub(super) expires: Option<u64>,
}

/// Reads the index of `package`, which is `namespace/name`. A line of it that makes no sense is an error: to leave it out would be to choose another version than
/// the one that was asked for.
pub(super) fn index(body: &[u8], package: &str) -> Result<Index, String> {
    let text = std::str::from_utf8(body).map_err(|_| "it is not UTF-8".to_owned())?;
    let mut head = None;
    let mut lines: Vec<IndexLine> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if lines.is_empty()
            && head.is_none()
            && let Some(found) = index_head(line, package)
        {
            head = Some(found.map_err(|why| format!("line {}: {why}", number + 1))?);
            continue;
        }
        if lines.len() == MOST_LINES {
            return Err(format!("it has more than {MOST_LINES} versions"));
        }
        let line = index_line(line).map_err(|why| format!("line {}: {why}", number + 1))?;
        let same = |known: &IndexLine| {
            prowess_resolve::comparable(&known.version)
                == prowess_resolve::comparable(&line.version)
        };
        // Attack C21.
        if lines.iter().any(same) {
            return Err(format!("line {}: {} is there twice", number + 1, line.version));
        }
        lines.push(line);
    }
    Ok(Index { head, lines })
}

/// The line before all versions, if it is one.
fn index_head(line: &str, package: &str) -> Option<Result<Head, String>> {
    let value: Value = serde_json::from_str(line).ok()?;
    let named = value.get("index")?;
    // The list of another skill, with a number that is right for that one.
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
            None => return Some(Err("`expires` is no time".to_owned())),
        },
    };
    Some(Ok(Head { sequence, expires }))
}

fn index_line(line: &str) -> Result<IndexLine, String> {
    let value: Value = serde_json::from_str(line).map_err(|_| "it is not JSON".to_owned())?;
    let version = value["version"].as_str().ok_or("it has no version")?;
    let version =
        Version::parse(version).map_err(|_| format!("`{}` is no version", short(version)))?;
    let sha256 = value["sha256"].as_str().unwrap_or_default();
    let digest: Sha256Digest = sha256
        .parse()
        .map_err(|_| format!("{version} has no `sha256` of 64 hexadecimal digits"))?;
    let mut dependencies = Vec::new();
    if let Some(listed) = value.get("dependencies") {
        let listed = listed.as_object().ok_or("`dependencies` is no object")?;
        for (name, range) in listed {
            let range = range.as_str().ok_or("a dependency has no range")?;
            dependencies.push((name.clone(), range.to_owned()));
        }
    }
    let revoked = match &value["revoked"] {
        Value::Null | Value::Bool(false) => None,
        Value::String(why) => Some(short(why)),
        _ => Some("the registry does not say why".to_owned()),
    };
    Ok(IndexLine {
        version,
        dependencies,
        yanked: value["yanked"].as_bool().unwrap_or(false),
        revoked,
        tier: value["tier"].as_str().map(str::to_owned),
        sha256: format!("sha256:{digest}"),
        published: value["published"].as_u64(),
        owner: value["owner"].as_str().map(short),
    })
}

/// The namespace of a skill out of its metadata.
pub(super) fn namespace(body: &[u8]) -> Option<SkillName> {
    let value: Value = serde_json::from_slice(body).ok()?;
    value["namespace"].as_str()?.parse().ok()
}

/// The choices that an ambiguous name leaves, as `namespace/name` (attack A7).
pub(super) fn candidates(body: &[u8]) -> Vec<String> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let listed = value["candidates"].as_array().into_iter().flatten().take(20);
    listed.filter_map(Value::as_str).map(short).collect()
}

/// What a problem document (RFC 9457) says.
pub(super) fn detail(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let text = value["detail"].as_str().or_else(|| value["title"].as_str())?;
    Some(short(text))
}

/// A skill that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// Who publishes it.
    pub namespace: Option<SkillName>,
    /// What it is called.
    pub name: SkillName,
    /// The newest version, as the registry writes it.
    pub version: Option<String>,
    /// What it is for, as the registry has it: somebody else's text, of any length.
    pub description: String,
    /// What the registry says about who stands up for it.
    pub tier: Option<String>,
}

/// What a search found. Names that can't be installed are left out (NEG-5).
pub(super) fn hits(body: &[u8]) -> Option<Vec<SearchHit>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let listed = value["results"].as_array()?;
    let hit = |entry: &Value| {
        let namespace = match entry["namespace"].as_str() {
            Some(text) => Some(text.parse().ok()?),
            None => None,
        };
        Some(SearchHit {
            namespace,
            name: entry["name"].as_str()?.parse().ok()?,
            version: entry["version"].as_str().map(short),
            description: entry["description"].as_str().unwrap_or_default().to_owned(),
            tier: entry["tier"].as_str().map(short),
        })
    };
    Some(listed.iter().filter_map(hit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match index(text.as_bytes(), "acme/greet") {
            Ok(index) => index
                .lines
                .iter()
                .map(|line| {
                    let marks = [(line.yanked, " yanked"), (line.revoked.is_some(), " revoked")];
                    let marks = marks.iter().filter(|(is, _)| *is).map(|(_, word)| *word);
                    format!("{}{}", line.version, marks.collect::<String>())
                })
                .collect::<Vec<_>>()
                .join(", "),
            Err(why) => why,
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn indexes_are_read_line_by_line() {
        let hash = "0".repeat(64);
        let line = |version: &str, more: &str| {
            format!("{{\"version\":\"{version}\",\"sha256\":\"{hash}\"{more}}}\n")
        };
        check("", "");
        check(
            &(line("1.0.0", "") + "\n" + &line("1.1.0", ",\"yanked\":true,\"later\":1")),
            "1.0.0, 1.1.0 yanked",
        );
        check(&line("1.0.0", ",\"revoked\":\"malware\""), "1.0.0 revoked");
        check(&(line("1.0.0", "") + &line("1.0.0+b", "")), "line 2: 1.0.0+b is there twice");
        check(&line("1.0", ""), "line 1: `1.0` is no version");
        check("{\"version\":\"1.0.0\"}", "line 1: 1.0.0 has no `sha256` of 64 hexadecimal digits");
        check("[", "line 1: it is not JSON");
        check(&line("1.0.0", ",\"dependencies\":[]"), "line 1: `dependencies` is no object");
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_a_server_sends_makes_reading_fail(bytes: Vec<u8>, text in "[\\[\\]{}\":,a-z0-9.\n]{0,200}") {
            for body in [bytes.as_slice(), text.as_bytes()] {
                let _ = (index(body, "a/b"), namespace(body), candidates(body), detail(body), hits(body));
            }
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_not_found() {
        // NEG-5.
        let body = r#"{"results":[{"name":"../x"},{"namespace":"a/b","name":"x"},{"namespace":"a","name":"ok"}]}"#;
        let found = hits(body.as_bytes()).expect("a list");
        assert_eq!(found.iter().map(|hit| hit.name.as_str()).collect::<Vec<_>>(), ["ok"]);
    }
}
