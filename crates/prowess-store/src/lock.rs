//! The lock file `skill-lock.json`: the digest and the source of every installed skill (GAIA §7.3 and extensions).
//!
//! The five fields of the specification are written in its form; all other fields are extensions. Fields that this
//! version does not know survive a read and a write.

use std::collections::{BTreeMap, BTreeSet};

use prowess_package::digest::FileHashes;
use prowess_package::name::SkillName;
use prowess_policy::Tier;
use prowess_trust::{Evidence, SignedBy};
use serde_json::{Map, Value, json};

use crate::source::Pinned;

/// The supported version of the format.
const VERSION: u64 = 1;
/// The maximum size of a lock file in bytes.
pub const MOST_BYTES: u64 = 16 << 20;

/// The installed skills of a store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LockFile {
    /// The skills by name.
    pub skills: BTreeMap<SkillName, LockEntry>,
    /// Unknown fields.
    extra: Map<String, Value>,
}

/// One installed skill.
#[derive(Debug, Clone, PartialEq)]
pub struct LockEntry {
    /// The version; `0.0.0` if the skill declares none (R5).
    pub version: semver::Version,
    /// The content digest: `sha256-` and base64.
    pub integrity: String,
    /// The hash of every file, so that a changed file can be named.
    pub files: FileHashes,
    /// The effective tier: what the signatures proved at the installation, limited by what the file claims (R19).
    pub tier: Tier,
    /// The time of the installation, in RFC 3339.
    pub installed_at: String,
    /// The hash of its resolved dependencies.
    pub dependencies_hash: String,
    /// The source.
    pub source: Option<Pinned>,
    /// The name at the source, if the user gave the skill another one because its own can't be installed. Updates use
    /// it to find the skill.
    pub source_name: Option<String>,
    /// The owner according to the registry (attack registry-A5).
    pub owner: Option<String>,
    /// The signers, whether trusted or not. Updates are compared with them (attacks registry-C3, registry-C4).
    pub signers: Vec<SignedBy>,
    /// Whether the user has agreed to an update that lost its signature (attack registry-C3).
    pub allow_unsigned: bool,
    /// The rules of the scanner that block it and that the user has allowed by name.
    pub allow_blocked: BTreeSet<String>,
    /// The requested range.
    pub requested: Option<String>,
    /// Whether the user requested it by name.
    pub explicit: bool,
    /// The skills that depend on it.
    pub required_by: BTreeSet<SkillName>,
    /// The dependencies, with the selected versions.
    pub dependencies: BTreeMap<SkillName, semver::Version>,
    /// The requested permissions, one grant per line, sorted as text.
    pub permissions: BTreeSet<String>,
    /// The capabilities of this version and of earlier ones that the user has approved. In the lock file of a project
    /// they are only information, because someone else may have written it.
    pub capabilities: BTreeSet<String>,
    /// The digest of what the user approved when installing it.
    pub approved: Option<String>,
    /// Unknown fields.
    extra: Map<String, Value>,
}

/// Why a lock file can't be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// It is not valid JSON.
    #[error("it is not valid JSON: {0}")]
    Json(String),
    /// It contains a merge conflict.
    #[error("it has a merge conflict (line {0})")]
    Conflict(usize),
    /// It contains incomplete merge conflict markers.
    #[error("it has a merge conflict whose markers are incomplete (line {0})")]
    Markers(usize),
    /// It contains a merge conflict, and one side can't be parsed by itself.
    #[error(
        "it has a merge conflict (line {line}), and the side `{label}` can't be read by itself: {problem}"
    )]
    Side {
        /// The line of the first marker.
        line: usize,
        /// The label of the side in the marker.
        label: String,
        /// The problem.
        problem: String,
    },
    /// Its version is not supported. The file is left as it is: a lock file is never discarded.
    #[error(
        "its format has version {0}, but this program supports version {VERSION}; use the program that wrote it, or a newer one"
    )]
    Version(String),
    /// A field is invalid.
    #[error("`{place}` {problem}")]
    Field {
        /// The path of the field, such as `skills.weather.version`.
        place: String,
        /// The problem.
        problem: String,
    },
}

const KNOWN: [&str; 22] = [
    "version",
    "integrity",
    "files",
    "security_tier",
    "installed_at",
    "dependencies_hash",
    "source",
    "source_name",
    "owner",
    "signers",
    "unsigned",
    "allow_unsigned",
    "allow_blocked",
    "requested",
    "explicit",
    "required_by",
    "dependencies",
    "permissions",
    "capabilities",
    "approved",
    "namespace",
    "registry",
];

impl LockEntry {
    /// Creates an entry with the fields that every skill has.
    pub fn new(
        version: semver::Version,
        integrity: String,
        tier: Tier,
        installed_at: String,
    ) -> Self {
        Self {
            version,
            integrity,
            files: FileHashes::new(),
            tier,
            installed_at,
            dependencies_hash: String::new(),
            source: None,
            source_name: None,
            owner: None,
            signers: Vec::new(),
            allow_unsigned: false,
            allow_blocked: BTreeSet::new(),
            requested: None,
            explicit: true,
            required_by: BTreeSet::new(),
            dependencies: BTreeMap::new(),
            permissions: BTreeSet::new(),
            capabilities: BTreeSet::new(),
            approved: None,
            extra: Map::new(),
        }
    }

    /// The evidence that the signatures provided at the installation.
    pub fn evidence(&self) -> Evidence {
        Evidence { tier: self.tier, signers: self.signers.clone() }
    }

    /// The name given by the user because the declared one can't be installed.
    pub fn chosen<'n>(&self, name: &'n SkillName) -> Option<&'n SkillName> {
        self.source_name.is_some().then_some(name)
    }

    /// Copies the unknown fields of an earlier entry.
    pub fn keep_extra_of(&mut self, earlier: &Self) {
        self.extra.clone_from(&earlier.extra);
    }
}

impl LockFile {
    /// Parses a lock file.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        if let Some(line) = crate::conflict::conflict_line(text) {
            return Err(LockError::Conflict(line));
        }
        let value: Value =
            serde_json::from_str(text).map_err(|error| LockError::Json(error.to_string()))?;
        let Value::Object(mut top) = value else {
            return Err(LockError::Json("expected an object".to_owned()));
        };
        match top.remove("version") {
            Some(version) if version == VERSION => {}
            Some(version) => return Err(LockError::Version(version.to_string())),
            None => return Err(LockError::Version("none".to_owned())),
        }
        let mut lock = Self::default();
        match top.remove("skills") {
            Some(Value::Object(skills)) => {
                for (name, entry) in skills {
                    let place = format!("skills.{name}");
                    let parsed: SkillName =
                        name.parse().map_err(|error: prowess_package::name::SkillNameError| {
                            LockError::Field {
                                place: place.clone(),
                                problem: format!("is not a valid skill name: {error}"),
                            }
                        })?;
                    let entry = Fields { place, value: entry }.locked()?;
                    lock.skills.insert(parsed, entry);
                }
            }
            None => {}
            Some(_) => {
                return Err(LockError::Field {
                    place: "skills".to_owned(),
                    problem: "is not an object".to_owned(),
                });
            }
        }
        lock.extra = top;
        Ok(lock)
    }

    /// Copies unknown fields of another lock file, except those that this one has.
    pub(crate) fn keep_unknown_of(&mut self, other: &Self) {
        for (key, value) in &other.extra {
            self.extra.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }

    /// The text of the lock file, with keys in a fixed order to keep diffs small.
    pub fn to_text(&self) -> String {
        let mut top = Map::new();
        top.insert("version".to_owned(), VERSION.into());
        let skills = self.skills.iter().map(|(name, entry)| (name.to_string(), to_value(entry)));
        top.insert("skills".to_owned(), Value::Object(skills.collect()));
        top.extend(self.extra.clone());
        let mut text = serde_json::to_string_pretty(&Value::Object(top))
            .unwrap_or_else(|error| unreachable!("maps with text as keys: {error}"));
        text.push('\n');
        text
    }
}

fn to_value(entry: &LockEntry) -> Value {
    let mut value = Map::new();
    let mut put = |key: &str, field: Value| {
        value.insert(key.to_owned(), field);
    };
    put("version", entry.version.to_string().into());
    put("integrity", entry.integrity.clone().into());
    put("security_tier", entry.tier.as_str().into());
    put("installed_at", entry.installed_at.clone().into());
    put("dependencies_hash", entry.dependencies_hash.clone().into());
    if !entry.files.is_empty() {
        let hashes = entry.files.iter();
        let hashes = hashes.map(|(path, hash)| (path.as_str().to_owned(), hash.to_string().into()));
        put("files", Value::Object(hashes.collect()));
    }
    if let Some(source) = &entry.source {
        put("source", source_value(source));
    }
    if let Some(name) = &entry.source_name {
        put("source_name", name.clone().into());
    }
    if let Some(owner) = &entry.owner {
        put("owner", owner.clone().into());
    }
    if entry.signers.is_empty() {
        // Always written, because a missing field could also come from an older program.
        put("unsigned", true.into());
    } else {
        put("signers", entry.signers.iter().map(signer_value).collect());
    }
    if entry.allow_unsigned {
        put("allow_unsigned", true.into());
    }
    if !entry.allow_blocked.is_empty() {
        put("allow_blocked", entry.allow_blocked.iter().cloned().collect());
    }
    if let Some(requested) = &entry.requested {
        put("requested", requested.clone().into());
    }
    put("explicit", entry.explicit.into());
    if !entry.required_by.is_empty() {
        put("required_by", entry.required_by.iter().map(SkillName::as_str).collect());
    }
    if !entry.dependencies.is_empty() {
        let chosen = entry.dependencies.iter();
        let chosen = chosen.map(|(name, version)| (name.to_string(), version.to_string().into()));
        put("dependencies", Value::Object(chosen.collect()));
    }
    if !entry.permissions.is_empty() {
        put("permissions", entry.permissions.iter().map(String::as_str).collect());
    }
    if !entry.capabilities.is_empty() {
        put("capabilities", entry.capabilities.iter().map(String::as_str).collect());
    }
    if let Some(approved) = &entry.approved {
        put("approved", approved.clone().into());
    }
    value.extend(entry.extra.clone());
    Value::Object(value)
}

fn signer_value(signer: &SignedBy) -> Value {
    let mut value = json!({"scheme": signer.scheme, "key": signer.key_id});
    if let Some(identity) = &signer.identity {
        value["identity"] = identity.clone().into();
    }
    if signer.is_audit {
        value["audit"] = true.into();
    }
    value
}

fn source_value(source: &Pinned) -> Value {
    let mut value = json!({"type": source.kind()});
    let mut put = |key: &str, field: Option<&str>| {
        if let Some(field) = field {
            value[key] = field.into();
        }
    };
    match source {
        Pinned::Folder { path } => put("path", Some(path)),
        Pinned::File { location, sha256 } => {
            put("location", Some(location));
            put("sha256", Some(sha256));
        }
        Pinned::Git { url, commit, revision, folder } => {
            put("url", Some(url));
            put("commit", Some(commit));
            put("revision", revision.as_deref());
            put("folder", folder.as_ref().map(prowess_package::path::PackagePath::as_str));
        }
        Pinned::WellKnown { base, url, digest } => {
            put("base", Some(base));
            put("url", Some(url));
            put("digest", digest.as_deref());
        }
        Pinned::Mcp { server, uri, digest } => {
            put("server", Some(server));
            put("uri", Some(uri));
            put("digest", Some(digest));
        }
        Pinned::Registry { registry, namespace, version, sha256 } => {
            put("registry", Some(registry));
            put("namespace", namespace.as_ref().map(SkillName::as_str));
            put("version", Some(&version.to_string()));
            put("sha256", Some(sha256));
        }
    }
    value
}

/// A JSON object and its path in the lock file.
struct Fields {
    place: String,
    value: Value,
}

impl Fields {
    fn problem(&self, key: &str, problem: &str) -> LockError {
        let place =
            if key.is_empty() { self.place.clone() } else { format!("{}.{key}", self.place) };
        LockError::Field { place, problem: problem.to_owned() }
    }

    fn optional_text(&self, key: &str) -> Result<Option<String>, LockError> {
        match self.value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.problem(key, "is not a string")),
        }
    }

    fn text(&self, key: &str) -> Result<String, LockError> {
        self.optional_text(key)?.ok_or_else(|| self.problem(key, "is missing"))
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, LockError> {
        match self.value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.problem(key, "is neither `true` nor `false`")),
        }
    }

    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
        &self,
        key: &str,
        text: &str,
    ) -> Result<T, LockError> {
        text.parse().map_err(|error: T::Err| self.problem(key, &format!("is invalid: {error}")))
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, LockError> {
        let wrong = || self.problem(key, "is not a list of strings");
        match self.value.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect(),
            Some(_) => Err(wrong()),
        }
    }

    fn inner(&self, key: &str) -> Option<Fields> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Fields { place: format!("{}.{key}", self.place), value: value.clone() })
    }

    fn locked(self) -> Result<LockEntry, LockError> {
        if !self.value.is_object() {
            return Err(self.problem("", "is not an object"));
        }
        let version = self.parsed("version", &self.text("version")?)?;
        let integrity = self.text("integrity")?;
        let tier = self.parsed("security_tier", &self.text("security_tier")?)?;
        let mut locked = LockEntry::new(version, integrity, tier, self.text("installed_at")?);
        locked.dependencies_hash = self.optional_text("dependencies_hash")?.unwrap_or_default();
        locked.source = self.inner("source").map(|source| source.source()).transpose()?;
        locked.source_name = self.optional_text("source_name")?;
        locked.owner = self.optional_text("owner")?;
        locked.signers = self.signers()?;
        locked.allow_unsigned = self.flag("allow_unsigned")?.unwrap_or(false);
        locked.allow_blocked = self.texts("allow_blocked")?.into_iter().collect();
        locked.requested = self.optional_text("requested")?;
        locked.explicit = self.flag("explicit")?.unwrap_or(true);
        for name in self.texts("required_by")? {
            locked.required_by.insert(self.parsed("required_by", &name)?);
        }
        if let Some(chosen) = self.inner("dependencies") {
            let Value::Object(map) = &chosen.value else {
                return Err(chosen.problem("", "is not an object"));
            };
            for (name, version) in map {
                let text =
                    version.as_str().ok_or_else(|| chosen.problem(name, "is not a string"))?;
                locked.dependencies.insert(chosen.parsed(name, name)?, chosen.parsed(name, text)?);
            }
        }
        if let Some(files) = self.inner("files") {
            let Value::Object(map) = &files.value else {
                return Err(files.problem("", "is not an object"));
            };
            for (path, hash) in map {
                let text = hash.as_str().ok_or_else(|| files.problem(path, "is not a string"))?;
                locked.files.insert(files.parsed(path, path)?, files.parsed(path, text)?);
            }
        }
        locked.permissions = self.texts("permissions")?.into_iter().collect();
        locked.capabilities = self.texts("capabilities")?.into_iter().collect();
        locked.approved = self.optional_text("approved")?;
        if let Value::Object(map) = self.value {
            locked.extra =
                map.into_iter().filter(|(key, _)| !KNOWN.contains(&key.as_str())).collect();
        }
        Ok(locked)
    }

    fn signers(&self) -> Result<Vec<SignedBy>, LockError> {
        let Some(list) = self.inner("signers") else { return Ok(Vec::new()) };
        let Value::Array(items) = list.value else {
            return Err(self.problem("signers", "is not a list"));
        };
        let read = |(number, value): (usize, Value)| {
            let fields = Fields { place: format!("{}[{number}]", list.place), value };
            Ok(SignedBy {
                scheme: fields.text("scheme")?,
                key_id: fields.text("key")?,
                identity: fields.optional_text("identity")?,
                is_audit: fields.flag("audit")?.unwrap_or(false),
            })
        };
        items.into_iter().enumerate().map(read).collect()
    }

    fn source(&self) -> Result<Pinned, LockError> {
        match self.text("type")?.as_str() {
            "folder" => Ok(Pinned::Folder { path: self.text("path")? }),
            "file" => {
                Ok(Pinned::File { location: self.text("location")?, sha256: self.text("sha256")? })
            }
            "git" => {
                let folder = self.optional_text("folder")?;
                Ok(Pinned::Git {
                    url: self.text("url")?,
                    commit: self.text("commit")?,
                    revision: self.optional_text("revision")?,
                    folder: folder.map(|folder| self.parsed("folder", &folder)).transpose()?,
                })
            }
            "well-known" => Ok(Pinned::WellKnown {
                base: self.text("base")?,
                url: self.text("url")?,
                digest: self.optional_text("digest")?,
            }),
            "mcp" => Ok(Pinned::Mcp {
                server: self.text("server")?,
                uri: self.text("uri")?,
                digest: self.text("digest")?,
            }),
            "registry" => {
                let namespace = self.optional_text("namespace")?;
                Ok(Pinned::Registry {
                    registry: self.text("registry")?,
                    version: self.parsed("version", &self.text("version")?)?,
                    namespace: namespace
                        .map(|namespace| self.parsed("namespace", &namespace))
                        .transpose()?,
                    sha256: self.text("sha256")?,
                })
            }
            other => {
                Err(self
                    .problem("type", &format!("is `{other}`, which is not a known type of source")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in GAIA §7.3, with an unknown field in both places.
    const SPECIFIED: &str = r#"{
  "version": 1,
  "skills": {
    "web-search": {
      "version": "1.2.0",
      "integrity": "sha256-abc123...",
      "security_tier": "verified",
      "installed_at": "2026-03-15T10:30:00Z",
      "dependencies_hash": "sha256-def456...",
      "unsigned": true,
      "explicit": true,
      "note": {
        "from": "elsewhere"
      }
    }
  },
  "tool": "other"
}
"#;

    #[test]
    fn the_specified_lock_survives_with_what_is_not_ours() {
        // GAIA-7.3-1.
        let lock = LockFile::parse(SPECIFIED).expect("a lock");
        let entry = &lock.skills[&"web-search".parse::<SkillName>().expect("a name")];
        assert_eq!(entry.version.to_string(), "1.2.0");
        assert_eq!(entry.integrity, "sha256-abc123...");
        assert_eq!(entry.tier, Tier::Verified);
        assert_eq!(entry.installed_at, "2026-03-15T10:30:00Z");
        assert_eq!(entry.dependencies_hash, "sha256-def456...");
        assert_eq!(lock.to_text(), SPECIFIED);
    }

    #[test]
    fn every_field_is_read_back() {
        let mut entry = LockEntry::new(
            semver::Version::new(1, 2, 3),
            "sha256-x".to_owned(),
            Tier::Community,
            "2026-01-01T00:00:00Z".to_owned(),
        );
        entry.dependencies_hash = "sha256-y".to_owned();
        entry.files = [(
            "SKILL.md".parse().expect("a path"),
            prowess_package::digest::Sha256Digest::of(b"x"),
        )]
        .into();
        entry.source_name = Some("The X".to_owned());
        entry.owner = Some("u-17".to_owned());
        let signer = |key: &str, identity: Option<&str>, is_audit| SignedBy {
            scheme: "ed25519".to_owned(),
            key_id: key.to_owned(),
            identity: identity.map(str::to_owned),
            is_audit,
        };
        entry.signers = vec![signer("0011", Some("Ada"), false), signer("0022", None, true)];
        entry.allow_unsigned = true;
        entry.requested = Some("^1".to_owned());
        entry.explicit = false;
        entry.required_by = ["other".parse().expect("a name")].into();
        entry.dependencies =
            [("dep".parse().expect("a name"), semver::Version::new(0, 1, 0))].into();
        entry.permissions = ["network:read:a.example".to_owned()].into();
        entry.capabilities = ["host a.example".to_owned(), "program curl".to_owned()].into();
        entry.approved = Some("sha256-z".to_owned());
        let text = str::to_owned;
        let sources = [
            Pinned::Folder { path: text("/skills/x") },
            Pinned::File { location: text("/x.tar.gz"), sha256: text("sha256:00") },
            Pinned::Git {
                url: text("https://host.example/a"),
                commit: text("0123456789012345678901234567890123456789"),
                revision: Some(text("main")),
                folder: Some("skills/x".parse().expect("a path")),
            },
            Pinned::WellKnown {
                base: text("https://host.example"),
                url: text("https://host.example/x"),
                digest: Some(text("sha256:00")),
            },
            Pinned::Mcp {
                server: text("docs"),
                uri: text("skill://a/SKILL.md"),
                digest: text("sha256:00"),
            },
            Pinned::Registry {
                registry: text("https://registry.example"),
                namespace: Some("acme".parse().expect("a name")),
                version: semver::Version::new(1, 2, 0),
                sha256: text("sha256:00"),
            },
        ];
        for source in sources {
            entry.source = Some(source);
            let mut lock = LockFile::default();
            lock.skills.insert("x".parse().expect("a name"), entry.clone());
            assert_eq!(LockFile::parse(&lock.to_text()), Ok(lock));
        }
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        assert_eq!(LockFile::parse(text).expect_err("refused").to_string(), expected);
    }

    #[test]
    fn what_is_no_lock_is_refused_with_the_place() {
        check_error("[]", "it is not valid JSON: expected an object");
        check_error("{", "it is not valid JSON: EOF while parsing an object at line 1 column 1");
        check_error(
            r#"{"version": 3}"#,
            "its format has version 3, but this program supports version 1; use the program that wrote it, or a newer one",
        );
        check_error(
            r#"{"version":1,"skills":{"a":{"version":"x"}}}"#,
            "`skills.a.version` is invalid: unexpected character 'x' while parsing major version number",
        );
        // NEG-1, attack registry-B13: a name in a lock file can't lead out of the store.
        let poisoned = r#"{"version":1,"skills":{"../../x":{}}}"#;
        let error = LockFile::parse(poisoned).expect_err("refused").to_string();
        assert!(error.starts_with("`skills.../../x` is not a valid skill name"), "{error}");
        check_error(
            r#"{"version":1,"skills":{"a":{"version":"1.0.0","integrity":"i","security_tier":"gold","installed_at":"t"}}}"#,
            "`skills.a.security_tier` is invalid: `gold` is not a tier, expected `verified`, `community` or `experimental`",
        );
        check_error(
            r#"{"version":1,"skills":{"a":{"version":"1.0.0","integrity":"i","security_tier":"community","installed_at":"t","source":{"type":"git","url":"u","commit":"c","folder":"../x"}}}}"#,
            "`skills.a.source.folder` is invalid: the path `../x` has a part `.` or `..`",
        );
    }
}
