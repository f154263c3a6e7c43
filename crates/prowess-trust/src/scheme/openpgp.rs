//! Detached OpenPGP signatures (GAIA §4.2, "GPG") over the payload from `contents.rs`.
//!
//! The `pgp` crate parses packets and verifies signatures. The policy is implemented here: accepted hashes, expiry,
//! revocation, and the binding of subkeys to their primary key.

use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::crypto::public_key::PublicKeyAlgorithm;
use pgp::packet::{Signature, SignatureConfig, SignatureType, SignatureVersion, SubpacketData};
use pgp::types::{KeyDetails, PublicParams, Tag};
use rsa::traits::PublicKeyParts as _;

use super::{Proof, SignatureTime, Subject};
use crate::contents::{Algorithm, payload};
use crate::error::SignatureError;
use crate::json::MOST_BYTES;
use crate::material::Material;
use crate::timestamp::Timestamp;
use crate::trust_store::TrustedKey;

/// Maximum time by which a signature may lie in the future, because clocks differ.
const CLOCK_SKEW_SECONDS: i64 = 86_400;

/// Minimum size of RSA keys; smaller ones can be broken with enough resources.
const LEAST_RSA_BYTES: usize = 256;

/// Parses an armored file of `gpg --export` with exactly one certificate.
fn read_certificate(text: &str) -> Option<SignedPublicKey> {
    // The parser stops after the first block and would ignore a second one silently.
    if text.len() > MOST_BYTES || text.matches("-----BEGIN PGP").count() != 1 {
        return None;
    }
    let (mut certificates, _) = SignedPublicKey::from_string_many(text).ok()?;
    match (certificates.next(), certificates.next()) {
        (Some(Ok(certificate)), None) => Some(certificate),
        _ => None,
    }
}

/// The identifier of the one certificate in a text; `None` if there is not exactly one.
pub(crate) fn certificate_id(text: &str) -> Option<String> {
    read_certificate(text).as_ref().map(fingerprint)
}

/// The fingerprint in lowercase, as gpg accepts it.
fn fingerprint(certificate: &SignedPublicKey) -> String {
    certificate.primary_key.fingerprint().to_string()
}

/// Verifies an armored or binary detached signature.
pub(super) fn verify<'a>(subject: &Subject<'a>) -> Result<Proof<'a>, SignatureError> {
    let signature = read_signature(subject.bytes)?;
    let contents = subject.contents;
    let files = contents.files_without(subject.signature_files);
    let name = &contents.name;
    let signed = payload(Algorithm::OpenPgp, subject.purpose, name, &contents.version, &files);

    let known: Vec<(&TrustedKey, SignedPublicKey)> = subject
        .store
        .keys()
        .filter_map(|entry| match &entry.material {
            Material::OpenPgp(text) => Some((entry, read_certificate(text.get())?)),
            _ => None,
        })
        .collect();
    let mut candidates =
        known.iter().filter_map(|(entry, known)| Some((entry, known, signer(known, &signature)?)));
    let Some((entry, certificate, key)) = candidates.next() else {
        return Err(SignatureError::UnknownKey { key_id: claimed_issuer(&signature) });
    };

    let made = signature.created().map(|created| i64::from(created.as_secs()));
    let Some(made) = made.map(Timestamp::from_unix) else {
        return Err(SignatureError::unreadable("it has no creation time"));
    };
    let whom = primary_name(certificate);
    let about_itself = check_certificate(certificate, made, subject.at, &whom)?;
    match key {
        Signer::Primary if may_sign(about_itself) => {}
        Signer::Primary => return Err(SignatureError::WrongUsage { subject: whom }),
        Signer::Subkey(subkey) => check_subkey(certificate, subkey, made, subject.at)?,
    }
    check_hash(&signature)?;
    if made.unix() > subject.at.unix() + CLOCK_SKEW_SECONDS {
        return Err(SignatureError::NotYetValid { subject: whom, from: made });
    }
    if let Some(end) = end_of(made, signature.signature_expiration_time())
        && subject.at >= end
    {
        return Err(SignatureError::SignatureExpired { at: end });
    }
    let verified = match key {
        Signer::Primary => signature.verify(&certificate.primary_key, signed.as_slice()),
        Signer::Subkey(subkey) => signature.verify(&subkey.key, signed.as_slice()),
    };
    verified.map_err(|_| SignatureError::Mismatch)?;
    Ok(Proof {
        key_id: fingerprint(certificate),
        identity: entry.label.clone().or(Some(whom)),
        covered: files.into_keys().collect(),
        time: SignatureTime::Claimed(made),
        anchor: Some(entry),
    })
}

/// The key of a certificate that made the signature.
#[derive(Clone, Copy)]
enum Signer<'a> {
    Primary,
    Subkey(&'a SignedPublicSubKey),
}

fn read_signature(bytes: &[u8]) -> Result<Signature, SignatureError> {
    if bytes.len() > MOST_BYTES {
        return Err(SignatureError::unreadable("it is too large"));
    }
    let no_signature = || SignatureError::unreadable("it is not an OpenPGP signature");
    let all: Result<Vec<DetachedSignature>, _> = if bytes.starts_with(b"-----") {
        DetachedSignature::from_armor_many(bytes).map_err(|_| no_signature())?.0.collect()
    } else {
        DetachedSignature::from_bytes_many(bytes).map_err(|_| no_signature())?.collect()
    };
    let mut all = all.map_err(|_| no_signature())?;
    // With several signatures it would be ambiguous which one counts.
    if all.len() > 1 {
        return Err(SignatureError::SignatureCount(all.len()));
    }
    let signature = all.pop().ok_or_else(no_signature)?.signature;
    match (signature.version(), signature.typ()) {
        (SignatureVersion::V4 | SignatureVersion::V6, Some(SignatureType::Binary)) => {}
        (version, kind) => {
            return Err(SignatureError::Unsupported {
                what: "kind",
                found: kind.map_or_else(|| format!("{version:?}"), |kind| format!("{kind:?}")),
                expected: "a detached signature of a binary file",
            });
        }
    }
    // An unknown critical subpacket may invalidate the signature (RFC 9580 §5.2.3.7).
    let notes = signature.config().into_iter().flat_map(SignatureConfig::hashed_subpackets);
    let has_unknown = notes.filter(|note| note.is_critical).any(|note| {
        matches!(
            note.data,
            SubpacketData::Notation(_) | SubpacketData::Other(..) | SubpacketData::Experimental(..)
        )
    });
    if has_unknown {
        return Err(SignatureError::Unsupported {
            what: "critical subpacket",
            found: "unknown".to_owned(),
            expected: "a subpacket of RFC 9580",
        });
    }
    Ok(signature)
}

/// The key of this certificate that the signature names, if any.
fn signer<'a>(certificate: &'a SignedPublicKey, signature: &Signature) -> Option<Signer<'a>> {
    let is_meant = |key: &dyn KeyDetails| {
        let (ids, fingerprints) = (signature.issuer_key_id(), signature.issuer_fingerprint());
        ids.iter().any(|id| **id == key.legacy_key_id())
            || fingerprints.iter().any(|fingerprint| **fingerprint == key.fingerprint())
    };
    if is_meant(&certificate.primary_key) {
        return Some(Signer::Primary);
    }
    let mut subkeys = certificate.public_subkeys.iter();
    subkeys.find(|subkey| is_meant(&subkey.key)).map(Signer::Subkey)
}

/// Checks the primary key: it is not revoked, its algorithm is accepted, and its newest self-signature is valid and has
/// not expired.
fn check_certificate<'a>(
    certificate: &'a SignedPublicKey,
    made: Timestamp,
    at: Timestamp,
    whom: &str,
) -> Result<&'a Signature, SignatureError> {
    let primary = &certificate.primary_key;
    check_kind(primary)?;
    // A revocation counts even with a weak hash: rejecting too much is the smaller risk.
    let revocation = certificate
        .details
        .revocation_signatures
        .iter()
        .find(|revocation| revocation.verify_key(primary).is_ok());
    if let Some(revocation) = revocation {
        return Err(revoked(&fingerprint(certificate), revocation));
    }

    let direct = certificate.details.direct_signatures.iter();
    let direct = direct.filter(|signature| signature.verify_key(primary).is_ok());
    let by_user = certificate.details.users.iter().flat_map(|user| {
        user.signatures.iter().filter(move |signature| {
            signature.typ() != Some(SignatureType::CertRevocation)
                && signature.verify_certification(primary, Tag::UserId, &user.id).is_ok()
        })
    });
    let newest = newest(direct.chain(by_user))?;
    let born = Timestamp::from_unix(i64::from(primary.created_at().as_secs()));
    check_period(born, newest.key_expiration_time(), made, at, whom)?;
    Ok(newest)
}

/// Whether a primary key may sign files: without key flags it may be used for everything.
fn may_sign(about_itself: &Signature) -> bool {
    let notes = about_itself.config().into_iter().flat_map(SignatureConfig::hashed_subpackets);
    let mut flags = notes.filter(|note| matches!(note.data, SubpacketData::KeyFlags(_)));
    flags.next().is_none() || about_itself.key_flags().sign()
}

/// Checks a subkey: the primary key has authorized it to sign, and it has a back signature. Without the back signature
/// anyone could claim another person's key as a subkey.
fn check_subkey(
    certificate: &SignedPublicKey,
    subkey: &SignedPublicSubKey,
    made: Timestamp,
    at: Timestamp,
) -> Result<(), SignatureError> {
    let primary = &certificate.primary_key;
    let key_id = subkey.key.fingerprint().to_string();
    check_kind(&subkey.key)?;
    let by_primary: Vec<&Signature> = subkey
        .signatures
        .iter()
        .filter(|signature| signature.verify_subkey_binding(primary, &subkey.key).is_ok())
        .collect();
    let is_revocation =
        |signature: &&&Signature| signature.typ() == Some(SignatureType::SubkeyRevocation);
    if let Some(revocation) = by_primary.iter().find(is_revocation) {
        return Err(revoked(&key_id, revocation));
    }
    let not_bound = || SignatureError::SubkeyNotBound { key_id: key_id.clone() };
    if by_primary.is_empty() {
        return Err(not_bound());
    }
    let binding = newest(by_primary.into_iter())?;
    let agreement = binding.embedded_signature().ok_or_else(not_bound)?;
    check_hash(agreement)?;
    let agrees = agreement.verify_primary_key_binding(&subkey.key, primary).is_ok();
    if !binding.key_flags().sign() || !agrees {
        return Err(not_bound());
    }
    let born = Timestamp::from_unix(i64::from(subkey.key.created_at().as_secs()));
    check_period(born, binding.key_expiration_time(), made, at, &key_id)
}

/// The newest self-signature, if its hash is accepted. Falling back to an older one could undo a change by the owner.
fn newest<'a>(
    statements: impl Iterator<Item = &'a Signature>,
) -> Result<&'a Signature, SignatureError> {
    let newest =
        statements.max_by_key(|statement| statement.created().map(pgp::types::Timestamp::as_secs));
    let newest =
        newest.ok_or_else(|| SignatureError::unreadable("its key has no valid self-signature"))?;
    check_hash(newest)?;
    Ok(newest)
}

fn check_hash(signature: &Signature) -> Result<(), SignatureError> {
    match signature.hash_alg() {
        Some(
            HashAlgorithm::Sha256
            | HashAlgorithm::Sha384
            | HashAlgorithm::Sha512
            | HashAlgorithm::Sha3_256
            | HashAlgorithm::Sha3_512,
        ) => Ok(()),
        Some(weak) => Err(SignatureError::WeakHash(weak.to_string())),
        None => Err(SignatureError::WeakHash("no known hash".to_owned())),
    }
}

fn check_kind(key: &impl KeyDetails) -> Result<(), SignatureError> {
    let is_sound = match key.algorithm() {
        PublicKeyAlgorithm::EdDSALegacy
        | PublicKeyAlgorithm::Ed25519
        | PublicKeyAlgorithm::Ed448
        | PublicKeyAlgorithm::ECDSA => true,
        PublicKeyAlgorithm::RSA | PublicKeyAlgorithm::RSASign => match key.public_params() {
            PublicParams::RSA(rsa) => rsa.key.size() >= LEAST_RSA_BYTES,
            _ => false,
        },
        _ => false,
    };
    if is_sound {
        return Ok(());
    }
    Err(SignatureError::Unsupported {
        what: "key",
        found: format!("{:?}", key.algorithm()),
        expected: "EdDSA, ECDSA, or RSA with at least 2048 bits",
    })
}

/// Checks that something with this start and duration was valid when the signature was made, and is valid at the
/// reference time.
fn check_period(
    born: Timestamp,
    lasts: Option<pgp::types::Duration>,
    made: Timestamp,
    at: Timestamp,
    subject: &str,
) -> Result<(), SignatureError> {
    if made < born {
        return Err(SignatureError::NotYetValid { subject: subject.to_owned(), from: born });
    }
    match end_of(born, lasts) {
        Some(end) if made >= end || at >= end => {
            Err(SignatureError::Expired { subject: subject.to_owned(), at: end })
        }
        Some(_) | None => Ok(()),
    }
}

/// The end of a period; a duration of zero means no expiry (RFC 9580 §5.2.3.13).
fn end_of(born: Timestamp, lasts: Option<pgp::types::Duration>) -> Option<Timestamp> {
    let seconds = lasts.map(pgp::types::Duration::as_secs).filter(|seconds| *seconds > 0)?;
    Some(Timestamp::from_unix(born.unix() + i64::from(seconds)))
}

/// The user ID that the owner has signed, or the fingerprint.
fn primary_name(certificate: &SignedPublicKey) -> String {
    let primary = &certificate.primary_key;
    let mut users = certificate.details.users.iter().filter(|user| {
        let mut own = user.signatures.iter().filter(|signature| {
            signature.verify_certification(primary, Tag::UserId, &user.id).is_ok()
        });
        // Skips revoked user IDs, whatever the order of the packets.
        let is_revocation =
            |signature: &Signature| signature.typ() == Some(SignatureType::CertRevocation);
        own.clone().next().is_some() && !own.any(is_revocation)
    });
    let name = users.next().and_then(|user| user.id.as_str().map(str::to_owned));
    name.unwrap_or_else(|| fingerprint(certificate))
}

fn revoked(key_id: &str, revocation: &Signature) -> SignatureError {
    let at = revocation.created().map(|time| Timestamp::from_unix(i64::from(time.as_secs())));
    SignatureError::Revoked { key_id: key_id.to_owned(), at }
}

fn claimed_issuer(signature: &Signature) -> String {
    let fingerprint = signature.issuer_fingerprint().first().map(ToString::to_string);
    let id = || signature.issuer_key_id().first().map(ToString::to_string);
    fingerprint.or_else(id).unwrap_or_else(|| "without a name".to_owned())
}
