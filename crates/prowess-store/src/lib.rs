//! Skills on disk: the package format, its digests, unpacking what strangers packed, and changes that happen whole or not
//! at all.

pub mod agents;
pub mod content;
pub mod described;
pub mod digest;
pub mod discovery;
pub mod drift;
#[cfg(feature = "faults")]
pub mod faults;
mod folder;
pub mod import;
pub mod install;
mod journal;
pub mod limits;
pub mod lock;
pub mod name;
pub mod pack;
pub mod path;
pub mod placement;
pub mod places;
pub mod reference;
pub mod review;
pub mod source;
pub mod stage;
pub mod store;
pub mod switch;
mod tar_format;
pub mod tree;
pub mod unpack;
pub mod which;
