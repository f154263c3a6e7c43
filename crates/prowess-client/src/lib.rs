//! Talks to others over HTTP on behalf of the engine. Today these are providers of language models.
//!
//! It knows no skill and no terminal, and nothing of it decides what a run may do.

pub mod models;
