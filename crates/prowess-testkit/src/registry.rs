//! A test registry over real HTTP on the loopback address. It implements the part of `docs/design/registry-protocol.md`
//! that installing clients need.
//!
//! ```no_run
//! use prowess_testkit::{Published, TestRegistry};
//!
//! let registry = TestRegistry::start();
//! registry.publish(Published::new("acme", "weather", "1.0.0", vec![/* an archive */]));
//! // … pass `registry.url()` to a client …
//! assert_eq!(registry.paths(), ["/api/v1/index/acme/weather"]);
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use prowess_package::name::SkillName;
use prowess_registry_protocol::{
    IndexHeader, IndexLine, RegistryIndex, SearchHit, SkillInfo, write_candidates, write_problem,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::provider::{Recorded, Reply, Script, ScriptedProvider};

/// A version in the registry.
#[derive(Clone, Debug)]
pub struct Published {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
    /// The archive.
    pub archive: Vec<u8>,
    /// The dependencies: names with ranges.
    pub dependencies: Vec<(String, String)>,
    /// The tier that the registry attests.
    pub tier: String,
    /// Whether the publisher yanked it.
    pub yanked: bool,
    /// The reason why the registry revoked it.
    pub revoked: Option<String>,
    /// The time of publication, in seconds since 1970.
    pub published: u64,
    /// The identifier of its owner.
    pub owner: String,
    /// The hash in the index: that of the archive, unless a test needs a wrong one.
    pub sha256: String,
}

impl Published {
    /// A version of the tier `community` without dependencies.
    pub fn new(namespace: &str, name: &str, version: &str, archive: Vec<u8>) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            sha256: hexadecimal(&archive),
            archive,
            dependencies: Vec::new(),
            tier: "community".to_owned(),
            yanked: false,
            revoked: None,
            published: 1_700_000_000,
            owner: format!("owner-of-{namespace}"),
        }
    }

    fn line(&self) -> IndexLine {
        IndexLine {
            version: self.version.parse().expect("a version"),
            dependencies: self.dependencies.clone(),
            yanked: self.yanked,
            revoked: self.revoked.clone(),
            tier: Some(self.tier.clone()),
            sha256: self.sha256.parse().expect("a digest"),
            published: Some(self.published),
            owner: Some(self.owner.clone()),
        }
    }
}

/// A running registry. Dropping it stops it.
pub struct TestRegistry {
    server: ScriptedProvider,
    contents: Arc<Mutex<Contents>>,
}

#[derive(Default)]
struct Contents {
    versions: Vec<Published>,
    token: Option<String>,
    /// The sequence number of every index, and its expiry time.
    head: Option<(u64, Option<u64>)>,
}

impl TestRegistry {
    /// Starts an empty registry on a free port.
    pub fn start() -> Self {
        let contents = Arc::new(Mutex::new(Contents::default()));
        let shared = Arc::clone(&contents);
        let server = ScriptedProvider::start(Script::by(move |request| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).answer(request)
        }));
        Self { server, contents }
    }

    /// The base URL, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Adds a version. An existing one is replaced, which no real registry does.
    pub fn publish(&self, version: Published) {
        let mut content = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &Published| {
            (&known.namespace, &known.name, &known.version)
                == (&version.namespace, &version.name, &version.version)
        };
        content.versions.retain(|known| !is_same(known));
        content.versions.push(version);
    }

    /// Removes a version from the index, like an outdated mirror.
    pub fn forget(&self, namespace: &str, name: &str, version: &str) {
        let mut content = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &Published| {
            (known.namespace.as_str(), known.name.as_str(), known.version.as_str())
                == (namespace, name, version)
        };
        content.versions.retain(|known| !is_it(known));
    }

    /// Sets the sequence number of every index, and its expiry time in seconds since 1970.
    pub fn number(&self, sequence: u64, expires: Option<u64>) {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner).head =
            Some((sequence, expires));
    }

    /// Requires this token from now on.
    pub fn require_token(&self, token: &str) {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner).token = Some(token.to_owned());
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// The requested paths so far, without queries.
    pub fn paths(&self) -> Vec<String> {
        self.requests().iter().map(|request| request.path().to_owned()).collect()
    }
}

impl Contents {
    fn answer(&self, request: &Recorded) -> Reply {
        if let Some(token) = &self.token
            && request.header("authorization") != Some(&format!("Bearer {token}"))
        {
            return problem(401, "this registry wants a token");
        }
        let Some(path) = request.path().strip_prefix("/api/v1/") else {
            return problem(404, "no such route");
        };
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["index", namespace, name] => self.index(namespace, name, request),
            ["skills", name] => self.bare(name),
            ["skills", namespace, name] => self.skill(namespace, name),
            ["skills", namespace, name, version] => match self.find(namespace, name, version) {
                Some(found) => Reply::json(200, &found.line().to_json()),
                None => problem(404, "no such version"),
            },
            ["skills", namespace, name, version, "download"] => {
                match self.find(namespace, name, version) {
                    Some(found) if found.revoked.is_some() => problem(410, "it was revoked"),
                    Some(found) => Reply::bytes(200, "application/gzip", found.archive.clone()),
                    None => problem(404, "no such version"),
                }
            }
            ["search"] => self.search(request),
            _ => problem(404, "no such route"),
        }
    }

    fn versions(&self, namespace: &str, name: &str) -> Vec<&Published> {
        let is_it = |one: &&Published| one.namespace == namespace && one.name == name;
        self.versions.iter().filter(is_it).collect()
    }

    fn find(&self, namespace: &str, name: &str, version: &str) -> Option<&Published> {
        self.versions(namespace, name).into_iter().find(|one| one.version == version)
    }

    fn index(&self, namespace: &str, name: &str, request: &Recorded) -> Reply {
        let versions = self.versions(namespace, name);
        if versions.is_empty() {
            return problem(404, "no such skill");
        }
        let head = self.head.map(|(sequence, expires)| IndexHeader { sequence, expires });
        let index =
            RegistryIndex { head, lines: versions.into_iter().map(Published::line).collect() };
        let body = index.write(&format!("{namespace}/{name}"));
        let etag = format!("\"{}\"", &hexadecimal(body.as_bytes())[..16]);
        if request.header("if-none-match") == Some(&etag) {
            return Reply::bytes(304, "application/jsonl", "").header("etag", &etag);
        }
        Reply::bytes(200, "application/jsonl", body).header("etag", &etag)
    }

    fn bare(&self, name: &str) -> Reply {
        let named = self.versions.iter().filter(|one| one.name == name);
        let namespaces: BTreeSet<&str> = named.map(|one| one.namespace.as_str()).collect();
        match namespaces.iter().collect::<Vec<_>>().as_slice() {
            [] => problem(404, "no such skill"),
            [namespace] => self.skill(namespace, name),
            several => {
                let choices: Vec<String> =
                    several.iter().map(|namespace| format!("{namespace}/{name}")).collect();
                Reply::json(300, &write_candidates(&choices))
            }
        }
    }

    fn skill(&self, namespace: &str, name: &str) -> Reply {
        let versions = self.versions(namespace, name);
        let Some(newest) = versions.last() else { return problem(404, "no such skill") };
        let info = SkillInfo {
            namespace: namespace.parse().expect("a namespace"),
            name: name.parse().expect("a name"),
            owner: Some(newest.owner.clone()),
            latest: Some(newest.version.clone()),
            versions: versions.iter().map(|one| one.version.clone()).collect(),
        };
        Reply::json(200, &info.to_json())
    }

    /// Finds skills whose names contain the word; a real registry searches the whole text.
    fn search(&self, request: &Recorded) -> Reply {
        let query = request.target.split_once("?q=").map_or("", |(_, query)| query);
        let word = query.split('&').next().unwrap_or_default();
        let found = self.versions.iter().filter(|one| one.name.contains(word));
        let (sound, hostile): (Vec<&Published>, Vec<&Published>) =
            found.partition(|one| one.name.parse::<SkillName>().is_ok());
        let hits: Vec<SearchHit> = sound
            .into_iter()
            .map(|one| SearchHit {
                namespace: Some(one.namespace.parse().expect("a namespace")),
                name: one.name.parse().expect("a name"),
                version: Some(one.version.clone()),
                description: format!("The skill {}.", one.name),
                tier: Some(one.tier.clone()),
            })
            .collect();
        let mut answer = SearchHit::write_all(&hits);
        // A hostile registry can send anything, so these names bypass the types that would reject them.
        if let Some(results) = answer["results"].as_array_mut() {
            let raw = |one: &Published| json!({ "namespace": one.namespace, "name": one.name });
            results.extend(hostile.into_iter().map(raw));
        }
        Reply::json(200, &answer)
    }
}

fn problem(status: u16, detail: &str) -> Reply {
    Reply::json(status, &write_problem(status, detail))
}

/// The SHA-256 of bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(bytes)
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
