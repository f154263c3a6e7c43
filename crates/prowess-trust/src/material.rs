//! What a trust store may hold: keys and certificates of every scheme, in the forms in which people hand them around.

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
use crate::scheme::sigstore::SigstoreIdentity;

/// Something to check signatures with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Material {
    /// A bare public key, for `SIGNATURE.json` or for `skill.oms.sig`.
    Key(PublicKey),
    /// An X.509 certificate in DER: a root for chains in `skill.oms.sig`.
    Certificate(Checked<Vec<u8>>),
    /// An OpenPGP certificate, armored, as `gpg --armor --export` writes it.
    OpenPgp(Checked<String>),
    /// A minisign key: the base64 of its file's second line.
    Minisign(Checked<String>),
    /// An identity that Sigstore confirms.
    Sigstore(Checked<SigstoreIdentity>),
}

/// Something that [`Material::read`] has looked at, so that nobody has to wonder again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked<T>(T);

impl<T> Checked<T> {
    /// What was checked.
    pub fn get(&self) -> &T {
        &self.0
    }
}

/// A text that is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaterialError {
    /// Nothing about it is known.
    #[error(
        "this is no public key; expected a line of `prowess key export`, the base64 of an Ed25519 key, a minisign key, a public key or certificate in PEM, what `gpg --armor --export` writes, or an identity of Sigstore as JSON"
    )]
    Unknown,
    /// There are several certificates, or none that can be read.
    #[error("this is not exactly one certificate; add each alone, and of a chain the root only")]
    NotOneCertificate,
    /// The certificate is not one of an authority.
    #[error("this certificate may not sign others; add the root that signed it")]
    NotAnAuthority,
    /// It is a secret key.
    #[error("this is a secret key, which nobody else should have; add its public half instead")]
    Secret,
}

impl Material {
    /// Reads a key in whatever form it has.
    pub fn read(text: &str) -> Result<Material, MaterialError> {
        let text = text.trim();
        if text.contains("PRIVATE KEY") || text.contains("minisign encrypted secret key") {
            return Err(MaterialError::Secret);
        }
        if text.starts_with('{') {
            let identity = SigstoreIdentity::read(text).ok_or(MaterialError::Unknown)?;
            return Ok(Material::Sigstore(Checked(identity)));
        }
        if text.starts_with("-----BEGIN PUBLIC KEY-----") {
            let key = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes()).ok();
            let key = key.and_then(|key| PublicKey::from_spki(&key));
            return key.map(Material::Key).ok_or(MaterialError::Unknown);
        }
        if text.starts_with("-----BEGIN PGP PUBLIC KEY BLOCK-----") {
            let certificate = openpgp::read_certificate(text);
            certificate.ok_or(MaterialError::NotOneCertificate)?;
            return Ok(Material::OpenPgp(Checked(text.to_owned())));
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
            return Ok(Material::Minisign(Checked((*line).to_owned())));
        }
        PublicKey::from_line(line).map(Material::Key).ok_or(MaterialError::Unknown)
    }

    /// The word for its kind in the trust store's file.
    pub fn kind(&self) -> &'static str {
        match self {
            Material::Key(key) => key.kind().as_str(),
            Material::Certificate(_) => "certificate",
            Material::OpenPgp(_) => "openpgp",
            Material::Minisign(_) => "minisign",
            Material::Sigstore(_) => "sigstore",
        }
    }

    /// The text that [`Material::read`] makes the same of again.
    pub fn text(&self) -> String {
        match self {
            Material::Key(key) => key.line(),
            Material::Certificate(der) => pem("CERTIFICATE", der.get()),
            Material::OpenPgp(text) | Material::Minisign(text) => text.get().clone(),
            Material::Sigstore(identity) => identity.get().text(),
        }
    }

    /// How it is called, in the way that its own tools call it.
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
                let certificate = openpgp::read_certificate(text.get());
                openpgp::fingerprint(&certificate.expect("only a readable key becomes `Material`"))
            }
            Material::Minisign(key) => {
                minisign_id(key.get()).expect("only a readable key becomes `Material`")
            }
        }
    }
}

/// The kinds of [`Material::kind`], for telling an entry from the future from a broken one.
pub(crate) const KINDS: &[&str] =
    &["ed25519", "p256", "p384", "certificate", "openpgp", "minisign", "sigstore"];

/// One certificate that may sign others. A file with several would leave open which of them is meant.
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
    Ok(Material::Certificate(Checked(der.to_vec())))
}

/// The number of a minisign key as minisign prints it, from the base64 of a key or a signature.
pub(crate) fn minisign_id(base64: &str) -> Option<String> {
    let bytes = STANDARD.decode(base64.trim()).ok()?;
    let number = <[u8; 8]>::try_from(bytes.get(2..10)?).ok()?;
    Some(format!("{:016X}", u64::from_le_bytes(number)))
}
