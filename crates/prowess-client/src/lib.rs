//! Talks to others: providers of language models on behalf of the engine, and places that skills come from on behalf of
//! the store.
//!
//! It knows no terminal, and nothing of it decides what a run may do or what is installed.

pub mod models;
pub mod sources;
