//! Skills on disk: the package format, its digests, unpacking what strangers packed, and changes that happen whole or not
//! at all.

pub mod agents;
pub mod discovery;
pub mod places;
