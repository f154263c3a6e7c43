//! Sigstore bundles, verified offline: trusted identities come from the trust store, and trusted logs and authorities
//! from a trusted root that is pinned there or in the `sigstore` crates.
//!
//! This is the only module that uses these crates.

mod provider;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::{Bundle, DerPublicKey};
use sigstore_verify::{Error, PublicKeyVerificationPolicy, VerificationPolicy, Verifier};

use super::{Proof, SignatureTime, Subject};
use crate::contents::{Algorithm, hex, payload};
use crate::error::SignatureError;
use crate::json;
use crate::key::PublicKey;
use crate::material::Material;
use crate::timestamp::Timestamp;
use crate::trust_store::{TrustStore, TrustedKey};

/// A signer's identity, as confirmed to Sigstore by an identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigstoreIdentity {
    issuer: String,
    identity: String,
    /// Sigstore's trusted root as JSON; `None` for the public instance.
    trusted_root: Option<String>,
}

impl SigstoreIdentity {
    /// Creates an identity such as `https://github.com/acme/skills/.github/workflows/release.yml@refs/heads/main`,
    /// confirmed by `https://token.actions.githubusercontent.com`.
    pub fn new(issuer: &str, identity: &str) -> Self {
        Self { issuer: issuer.to_owned(), identity: identity.to_owned(), trusted_root: None }
    }

    /// Parses the JSON that [`Self::text`] writes.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let value = json::read(text.as_bytes()).ok()?;
        let trusted_root = value.get("trusted_root").map(ToString::to_string);
        if let Some(root) = &trusted_root {
            TrustedRoot::from_json(root).ok()?;
        }
        let text =
            |key: &str| json::text(&value, key).filter(|text| !text.is_empty()).map(str::to_owned);
        Some(Self { issuer: text("issuer")?, identity: text("identity")?, trusted_root })
    }

    /// The identity as JSON.
    pub fn text(&self) -> String {
        let mut fields = Map::new();
        fields.insert("issuer".to_owned(), Value::from(self.issuer.as_str()));
        fields.insert("identity".to_owned(), Value::from(self.identity.as_str()));
        if let Some(root) = self.trusted_root.as_deref().and_then(|root| root.parse().ok()) {
            fields.insert("trusted_root".to_owned(), root);
        }
        Value::Object(fields).to_string()
    }

    /// The identifier: issuer and identity, because Sigstore keys are valid for minutes only.
    pub(crate) fn id(&self) -> String {
        let mut id = hex(&Sha256::digest(self.text()));
        id.truncate(32);
        id
    }
}

/// Verifies a bundle over the payload from `contents.rs`.
pub(super) fn verify<'a>(subject: &Subject<'a>) -> Result<Proof<'a>, SignatureError> {
    let contents = subject.contents;
    let files = contents.files_without(subject.signature_files);
    let name = &contents.name;
    let text = payload(Algorithm::Sigstore, subject.purpose, name, &contents.version, &files);
    let signer = verify_bundle(subject.bytes, &text, subject.store)?;
    Ok(Proof {
        key_id: signer.entry.id(),
        identity: signer.identity,
        covered: files.into_keys().collect(),
        time: signer.time,
        anchor: Some(signer.entry),
    })
}

/// The signer of a bundle, the trust store entry that matched, and the time.
#[derive(Debug)]
pub(super) struct BundleSigner<'a> {
    pub(super) entry: &'a TrustedKey,
    pub(super) identity: Option<String>,
    pub(super) time: SignatureTime,
}

/// Verifies a bundle over a text: certificate, transparency log, identity, signature.
pub(super) fn verify_bundle<'a>(
    bytes: &[u8],
    signed: &[u8],
    store: &'a TrustStore,
) -> Result<BundleSigner<'a>, SignatureError> {
    // Our strict parser comes first (attack registry-C11). The crate gets what it has parsed.
    let value = json::read(bytes).map_err(SignatureError::Unreadable)?;
    let bundle = Bundle::from_json(&value.to_string())
        .map_err(|error| SignatureError::Unreadable(error.to_string()))?;
    provider::install();

    let mut outcome = Err(SignatureError::UnknownKey { key_id: "of Sigstore".to_owned() });
    for entry in store.keys() {
        let checked = match &entry.material {
            Material::Sigstore(identity) => with_identity(&bundle, signed, identity.get()),
            Material::Key(key @ (PublicKey::P256(_) | PublicKey::P384(_))) => {
                with_key(&bundle, signed, key)
            }
            _ => continue,
        };
        match checked {
            Ok((identity, time)) => {
                let identity = identity.or_else(|| entry.label.clone());
                return Ok(BundleSigner { entry, identity, time });
            }
            // Another entry may match; an unknown signer doesn't make the bundle invalid.
            Err(stranger @ SignatureError::UnknownKey { .. }) => {
                if matches!(outcome, Err(SignatureError::UnknownKey { .. })) {
                    outcome = Err(stranger);
                }
            }
            Err(broken) => outcome = Err(broken),
        }
    }
    outcome
}

type Checked = Result<(Option<String>, SignatureTime), SignatureError>;

fn with_identity(bundle: &Bundle, signed: &[u8], wanted: &SigstoreIdentity) -> Checked {
    if bundle.signing_certificate().is_none() {
        return Err(SignatureError::UnknownKey { key_id: "without a certificate".to_owned() });
    }
    let root = wanted.trusted_root.as_deref().unwrap_or(SIGSTORE_PRODUCTION_TRUSTED_ROOT);
    let policy = VerificationPolicy::new(wanted.identity.as_str(), wanted.issuer.as_str());
    let result = verifier(root)?.verify(signed, bundle, &policy).map_err(|error| match error {
        Error::IdentityMismatch { actual, .. } => SignatureError::UnknownKey {
            key_id: actual.map_or_else(String::new, |actual| actual.as_str().to_owned()),
        },
        Error::IssuerMismatch { actual, .. } => {
            SignatureError::UnknownKey { key_id: actual.unwrap_or_default() }
        }
        other => broken(&other),
    })?;
    // All four are required, whatever the crate's defaults become.
    let is_complete = result.certificate_verified()
        && result.sct_verified()
        && result.tlog_verified()
        && result.identity_policy_checked();
    if !is_complete {
        return Err(SignatureError::Sigstore("not everything in it was checked".to_owned()));
    }
    // Each time was witnessed by a third party, so the earliest one counts.
    let witnessed = result.verified_timestamps().iter().map(|moment| moment.as_second()).min();
    let time = witnessed.map_or(SignatureTime::Unknown, |seconds| {
        SignatureTime::Witnessed(Timestamp::from_unix(seconds))
    });
    Ok((Some(wanted.identity.clone()), time))
}

/// Verifies a bundle with a key of the trust store. No log is required; it would only prove the time.
fn with_key(bundle: &Bundle, signed: &[u8], key: &PublicKey) -> Checked {
    let stranger = || SignatureError::UnknownKey { key_id: "of another signer".to_owned() };
    if bundle.signing_certificate().is_some() {
        return Err(stranger());
    }
    let der = DerPublicKey::from_pem(&key.pem())
        .map_err(|error| SignatureError::Unreadable(error.to_string()))?;
    let policy = PublicKeyVerificationPolicy::new(der).skip_tlog_unsafe();
    let verifier = verifier(SIGSTORE_PRODUCTION_TRUSTED_ROOT)?;
    verifier.verify(signed, bundle, &policy).map_err(|error| broken(&error))?;
    Ok((None, SignatureTime::Unknown))
}

fn verifier(root: &str) -> Result<Verifier, SignatureError> {
    let unusable = |error: &dyn std::error::Error| SignatureError::Sigstore(error.to_string());
    let root = TrustedRoot::from_json(root).map_err(|error| unusable(&error))?;
    Verifier::new(&root).map_err(|error| unusable(&error))
}

fn broken(error: &Error) -> SignatureError {
    match error {
        Error::SignatureInvalid(_) | Error::ArtifactMismatch(_) => SignatureError::Mismatch,
        other => SignatureError::Sigstore(other.to_string()),
    }
}
