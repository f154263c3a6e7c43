//! Packages and changes, tried with what strangers pack and with processes that are killed; skills found, placed and
//! installed in temporary homes.

mod archives;
mod attacks;
mod crashes;
mod differential;
mod discovering;
mod home;
mod importing;
mod installing;
mod local;
mod packing;
mod placing;
mod placing_killed;
mod races;
mod trees;
mod which;
