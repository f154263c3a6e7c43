//! OpenSSF Model Signing (`skill.oms.sig`): a Sigstore bundle with an in-toto statement that lists every file.
//!
//! The signer is a bare key (`publicKey`), the first certificate of a chain (`x509CertificateChain`), or an identity
//! that Sigstore has confirmed (`certificate`). Only the last needs a transparency log.

pub(crate) mod bundle;
mod chain;
mod statement;

use ring::signature::{ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, UnparsedPublicKey};
use sha2::{Digest as _, Sha256};

use self::bundle::{Bundle, Signer};
use super::record::SignError;
use super::{Proof, SignatureTime, Subject, signature_names, sigstore};
use crate::contents::{Contents, hex};
use crate::error::SignatureError;
use crate::key::{PublicKey, SecretKey};
use crate::material::Material;
use crate::trust_store::TrustedKey;

/// Signs a skill with a P-256 key; returns the text of `skill.oms.sig`, which `model_signing verify key` accepts too.
pub fn sign_oms(contents: &Contents, key: &SecretKey) -> Result<String, SignError> {
    let SecretKey::P256 { .. } = key else {
        return Err(SignError::WrongKind {
            file: "skill.oms.sig",
            needed: "p256",
            found: key.public().kind().as_str(),
        });
    };
    let files = contents.files_without(&signature_names().iter().copied().collect());
    let statement = statement::written(&contents.name, &files);
    let signature = key.sign(&bundle::signed_text(statement.as_bytes()))?;
    Ok(bundle::written(&key.public().oms_hint(), statement.as_bytes(), &signature))
}

/// Verifies a bundle: its envelope, its signature, the files, and finally the signer's identity. This order ensures
/// that invalid bytes are never reported as an unknown signer, or vice versa (attack registry-C8).
pub(super) fn verify<'a>(subject: &Subject<'a>) -> Result<Proof<'a>, SignatureError> {
    let bundle = Bundle::read(subject.bytes)?;
    match &bundle.signer {
        Signer::Key { hint } => with_key(subject, &bundle, hint.as_deref()),
        Signer::Chain(certificates) => with_chain(subject, &bundle, certificates),
        Signer::Sigstore => with_sigstore(subject, &bundle),
    }
}

/// Verifies a bundle with a short-lived certificate and a log that proves its time. The statement's subject is the
/// digest of all file digests, so the file digests are the signed text.
fn with_sigstore<'a>(subject: &Subject<'a>, bundle: &Bundle) -> Result<Proof<'a>, SignatureError> {
    let manifest = statement::read(&bundle.payload)?;
    let digests = manifest.digests.concat();
    let signer = sigstore::verify_bundle(subject.bytes, &digests, subject.store)?;
    Ok(Proof {
        key_id: signer.entry.id(),
        identity: signer.identity,
        covered: covered(subject, bundle)?,
        time: signer.time,
        anchor: Some(signer.entry),
    })
}

fn with_key<'a>(
    subject: &Subject<'a>,
    bundle: &Bundle,
    hint: Option<&str>,
) -> Result<Proof<'a>, SignatureError> {
    let known = subject.store.keys().filter_map(|entry| match &entry.material {
        Material::Key(key @ (PublicKey::P256(_) | PublicKey::P384(_))) => Some((entry, key)),
        _ => None,
    });
    // Bundles of old versions contain no key identifier.
    let candidates: Vec<(&'a TrustedKey, &PublicKey)> =
        known.filter(|(_, key)| hint.is_none_or(|hint| hint == key.oms_hint())).collect();
    if candidates.is_empty() {
        let key_id = hint.map_or("without a name", |hint| hint.get(..32).unwrap_or(hint));
        return Err(SignatureError::UnknownKey { key_id: key_id.to_owned() });
    }
    let signer = candidates.into_iter().find(|(_, key)| bundle.is_signed_by(key));
    let (entry, key) = signer.ok_or(SignatureError::Mismatch)?;
    Ok(Proof {
        key_id: key.id(),
        identity: entry.label.clone(),
        covered: covered(subject, bundle)?,
        time: SignatureTime::Unknown,
        anchor: Some(entry),
    })
}

fn with_chain<'a>(
    subject: &Subject<'a>,
    bundle: &Bundle,
    certificates: &[Vec<u8>],
) -> Result<Proof<'a>, SignatureError> {
    let signer = chain::SignerCertificate::read(&certificates[0])?;
    if !bundle.is_signed_by(&signer.key) {
        return Err(SignatureError::Mismatch);
    }
    let covered = covered(subject, bundle)?;
    let roots = subject.store.keys().filter_map(|entry| match &entry.material {
        Material::Certificate(root) => Some((entry, root.get().as_slice())),
        _ => None,
    });
    let (entry, root) = chain::verify(&signer, certificates, roots, subject.at)?;
    // A signer's key may change with each certificate; subject and issuer stay the same.
    let mut hash = Sha256::new();
    hash.update(root);
    hash.update(&signer.raw_subject);
    let mut key_id = hex(&hash.finalize());
    key_id.truncate(32);
    Ok(Proof {
        key_id,
        identity: Some(signer.subject),
        covered,
        time: SignatureTime::Unknown,
        anchor: Some(entry),
    })
}

fn covered(subject: &Subject<'_>, bundle: &Bundle) -> Result<Vec<String>, SignatureError> {
    let manifest = statement::read(&bundle.payload)?;
    let mut may_be_unsigned = subject.signature_files.clone();
    let in_git = subject.contents.files.keys().filter(|path| manifest.leaves_out(path));
    may_be_unsigned.extend(in_git.map(String::as_str));
    let differences = subject.contents.differences(&manifest.files, &may_be_unsigned);
    if !differences.is_empty() {
        return Err(SignatureError::Files(differences));
    }
    Ok(manifest.files.into_keys().collect())
}

impl Bundle {
    /// Each curve is used with the hash of its size, as OpenSSF Model Signing requires.
    fn is_signed_by(&self, key: &PublicKey) -> bool {
        let text = bundle::signed_text(&self.payload);
        let verified = match key {
            PublicKey::Ed25519(_) => return false,
            PublicKey::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point)
                .verify(&text, &self.signature),
            PublicKey::P384(point) => UnparsedPublicKey::new(&ECDSA_P384_SHA384_ASN1, point)
                .verify(&text, &self.signature),
        };
        verified.is_ok()
    }
}

/// Checks that a field has the expected value.
fn expect(
    what: &'static str,
    found: Option<&str>,
    wanted: &str,
    expected: &'static str,
) -> Result<(), SignatureError> {
    if found == Some(wanted) {
        return Ok(());
    }
    let found = found.unwrap_or("missing").to_owned();
    Err(SignatureError::Unsupported { what, found, expected })
}
