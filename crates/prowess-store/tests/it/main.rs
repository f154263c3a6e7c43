//! Finds, packs and places skills in temporary homes.

mod discovering;
mod home;
//! The tests of this crate, one binary.

mod local;
