//! Signatures, keys and trust.

mod attesting;
mod comparing;
mod keys;
mod minisign;
mod model_signing;
mod oms;
mod openpgp;
mod records;
mod skill;
mod trust_store;
