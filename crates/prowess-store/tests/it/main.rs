//! The tests of this crate, one binary.

mod discovering;
mod home;
mod importing;
mod placing;
mod which;
