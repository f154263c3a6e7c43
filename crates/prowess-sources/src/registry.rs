//! Client for registries: their indexes and archives. `docs/design/registry-protocol.md` specifies the protocol.

mod account;
mod cache;
mod clawhub;
mod settings;

use std::collections::HashMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use prowess_format::text::visible;
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::unpack::{UnpackOptions, unpack_to_memory};
use prowess_resolve::{Dependency, Package, Range, Release};
use prowess_secrets::{Replacer, Secret};
use prowess_store::reference::NamedReference;
use prowess_store::source::{FetchedFiles, Offer, Offers, Pinned, SourceError, SourceErrorKind};
use semver::Version;
use url::Url;

use self::cache::Cache;
use crate::address::{DOWNLOAD, compared};
use crate::archives::Archives;
use crate::short;
use crate::web::{Ask, ChosenBy, Reply, Web, not_found, offline, unreachable, unusable};
use prowess_registry_protocol::history::{self, Doubt};
use prowess_registry_protocol::{self as protocol, IndexLine, RegistryIndex};
use prowess_settings::{KeySource, read_key_file, variable};

pub use self::account::{AccountReply, AccountRequest, AccountToken};
pub use self::settings::{REGISTRY_VARIABLE, Registries, Registry, RegistryKind, TOKEN_VARIABLE};
pub use prowess_registry_protocol::SearchHit;

/// Time limit for everything but archives.
const ANSWER: Duration = Duration::from_secs(30);
/// Maximum size of a skill's index.
const MOST_INDEX_BYTES: u64 = 16 << 20;
/// Maximum size of other responses.
const MOST_ANSWER_BYTES: u64 = 1 << 20;

/// A client for all configured registries.
pub(crate) struct RegistryClient {
    web: Arc<Web>,
    limits: PackageLimits,
    offline: bool,
    variables: Vec<(String, String)>,
    pub(crate) registries: Registries,
    cache: Cache,
    archives: Archives,
    now: SystemTime,
    /// Indexes read by this process: they are fetched once.
    known: Mutex<HashMap<Package, Arc<[IndexLine]>>>,
}

impl RegistryClient {
    pub(crate) fn new(
        web: Arc<Web>,
        limits: PackageLimits,
        offline: bool,
        variables: Vec<(String, String)>,
        registries: Registries,
        cache_folder: Option<&Path>,
        now: SystemTime,
    ) -> Self {
        let (cache, archives) = (Cache::new(cache_folder), Archives::new(cache_folder));
        let known = Mutex::default();
        Self { web, limits, offline, variables, registries, cache, archives, now, known }
    }

    /// Resolves a name to a skill of a registry (attacks registry-A7, registry-A9).
    pub(crate) fn package(&self, named: &NamedReference) -> Result<Package, SourceError> {
        let registry = self.registries.of_namespace(named.namespace.as_ref())?;
        if let Some(namespace) = &named.namespace {
            return Ok(Package::new(registry.url.as_str(), format!("{namespace}/{}", named.name)));
        }
        if registry.kind == RegistryKind::ClawHub {
            return clawhub::package(self, registry, &named.name);
        }
        if self.offline {
            return Err(offline(&registry.url).advice("or write `namespace/name`"));
        }
        let reply = self.ask(registry, &["skills", named.name.as_str()], &[])?;
        match reply.status {
            200 => {
                let info = protocol::SkillInfo::read(&reply.body)
                    .ok_or_else(|| nonsense(registry, "the namespace of the skill is missing"))?;
                let namespace = info.namespace;
                // Only the registry that owns a private namespace may resolve names to it.
                let owner = self.registries.of_namespace(Some(&namespace))?;
                if owner.url != registry.url {
                    return Err(unusable(format!(
                        "`{}` of {} is in the namespace `{namespace}`, which belongs to {}",
                        named.name, registry.url, owner.url
                    ))
                    .advice(format!("write `{namespace}/{}`", named.name)));
                }
                Ok(Package::new(registry.url.as_str(), format!("{namespace}/{}", named.name)))
            }
            300 | 409 => {
                let choices = protocol::read_candidates(&reply.body);
                let listed: Vec<String> = choices.iter().map(|one| format!("`{one}`")).collect();
                Err(SourceError::new(
                    SourceErrorKind::Ambiguous,
                    format!(
                        "several namespaces have a skill `{}`: {}",
                        named.name,
                        listed.join(", ")
                    ),
                )
                .advice("add the namespace of the one you mean"))
            }
            404 | 410 => Err(unknown(registry, named.name.as_str())),
            _ => Err(refused(registry, &reply)),
        }
    }

    /// All releases that may be installed.
    pub(crate) fn releases(&self, package: &Package) -> Result<Vec<Release>, SourceError> {
        let (namespace, _) = parts(package)?;
        let lines = self.lines(package)?;
        let mut releases = Vec::new();
        for line in lines.iter().filter(|line| line.revoked.is_none()) {
            let mut release = Release::new(line.version.clone());
            release.yanked = line.yanked;
            release.published = line.published;
            // GAIA §4.3; a missing tier means that the registry has not reviewed it.
            release.experimental = !matches!(line.tier.as_deref(), Some("community" | "verified"));
            for (name, range) in &line.dependencies {
                let wrong = |why: &dyn std::fmt::Display| {
                    unusable(format!("{package} {} needs `{}`: {why}", line.version, short(name)))
                };
                let named: NamedReference = name.parse().map_err(|error| wrong(&error))?;
                let namespace = named.namespace.clone().unwrap_or_else(|| namespace.clone());
                // A dependency in a namespace that another registry owns comes from that registry; all others come from
                // the same registry as the skill (attack registry-A9).
                let owner = self.registries.of_address(package.source(), Some(&namespace));
                let source = match owner {
                    Ok(registry) => registry.url,
                    Err(_) => self.registries.of_namespace(Some(&namespace))?.url.clone(),
                };
                let package = Package::new(source, format!("{namespace}/{}", named.name));
                let range = Range::parse(range).map_err(|error| wrong(&error))?;
                release = release.needs(Dependency { package, range });
            }
            releases.push(release);
        }
        Ok(releases)
    }

    /// The offer of one release.
    pub(crate) fn offer(&self, package: &Package, version: &Version) -> Result<Offer, SourceError> {
        let (namespace, name) = parts(package)?;
        let lines = self.lines(package)?;
        let chosen = line(package, &lines, version)?;
        Ok(Offer {
            name: name.to_string(),
            pinned: Pinned::Registry {
                registry: package.source().to_owned(),
                namespace: Some(namespace),
                version: chosen.version.clone(),
                sha256: format!("sha256:{}", chosen.sha256),
            },
            owner: chosen.owner.clone(),
            published: chosen.published_at(),
        })
    }

    /// The highest version that a name with a range matches, for commands that only display it.
    pub(crate) fn offers(&self, named: &NamedReference) -> Result<Offers, SourceError> {
        let package = self.package(named)?;
        let range = match &named.range {
            None => Range::any(),
            Some(text) => {
                Range::parse(text).map_err(|error| unusable(format!("`{named}`: {error}")))?
            }
        };
        let fits = |release: &&Release| !release.yanked && range.contains(&release.version);
        let releases = self.releases(&package)?;
        let stable = |release: &&Release| release.version.pre.is_empty();
        let highest = |with_pre: bool| {
            let all = releases.iter().filter(fits).filter(|one| with_pre || stable(one));
            all.max_by(|one, other| one.version.cmp(&other.version))
        };
        let Some(release) = highest(false).or_else(|| highest(true)) else {
            let mut versions: Vec<&Version> =
                releases.iter().filter(|one| !one.yanked).map(|one| &one.version).collect();
            versions.sort_by(|one, other| other.cmp(one));
            let versions: Vec<String> =
                versions.into_iter().take(5).map(ToString::to_string).collect();
            if versions.is_empty() {
                return Err(not_found(format!("`{package}` has no version that can be installed"))
                    .advice("all of its versions were yanked; ask its publisher for a new one"));
            }
            return Err(not_found(format!("no version of `{package}` matches `{range}`"))
                .advice(format!("the highest are {}", versions.join(", "))));
        };
        let offer = self.offer(&package, &release.version)?;
        Ok(Offers { skills: vec![offer], notes: Vec::new() })
    }

    /// Downloads a release and verifies that it is the recorded one.
    pub(crate) fn fetch(
        &self,
        name: &str,
        url: &str,
        namespace: Option<&SkillName>,
        version: &Version,
        sha256: &str,
    ) -> Result<FetchedFiles, SourceError> {
        let registry = self.registries.of_address(url, namespace)?;
        let name: SkillName = name.parse().map_err(|error| unusable(format!("{error}")))?;
        let Some(namespace) = namespace else {
            return Err(
                unusable(format!("`{name}` of {url} has no namespace")).advice("install it again")
            );
        };
        let mut notes = Vec::new();
        let fetched = || self.archives.get(sha256, &self.limits);
        let bytes = if registry.kind == RegistryKind::ClawHub {
            match fetched() {
                Some(bytes) => bytes,
                None => clawhub::download(self, &registry, namespace, &name, version)?,
            }
        } else {
            let package = Package::new(registry.url.as_str(), format!("{namespace}/{name}"));
            let lines = self.lines(&package)?;
            let chosen = line(&package, &lines, version)?;
            // Attack registry-C22: a yanked version is not offered for new installations, and a lock file that has it
            // gets a warning.
            if chosen.yanked {
                notes.push(format!(
                    "`{package}` {version} was yanked by its publisher: update to another version"
                ));
            }
            // Attack registry-C21: the files of a version never change.
            if format!("sha256:{}", chosen.sha256) != sha256 {
                return Err(other_bytes(&registry, &package, &version.to_string()));
            }
            let path =
                ["skills", namespace.as_str(), name.as_str(), &version.to_string(), "download"];
            match fetched() {
                Some(bytes) => bytes,
                None => self.download(&registry, &path, &[])?,
            }
        };
        let place = format!("{} ({namespace}/{name} {version})", registry.url);
        compared(&place, &bytes, sha256)?;
        self.archives.keep(&bytes);
        let options = UnpackOptions { limits: self.limits, name: Some(&name) };
        let (_, tree) = unpack_to_memory(Cursor::new(bytes), &options)
            .map_err(|error| unusable(format!("`{place}`: {error}")))?;
        Ok(FetchedFiles { tree, notes })
    }

    /// The reason why a version was revoked, if it was.
    pub(crate) fn revoked(
        &self,
        name: &SkillName,
        url: &str,
        namespace: &SkillName,
        version: &Version,
    ) -> Result<Option<String>, SourceError> {
        let registry = self.registries.of_address(url, Some(namespace))?;
        // ClawHub lists the newest version only.
        if registry.kind == RegistryKind::ClawHub {
            return Ok(None);
        }
        let package = Package::new(registry.url.as_str(), format!("{namespace}/{name}"));
        let lines = self.lines(&package)?;
        let line = lines.iter().find(|line| line.version == *version);
        Ok(line.and_then(|line| line.revoked.clone()))
    }

    /// Searches the default registry. Filters are parameters such as `tag`.
    pub(crate) fn search(
        &self,
        words: &str,
        filters: &[(&str, &str)],
        most: usize,
    ) -> Result<Vec<SearchHit>, SourceError> {
        let registry = self.registries.of_namespace(None)?;
        if registry.kind == RegistryKind::ClawHub {
            if !filters.is_empty() {
                return Err(unusable(format!("the registry `{}` has no filters", registry.name)));
            }
            return clawhub::search(self, registry, words, most);
        }
        let most_text = most.to_string();
        let mut query = vec![("q", words), ("limit", most_text.as_str())];
        query.extend(filters);
        let reply = self.ask(registry, &["search"], &query)?;
        if reply.status != 200 {
            return Err(refused(registry, &reply));
        }
        let mut hits = SearchHit::read_all(&reply.body)
            .ok_or_else(|| nonsense(registry, "its response is not a list"))?;
        hits.truncate(most);
        Ok(hits)
    }

    /// All versions of a skill, from the registry or from the cache.
    fn lines(&self, package: &Package) -> Result<Arc<[IndexLine]>, SourceError> {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(package)
        {
            return Ok(Arc::clone(known));
        }
        let (namespace, name) = parts(package)?;
        let registry = self.registries.of_address(package.source(), Some(&namespace))?;
        let lines: Arc<[IndexLine]> = if registry.kind == RegistryKind::ClawHub {
            clawhub::lines(self, &registry, &namespace, &name)?.into()
        } else {
            self.index(&registry, &namespace, &name, package)?.lines.into()
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(package.clone(), Arc::clone(&lines));
        Ok(lines)
    }

    fn index(
        &self,
        registry: &Registry,
        namespace: &SkillName,
        name: &SkillName,
        package: &Package,
    ) -> Result<RegistryIndex, SourceError> {
        let url = address(registry, &["index", namespace.as_str(), name.as_str()], &[])?;
        let parse = |body: &[u8]| RegistryIndex::read(body, package.name());
        let wrong = |why: String| nonsense(registry, &format!("the index of `{package}`: {why}"));
        let cached = self.cache.read(url.as_str(), MOST_INDEX_BYTES);
        if self.offline {
            // Offline, the cached index is used however old it is.
            let Some(cached) = cached else {
                let mut error = offline(&registry.url);
                error.what = format!("{}, and `{namespace}/{name}` is not cached", error.what);
                return Err(error);
            };
            return parse(&cached.body).map_err(wrong);
        }
        // An unreadable cached index is fetched again in full.
        let known = cached.and_then(|cached| Some((parse(&cached.body).ok()?, cached.etag)));
        let etag = known.as_ref().and_then(|(_, etag)| etag.as_deref());
        let reply = self.get(registry, &url, MOST_INDEX_BYTES, ANSWER, etag)?;
        let doubted = |doubt| doubted(registry, package, doubt);
        match (reply.status, known) {
            (200, known) => {
                let index = parse(&reply.body).map_err(wrong)?;
                if let Some((before, _)) = &known {
                    history::compare(before, &index).map_err(doubted)?;
                }
                history::fresh(index.head.as_ref(), self.now).map_err(doubted)?;
                // Only accepted indexes are cached.
                self.cache.write(url.as_str(), reply.etag.as_deref(), &reply.body);
                Ok(index)
            }
            (304, Some((index, _))) => {
                history::fresh(index.head.as_ref(), self.now).map_err(doubted)?;
                Ok(index)
            }
            (404 | 410, _) => Err(unknown(registry, &format!("{namespace}/{name}"))),
            _ => Err(refused(registry, &reply)),
        }
    }

    fn download(
        &self,
        registry: &Registry,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Vec<u8>, SourceError> {
        let url = address(registry, path, query)?;
        let reply = self.get(registry, &url, self.limits.archive_bytes, DOWNLOAD, None)?;
        if reply.status == 200 { Ok(reply.body) } else { Err(refused(registry, &reply)) }
    }

    fn ask(
        &self,
        registry: &Registry,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Reply, SourceError> {
        let url = address(registry, path, query)?;
        self.get(registry, &url, MOST_ANSWER_BYTES, ANSWER, None)
    }

    fn get(
        &self,
        registry: &Registry,
        url: &Url,
        most: u64,
        limit: Duration,
        etag: Option<&str>,
    ) -> Result<Reply, SourceError> {
        let token = self.token(registry)?;
        let reply = self.web.get(&Ask {
            url,
            accept: "application/json, */*",
            most,
            limit,
            chosen_by: ChosenBy::User,
            etag,
            token: token.as_ref().map(Secret::reveal_value),
        });
        // A server may echo the token in an error.
        let replacer = Replacer::redacting(token.as_slice());
        match reply {
            Ok(mut reply) => {
                if reply.status != 200 {
                    let text = String::from_utf8_lossy(&reply.body).into_owned();
                    reply.body = replacer.text(&text).into_owned().into_bytes();
                }
                Ok(reply)
            }
            Err(mut error) => {
                error.what = replacer.text(&error.what).into_owned();
                Err(error)
            }
        }
    }

    /// The token of a registry, read when it is needed.
    fn token(&self, registry: &Registry) -> Result<Option<Secret>, SourceError> {
        let denied = |what: String| SourceError::new(SourceErrorKind::Denied, what);
        let value = match &registry.token {
            KeySource::None => match self.saved_token(registry)? {
                Some(value) => value,
                None => return Ok(None),
            },
            KeySource::Variable { name, is_needed } => match variable(&self.variables, name) {
                Some(value) => value.to_owned(),
                None if !is_needed => match self.saved_token(registry)? {
                    Some(value) => value,
                    None => return Ok(None),
                },
                None => {
                    return Err(denied(format!(
                        "the registry `{}` needs a token, but `{name}` is not set",
                        registry.name
                    ))
                    .advice(format!("set `{name}`")));
                }
            },
            KeySource::File(path) => read_key_file(path).map_err(|error| {
                let mut denied = denied(error.message.replace("key file", "token file"));
                denied.remedies = error.remedies;
                denied
            })?,
        };
        if value.chars().any(|character| !('!'..='~').contains(&character)) {
            return Err(denied(format!(
                "the token of `{}` contains invalid characters",
                registry.name
            ))
            .advice("copy it again, without line breaks or quotes"));
        }
        Ok(Some(Secret::new(format!("token of {}", registry.name), value)))
    }
}

/// One version of an index, unless it was revoked.
fn line<'l>(
    package: &Package,
    lines: &'l [IndexLine],
    version: &Version,
) -> Result<&'l IndexLine, SourceError> {
    let line = lines.iter().find(|line| line.version == *version).ok_or_else(|| {
        not_found(format!("{} has no version {version} of `{package}`", package.source()))
    })?;
    match &line.revoked {
        // Attack registry-C22: a version that was found to be harmful is not installed, even if it is locked.
        Some(why) => Err(SourceError::new(
            SourceErrorKind::Revoked,
            format!("`{package}` {version} was revoked by {}: {why}", package.source()),
        )
        .advice("choose another version, and remove this one where it is installed")),
        None => Ok(line),
    }
}

/// The error for a rejected index (attack registry-C17).
fn doubted(registry: &Registry, package: &Package, doubt: Doubt) -> SourceError {
    let (what, hint) = match doubt {
        Doubt::OtherBytes(version) => return other_bytes(registry, package, &version),
        Doubt::Older(why) => (
            format!(
                "{} answers with an older index of `{package}` than before: {why}",
                registry.url
            ),
            "somebody may be hiding newer versions, or that one was taken back; ask whoever runs the registry. If it was set \
             back on purpose, delete `registry-index` in the cache folder",
        ),
        Doubt::Expired(why) => (
            format!("{} answers with an outdated index of `{package}`: {why}", registry.url),
            "somebody may be hiding newer versions; check the clock of this machine, try again later, or use what is known \
             without a network",
        ),
    };
    SourceError::new(SourceErrorKind::Mismatch, what).advice(hint)
}

/// The error for a version whose files have changed (attack registry-C21).
fn other_bytes(registry: &Registry, package: &Package, version: &str) -> SourceError {
    SourceError::new(
        SourceErrorKind::Mismatch,
        format!("{} has different files for `{package}` {version} than before", registry.url),
    )
    .advice("a version never changes; do not install it, and ask the operator of the registry")
}

fn unknown(registry: &Registry, name: &str) -> SourceError {
    not_found(format!("{} has no skill `{}`", registry.url, visible(name)))
        .advice("check the spelling; a private skill needs a token")
}

/// The URL of a route. Each path segment is percent-encoded, so that a name can't change the route (NEG-5, attack
/// registry-D11).
fn address(registry: &Registry, path: &[&str], query: &[(&str, &str)]) -> Result<Url, SourceError> {
    let mut url = super::web::parse(&registry.url)?;
    url.path_segments_mut()
        .map_err(|()| unusable(format!("`{}` is not a valid registry URL", registry.url)))?
        .pop_if_empty()
        .extend(["api", "v1"])
        .extend(path);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Ok(url)
}

/// The namespace and the name of a package.
fn parts(package: &Package) -> Result<(SkillName, SkillName), SourceError> {
    let both = package.name().split_once('/');
    let both =
        both.and_then(|(namespace, name)| Some((namespace.parse().ok()?, name.parse().ok()?)));
    both.ok_or_else(|| unusable(format!("`{package}` is not a skill of a registry")))
}

fn nonsense(registry: &Registry, what: &str) -> SourceError {
    unusable(format!("{} sent an invalid response: {what}", registry.url))
        .advice("check the URL of the registry")
}

fn refused(registry: &Registry, reply: &Reply) -> SourceError {
    let said =
        protocol::read_problem(&reply.body).map(|said| format!(": {said}")).unwrap_or_default();
    let what = format!("{} answered with status {}{said}", registry.url, reply.status);
    match reply.status {
        401 | 403 => {
            SourceError::new(SourceErrorKind::Denied, what).advice(match &registry.token {
                KeySource::None => {
                    format!("give `registries.{}` a `token_env` or `token_file`", registry.name)
                }
                KeySource::Variable { name, is_needed: false } => {
                    format!("it needs a token: set `{name}` to a valid one")
                }
                KeySource::Variable { name, .. } => format!("check the token in `{name}`"),
                KeySource::File(path) => format!("check the token in `{}`", path.display()),
            })
        }
        404 => not_found(what),
        410 => SourceError::new(SourceErrorKind::Denied, what),
        _ => unreachable(what).advice("try again later"),
    }
}
