//! Keys and certificates that a trust store may contain, in the formats in which they are distributed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use sha2::{Digest as _, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

use crate::contents::hex;
use crate::key::{PublicKey, pem};
use crate::scheme::openpgp;
use crate::scheme::sigstore_identity::SigstoreIdentity;

/// A key, certificate or identity for verifying signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Material {
    /// A bare public key, for `SIGNATURE.json` or for `skill.oms.sig`.
    Key(PublicKey),
    /// An X.509 certificate in DER: a root for chains in `skill.oms.sig`.
    Certificate(CheckedMaterial<Vec<u8>>),
    /// An OpenPGP certificate, armored, as `gpg --armor --export` writes it.
    OpenPgp(CheckedMaterial<String>),
    /// A minisign key: the base64 of its file's second line.
    Minisign(CheckedMaterial<String>),
    /// An identity that Sigstore confirms.
    Sigstore(CheckedMaterial<SigstoreIdentity>),
}

/// A value that [`Material::read`] has validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedMaterial<T>(T);

impl<T> CheckedMaterial<T> {
    /// The validated value.
    pub fn get(&self) -> &T {
        &self.0
    }
}

/// The error for text that is not a public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaterialError {
    /// The format is unknown.
    #[error(
        "this is not a public key; expected a line of `prowess key export`, the base64 of an Ed25519 key, a minisign key, a public key or certificate in PEM, the output of `gpg --armor --export`, or a Sigstore identity as JSON"
    )]
    Unknown,
    /// There are several certificates, or none that can be parsed.
    #[error("expected exactly one certificate; add each separately, and only the root of a chain")]
    NotOneCertificate,
    /// The certificate does not belong to a certificate authority.
    #[error("this certificate is not a certificate authority; add the root that signed it")]
    NotAnAuthority,
    /// It is a secret key.
    #[error("this is a secret key, which must stay private; add its public key instead")]
    Secret,
}

impl Material {
    /// Parses a key in any supported format.
    pub fn read(text: &str) -> Result<Material, MaterialError> {
        let text = text.trim();
        if text.contains("PRIVATE KEY") || text.contains("minisign encrypted secret key") {
            return Err(MaterialError::Secret);
        }
        if text.starts_with('{') {
            let identity = SigstoreIdentity::read(text).ok_or(MaterialError::Unknown)?;
            return Ok(Material::Sigstore(CheckedMaterial(identity)));
        }
        if text.starts_with("-----BEGIN PUBLIC KEY-----") {
            let key = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes()).ok();
            let key = key.and_then(|key| PublicKey::from_spki(&key));
            return key.map(Material::Key).ok_or(MaterialError::Unknown);
        }
        if text.starts_with("-----BEGIN PGP PUBLIC KEY BLOCK-----") {
            openpgp::certificate_id(text).ok_or(MaterialError::NotOneCertificate)?;
            return Ok(Material::OpenPgp(CheckedMaterial(text.to_owned())));
        }
        if text.starts_with("-----BEGIN CERTIFICATE-----") {
            return read_certificate(text);
        }
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let line = match lines.as_slice() {
            [line] => line,
            [comment, line] if comment.starts_with("untrusted comment:") => line,
            _ => return Err(MaterialError::Unknown),
        };
        if minisign_verify::PublicKey::from_base64(line).is_ok() {
            return Ok(Material::Minisign(CheckedMaterial((*line).to_owned())));
        }
        PublicKey::from_line(line).map(Material::Key).ok_or(MaterialError::Unknown)
    }

    /// The name of its kind in the trust store's file.
    pub fn kind(&self) -> &'static str {
        match self {
            Material::Key(key) => key.kind().as_str(),
            Material::Certificate(_) => "certificate",
            Material::OpenPgp(_) => "openpgp",
            Material::Minisign(_) => "minisign",
            Material::Sigstore(_) => "sigstore",
        }
    }

    /// The text from which [`Material::read`] creates the same value.
    pub fn text(&self) -> String {
        match self {
            Material::Key(key) => key.line(),
            Material::Certificate(der) => pem("CERTIFICATE", der.get()),
            Material::OpenPgp(text) | Material::Minisign(text) => text.get().clone(),
            Material::Sigstore(identity) => identity.get().text(),
        }
    }

    /// The identifier, in the format of its own tools.
    #[expect(clippy::missing_panics_doc, reason = "`read` has checked what is taken apart here")]
    pub fn id(&self) -> String {
        match self {
            Material::Key(key) => key.id(),
            Material::Certificate(der) => {
                let mut id = hex(&Sha256::digest(der.get()));
                id.truncate(32);
                id
            }
            Material::Sigstore(identity) => identity.get().id(),
            Material::OpenPgp(text) => {
                openpgp::certificate_id(text.get()).expect("only a readable key becomes `Material`")
            }
            Material::Minisign(key) => {
                minisign_id(key.get()).expect("only a readable key becomes `Material`")
            }
        }
    }
}

/// All kinds that this build can read, to distinguish entries of other versions and builds from damaged ones.
pub(crate) const KINDS: &[&str] = &[
    "ed25519",
    "p256",
    "p384",
    "certificate",
    #[cfg(feature = "openpgp")]
    "openpgp",
    "minisign",
    #[cfg(feature = "sigstore")]
    "sigstore",
];

/// Parses one certificate authority. With several in a file it would be ambiguous which one is meant.
fn read_certificate(text: &str) -> Result<Material, MaterialError> {
    let mut found = CertificateDer::pem_slice_iter(text.as_bytes());
    let (Some(Ok(certificate)), None) = (found.next(), found.next()) else {
        return Err(MaterialError::NotOneCertificate);
    };
    let der = certificate.as_ref();
    let Ok(([], parsed)) = X509Certificate::from_der(der) else {
        return Err(MaterialError::Unknown);
    };
    if !parsed.is_ca() {
        return Err(MaterialError::NotAnAuthority);
    }
    Ok(Material::Certificate(CheckedMaterial(der.to_vec())))
}

/// The key ID as minisign prints it, from the base64 of a key or a signature.
pub(crate) fn minisign_id(base64: &str) -> Option<String> {
    let bytes = STANDARD.decode(base64.trim()).ok()?;
    let number = <[u8; 8]>::try_from(bytes.get(2..10)?).ok()?;
    Some(format!("{:016X}", u64::from_le_bytes(number)))
}
