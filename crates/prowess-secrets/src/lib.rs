//! Finds secrets in byte streams, in every usual encoding, and replaces them.
//!
//! Used in two places. The output of a tool must not contain the keys it was given, so each is
//! replaced with a mark ([`Replacer::redacting`]). And a server that receives a key may echo it, so in
//! responses each key is replaced with the placeholder that the tool knows ([`Replacer::substituting`]).
//!
//! Pure: no files, no clock, no randomness of its own.

mod encodings;
mod placeholder;
mod replacer;
mod secret;

pub use placeholder::{MIN_RANDOM_CHARACTERS, Placeholder, PlaceholderError};
pub use replacer::{Replacer, ReplacerStream};
pub use secret::{MAX_SECRET_BYTES, MIN_SECRET_BYTES, Secret};
