//! Reasons for which a signature is not accepted.

use crate::contents::FileDifference;
use crate::timestamp::Timestamp;

/// The severity of a signature that is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureSeverity {
    /// The signer is unknown. The skill is treated as unsigned.
    Stranger,
    /// The signature is invalid. The skill must not be installed.
    Broken,
}

/// Why a signature is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// It can't be parsed.
    #[error("it can't be read: {0}")]
    Unreadable(String),
    /// It has an unsupported kind or version.
    #[error("unsupported {what} `{found}` (expected {expected})")]
    Unsupported {
        /// The part that is unsupported.
        what: &'static str,
        /// The value found.
        found: String,
        /// The supported values.
        expected: &'static str,
    },
    /// It was made for another skill or version (attack registry-C5).
    #[error("it is for `{signed}`, but this is `{actual}`")]
    WrongSubject {
        /// The signed name and version.
        signed: String,
        /// The actual name and version.
        actual: String,
    },
    /// Files changed after signing (attack registry-C6).
    #[error("files changed after signing: {}", shown(.0))]
    Files(Vec<FileDifference>),
    /// Its key identifier doesn't match its key.
    #[error("it names the key `{named}`, but its key is `{actual}`")]
    KeyIdMismatch {
        /// The identifier in the signature.
        named: String,
        /// The identifier of its key.
        actual: String,
    },
    /// Its key is weak and accepts forged signatures (attack registry-C12).
    #[error("its key is weak and accepts forged signatures")]
    WeakKey,
    /// The cryptographic verification failed.
    #[error(
        "it does not match the signed text; one of the two was changed, or the signature is forged"
    )]
    Mismatch,
    /// The bytes passed in are not those of the file with that path.
    #[error("the file changed while it was read")]
    NotTheFile,
    /// A detached signature by a key that isn't in the trust store, so it can't be verified.
    #[error("it is by the key `{key_id}`, which is not in the trust store")]
    UnknownKey {
        /// The identifier in the signature, unverified.
        key_id: String,
    },
    /// The certificate chain is valid but ends at a root that isn't in the trust store (attack registry-C8).
    #[error("its certificate `{subject}` comes from a root that is not in the trust store")]
    UntrustedRoot {
        /// The subject of the certificate, unverified.
        subject: String,
    },
    /// A certificate or key had expired (attack registry-C9).
    #[error("`{subject}` expired at {at}")]
    Expired {
        /// The certificate or key.
        subject: String,
        /// The expiry time.
        at: Timestamp,
    },
    /// The signature itself has expired.
    #[error("it expired at {at}")]
    SignatureExpired {
        /// The expiry time.
        at: Timestamp,
    },
    /// A certificate or key is not valid yet (attack registry-C9).
    #[error("`{subject}` is not valid before {from}")]
    NotYetValid {
        /// The certificate or key.
        subject: String,
        /// The start of its validity.
        from: Timestamp,
    },
    /// A certificate in the chain may not sign others (attack registry-C9).
    #[error("`{subject}` signed a certificate, but is not a certificate authority")]
    NotAnAuthority {
        /// The subject of the certificate.
        subject: String,
    },
    /// The signer's certificate is not for signing files (attack registry-C9).
    #[error("the certificate `{subject}` is not for signing files")]
    WrongUsage {
        /// The subject of the certificate.
        subject: String,
    },
    /// The certificate chain is invalid for another reason.
    #[error("its certificate chain is invalid: {0}")]
    Chain(String),
    /// An envelope must have exactly one signature (attack registry-C10).
    #[error("it has {0} signatures, expected one")]
    SignatureCount(usize),
    /// A key that signed was revoked, by its owner or in the trust store (attacks registry-C14, registry-C15).
    #[error("the key `{key_id}` was revoked{}", .at.map_or(String::new(), |at| format!(" at {at}")))]
    Revoked {
        /// The identifier of the key.
        key_id: String,
        /// The time of the revocation, if known.
        at: Option<Timestamp>,
    },
    /// It uses a weak hash (attack registry-C14).
    #[error("it uses {0}, which is not secure")]
    WeakHash(String),
    /// It was made by a subkey without a valid signing authorization (attack registry-C14).
    #[error("the subkey `{key_id}` is not authorized to sign")]
    SubkeyNotBound {
        /// The identifier of the subkey.
        key_id: String,
    },
    /// A minisign signature in the legacy format, which signs the whole text instead of its hash (attack registry-C13).
    #[error("it is in minisign's old format, which is no longer accepted")]
    LegacyMinisign,
    /// This build was made without its scheme, so that nothing can be said about it.
    #[error("{0} signatures can't be verified by this build")]
    NotBuiltIn(&'static str),
    /// A Sigstore bundle is invalid (attack registry-C16).
    #[error("the Sigstore bundle is invalid: {0}")]
    Sigstore(String),
}

impl SignatureError {
    /// Creates the error for a signature that can't be parsed.
    pub(crate) fn unreadable(reason: &str) -> Self {
        Self::Unreadable(reason.to_owned())
    }

    /// Whether the signer is unknown or the signature is invalid.
    pub fn severity(&self) -> SignatureSeverity {
        match self {
            SignatureError::UnknownKey { .. } | SignatureError::UntrustedRoot { .. } => {
                SignatureSeverity::Stranger
            }
            SignatureError::Unreadable(_)
            | SignatureError::Unsupported { .. }
            | SignatureError::WrongSubject { .. }
            | SignatureError::Files(_)
            | SignatureError::KeyIdMismatch { .. }
            | SignatureError::WeakKey
            | SignatureError::Mismatch
            | SignatureError::NotTheFile
            | SignatureError::Expired { .. }
            | SignatureError::SignatureExpired { .. }
            | SignatureError::NotYetValid { .. }
            | SignatureError::NotAnAuthority { .. }
            | SignatureError::WrongUsage { .. }
            | SignatureError::Chain(_)
            | SignatureError::SignatureCount(_)
            | SignatureError::Revoked { .. }
            | SignatureError::WeakHash(_)
            | SignatureError::SubkeyNotBound { .. }
            | SignatureError::LegacyMinisign
            | SignatureError::NotBuiltIn(_)
            | SignatureError::Sigstore(_) => SignatureSeverity::Broken,
        }
    }

    /// Advice for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            SignatureError::UnknownKey { .. } => {
                "get the publisher's key from them, and add it with `prowess trust add`"
            }
            SignatureError::UntrustedRoot { .. } => {
                "get the publisher's root certificate from them, and add it with `prowess trust add`"
            }
            SignatureError::Unreadable(_)
            | SignatureError::Mismatch
            | SignatureError::Files(_)
            | SignatureError::NotTheFile => {
                "fetch the skill again; if the problem remains, ask its publisher, and don't use it until then"
            }
            SignatureError::Unsupported { .. } => {
                "a newer version of this program may support it; otherwise ask the publisher for another signature"
            }
            SignatureError::NotBuiltIn(_) => {
                "use a build with the features `openpgp` and `sigstore`, which are on unless they were turned off"
            }
            SignatureError::WrongSubject { .. } | SignatureError::KeyIdMismatch { .. } => {
                "a signature is valid for one skill and version only; ask the publisher to sign this one"
            }
            SignatureError::WeakKey
            | SignatureError::Expired { .. }
            | SignatureError::SignatureExpired { .. }
            | SignatureError::NotAnAuthority { .. }
            | SignatureError::WrongUsage { .. }
            | SignatureError::Chain(_)
            | SignatureError::SignatureCount(_)
            | SignatureError::WeakHash(_)
            | SignatureError::SubkeyNotBound { .. }
            | SignatureError::LegacyMinisign
            | SignatureError::Sigstore(_) => "ask the publisher to sign again, with a suitable key",
            SignatureError::NotYetValid { .. } => "check the clock of this machine",
            SignatureError::Revoked { .. } => {
                "don't use this copy; ask the publisher for one that is signed by their new key"
            }
        }
    }
}

/// The first few differences; a list of hundreds would not help.
fn shown(differences: &[FileDifference]) -> String {
    const MOST: usize = 5;
    let mut words: Vec<String> = differences.iter().take(MOST).map(ToString::to_string).collect();
    if differences.len() > MOST {
        words.push(format!("and {} more", differences.len() - MOST));
    }
    words.join(", ")
}
