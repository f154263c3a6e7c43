//! Signatures, keys and trust.

mod attesting;
mod comparing;
#[cfg(unix)]
mod keys;
mod laws;
mod minisign;
mod model_signing;
mod oms;
mod openpgp;
mod records;
mod skill;
#[cfg(unix)]
mod trust_store;
