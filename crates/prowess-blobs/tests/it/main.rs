//! A bucket of a real server, and addresses and settings without one.

mod bucket;
mod settings;
