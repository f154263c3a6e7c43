//! Stands for `sigstore.rs` in a build without the feature `sigstore`: bundles are recognised and not accepted.

use super::sigstore_identity::BundleSigner;
use super::{Proof, Subject};
use crate::error::SignatureError;
use crate::trust_store::TrustStore;

/// Nothing is a trusted root where nothing can be verified against one.
pub(super) fn is_trusted_root(_text: &str) -> bool {
    false
}

pub(super) fn verify<'a>(_subject: &Subject<'a>) -> Result<Proof<'a>, SignatureError> {
    Err(not_built_in())
}

pub(super) fn verify_bundle<'a>(
    _bytes: &[u8],
    _signed: &[u8],
    _store: &'a TrustStore,
) -> Result<BundleSigner<'a>, SignatureError> {
    Err(not_built_in())
}

fn not_built_in() -> SignatureError {
    SignatureError::NotBuiltIn("Sigstore")
}
