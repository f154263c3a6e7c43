//! Finds, packs, places and installs skills in temporary homes.

mod discovering;
mod home;
mod importing;
mod installing;
mod local;
mod placing;
mod which;
//! Packages and changes, tried with what strangers pack and with processes that are killed.

mod archives;
mod attacks;
mod crashes;
mod differential;
mod packing;
mod races;
mod trees;
