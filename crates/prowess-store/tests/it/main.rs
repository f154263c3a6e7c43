//! Finds, packs, places and installs skills in temporary homes.

mod discovering;
mod home;
mod importing;
mod installing;
mod local;
mod placing;
mod which;
