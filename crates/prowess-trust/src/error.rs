//! Why a signature does not count.

use crate::contents::FileDifference;
use crate::timestamp::Timestamp;

/// What a signature that doesn't count says about the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Nothing: whoever signed is a stranger. The skill is as good as an unsigned one.
    Stranger,
    /// That something is wrong: a signature is there and does not hold. Nothing should be installed.
    Broken,
}

/// Why a signature does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// It can't be read.
    #[error("it can't be read: {0}")]
    Unreadable(String),
    /// It is of a kind or a version that is unknown here.
    #[error("its {what} is `{found}`, and only {expected} can be checked")]
    Unsupported {
        /// Which part of it.
        what: &'static str,
        /// What stands there.
        found: String,
        /// What could stand there.
        expected: &'static str,
    },
    /// It was made for another skill or version (attack registry-C5).
    #[error("it is for `{signed}`, and this is `{actual}`")]
    WrongSubject {
        /// Name and version that were signed.
        signed: String,
        /// Name and version that are there.
        actual: String,
    },
    /// Files are not what was signed (attack registry-C6).
    #[error("files changed after signing: {}", shown(.0))]
    Files(Vec<FileDifference>),
    /// The identifier it names is not that of its key.
    #[error("it names the key `{named}`, and its key is `{actual}`")]
    KeyIdMismatch {
        /// What it says.
        named: String,
        /// What its key hashes to.
        actual: String,
    },
    /// The key is one that accepts forged signatures (attack registry-C12).
    #[error("its key is one of the few that accept forged signatures")]
    WeakKey,
    /// The arithmetic says no.
    #[error(
        "it does not fit the signed text; one of the two was changed, or the signature is forged"
    )]
    Mismatch,
    /// The bytes that were handed in are not those of the file with that path.
    #[error("the file changed while it was read")]
    NotTheFile,
    /// A detached signature by a key that isn't in the trust store, so that it can't be checked at all.
    #[error("it is by the key `{key_id}`, which is not in the trust store")]
    UnknownKey {
        /// As the signature names it; unproved.
        key_id: String,
    },
    /// The chain of certificates is sound and ends at a root that isn't in the trust store (attack registry-C8).
    #[error("its certificate `{subject}` comes from a root that is not in the trust store")]
    UntrustedRoot {
        /// Whom the certificate names; unproved.
        subject: String,
    },
    /// A certificate or key had expired (attack registry-C9).
    #[error("`{subject}` expired at {at}")]
    Expired {
        /// Whose certificate or key.
        subject: String,
        /// Since when.
        at: Timestamp,
    },
    /// The signature itself was made for a short time.
    #[error("it expired at {at}")]
    SignatureExpired {
        /// Since when.
        at: Timestamp,
    },
    /// A certificate or key is not valid yet (attack registry-C9).
    #[error("`{subject}` is valid from {from} on")]
    NotYetValid {
        /// Whose certificate or key.
        subject: String,
        /// From when on.
        from: Timestamp,
    },
    /// A certificate in the chain may not sign others (attack registry-C9).
    #[error("`{subject}` signed a certificate and may not sign certificates")]
    NotAnAuthority {
        /// Whose certificate.
        subject: String,
    },
    /// The signer's certificate is for something else (attack registry-C9).
    #[error("the certificate `{subject}` is not for signing files")]
    WrongUsage {
        /// Whose certificate.
        subject: String,
    },
    /// Something else is wrong with the chain.
    #[error("its chain of certificates does not hold: {0}")]
    Chain(String),
    /// An envelope must have exactly one signature (attack registry-C10).
    #[error("it has {0} signatures, expected one")]
    SignatureCount(usize),
    /// A key that signed was revoked, by its owner or in the trust store (attacks registry-C14, registry-C15).
    #[error("the key `{key_id}` was revoked{}", .at.map_or(String::new(), |at| format!(" at {at}")))]
    Revoked {
        /// Which key.
        key_id: String,
        /// Since when, where it is known.
        at: Option<Timestamp>,
    },
    /// It rests on a hash that can be forged (attack registry-C14).
    #[error("it rests on {0}, which can be forged")]
    WeakHash(String),
    /// A subkey signed that its owner never gave leave to sign (attack registry-C14).
    #[error("the subkey `{key_id}` has no valid leave to sign")]
    SubkeyNotBound {
        /// Which subkey.
        key_id: String,
    },
    /// A minisign signature in the format that signs the whole text instead of its hash (attack registry-C13).
    #[error("it is in minisign's old format, which is no longer accepted")]
    LegacyMinisign,
    /// A Sigstore bundle does not hold (attack registry-C16).
    #[error("the Sigstore bundle does not hold: {0}")]
    Sigstore(String),
}

impl SignatureError {
    /// A signature that can't be read.
    pub(crate) fn unreadable(reason: &str) -> Self {
        Self::Unreadable(reason.to_owned())
    }

    /// Whether a stranger signed, or something is wrong.
    pub fn weight(&self) -> Weight {
        match self {
            SignatureError::UnknownKey { .. } | SignatureError::UntrustedRoot { .. } => {
                Weight::Stranger
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
            | SignatureError::Sigstore(_) => Weight::Broken,
        }
    }

    /// The next thing to do.
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
                "fetch the skill again; if it stays so, ask its publisher, and don't use it until then"
            }
            SignatureError::Unsupported { .. } => {
                "a newer version of this program may know it; otherwise ask the publisher for another signature"
            }
            SignatureError::WrongSubject { .. } | SignatureError::KeyIdMismatch { .. } => {
                "a signature can't be taken from one skill or version to another; ask the publisher to sign this one"
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
            | SignatureError::Sigstore(_) => {
                "ask the publisher to sign again, with a key that is fit for it"
            }
            SignatureError::NotYetValid { .. } => "compare the clock of this machine with another",
            SignatureError::Revoked { .. } => {
                "don't use this copy; ask the publisher for one that is signed by their new key"
            }
        }
    }
}

/// The first few differences; a list of hundreds helps nobody.
fn shown(differences: &[FileDifference]) -> String {
    const MOST: usize = 5;
    let mut words: Vec<String> = differences.iter().take(MOST).map(ToString::to_string).collect();
    if differences.len() > MOST {
        words.push(format!("and {} more", differences.len() - MOST));
    }
    words.join(", ")
}
