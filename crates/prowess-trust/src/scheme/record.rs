//! Our own signature, which is GAIA's as well (R49, GAIX-5): a JSON record beside the files it covers.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::{Map, Value, json};

use super::{Proof, SignatureTime, Subject};
use crate::contents::{
    Algorithm, Contents, Purpose, SIGNATURE_VERSION, digest_from_hex, hex, payload,
};
use crate::error::SignatureError;
use crate::json;
use crate::key::{GenerateError, PublicKey, SecretKey};
use crate::material::Material;
use crate::timestamp::Timestamp;

/// Why nothing was signed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SignError {
    /// The key is of another kind.
    #[error("a `{file}` needs a key of the kind `{needed}`, and this one is `{found}`")]
    WrongKind {
        /// What was to be made.
        file: &'static str,
        /// What it needs.
        needed: &'static str,
        /// What was given.
        found: &'static str,
    },
    /// The system gave no random bytes.
    #[error(transparent)]
    Random(#[from] GenerateError),
}

/// Signs a skill; gives the text of `SIGNATURE.json`, or of `AUDIT.json` for an auditor's sign-off.
///
/// `publisher` is a note for readers that nothing proves. Everything is covered but the file itself: other signatures that are there too, because GAIA's verifier knows no exceptions for them.
pub fn sign(
    contents: &Contents,
    key: &SecretKey,
    publisher: &str,
    purpose: Purpose,
) -> Result<String, SignError> {
    sign_dated(contents, key, publisher, purpose, None)
}

/// Signs a skill like [`sign`], and notes when. Like `publisher`, the time is a note that nothing proves: GAIA's payload has
/// no place for it.
pub fn sign_dated(
    contents: &Contents,
    key: &SecretKey,
    publisher: &str,
    purpose: Purpose,
    signed_at: Option<Timestamp>,
) -> Result<String, SignError> {
    let public = key.public();
    let SecretKey::Ed25519(_) = key else {
        return Err(SignError::WrongKind {
            file: "SIGNATURE.json",
            needed: "ed25519",
            found: public.kind().as_str(),
        });
    };
    let leave_out = match purpose {
        Purpose::Release => BTreeSet::from(["SIGNATURE.json", "AUDIT.json"]),
        Purpose::Audit => BTreeSet::from(["AUDIT.json"]),
    };
    let files = contents.files_without(&leave_out);
    let text = payload(Algorithm::Ed25519, purpose, &contents.name, &contents.version, &files);
    let digests: Map<String, Value> =
        files.iter().map(|(path, digest)| (path.clone(), Value::from(hex(digest)))).collect();
    let mut record = json!({
        "algorithm": Algorithm::Ed25519.as_str(),
        "files": digests,
        "key_id": public.id(),
        "name": contents.name,
        "public_key": STANDARD.encode(public.bytes()),
        "publisher": publisher,
        "signature": STANDARD.encode(key.sign(&text)?),
        "signature_version": SIGNATURE_VERSION,
        "version": contents.version,
    });
    if purpose == Purpose::Audit {
        record["purpose"] = Value::from("audit");
    }
    if let Some(signed_at) = signed_at {
        record["signed_at"] = Value::from(signed_at.to_string());
    }
    Ok(format!("{record:#}\n"))
}

/// Whether a file is such a record and not merely called like one.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    // A record with a duplicate key is still meant to be one: it must be refused rather than overlooked.
    let marker = b"\"signature_version\"";
    bytes.windows(marker.len()).any(|window| window == marker)
}

/// Checks a record: first its own arithmetic, then the files, then whether the trust store knows the key.
pub(super) fn verify<'a>(subject: &Subject<'a>) -> Result<Proof<'a>, SignatureError> {
    let record = json::read(subject.bytes).map_err(SignatureError::Unreadable)?;
    let record = Record::read(&record)?;

    let contents = subject.contents;
    if (record.name, record.version) != (&contents.name, &contents.version) {
        return Err(SignatureError::WrongSubject {
            signed: format!("{} {}", record.name, record.version),
            actual: format!("{} {}", contents.name, contents.version),
        });
    }
    if record.purpose != subject.purpose {
        return Err(SignatureError::Unsupported {
            what: "purpose",
            found: purpose_word(record.purpose).to_owned(),
            expected: match subject.purpose {
                Purpose::Release => "`release` in a `SIGNATURE.json`",
                Purpose::Audit => "`audit` in an `AUDIT.json`",
            },
        });
    }

    let public = PublicKey::Ed25519(record.public_key);
    if record.key_id != public.id() {
        return Err(SignatureError::KeyIdMismatch {
            named: record.key_id.to_owned(),
            actual: public.id(),
        });
    }
    let key = VerifyingKey::from_bytes(&record.public_key)
        .map_err(|_| SignatureError::Unreadable("`public_key` is no Ed25519 key".to_owned()))?;
    if key.is_weak() {
        return Err(SignatureError::WeakKey);
    }
    let signed =
        payload(Algorithm::Ed25519, record.purpose, record.name, record.version, &record.files);
    // Strict: whatever one verifier accepts and another refuses is refused (attack registry-C12).
    key.verify_strict(&signed, &Signature::from_bytes(&record.signature))
        .map_err(|_| SignatureError::Mismatch)?;

    let differences = contents.differences(&record.files, subject.signature_files);
    if !differences.is_empty() {
        return Err(SignatureError::Files(differences));
    }

    let trusted = Material::Key(public.clone());
    let anchor = subject.store.keys().find(|entry| entry.material == trusted);
    Ok(Proof {
        key_id: public.id(),
        // `publisher` in the record is not signed, so that anybody could write another name there.
        identity: anchor.and_then(|entry| entry.label.clone()),
        covered: record.files.into_keys().collect(),
        time: record.signed_at.map_or(SignatureTime::Unknown, SignatureTime::Noted),
        anchor,
    })
}

/// The record as it was parsed. The payload is made of these values and no others, so that what is checked is what was read.
struct Record<'a> {
    name: &'a str,
    version: &'a str,
    key_id: &'a str,
    public_key: [u8; 32],
    signature: [u8; 64],
    purpose: Purpose,
    files: BTreeMap<String, [u8; 32]>,
    /// A note, which is not signed.
    signed_at: Option<Timestamp>,
}

impl<'a> Record<'a> {
    fn read(value: &'a Value) -> Result<Self, SignatureError> {
        let algorithm = required(value, "algorithm")?;
        if algorithm != Algorithm::Ed25519.as_str() {
            return Err(SignatureError::Unsupported {
                what: "algorithm",
                found: algorithm.to_owned(),
                expected: "`ed25519`",
            });
        }
        let version = value.get("signature_version");
        if version.and_then(Value::as_u64) != Some(SIGNATURE_VERSION) {
            return Err(SignatureError::Unsupported {
                what: "`signature_version`",
                found: version.map_or_else(|| "missing".to_owned(), ToString::to_string),
                expected: "`1`",
            });
        }
        let purpose = match value.get("purpose").map(Value::as_str) {
            None => Purpose::Release,
            Some(Some("audit")) => Purpose::Audit,
            Some(_) => {
                return Err(SignatureError::Unsupported {
                    what: "purpose",
                    found: value["purpose"].to_string(),
                    expected: "`audit`, or none for a release",
                });
            }
        };
        let Some(Value::Object(listed)) = value.get("files") else {
            return Err(SignatureError::unreadable("`files` is not a map of paths to SHA-256"));
        };
        let mut files = BTreeMap::new();
        for (path, digest) in listed {
            let digest = digest.as_str().and_then(digest_from_hex).ok_or_else(|| {
                SignatureError::unreadable(&format!(
                    "the digest of `{path}` is not 64 small hexadecimal digits"
                ))
            })?;
            files.insert(path.clone(), digest);
        }
        Ok(Self {
            name: required(value, "name")?,
            version: required(value, "version")?,
            key_id: required(value, "key_id")?,
            public_key: fixed(value, "public_key")?,
            signature: fixed(value, "signature")?,
            purpose,
            files,
            signed_at: json::text(value, "signed_at").and_then(|text| text.parse().ok()),
        })
    }
}

fn required<'a>(value: &'a Value, key: &str) -> Result<&'a str, SignatureError> {
    json::text(value, key)
        .ok_or_else(|| SignatureError::unreadable(&format!("`{key}` is missing or no text")))
}

fn fixed<const N: usize>(value: &Value, key: &str) -> Result<[u8; N], SignatureError> {
    let bytes = STANDARD.decode(required(value, key)?).ok();
    let bytes = bytes.and_then(|bytes| <[u8; N]>::try_from(bytes).ok());
    bytes.ok_or_else(|| {
        SignatureError::unreadable(&format!("`{key}` is not the base64 of {N} bytes"))
    })
}

fn purpose_word(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Release => "release",
        Purpose::Audit => "audit",
    }
}
