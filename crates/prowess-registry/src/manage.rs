//! What publishers and moderators do with namespaces, skills and versions. Every change is in the audit log.

mod ci_runs;
mod keys;
mod moderate;
mod namespaces;
mod skills;
mod trusted_publishers;

pub(crate) use ci_runs::identities;
pub(crate) use namespaces::ensure_own_namespace;

pub use moderate::Decision;
pub use trusted_publishers::TrustedPublisher;
