//! Skills that exist nowhere, and which of their versions go together.

mod conflicts;
mod hostile;
mod laws;
mod ranges;
mod resolving;
mod tangle;
mod world;
