//! Tests of the format crate.
