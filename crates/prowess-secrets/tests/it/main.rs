//! Secrets in streams.

mod placeholders;
mod replacing;
