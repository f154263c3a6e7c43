//! Secret keys for signing, and their public keys.

use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer as _;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::contents::hex;

/// The kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// For `SIGNATURE.json`.
    Ed25519,
    /// For `skill.oms.sig`, with NIST's curve P-256.
    P256,
    /// NIST's curve P-384, which is only verified, never generated here.
    P384,
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PublicKey {
    /// 32 bytes, as in RFC 8032.
    Ed25519([u8; 32]),
    /// An uncompressed point of 65 bytes.
    P256(Vec<u8>),
    /// An uncompressed point of 97 bytes.
    P384(Vec<u8>),
}

/// A secret key. Its bytes are zeroized on drop, and no message or debug output shows them.
pub enum SecretKey {
    /// An Ed25519 key.
    Ed25519(ed25519_dalek::SigningKey),
    /// A P-256 key as PKCS #8.
    P256 {
        /// The key.
        pkcs8: Zeroizing<Vec<u8>>,
        /// Its public point.
        point: Vec<u8>,
    },
}

/// The system provided no random bytes.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the system provided no random bytes for a key")]
pub struct GenerateError;

/// The prefix of the key in a `SubjectPublicKeyInfo` (RFC 8410, RFC 5480).
const ED25519_HEADER: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
const P256_HEADER: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
const P384_HEADER: &[u8] =
    b"\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22\x03\x62\x00";

impl KeyKind {
    /// The name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            KeyKind::Ed25519 => "ed25519",
            KeyKind::P256 => "p256",
            KeyKind::P384 => "p384",
        }
    }
}

impl PublicKey {
    /// Parses one line of text: the kind, base64, and an optional name. Bare base64 of 32 bytes is an Ed25519 key, as
    /// GAIA writes it.
    pub fn from_line(line: &str) -> Option<PublicKey> {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        let Some(second) = words.next() else {
            return Some(PublicKey::Ed25519(STANDARD.decode(first).ok()?.try_into().ok()?));
        };
        let bytes = STANDARD.decode(second).ok()?;
        match first {
            "ed25519" => Some(PublicKey::Ed25519(bytes.try_into().ok()?)),
            "p256" if is_point(&bytes, 65) => Some(PublicKey::P256(bytes)),
            "p384" if is_point(&bytes, 97) => Some(PublicKey::P384(bytes)),
            _ => None,
        }
    }

    /// The public key in a `SubjectPublicKeyInfo`, if its kind is supported.
    pub(crate) fn from_spki(der: &[u8]) -> Option<PublicKey> {
        if let Some(key) = der.strip_prefix(ED25519_HEADER) {
            return Some(PublicKey::Ed25519(key.try_into().ok()?));
        }
        if let Some(point) = der.strip_prefix(P256_HEADER) {
            return is_point(point, 65).then(|| PublicKey::P256(point.to_vec()));
        }
        let point = der.strip_prefix(P384_HEADER)?;
        is_point(point, 97).then(|| PublicKey::P384(point.to_vec()))
    }

    /// The kind of the key.
    pub fn kind(&self) -> KeyKind {
        match self {
            PublicKey::Ed25519(_) => KeyKind::Ed25519,
            PublicKey::P256(_) => KeyKind::P256,
            PublicKey::P384(_) => KeyKind::P384,
        }
    }

    /// The identifier: the first 32 hexadecimal digits of a SHA-256, of the key itself (GAIX-5) or of its PEM encoding.
    pub fn id(&self) -> String {
        let mut id = match self {
            PublicKey::Ed25519(bytes) => hex(&Sha256::digest(bytes)),
            PublicKey::P256(_) | PublicKey::P384(_) => self.oms_hint(),
        };
        id.truncate(32);
        id
    }

    /// The key as one line of text, without a name.
    pub fn line(&self) -> String {
        format!("{} {}", self.kind().as_str(), STANDARD.encode(self.bytes()))
    }

    /// The bytes of the key, without any header.
    pub fn bytes(&self) -> &[u8] {
        match self {
            PublicKey::Ed25519(bytes) => bytes,
            PublicKey::P256(point) | PublicKey::P384(point) => point,
        }
    }

    /// The PEM encoding (`BEGIN PUBLIC KEY`).
    pub fn pem(&self) -> String {
        let der: Vec<u8> = match self {
            PublicKey::Ed25519(bytes) => [ED25519_HEADER, bytes].concat(),
            PublicKey::P256(point) => [P256_HEADER, point].concat(),
            PublicKey::P384(point) => [P384_HEADER, point].concat(),
        };
        pem("PUBLIC KEY", &der)
    }

    /// The key identifier in bundles of OpenSSF Model Signing: the SHA-256 of its PEM encoding.
    pub(crate) fn oms_hint(&self) -> String {
        hex(&Sha256::digest(self.pem()))
    }
}

impl SecretKey {
    /// Generates an Ed25519 key.
    pub fn generate_ed25519() -> Result<SecretKey, GenerateError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut()).map_err(|_| GenerateError)?;
        Ok(SecretKey::from_seed(&seed))
    }

    /// Generates a P-256 key.
    pub fn generate_p256() -> Result<SecretKey, GenerateError> {
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())
                .map_err(|_| GenerateError)?;
        SecretKey::from_pkcs8(Zeroizing::new(pkcs8.as_ref().to_vec())).ok_or(GenerateError)
    }

    /// Creates the Ed25519 key of a seed (RFC 8032).
    pub fn from_seed(seed: &[u8; 32]) -> SecretKey {
        SecretKey::Ed25519(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// Creates a P-256 key from PKCS #8.
    pub fn from_pkcs8(pkcs8: Zeroizing<Vec<u8>>) -> Option<SecretKey> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &pkcs8, &random);
        let point = pair.ok()?.public_key().as_ref().to_vec();
        Some(SecretKey::P256 { pkcs8, point })
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        match self {
            SecretKey::Ed25519(key) => PublicKey::Ed25519(key.verifying_key().to_bytes()),
            SecretKey::P256 { point, .. } => PublicKey::P256(point.clone()),
        }
    }

    /// Signs a text.
    pub(crate) fn sign(&self, text: &[u8]) -> Result<Vec<u8>, GenerateError> {
        match self {
            SecretKey::Ed25519(key) => Ok(key.sign(text).to_bytes().to_vec()),
            SecretKey::P256 { pkcs8, .. } => {
                let random = SystemRandom::new();
                let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
                let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8, &random)
                    .expect("only a readable key becomes a `SecretKey`");
                let signature = pair.sign(&random, text).map_err(|_| GenerateError)?;
                Ok(signature.as_ref().to_vec())
            }
        }
    }

    /// The bytes to store in a key file.
    pub(crate) fn secret_bytes(&self) -> Zeroizing<Vec<u8>> {
        match self {
            SecretKey::Ed25519(key) => Zeroizing::new(key.to_bytes().to_vec()),
            SecretKey::P256 { pkcs8, .. } => pkcs8.clone(),
        }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public().id())
    }
}

/// Encodes bytes as PEM (RFC 7468).
pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    let mut pem = format!("-----BEGIN {label}-----\n");
    let text = STANDARD.encode(der);
    for line in text.as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    let _ = writeln!(pem, "-----END {label}-----");
    pem
}

/// Whether these bytes look like an uncompressed point; the verifier checks that it is on the curve.
fn is_point(bytes: &[u8], length: usize) -> bool {
    bytes.len() == length && bytes[0] == 4
}
