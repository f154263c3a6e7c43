//! Finds, packs and places skills in temporary homes.

mod discovering;
mod home;
