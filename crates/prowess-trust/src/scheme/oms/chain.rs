//! Verifies the path from a signer's certificate to a root in the trust store.

use std::time::Duration;

use rustls_pki_types::{CertificateDer, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, Error, KeyUsage, anchor_from_trusted_cert};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

use crate::error::SignatureError;
use crate::key::PublicKey;
use crate::timestamp::Timestamp;
use crate::trust_store::TrustedKey;

/// The OID 1.3.6.1.5.5.7.3.3 in DER.
const CODE_SIGNING: &[u8] = &[43, 6, 1, 5, 5, 7, 3, 3];

/// The signer's certificate, not yet verified.
pub(super) struct SignerCertificate {
    pub(super) key: PublicKey,
    /// The subject, for display.
    pub(super) subject: String,
    /// The subject as DER, for comparison.
    pub(super) raw_subject: Vec<u8>,
    may_sign: bool,
}

impl SignerCertificate {
    pub(super) fn read(der: &[u8]) -> Result<Self, SignatureError> {
        let certificate = parsed(der)?;
        let Some(key) = PublicKey::from_spki(certificate.public_key().raw) else {
            return Err(SignatureError::Unsupported {
                what: "key",
                found: certificate.public_key().algorithm.algorithm.to_string(),
                expected: "the curve P-256 or P-384",
            });
        };
        Ok(Self {
            key,
            subject: certificate.subject().to_string(),
            raw_subject: certificate.subject().as_raw().to_vec(),
            may_sign: is_for_signing(&certificate)?,
        })
    }
}

/// Finds the root for which the signer's certificate is valid at a given time. Intermediate certificates from the
/// bundle may be used; roots come from the trust store only.
pub(super) fn verify<'a>(
    signer: &SignerCertificate,
    certificates: &[Vec<u8>],
    roots: impl Iterator<Item = (&'a TrustedKey, &'a [u8])>,
    at: Timestamp,
) -> Result<(&'a TrustedKey, &'a [u8]), SignatureError> {
    let mut outcome = Err(SignatureError::UntrustedRoot { subject: signer.subject.clone() });
    for (entry, root) in roots {
        match with_root(signer, certificates, root, at) {
            Ok(()) => {
                outcome = Ok((entry, root));
                break;
            }
            Err(SignatureError::UntrustedRoot { .. }) => {}
            // The chain leads to a trusted root but is otherwise invalid, which is the more specific error.
            Err(other) => outcome = Err(other),
        }
    }
    outcome
}

fn with_root(
    signer: &SignerCertificate,
    certificates: &[Vec<u8>],
    root: &[u8],
    at: Timestamp,
) -> Result<(), SignatureError> {
    let chain = |error: Error| SignatureError::Chain(error.to_string());
    let certificates: Vec<CertificateDer<'_>> =
        certificates.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
    let [first, between @ ..] = certificates.as_slice() else {
        return Err(SignatureError::Chain("it is empty".to_owned()));
    };
    let root_certificate = CertificateDer::from(root);
    let anchor = anchor_from_trusted_cert(&root_certificate).map_err(chain)?;
    let anchors = [anchor];
    let end_entity = EndEntityCert::try_from(first).map_err(chain)?;
    let seconds = u64::try_from(at.unix()).expect("no `Timestamp` is before 1970");
    let path = end_entity
        .verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &anchors,
            between,
            UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
            KeyUsage::required_if_present(CODE_SIGNING),
            None,
            None,
        )
        .map_err(|error| explained(&error, signer, &certificates))?;

    if !signer.may_sign {
        return Err(SignatureError::WrongUsage { subject: signer.subject.clone() });
    }
    // The crate that built the path checks `cA` but not `keyCertSign` (RFC 5280 §4.2.1.3).
    let between = path.intermediate_certificates().map(webpki::Cert::der);
    for authority in between.chain([root_certificate.clone()]) {
        let authority = parsed(&authority)?;
        let usage = authority.key_usage().map_err(|error| chain_text(&error))?;
        if usage.is_some_and(|usage| !usage.value.key_cert_sign()) {
            let subject = authority.subject().to_string();
            return Err(SignatureError::NotAnAuthority { subject });
        }
    }
    Ok(())
}

/// Translates an error of the crate, and adds the subject concerned.
fn explained(
    error: &Error,
    signer: &SignerCertificate,
    certificates: &[CertificateDer<'_>],
) -> SignatureError {
    let moment =
        |time: &UnixTime| Timestamp::from_unix(i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
    let stranger = || SignatureError::UntrustedRoot { subject: signer.subject.clone() };
    match error {
        Error::UnknownIssuer => stranger(),
        // Anyone can give their root the name of another one. If their chain is consistent, it is merely unknown
        // (attack registry-C8).
        Error::InvalidSignatureForPublicKey if holds_together(certificates) => stranger(),
        Error::CertExpired { not_after, .. } => SignatureError::Expired {
            subject: subject_of(certificates, |certificate| {
                certificate.validity().not_after.timestamp() == moment(not_after).unix()
            }),
            at: moment(not_after),
        },
        Error::CertNotValidYet { not_before, .. } => SignatureError::NotYetValid {
            subject: subject_of(certificates, |certificate| {
                certificate.validity().not_before.timestamp() == moment(not_before).unix()
            }),
            from: moment(not_before),
        },
        Error::EndEntityUsedAsCa => SignatureError::NotAnAuthority {
            subject: subject_of(&certificates[1..], |certificate| !certificate.is_ca()),
        },
        Error::CaUsedAsEndEntity
        | Error::RequiredEkuNotFoundContext(_)
        | Error::EmptyEkuExtension => {
            SignatureError::WrongUsage { subject: signer.subject.clone() }
        }
        other => SignatureError::Chain(other.to_string()),
    }
}

/// Whether each certificate is signed by the next one.
fn holds_together(certificates: &[CertificateDer<'_>]) -> bool {
    certificates.windows(2).all(|pair| match (parsed(&pair[0]), parsed(&pair[1])) {
        (Ok(child), Ok(parent)) => child.verify_signature(Some(parent.public_key())).is_ok(),
        _ => false,
    })
}

/// The subject of the first certificate that matches.
fn subject_of(
    certificates: &[CertificateDer<'_>],
    described: impl Fn(&X509Certificate<'_>) -> bool,
) -> String {
    let mut parsed = certificates.iter().filter_map(|certificate| parsed(certificate).ok());
    let found = parsed.find(described);
    found.map_or_else(|| "a certificate".to_owned(), |found| found.subject().to_string())
}

/// Follows the reference implementation: `digitalSignature` or code signing must be allowed explicitly, and no
/// extension may forbid it.
fn is_for_signing(certificate: &X509Certificate<'_>) -> Result<bool, SignatureError> {
    let usage = certificate.key_usage().map_err(|error| chain_text(&error))?;
    let extended = certificate.extended_key_usage().map_err(|error| chain_text(&error))?;
    let usage = usage.map(|usage| usage.value.digital_signature());
    let extended = extended.map(|usage| usage.value.code_signing || usage.value.any);
    Ok(match (usage, extended) {
        (Some(false), _) | (_, Some(false)) => false,
        (Some(true), _) | (_, Some(true)) => true,
        (None, None) => false,
    })
}

fn parsed(der: &[u8]) -> Result<X509Certificate<'_>, SignatureError> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        Ok(_) => Err(SignatureError::Unreadable("a certificate has trailing data".to_owned())),
        Err(_) => Err(SignatureError::Unreadable("a certificate can't be read".to_owned())),
    }
}

fn chain_text(error: &x509_parser::error::X509Error) -> SignatureError {
    SignatureError::Chain(error.to_string())
}
