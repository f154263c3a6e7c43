//! Sigstore bundles, verified offline: trusted identities come from the trust store, and trusted logs and authorities
//! from a trusted root that is pinned there or in the `sigstore` crates.
//!
//! This is the only module that uses these crates.

mod provider;
#[cfg(test)]
mod tests;

use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::{Bundle, DerPublicKey};
use sigstore_verify::{Error, PublicKeyVerificationPolicy, VerificationPolicy, Verifier};

use super::sigstore_identity::{BundleSigner, SigstoreIdentity};
use super::{Proof, SignatureTime, Subject};
use crate::contents::{Algorithm, payload};
use crate::error::SignatureError;
use crate::json;
use crate::key::PublicKey;
use crate::material::Material;
use crate::timestamp::Timestamp;
use crate::trust_store::TrustStore;

/// Whether a text is a trusted root of Sigstore.
pub(super) fn is_trusted_root(text: &str) -> bool {
    TrustedRoot::from_json(text).is_ok()
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
