//! Who vouches for the files of a skill, and what their word is worth.
//!
//! A skill is known here as [`Contents`]: a name, a version, and the SHA-256 of every file. Signatures come in as bytes.
//! [`attest`] checks them with the keys of a [`TrustStore`] and says which tier they prove; [`compare`] says what has
//! changed since an earlier version. What a skill claims about itself is no argument of either.
//!
//! ```
//! use prowess_policy::Tier;
//! use prowess_trust::{Contents, Purpose, SecretKey, Signature, Timestamp, TrustStore, attest, sign};
//!
//! let contents = Contents::new("greet", "1.0.0").with_file("SKILL.md", b"# Greet\n");
//! let key = SecretKey::generate_ed25519()?;
//! let record = sign(&contents, &key, "acme", Purpose::Release)?;
//!
//! // The signature is right, but nobody here has said that this key means anything.
//! let signature = Signature::detached("SIGNATURE.json", record.into_bytes());
//! let attestation = attest(&contents, &[signature], &TrustStore::empty(), Timestamp::from_unix(1_800_000_000));
//! assert_eq!(attestation.tier, Tier::Experimental);
//! assert_eq!(attestation.evidence[0].key_id, key.public().id());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attest;
mod compare;
mod contents;
mod error;
mod json;
mod key;
mod key_file;
mod material;
mod scheme;
mod timestamp;
mod trust_store;

pub use attest::{
    Attestation, InvalidSignature, KeyStanding, Signature, Verdict, attest, detached_payload,
};
pub use compare::{Evidence, EvidenceChange, SignedBy, compare};
pub use contents::{Algorithm, Contents, FileDifference, Purpose, payload};
pub use error::{SignatureError, SignatureSeverity};
pub use key::{GenerateError, KeyKind, PublicKey, SecretKey};
pub use key_file::{KeyDerivationCost, KeyFileError, KeyFolder, KeyName, KeyNameError, ListedKey};
pub use material::{CheckedMaterial, Material, MaterialError};
pub use scheme::oms::sign_oms;
pub use scheme::record::{SignError, sign, sign_dated};
pub use scheme::sigstore_identity::SigstoreIdentity;
pub use scheme::{Scheme, SignatureTime};
pub use timestamp::{Timestamp, TimestampError};
pub use trust_store::{
    Accepted, NamePattern, NamePatternError, Role, RoleError, TrustStore, TrustStoreError,
    TrustedKey, load_trust_store, update_trust_store,
};
