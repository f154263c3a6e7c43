//! Secrets in streams of bytes: found in every usual spelling, and something else put in their place.
//!
//! Two parts of the house need this and know nothing of each other. What a tool prints and returns must not hold the
//! keys it was given, so each is replaced by a mark ([`Replacer::marks`]). And a server that is shown a key may repeat
//! it, so on the way back each key is replaced by the placeholder that the tool knows ([`Replacer::swaps`]).
//!
//! Pure: no files, no clock, no randomness of its own.

mod placeholder;
mod replacer;
mod secret;
mod spellings;

pub use placeholder::{FEWEST_RANDOM, Placeholder, PlaceholderError};
pub use replacer::{Replacer, Stream};
pub use secret::{LONGEST, SHORTEST, Secret};
