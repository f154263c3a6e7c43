//! Whom a Sigstore bundle names, whether this build can verify bundles or not.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{SignatureTime, sigstore};
use crate::contents::hex;
use crate::json;
use crate::trust_store::TrustedKey;

/// A signer's identity, as confirmed to Sigstore by an identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigstoreIdentity {
    pub(super) issuer: String,
    pub(super) identity: String,
    /// Sigstore's trusted root as JSON; `None` for the public instance.
    pub(super) trusted_root: Option<String>,
}

impl SigstoreIdentity {
    /// Creates an identity such as `https://github.com/acme/skills/.github/workflows/release.yml@refs/heads/main`,
    /// confirmed by `https://token.actions.githubusercontent.com`.
    pub fn new(issuer: &str, identity: &str) -> Self {
        Self { issuer: issuer.to_owned(), identity: identity.to_owned(), trusted_root: None }
    }

    /// Parses the JSON that [`Self::text`] writes.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let value = json::read(text.as_bytes()).ok()?;
        let trusted_root = value.get("trusted_root").map(ToString::to_string);
        if let Some(root) = &trusted_root {
            sigstore::is_trusted_root(root).then_some(())?;
        }
        let text =
            |key: &str| json::text(&value, key).filter(|text| !text.is_empty()).map(str::to_owned);
        Some(Self { issuer: text("issuer")?, identity: text("identity")?, trusted_root })
    }

    /// The identity as JSON.
    pub fn text(&self) -> String {
        let mut fields = Map::new();
        fields.insert("issuer".to_owned(), Value::from(self.issuer.as_str()));
        fields.insert("identity".to_owned(), Value::from(self.identity.as_str()));
        if let Some(root) = self.trusted_root.as_deref().and_then(|root| root.parse().ok()) {
            fields.insert("trusted_root".to_owned(), root);
        }
        Value::Object(fields).to_string()
    }

    /// The identifier: issuer and identity, because Sigstore keys are valid for minutes only.
    pub(crate) fn id(&self) -> String {
        let mut id = hex(&Sha256::digest(self.text()));
        id.truncate(32);
        id
    }
}

/// The signer of a bundle, the trust store entry that matched, and the time.
#[derive(Debug)]
pub(super) struct BundleSigner<'a> {
    pub(super) entry: &'a TrustedKey,
    pub(super) identity: Option<String>,
    pub(super) time: SignatureTime,
}
