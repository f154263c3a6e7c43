//! The ways to sign a skill. One file each; all take a [`Subject`] and give a [`Proof`].

pub(crate) mod minisign;
pub(crate) mod oms;
#[cfg_attr(not(feature = "openpgp"), path = "scheme/without_openpgp.rs")]
pub(crate) mod openpgp;
pub(crate) mod record;
#[cfg_attr(not(feature = "sigstore"), path = "scheme/without_sigstore.rs")]
pub(crate) mod sigstore;
pub(crate) mod sigstore_identity;

use std::collections::BTreeSet;
use std::fmt;

use crate::contents::{Contents, Purpose};
use crate::error::SignatureError;
use crate::timestamp::Timestamp;
use crate::trust_store::{TrustStore, TrustedKey};

/// The ways to sign a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Our own, which is also GAIA's: Ed25519 in `SIGNATURE.json` (R49).
    Ed25519,
    /// OpenSSF Model Signing, `skill.oms.sig`.
    Oms,
    /// A detached OpenPGP signature, `SIGNATURE.asc` or `SIGNATURE.sig`.
    OpenPgp,
    /// A detached minisign signature, `SIGNATURE.minisig`.
    Minisign,
    /// A Sigstore bundle, `SIGNATURE.sigstore.json`.
    Sigstore,
}

/// The files that are signatures by their name alone.
pub(crate) fn signature_names() -> &'static [&'static str] {
    &Scheme::FILE_NAMES[..Scheme::FILE_NAMES.len() - 1]
}

/// When something was signed, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureTime {
    /// Nobody says.
    Unknown,
    /// A note beside the signature says, which nothing protects.
    Noted(Timestamp),
    /// The signer says. A thief of the key can say what they like.
    Claimed(Timestamp),
    /// A third party whose word was checked says.
    Witnessed(Timestamp),
}

/// A signature and everything that it is checked against.
pub(crate) struct Subject<'a> {
    pub(crate) contents: &'a Contents,
    pub(crate) bytes: &'a [u8],
    pub(crate) purpose: Purpose,
    /// Files that are signatures themselves, of whatever scheme: a signature can't cover one that was made after it.
    pub(crate) signature_files: &'a BTreeSet<&'a str>,
    pub(crate) store: &'a TrustStore,
    /// When the signature is known to have existed; certificates must have been valid then.
    pub(crate) at: Timestamp,
}

/// What a signature proves, before anybody asks what its key is worth.
#[derive(Debug)]
pub(crate) struct Proof<'a> {
    pub(crate) key_id: String,
    /// Whom the certificate or the trust store names.
    pub(crate) identity: Option<String>,
    pub(crate) covered: Vec<String>,
    pub(crate) time: SignatureTime,
    /// The entry of the trust store by which it was checked.
    pub(crate) anchor: Option<&'a TrustedKey>,
}

impl Scheme {
    /// The word for it, in lock files and in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Ed25519 => "ed25519",
            Scheme::Oms => "oms",
            Scheme::OpenPgp => "openpgp",
            Scheme::Minisign => "minisign",
            Scheme::Sigstore => "sigstore",
        }
    }

    /// The names of files, at the top of a skill's folder, that [`attest`](crate::attest) wants to see.
    pub const FILE_NAMES: &[&str] = &[
        "AUDIT.asc",
        "AUDIT.json",
        "AUDIT.minisig",
        "AUDIT.sig",
        "AUDIT.sigstore.json",
        "SIGNATURE.asc",
        "SIGNATURE.json",
        "SIGNATURE.minisig",
        "SIGNATURE.sig",
        "SIGNATURE.sigstore.json",
        "skill.oms.sig",
        // Which of these is a signature is for its text to say, so it stays the last.
        "signature.json",
    ];

    /// Which scheme and purpose a file of a skill is a signature of, by its name; `None` for every other file.
    ///
    /// `signature.json` is a name that somebody may have chosen for something else (R49), so that its text decides.
    pub fn of_file(path: &str, bytes: &[u8]) -> Option<(Scheme, Purpose)> {
        match path {
            "SIGNATURE.json" => Some((Scheme::Ed25519, Purpose::Release)),
            "signature.json" if record::looks_like(bytes) => {
                Some((Scheme::Ed25519, Purpose::Release))
            }
            "AUDIT.json" => Some((Scheme::Ed25519, Purpose::Audit)),
            "skill.oms.sig" => Some((Scheme::Oms, Purpose::Release)),
            "SIGNATURE.asc" | "SIGNATURE.sig" => Some((Scheme::OpenPgp, Purpose::Release)),
            "AUDIT.asc" | "AUDIT.sig" => Some((Scheme::OpenPgp, Purpose::Audit)),
            "SIGNATURE.minisig" => Some((Scheme::Minisign, Purpose::Release)),
            "AUDIT.minisig" => Some((Scheme::Minisign, Purpose::Audit)),
            "SIGNATURE.sigstore.json" => Some((Scheme::Sigstore, Purpose::Release)),
            "AUDIT.sigstore.json" => Some((Scheme::Sigstore, Purpose::Audit)),
            _ => None,
        }
    }

    /// Checks a signature.
    pub(crate) fn verify<'a>(self, subject: &Subject<'a>) -> Result<Proof<'a>, SignatureError> {
        match self {
            Scheme::Ed25519 => record::verify(subject),
            Scheme::Oms => oms::verify(subject),
            Scheme::OpenPgp => openpgp::verify(subject),
            Scheme::Minisign => minisign::verify(subject),
            Scheme::Sigstore => sigstore::verify(subject),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
