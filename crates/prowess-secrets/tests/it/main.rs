//! Placeholders for secrets, and secrets replaced in streams.

mod placeholders;
mod replacing;
