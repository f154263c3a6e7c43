//! A pull-through mirror of another registry: what is not here is fetched when it is asked for, checked and kept.
//!
//! The index is served as the upstream registry wrote it, so that clients check its sequence and expiry themselves. Requests
//! upstream carry no credentials, so that only what everybody may see can be mirrored.

mod rows;
mod upstream;

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use bytes::Bytes;
use lru::LruCache;
use prowess_core::ProblemKind;
use prowess_package::digest::Sha256Digest;
use prowess_registry_protocol::{IndexLine, RegistryIndex, SkillInfo, history};
use semver::Version;
use serde_json::Value;

use crate::blobs::{BlobError, BlobKind};
use crate::error::{Outcome, RegistryError};
use crate::names::{ANONYMOUS, SkillId};
use crate::registry::Registry;
use crate::store::find_namespace;

use self::rows::MirroredSkill;
pub use self::upstream::UpstreamError;
pub(crate) use self::upstream::VIA;
use self::upstream::{Fetched, Upstream};

/// How long the upstream registry is left alone after it did not answer.
const PAUSE: Duration = Duration::from_secs(5);
/// For how long what is said of a skill besides its index may be old, in seconds.
const OVERVIEW_AGE: i64 = 300;
/// Names that are remembered because the upstream registry does not have them.
const MAX_UNKNOWN: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");
/// Requests for the same skill wait for each other; so many locks are enough to let the others pass.
const LOCKS: usize = 64;
/// How many mirrors a request may pass.
const MAX_MIRRORS: usize = 4;

/// What clients that install ask a registry for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MirrorRequest {
    /// The index.
    Index(SkillId),
    /// What is known of the skill.
    Overview(SkillId),
    /// One version, as in the index.
    Line(SkillId, Version),
    /// The archive of a version, or of the newest one.
    Archive(SkillId, Option<Version>),
}

/// What is served of a mirrored skill.
pub(crate) struct MirroredContent {
    pub(crate) bytes: Bytes,
    pub(crate) content_type: &'static str,
    pub(crate) tag: Option<String>,
    pub(crate) file_name: Option<String>,
}

/// The upstream registry, and what this node remembers of it.
pub(crate) struct Mirror {
    /// A random name, by which it knows its own requests again.
    name: String,
    upstream: Upstream,
    /// For how long an answer counts, in seconds.
    fresh: i64,
    /// Until when the upstream registry is not asked, because it did not answer.
    paused: Mutex<Option<Instant>>,
    unknown: Mutex<LruCache<SkillId, Instant>>,
    locks: Vec<tokio::sync::Mutex<()>>,
}

impl Mirror {
    /// Mirrors the registry of a URL. Nothing is connected yet.
    pub(crate) fn new(url: &str, fresh_seconds: u32) -> Result<Self, UpstreamError> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|_| UpstreamError::Random)?;
        Ok(Self {
            name: format!("{:016x}", u64::from_ne_bytes(random)),
            upstream: Upstream::new(url)?,
            fresh: fresh_seconds.into(),
            paused: Mutex::new(None),
            unknown: Mutex::new(LruCache::new(MAX_UNKNOWN)),
            locks: (0..LOCKS).map(|_| tokio::sync::Mutex::new(())).collect(),
        })
    }

    /// The mirrors that a request has passed, with this one; `None` if it has been here or has passed too many. So a circle
    /// of mirrors ends.
    fn passed(&self, via: &str) -> Option<String> {
        let names = || via.split(',').map(str::trim).filter(|name| !name.is_empty());
        if names().count() >= MAX_MIRRORS || names().any(|name| name == self.name) {
            return None;
        }
        let mut passed: Vec<&str> = names().collect();
        passed.push(&self.name);
        Some(passed.join(","))
    }

    fn is_paused(&self) -> bool {
        let paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        paused.is_some_and(|until| Instant::now() < until)
    }

    fn pause(&self) {
        let until = Instant::now() + PAUSE;
        *self.paused.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    fn is_unknown(&self, skill: &SkillId) -> bool {
        let age = Duration::from_secs(self.fresh.unsigned_abs());
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        unknown.get(skill).is_some_and(|at| at.elapsed() < age)
    }

    fn note_unknown(&self, skill: &SkillId) {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        unknown.put(skill.clone(), Instant::now());
    }

    fn lock_of(&self, skill: &SkillId) -> &tokio::sync::Mutex<()> {
        let sum: usize = skill.to_string().bytes().map(usize::from).sum();
        &self.locks[sum % LOCKS]
    }
}

impl MirrorRequest {
    /// The skill.
    pub(crate) fn skill(&self) -> &SkillId {
        match self {
            Self::Index(skill)
            | Self::Overview(skill)
            | Self::Line(skill, _)
            | Self::Archive(skill, _) => skill,
        }
    }

    /// Reads the path of a request; `None` if mirrors don't answer it.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.strip_prefix("/api/v1/")?.split('/').collect();
        let skill = |namespace: &str, name: &str| {
            SkillId::new(namespace.strip_prefix('@').unwrap_or(namespace), name).ok()
        };
        match parts[..] {
            ["index", namespace, name] => Some(Self::Index(skill(namespace, name)?)),
            ["skills", namespace, name, "download"] => {
                Some(Self::Archive(skill(namespace, name)?, None))
            }
            ["skills", namespace, name] => Some(Self::Overview(skill(namespace, name)?)),
            ["skills", namespace, name, version] => {
                Some(Self::Line(skill(namespace, name)?, version.parse().ok()?))
            }
            ["skills", namespace, name, version, "download"] => {
                Some(Self::Archive(skill(namespace, name)?, Some(version.parse().ok()?)))
            }
            _ => None,
        }
    }
}

impl Registry {
    /// What the upstream registry has for a request that this one can't answer; `None` if it has nothing either.
    pub(crate) async fn mirrored(
        &self,
        request: &MirrorRequest,
        via: &str,
    ) -> Outcome<Option<MirroredContent>> {
        let Some(mirror) = self.mirror() else { return Ok(None) };
        let skill = request.skill();
        // A namespace that exists here is never asked for elsewhere: the names of private skills stay here, and nobody can
        // answer for them (attack registry-A10).
        let Some(via) = &mirror.passed(via) else { return Ok(None) };
        if skill.namespace.as_str() == ANONYMOUS || self.is_own(skill).await? {
            return Ok(None);
        }
        let Some(known) = self.mirrored_skill(mirror, skill, via).await? else { return Ok(None) };
        match request {
            MirrorRequest::Index(_) => Ok(Some(MirroredContent {
                bytes: known.body.into(),
                content_type: "application/jsonl",
                tag: None,
                file_name: None,
            })),
            MirrorRequest::Overview(_) => self.mirrored_overview(mirror, skill, known, via).await,
            MirrorRequest::Line(_, version) => {
                let found = known.index.lines.iter().find(|line| line.version == *version);
                Ok(found.map(|line| json_content(&line.to_json())))
            }
            MirrorRequest::Archive(_, version) => {
                self.mirrored_archive(mirror, skill, version.as_ref(), &known.index, via).await
            }
        }
    }

    async fn is_own(&self, skill: &SkillId) -> Outcome<bool> {
        let namespace = skill.namespace.as_str().to_owned();
        let found = self.database().read(move |connection| find_namespace(connection, &namespace));
        Ok(found.await?.is_some())
    }

    /// A skill as the upstream registry has it now, or as it was last known if the upstream registry does not answer.
    async fn mirrored_skill(
        &self,
        mirror: &Mirror,
        skill: &SkillId,
        via: &str,
    ) -> Outcome<Option<MirroredSkill>> {
        let is_fresh = |known: &MirroredSkill| self.now() - known.fetched < mirror.fresh;
        let known = self.read_mirrored(skill).await?;
        if let Some(known) = known.as_ref().filter(|known| is_fresh(known)) {
            return Ok((!known.gone).then(|| known.clone()));
        }
        if known.is_none() && mirror.is_unknown(skill) {
            return Ok(None);
        }
        let _alone = mirror.lock_of(skill).lock().await;
        // Whoever had the lock before may have asked already.
        let known = self.read_mirrored(skill).await?;
        if let Some(known) = known.as_ref().filter(|known| is_fresh(known)) {
            return Ok((!known.gone).then(|| known.clone()));
        }
        let last = |known: Option<MirroredSkill>| match known {
            Some(known) => Ok((!known.gone).then_some(known)),
            None => Err(unavailable()),
        };
        if mirror.is_paused() {
            return last(known);
        }
        let etag = known.as_ref().and_then(|known| known.etag.clone());
        match mirror.upstream.index(skill, etag.as_deref(), via).await {
            Ok(Fetched::Same) => {
                self.touch_mirrored(skill, false).await?;
                Ok(known.map(|known| MirroredSkill { gone: false, ..known }))
            }
            Ok(Fetched::Nothing) => {
                if known.is_some() {
                    self.touch_mirrored(skill, true).await?;
                } else {
                    mirror.note_unknown(skill);
                }
                Ok(None)
            }
            Ok(Fetched::Body { bytes, etag }) => match self.accept(skill, &bytes, etag).await? {
                Ok(accepted) => Ok(Some(accepted)),
                Err(why) => {
                    tracing::error!(%skill, %why, "the index of the upstream registry is refused");
                    match known {
                        Some(known) if !known.gone => Ok(Some(known)),
                        _ => Err(refused(skill)),
                    }
                }
            },
            Err(error) => {
                tracing::warn!(%error, "the upstream registry does not answer");
                mirror.pause();
                last(known)
            }
        }
    }

    /// Checks an index against the last accepted one and stores it, in one transaction: another node may have a newer one.
    async fn accept(
        &self,
        skill: &SkillId,
        bytes: &Bytes,
        etag: Option<String>,
    ) -> Outcome<Result<MirroredSkill, String>> {
        let name = skill.to_string();
        let (index, body) = match read_index(bytes, &name) {
            Ok(read) => read,
            Err(why) => return Ok(Err(why)),
        };
        let now = self.now();
        let time = UNIX_EPOCH + Duration::from_secs(now.unsigned_abs());
        if let Err(doubt) = history::fresh(index.head.as_ref(), time) {
            return Ok(Err(reason(doubt)));
        }
        let skill = skill.clone();
        let accepted = self.database().write(move |transaction| {
            let before = rows::find(transaction, &skill)?;
            if let Some(before) = &before
                && let Err(doubt) = history::compare(&before.index, &index)
            {
                return Ok(Err(reason(doubt)));
            }
            rows::store(transaction, &skill, &index, &body, etag.as_deref(), now)?;
            let (overview, overview_fetched) = match before {
                // Its versions have changed.
                Some(before) if before.index.lines == index.lines => {
                    (before.overview, before.overview_fetched)
                }
                Some(before) => (before.overview, 0),
                None => (None, 0),
            };
            Ok::<_, RegistryError>(Ok(MirroredSkill {
                index: index.clone(),
                body: body.clone(),
                etag: etag.clone(),
                overview,
                overview_fetched,
                fetched: now,
                gone: false,
            }))
        });
        accepted.await
    }

    /// What the upstream registry says of a skill, with the versions of the index that was checked.
    async fn mirrored_overview(
        &self,
        mirror: &Mirror,
        skill: &SkillId,
        known: MirroredSkill,
        via: &str,
    ) -> Outcome<Option<MirroredContent>> {
        let mut overview = known.overview;
        let is_old = self.now() - known.overview_fetched >= OVERVIEW_AGE;
        if (overview.is_none() || is_old) && !mirror.is_paused() {
            match mirror.upstream.overview(skill, via).await {
                Ok(Some(fetched)) => {
                    self.store_overview(skill, &fetched).await?;
                    overview = Some(fetched);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "the upstream registry does not describe a skill");
                }
            }
        }
        let info = info_of(skill, &known.index.lines)?;
        let mut described: Value =
            overview.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        if !described.is_object() {
            described = Value::Object(serde_json::Map::new());
        }
        if let (Some(all), Value::Object(checked)) = (described.as_object_mut(), info.to_json()) {
            all.extend(checked);
        }
        Ok(Some(json_content(&described)))
    }

    async fn mirrored_archive(
        &self,
        mirror: &Mirror,
        skill: &SkillId,
        version: Option<&Version>,
        index: &RegistryIndex,
        via: &str,
    ) -> Outcome<Option<MirroredContent>> {
        let line = match version {
            Some(version) => index.lines.iter().find(|line| line.version == *version),
            None => newest(&index.lines),
        };
        let Some(line) = line else { return Ok(None) };
        if let Some(reason) = &line.revoked {
            let what = format!("{skill} {}", line.version);
            return Err(RegistryError::Revoked { what, reason: reason.clone() });
        }
        let bytes = match self.kept_package(line.sha256).await? {
            Some(bytes) => bytes,
            None => self.fetch_package(mirror, skill, line, via).await?,
        };
        Ok(Some(MirroredContent {
            bytes,
            content_type: "application/gzip",
            tag: Some(line.sha256.to_string()),
            file_name: Some(format!("{}-{}.tar.gz", skill.name, line.version)),
        }))
    }

    /// A package that was fetched before. One that is here for another reason, such as a private skill, does not count.
    async fn kept_package(&self, sha256: Sha256Digest) -> Outcome<Option<Bytes>> {
        if !self.is_mirrored_package(sha256).await? {
            return Ok(None);
        }
        match self.blobs().get(BlobKind::Package, sha256).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(BlobError::Missing(_) | BlobError::Damaged(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn fetch_package(
        &self,
        mirror: &Mirror,
        skill: &SkillId,
        line: &IndexLine,
        via: &str,
    ) -> Outcome<Bytes> {
        if mirror.is_paused() {
            return Err(unavailable());
        }
        let fetched = mirror.upstream.package(skill, &line.version, via).await;
        let bytes = match fetched {
            Ok(Some(bytes)) => bytes,
            // Revoked or deleted in the last seconds; the index will say which.
            Ok(None) => return Err(RegistryError::no_version()),
            Err(error) => {
                tracing::warn!(%error, "the upstream registry does not serve a package");
                mirror.pause();
                return Err(unavailable());
            }
        };
        if Sha256Digest::of(&bytes) != line.sha256 {
            tracing::error!(%skill, version = %line.version, "a package of the upstream registry has another digest");
            return Err(refused(skill));
        }
        self.blobs().put(BlobKind::Package, line.sha256, bytes.clone()).await?;
        self.note_mirrored_package(line.sha256).await?;
        Ok(bytes)
    }
}

/// Whether the registry of a URL can be mirrored.
pub fn check_url(url: &str) -> Result<(), UpstreamError> {
    Upstream::new(url).map(|_| ())
}

fn read_index(bytes: &Bytes, name: &str) -> Result<(RegistryIndex, String), String> {
    let index = RegistryIndex::read(bytes, name)?;
    // Without a number an old index can't be told from a new one.
    if index.head.is_none() {
        return Err("it has no sequence number".to_owned());
    }
    let body = String::from_utf8(bytes.to_vec()).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok((index, body))
}

/// The versions that can be installed; if all of them were revoked, that is the answer.
fn info_of(skill: &SkillId, lines: &[IndexLine]) -> Outcome<SkillInfo> {
    let installable = || lines.iter().filter(|line| line.revoked.is_none());
    if installable().next().is_none()
        && let Some(reason) = lines.iter().rev().find_map(|line| line.revoked.clone())
    {
        return Err(RegistryError::Revoked { what: skill.to_string(), reason });
    }
    Ok(SkillInfo {
        namespace: skill.namespace.clone(),
        name: skill.name.clone(),
        owner: lines.last().and_then(|line| line.owner.clone()),
        latest: newest(lines).map(|line| line.version.to_string()),
        versions: installable().map(|line| line.version.to_string()).collect(),
    })
}

/// The version that is installed without a wish: the highest that is neither yanked nor revoked, a release if there is one.
fn newest(lines: &[IndexLine]) -> Option<&IndexLine> {
    let wanted = lines.iter().filter(|line| !line.yanked && line.revoked.is_none());
    wanted.max_by_key(|line| (line.version.pre.is_empty(), line.version.clone()))
}

fn json_content(value: &Value) -> MirroredContent {
    MirroredContent {
        bytes: value.to_string().into(),
        content_type: "application/json",
        tag: None,
        file_name: None,
    }
}

fn reason(doubt: history::Doubt) -> String {
    match doubt {
        history::Doubt::Older(why) | history::Doubt::Expired(why) => why,
        history::Doubt::OtherBytes(version) => format!("version {version} has other bytes"),
    }
}

fn unavailable() -> RegistryError {
    let message = "the registry that this one mirrors does not answer";
    RegistryError::of("upstream-unavailable", ProblemKind::Unavailable, message)
        .advice("try again in a moment")
}

fn refused(skill: &SkillId) -> RegistryError {
    let message = format!("what the mirrored registry says of `{skill}` can't be trusted");
    RegistryError::of("upstream-refused", ProblemKind::Unavailable, message)
        .advice("the log of this registry says why")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(path: &str) -> Option<String> {
        MirrorRequest::parse(path).map(|request| format!("{request:?}").replace('"', ""))
    }

    #[test]
    fn only_what_installing_clients_ask_for_is_mirrored() {
        for (path, expected) in [
            ("/api/v1/index/acme/weather", Some("Index")),
            ("/api/v1/skills/acme/weather", Some("Overview")),
            ("/api/v1/skills/@acme/weather", Some("Overview")),
            ("/api/v1/skills/acme/weather/1.0.0", Some("Line")),
            ("/api/v1/skills/acme/weather/download", Some("Archive")),
            ("/api/v1/skills/acme/weather/1.0.0/download", Some("Archive")),
            ("/api/v1/skills/acme/weather/versions", None),
            ("/api/v1/skills/weather/1.0.0", None),
            ("/api/v1/skills/..%2fetc/passwd", None),
            ("/api/v1/skills/acme/weather/1.0.0/files/SKILL.md", None),
            ("/api/v1/whoami", None),
            ("/acme/weather", None),
        ] {
            let found = parsed(path);
            let kind = found.as_deref().and_then(|text| text.split('(').next());
            assert_eq!(kind, expected, "{path}");
        }
    }
}
