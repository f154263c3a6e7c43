//! The list of files that are known to be malicious. It is a skill, so that it comes, is signed, is updated and is rolled back
//! like every other one, also from a folder or an archive without a network.

use prowess_package::name::SkillName;
use prowess_policy::Tier;
use prowess_scan::KnownBad;
use prowess_trust::{Timestamp, TrustStore};

use crate::drift;
use crate::store::Store;

/// The name of the skill.
pub const KNOWN_BAD_SKILL: &str = "known-bad";
/// The file with the digests.
const LIST: &str = "known-bad.txt";

/// The list that is installed in a store. It counts only if a trusted key vouches for it and its files are those that were
/// installed; any other is as if it were not there, because it can only add findings.
pub fn installed(store: &Store, trust: &TrustStore, now: Timestamp) -> KnownBad {
    read(store, trust, now).unwrap_or_default()
}

fn read(store: &Store, trust: &TrustStore, now: Timestamp) -> Option<KnownBad> {
    let name: SkillName = KNOWN_BAD_SKILL.parse().ok()?;
    if !store.is_installed(&name).ok()? {
        return None;
    }
    let verified = drift::verify(store, std::slice::from_ref(&name), trust, now).ok()?;
    let verified = verified.into_iter().next()?;
    let attestation = verified.attestation.as_ref()?;
    if !verified.drifts.is_empty() || attestation.is_refused() || attestation.tier < Tier::Community
    {
        return None;
    }
    let files = store.files_at_root(&name).ok()?;
    let (_, bytes) = files.into_iter().find(|(path, _)| path == LIST)?;
    KnownBad::parse(std::str::from_utf8(&bytes).ok()?).ok()
}
