//! The tests of this crate, one binary.

mod discovering;
mod home;
//! The tests of this crate, one binary.

mod local;
mod importing;
mod placing;
mod which;
