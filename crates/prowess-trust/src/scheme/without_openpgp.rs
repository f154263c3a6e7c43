//! Stands for `openpgp.rs` in a build without the feature `openpgp`: signatures are recognised and not accepted.

use super::{Proof, Subject};
use crate::error::SignatureError;

/// No certificate can be read here.
pub(crate) fn certificate_id(_text: &str) -> Option<String> {
    None
}

pub(super) fn verify<'a>(_subject: &Subject<'a>) -> Result<Proof<'a>, SignatureError> {
    Err(SignatureError::NotBuiltIn("OpenPGP"))
}
