//! Verifies that installed skills are unchanged: presence, content, version, tier.

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

/// The result of verifying one skill.
#[derive(Debug)]
pub struct VerifiedSkill {
    /// The skill.
    pub name: SkillName,
    /// Its lock file entry; `None` if it is not locked.
    pub entry: Option<LockEntry>,
    /// The differences.
    pub drifts: Vec<Drift>,
    /// What its signatures prove now; `None` if it can't be read.
    pub attestation: Option<Attestation>,
}

/// A difference between an installed skill and the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drift {
    /// It is in the lock file but not on disk.
    Missing,
    /// It is on disk but not in the lock file.
    NotLocked,
    /// Its files differ from the installed ones.
    Content {
        /// Files that have changed.
        changed: Vec<String>,
        /// Files that were added.
        added: Vec<String>,
        /// Files that are missing.
        removed: Vec<String>,
    },
    /// Its files can't be read, or could not have been installed.
    Unreadable(String),
    /// It declares another version.
    Version {
        /// The version in the lock file.
        locked: Version,
        /// The declared version.
        found: String,
    },
    /// Its signatures prove another tier now: a key was added to or removed from the trust store.
    Tier {
        /// The tier in the lock file.
        locked: Tier,
        /// The tier that is proved now.
        found: Tier,
    },
    /// A signature is invalid.
    Signature(String),
    /// Its registry has revoked it as harmful, with the reason (attack registry-C22). Only set by callers that query
    /// the registry.
    Revoked(String),
}

impl Drift {
    /// Whether a signed skill must not be loaded any more: its files differ from the signed ones.
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

    /// The name of the kind.
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
            Self::Missing => formatter.write_str("it is in the lock file but not on disk"),
            Self::NotLocked => formatter.write_str("it is on disk but not in the lock file"),
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
                // All files are unchanged: the lock file is inconsistent, or lists no files.
                if parts.is_empty() {
                    return formatter.write_str(
                        "its files don't match the `integrity` digest in the lock file",
                    );
                }
                write!(formatter, "its files differ from the installed ones ({})", parts.join("; "))
            }
            Self::Unreadable(why) => write!(formatter, "its files can't be read: {why}"),
            Self::Version { locked, found } => {
                write!(formatter, "version {locked} was installed, but it declares {found}")
            }
            Self::Tier { locked, found } => {
                write!(
                    formatter,
                    "it was installed as {locked}, but its signatures now prove {found}"
                )
            }
            Self::Signature(why) => formatter.write_str(why),
            Self::Revoked(why) => write!(formatter, "its registry has revoked it: {why}"),
        }
    }
}

/// Maximum number of attempts while other processes change the store.
const MOST_LOOKS: usize = 4;

/// Verifies installed skills: the named ones, or all. No lock is taken, so that a read-only store can be verified;
/// concurrent changes by other processes are not reported as drift, and the skill is verified again.
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
        // Skills are changed one by one and the lock file last: a difference only counts if the lock file was the same
        // before and after, and no change is in progress.
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

/// Verifies one skill against a lock file. Another process may be changing the store: a caller that finds a difference
/// calls [`verify`], which distinguishes that from drift.
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
        // Without file hashes in the lock file, new files can't be detected.
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
    // Unchanged signatures were first seen at the installation.
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
