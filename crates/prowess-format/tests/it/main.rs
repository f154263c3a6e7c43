//! Tests of the format crate.

mod render;
