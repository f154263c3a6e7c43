//! What the tests share: one skill, keys, a store, and the one function that knows the API.

use std::fmt::Write as _;

use prowess_trust::{
    Attestation, Contents, KeyStanding, Material, Purpose, Role, SecretKey, Signature, Timestamp,
    TrustStore, TrustedKey, attest, sign,
};

pub(crate) const SKILL: &[u8] = b"---\nname: greet\nversion: 1.0.0\n---\n\nSay hello.\n";

/// 2027-01-15.
pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_unix(NOW)
}

pub(crate) fn skill() -> Contents {
    Contents::new("greet", "1.0.0")
        .with_file("SKILL.md", SKILL)
        .with_file("scripts/greet.sh", b"echo hello\n")
}

/// A key that is the same in every run.
pub(crate) fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32])
}

pub(crate) fn trusted(seed: u8, role: Role) -> TrustedKey {
    TrustedKey::new(Material::Key(key(seed).public()), role)
}

pub(crate) fn store(keys: impl IntoIterator<Item = TrustedKey>) -> TrustStore {
    let mut store = TrustStore::empty();
    for key in keys {
        store.add(key);
    }
    store
}

pub(crate) fn release(contents: &Contents, seed: u8) -> Signature {
    let text = sign(contents, &key(seed), "acme", Purpose::Release).unwrap();
    Signature::detached("SIGNATURE.json", text.into_bytes())
}

pub(crate) fn audit(contents: &Contents, seed: u8) -> Signature {
    let text = sign(contents, &key(seed), "checkers", Purpose::Audit).unwrap();
    Signature::detached("AUDIT.json", text.into_bytes())
}

/// The outcome as a few lines: the tier, then who vouches, then what was refused, then the warnings.
pub(crate) fn outcome(contents: &Contents, signatures: &[Signature], store: &TrustStore) -> String {
    shown(&attest(contents, signatures, store, now()))
}

pub(crate) fn shown(attestation: &Attestation) -> String {
    let mut out = format!("{}\n", attestation.tier);
    for verdict in &attestation.evidence {
        let standing = match &verdict.standing {
            KeyStanding::Trusted(role) => role.as_str(),
            KeyStanding::Unknown => "unknown key",
            KeyStanding::NotForThisName => "not for this name",
            KeyStanding::OutsideItsTime => "outside its time",
        };
        let files = verdict.covered.len();
        let _ = writeln!(out, "{} {}: {standing}, {files} files", verdict.path, verdict.scheme);
    }
    for refusal in &attestation.refused {
        let _ = writeln!(out, "refused {}: {}", refusal.path, refusal.error);
    }
    for warning in &attestation.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    out
}
