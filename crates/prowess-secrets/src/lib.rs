//! Finds secrets in byte streams, in every usual encoding, and replaces them.
//!
//! Used in two places. The output of a tool must not contain the keys it was given, so each is
//! replaced with a mark ([`Replacer::marks`]). And a server that receives a key may echo it, so in
//! responses each key is replaced with the placeholder that the tool knows ([`Replacer::swaps`]).
//!
//! Pure: no files, no clock, no randomness of its own.

mod placeholder;
mod replacer;
mod secret;
mod spellings;

pub use placeholder::{FEWEST_RANDOM, Placeholder, PlaceholderError};
pub use replacer::{Replacer, Stream};
pub use secret::{LONGEST, SHORTEST, Secret};
