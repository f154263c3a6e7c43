//! Tests of the policy crate.
