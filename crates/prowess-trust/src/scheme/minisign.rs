//! Detached minisign signatures over the payload from `contents.rs`.

use minisign_verify::{Error, PublicKey, Signature};

use super::{Proof, SignatureTime, Subject};
use crate::contents::{Algorithm, payload};
use crate::error::SignatureError;
use crate::json::MOST_BYTES;
use crate::material::{Material, minisign_id};
use crate::timestamp::Timestamp;

/// Verifies a `.minisig` file. The untrusted comment is ignored; the trusted one is signed too (attack registry-C13).
pub(super) fn verify<'a>(subject: &Subject<'a>) -> Result<Proof<'a>, SignatureError> {
    let text = std::str::from_utf8(subject.bytes).ok().filter(|text| text.len() <= MOST_BYTES);
    let signature = text.and_then(|text| Signature::decode(text).ok());
    let (Some(text), Some(signature)) = (text, signature) else {
        return Err(SignatureError::Unreadable("it is not a minisign signature".to_owned()));
    };
    let key_id = text.lines().nth(1).and_then(minisign_id);
    let key_id = key_id.expect("a signature that was decoded has its key's number in this line");

    let contents = subject.contents;
    let files = contents.files_without(subject.signature_files);
    let name = &contents.name;
    let signed = payload(Algorithm::Minisign, subject.purpose, name, &contents.version, &files);

    let mut outcome = Err(SignatureError::UnknownKey { key_id: key_id.clone() });
    for entry in subject.store.keys() {
        let Material::Minisign(key) = &entry.material else { continue };
        let Ok(key) = PublicKey::from_base64(key.get()) else { continue };
        match key.verify(&signed, &signature, false) {
            Ok(()) => {
                return Ok(Proof {
                    key_id,
                    identity: entry.label.clone(),
                    covered: files.into_keys().collect(),
                    time: claimed_time(signature.trusted_comment()),
                    anchor: Some(entry),
                });
            }
            // A key ID is eight bytes that anyone can choose: another key may have the same one.
            Err(Error::UnexpectedKeyId) => {}
            Err(Error::UnexpectedAlgorithm) => outcome = Err(SignatureError::LegacyMinisign),
            Err(_) => outcome = Err(SignatureError::Mismatch),
        }
    }
    outcome
}

/// Parses `timestamp:1700000000`, which minisign writes into the trusted comment by default.
fn claimed_time(comment: &str) -> SignatureTime {
    let word = comment.split_whitespace().find_map(|word| word.strip_prefix("timestamp:"));
    let seconds = word.and_then(|digits| digits.parse().ok());
    seconds.map_or(SignatureTime::Unknown, |seconds| {
        SignatureTime::Claimed(Timestamp::from_unix(seconds))
    })
}
