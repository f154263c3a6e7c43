//! The envelope: a Sigstore bundle with one DSSE signature.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::expect;
use crate::error::SignatureError;
use crate::json;

const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// Maximum number of certificates. Real chains have three.
const MOST_CERTIFICATES: usize = 8;

/// A parsed bundle, not yet verified.
pub(crate) struct Bundle {
    pub(crate) payload: Vec<u8>,
    pub(crate) signature: Vec<u8>,
    pub(crate) signer: Signer,
}

/// The signer of a bundle.
pub(crate) enum Signer {
    /// A key that must be in the trust store.
    Key { hint: Option<String> },
    /// DER certificates, the signer's first; never empty.
    Chain(Vec<Vec<u8>>),
    /// A Sigstore certificate, which the Sigstore crate parses.
    Sigstore,
}

impl Bundle {
    pub(crate) fn read(bytes: &[u8]) -> Result<Bundle, SignatureError> {
        let value = json::read(bytes).map_err(SignatureError::Unreadable)?;
        expect("media type", json::text(&value, "mediaType"), MEDIA_TYPE, "version 0.3")?;
        let envelope = &value["dsseEnvelope"];
        // The payload type is signed too, so that a statement can't be passed off as something else (attack
        // registry-C10).
        let payload_type = json::text(envelope, "payloadType");
        expect("payload type", payload_type, PAYLOAD_TYPE, "an in-toto statement")?;
        let signature = match envelope.get("signatures").and_then(Value::as_array) {
            Some(signatures) => match signatures.as_slice() {
                [signature] => signature,
                several => return Err(SignatureError::SignatureCount(several.len())),
            },
            None => return Err(SignatureError::unreadable("`signatures` is not a list")),
        };
        Ok(Bundle {
            payload: decoded(envelope, "payload")?,
            signature: decoded(signature, "sig")?,
            signer: Signer::read(&value["verificationMaterial"])?,
        })
    }
}

impl Signer {
    fn read(material: &Value) -> Result<Signer, SignatureError> {
        match (material.get("publicKey"), material.get("x509CertificateChain")) {
            (Some(key), None) => {
                let hint = json::text(key, "hint").filter(|hint| !hint.is_empty());
                Ok(Signer::Key { hint: hint.map(str::to_owned) })
            }
            (None, Some(chain)) => {
                let certificates = chain.get("certificates").and_then(Value::as_array);
                let certificates: Result<Vec<Vec<u8>>, SignatureError> = certificates
                    .ok_or_else(|| SignatureError::unreadable("`certificates` is not a list"))?
                    .iter()
                    .map(|certificate| decoded(certificate, "rawBytes"))
                    .collect();
                let certificates = certificates?;
                if certificates.is_empty() || certificates.len() > MOST_CERTIFICATES {
                    let count = certificates.len();
                    return Err(SignatureError::unreadable(&format!(
                        "it has {count} certificates, expected 1 to {MOST_CERTIFICATES}"
                    )));
                }
                Ok(Signer::Chain(certificates))
            }
            (Some(_), Some(_)) => {
                Err(SignatureError::unreadable("it names both a key and certificates"))
            }
            (None, None) if material.get("certificate").is_some() => Ok(Signer::Sigstore),
            (None, None) => Err(SignatureError::Unsupported {
                what: "signer",
                found: material.as_object().map_or_else(
                    || "missing".to_owned(),
                    |material| material.keys().cloned().collect::<Vec<_>>().join(", "),
                ),
                expected: "a key, a certificate chain or a Sigstore certificate",
            }),
        }
    }
}

/// The signed text (DSSE v1, pre-authentication encoding).
pub(crate) fn signed_text(payload: &[u8]) -> Vec<u8> {
    let mut text =
        format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len()).into_bytes();
    text.extend_from_slice(payload);
    text
}

/// Writes a bundle signed with a bare key.
pub(super) fn written(hint: &str, payload: &[u8], signature: &[u8]) -> String {
    let bundle = json!({
        "mediaType": MEDIA_TYPE,
        "verificationMaterial": {"publicKey": {"hint": hint}, "tlogEntries": []},
        "dsseEnvelope": {
            "payload": STANDARD.encode(payload),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"sig": STANDARD.encode(signature), "keyid": ""}],
        },
    });
    format!("{bundle}\n")
}

fn decoded(value: &Value, key: &str) -> Result<Vec<u8>, SignatureError> {
    let bytes = json::text(value, key).and_then(|text| STANDARD.decode(text).ok());
    bytes.ok_or_else(|| SignatureError::unreadable(&format!("`{key}` is not base64")))
}
