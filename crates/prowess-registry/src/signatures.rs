//! Signatures of a version: which there are, what they prove, and what tier follows (GAIA §4.4).

use prowess_package::tree::Tree;
use prowess_policy::Tier;
use prowess_trust::{
    Attestation, Contents, KeyStanding, Material, NamePattern, Purpose, Role as KeyRole, Scheme,
    Signature, SignatureTime, Timestamp, TrustStore, TrustedKey, attest,
};
use serde::{Deserialize, Serialize};

use crate::names::SkillId;

/// A signature file of a version and what it proves here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredSignature {
    /// Its file name, such as `SIGNATURE.json`.
    pub path: String,
    /// The scheme.
    pub scheme: String,
    /// Whether it is an auditor's sign-off.
    pub is_audit: bool,
    /// The key, or a stable identity.
    pub key_id: String,
    /// The identity in a certificate, if there is one.
    pub identity: Option<String>,
    /// `trusted`, `unknown`, `not for this name` or `outside its time`.
    pub standing: String,
    /// Seconds since 1970, where the signature says when it was made.
    pub made: Option<i64>,
    /// Its text, if it was added after publication and is not among the files of the archive.
    pub added: Option<AddedSignature>,
}

/// A signature that is not in the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AddedSignature {
    /// The file, in base64.
    pub content: String,
    /// When it was added.
    pub added: i64,
    /// By whom.
    pub added_by: String,
}

/// A key that a namespace has registered, or an auditor's key of the whole registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredKey {
    /// The namespace whose skills it signs; `*` for auditors and roots.
    pub namespace: String,
    /// Its role.
    pub role: KeyRole,
    /// The key itself, as text.
    pub material: String,
    /// When it was registered.
    pub added: i64,
    /// When it was revoked.
    pub revoked: Option<i64>,
}

/// The result of checking all signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureResult {
    /// The proved tier.
    pub tier: Tier,
    /// The valid signatures.
    pub signatures: Vec<StoredSignature>,
    /// Why a signature is refused. One is enough to refuse the version.
    pub refused: Vec<String>,
}

/// Checks the signatures in a skill's files and those that were added, with the keys that the registry knows.
pub fn check_signatures(
    skill: &SkillId,
    version: &str,
    tree: &Tree,
    added: &[StoredSignature],
    keys: &[RegisteredKey],
    now: i64,
) -> SignatureResult {
    let mut contents = Contents::new(skill.name.as_str(), version);
    contents.namespace = Some(skill.namespace.to_string());
    for (path, file) in tree.files() {
        contents = contents.with_file(path.as_str(), &file.bytes);
    }
    let mut signatures: Vec<Signature> = tree
        .files()
        .filter(|(path, file)| Scheme::of_file(path.as_str(), &file.bytes).is_some())
        .map(|(path, file)| Signature::detached(path.as_str(), file.bytes.clone()))
        .collect();
    for signature in added {
        if let Some(content) = signature.added.as_ref().and_then(AddedSignature::bytes) {
            signatures.push(Signature::detached(&signature.path, content));
        }
    }
    let attestation = attest(&contents, &signatures, &trust_store(keys), Timestamp::from_unix(now));
    SignatureResult {
        tier: attestation.tier,
        signatures: stored(&attestation, added),
        refused: attestation.refused.iter().map(ToString::to_string).collect(),
    }
}

fn stored(attestation: &Attestation, added: &[StoredSignature]) -> Vec<StoredSignature> {
    let each = attestation.evidence.iter().map(|verdict| StoredSignature {
        path: verdict.path.clone(),
        scheme: verdict.scheme.as_str().to_owned(),
        is_audit: verdict.purpose == Purpose::Audit,
        key_id: verdict.key_id.clone(),
        identity: verdict.identity.clone(),
        standing: match &verdict.standing {
            KeyStanding::Trusted(_) => "trusted",
            KeyStanding::Unknown => "unknown",
            KeyStanding::NotForThisName => "not for this name",
            KeyStanding::OutsideItsTime => "outside its time",
        }
        .to_owned(),
        made: time_of(verdict.time),
        added: added
            .iter()
            .find(|known| known.path == verdict.path)
            .and_then(|it| it.added.clone()),
    });
    each.collect()
}

fn time_of(time: SignatureTime) -> Option<i64> {
    match time {
        SignatureTime::Unknown => None,
        SignatureTime::Noted(time)
        | SignatureTime::Claimed(time)
        | SignatureTime::Witnessed(time) => Some(time.unix()),
    }
}

fn trust_store(keys: &[RegisteredKey]) -> TrustStore {
    let mut store = TrustStore::empty();
    for key in keys {
        let Ok(material) = Material::read(&key.material) else { continue };
        let mut trusted = TrustedKey::new(material, key.role);
        // A pattern with a namespace never matches a skill of another one.
        if key.namespace != EVERY_NAMESPACE {
            let Ok(pattern) = format!("{}/*", key.namespace).parse::<NamePattern>() else {
                continue;
            };
            trusted.names = vec![pattern];
        }
        trusted.revoked_at = key.revoked.map(Timestamp::from_unix);
        trusted.added_at = Some(Timestamp::from_unix(key.added));
        store.add(trusted);
    }
    store
}

/// The namespace of keys that may sign everything: those of auditors and roots.
pub const EVERY_NAMESPACE: &str = "*";

impl AddedSignature {
    /// The bytes of the file.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.decode(&self.content).ok()
    }
}
