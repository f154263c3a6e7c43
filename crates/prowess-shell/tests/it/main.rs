//! Tests of the crate's public API.

mod laws;
mod scripts;
mod subcommands;
