//! Whether installed skills are still what was installed: presence, content, version, tier.

use std::fmt;

use prowess_package::digest::{FileHashes, content_digest};
use prowess_package::name::SkillName;
use prowess_policy::{Origin, Tier, Trust};
use prowess_trust::{Attestation, Timestamp, TrustStore, attest};
use semver::Version;

use crate::install::{InstallError, contents_of, read_lock_file};
use crate::lock::{LockEntry, LockFile, MOST_BYTES};
use crate::metadata::parse_installed_metadata;
use crate::source::Pinned;
use crate::store::Store;

/// What was found out about one skill.
#[derive(Debug)]
pub struct VerifiedSkill {
    /// Which.
    pub name: SkillName,
    /// What the lock file says about it; nothing when it does not know it.
    pub entry: Option<LockEntry>,
    /// What is not as it was.
    pub drifts: Vec<Drift>,
    /// What its signatures prove now; nothing when it can't be read.
    pub attestation: Option<Attestation>,
}

/// Something that is not as it was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drift {
    /// It is in the lock file and not on disk.
    Missing,
    /// It is on disk and not in the lock file.
    NotLocked,
    /// Files that are not what was installed.
    Content {
        /// Files that have changed.
        changed: Vec<String>,
        /// Files that nobody installed.
        added: Vec<String>,
        /// Files that are gone.
        removed: Vec<String>,
    },
    /// Its files can't be read or are none that were ever installed.
    Unreadable(String),
    /// It calls itself another version.
    Version {
        /// What the lock file says.
        locked: Version,
        /// What the file says.
        found: String,
    },
    /// Its signatures prove something else by now: a key was trusted, or is not any more.
    Tier {
        /// What the lock file says.
        locked: Tier,
        /// What is proved now.
        found: Tier,
    },
    /// A signature is there and does not hold.
    Signature(String),
    /// Its registry has found it to be harmful, and says why (attack registry-C22). Found by whoever asks the registry.
    Revoked(String),
}

impl Drift {
    /// Whether a signed skill must not be loaded any more: its files are not those that somebody vouched for.
    pub fn is_about_files(&self) -> bool {
        match self {
            Self::Content { .. }
            | Self::Unreadable(_)
            | Self::Version { .. }
            | Self::Signature(_)
            | Self::Missing => true,
            Self::NotLocked | Self::Tier { .. } | Self::Revoked(_) => false,
        }
    }

    /// One word for it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing => "presence",
            Self::NotLocked => "unlocked",
            Self::Content { .. } | Self::Unreadable(_) => "content",
            Self::Version { .. } => "version",
            Self::Tier { .. } => "tier",
            Self::Signature(_) => "signature",
            Self::Revoked(_) => "revoked",
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => formatter.write_str("it is in the lock file and not on disk"),
            Self::NotLocked => formatter.write_str("it is on disk and not in the lock file"),
            Self::Content { changed, added, removed } => {
                let mut parts = Vec::new();
                for (what, paths) in [("changed", changed), ("added", added), ("removed", removed)]
                {
                    if !paths.is_empty() {
                        let paths: Vec<String> =
                            paths.iter().map(|path| format!("`{path}`")).collect();
                        parts.push(format!("{what}: {}", paths.join(", ")));
                    }
                }
                // Every file is as it was: then the lock file contradicts itself, or knows no files.
                if parts.is_empty() {
                    return formatter.write_str(
                        "its files do not have the digest that the lock file names as `integrity`",
                    );
                }
                write!(formatter, "its files are not what was installed ({})", parts.join("; "))
            }
            Self::Unreadable(why) => write!(formatter, "its files can't be read: {why}"),
            Self::Version { locked, found } => {
                write!(formatter, "it was installed as {locked} and calls itself {found}")
            }
            Self::Tier { locked, found } => {
                write!(
                    formatter,
                    "it was installed as {locked} and is {found} by what its signatures prove now"
                )
            }
            Self::Signature(why) => formatter.write_str(why),
            Self::Revoked(why) => write!(formatter, "its registry has revoked it: {why}"),
        }
    }
}

/// How often is looked again while others change the store.
const MOST_LOOKS: usize = 4;

/// Looks at installed skills: those that are named, or all. Nothing is locked, so that a store can be looked at that nobody
/// here may change; what another process changes meanwhile is no drift, and is looked at again.
pub fn verify(
    store: &Store,
    names: &[SkillName],
    trust: &TrustStore,
    now: Timestamp,
) -> Result<Vec<VerifiedSkill>, InstallError> {
    let mut looks = 1;
    loop {
        let (before, lock) = read_lock_file(store)?;
        let findings = look_once(store, &lock, names, trust, now)?;
        // Skills change one by one and the lock file last: only together with the same lock file before and after, and
        // without a change that is happening, is a difference one.
        let is_fine = findings.iter().all(|finding| finding.drifts.is_empty());
        let is_settled = || -> Result<bool, InstallError> {
            Ok(!store.is_changing()? && store.lock_file(MOST_BYTES)? == before)
        };
        if is_fine || looks == MOST_LOOKS || is_settled()? {
            return Ok(findings);
        }
        looks += 1;
    }
}

/// Checks one skill against a lock that was read already. Another process may be changing the store: whoever finds a
/// difference calls [`verify`], which tells that from drift.
pub fn verify_one(
    store: &Store,
    lock: &LockFile,
    name: &SkillName,
    trust: &TrustStore,
    now: Timestamp,
) -> VerifiedSkill {
    finding(store, lock, name.clone(), trust, now)
}

fn look_once(
    store: &Store,
    lock: &LockFile,
    names: &[SkillName],
    trust: &TrustStore,
    now: Timestamp,
) -> Result<Vec<VerifiedSkill>, InstallError> {
    let on_disk = store.installed()?;
    let mut all: Vec<SkillName> = lock.skills.keys().chain(&on_disk).cloned().collect();
    all.sort();
    all.dedup();
    if let Some(missing) = names.iter().find(|name| !all.contains(name)) {
        return Err(InstallError::NotInstalled(missing.clone()));
    }
    all.retain(|name| names.is_empty() || names.contains(name));
    Ok(all.into_iter().map(|name| finding(store, lock, name, trust, now)).collect())
}

fn finding(
    store: &Store,
    lock: &LockFile,
    name: SkillName,
    trust: &TrustStore,
    now: Timestamp,
) -> VerifiedSkill {
    let entry = lock.skills.get(&name).cloned();
    let mut drifts = Vec::new();
    if entry.is_none() {
        drifts.push(Drift::NotLocked);
    }
    let hashes = match store.hash(&name) {
        Ok(Some(hashes)) => hashes,
        Ok(None) => {
            drifts.push(Drift::Missing);
            return VerifiedSkill { name, entry, drifts, attestation: None };
        }
        Err(error) => {
            drifts.push(Drift::Unreadable(error.to_string()));
            return VerifiedSkill { name, entry, drifts, attestation: None };
        }
    };
    if let Some(entry) = &entry
        && content_digest(&hashes).integrity() != entry.integrity
    {
        drifts.push(difference(&entry.files, &hashes));
    }
    let attestation = judge(store, &name, entry.as_ref(), &hashes, trust, now, &mut drifts);
    VerifiedSkill { name, entry, drifts, attestation }
}

fn difference(before: &FileHashes, now: &FileHashes) -> Drift {
    let text = |path: &prowess_package::path::PackagePath| path.as_str().to_owned();
    let changed =
        now.iter().filter(|(path, hash)| before.get(*path).is_some_and(|old| old != *hash));
    let added = now.keys().filter(|path| !before.contains_key(*path));
    let removed = before.keys().filter(|path| !now.contains_key(*path));
    Drift::Content {
        changed: changed.map(|(path, _)| text(path)).collect(),
        // A lock without hashes of files does not know which ones are new.
        added: if before.is_empty() { Vec::new() } else { added.map(text).collect() },
        removed: removed.map(text).collect(),
    }
}

fn judge(
    store: &Store,
    name: &SkillName,
    entry: Option<&LockEntry>,
    hashes: &FileHashes,
    trust: &TrustStore,
    now: Timestamp,
    drifts: &mut Vec<Drift>,
) -> Option<Attestation> {
    let described = store.manifest(name).map_err(|error| error.to_string()).and_then(|bytes| {
        let chosen = entry.and_then(|entry| entry.chosen(name));
        parse_installed_metadata(&bytes, name.as_str(), chosen).map_err(|error| error.to_string())
    });
    let described = match described {
        Ok(described) => described,
        Err(why) => {
            drifts.push(Drift::Unreadable(why));
            return None;
        }
    };
    if let Some(entry) = entry
        && (described.version != entry.version || described.name != *name)
    {
        let found = format!("`{}` {}", described.name, described.version);
        drifts.push(Drift::Version { locked: entry.version.clone(), found });
    }
    let namespace = entry.and_then(|entry| entry.source.as_ref()).and_then(Pinned::namespace);
    let signatures = match store.files_at_root(name) {
        Ok(files) => files,
        Err(error) => {
            drifts.push(Drift::Unreadable(error.to_string()));
            return None;
        }
    };
    // What was installed unchanged was seen when it was installed.
    let first_seen =
        entry.and_then(|entry| entry.installed_at.parse().ok()).filter(|_| drifts.is_empty());
    let signatures: Vec<prowess_trust::Signature> = signatures
        .into_iter()
        .map(|(path, bytes)| prowess_trust::Signature { path, bytes, first_seen })
        .collect();
    let contents = contents_of(&described, hashes, namespace);
    let attestation = attest(&contents, &signatures, trust, now);
    drifts.extend(attestation.refused.iter().map(|refusal| Drift::Signature(refusal.to_string())));
    let origin = if entry.is_some() { Origin::Downloaded } else { Origin::Local };
    let found = Trust::of(&described.skill, attestation.tier, None, origin).tier();
    if let Some(entry) = entry
        && found != entry.tier
    {
        drifts.push(Drift::Tier { locked: entry.tier, found });
    }
    Some(attestation)
}
