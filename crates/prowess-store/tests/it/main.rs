//! Changes, tried with processes that are killed and others that come between; skills found, placed and
//! installed in temporary homes.

mod crashes;
mod discovering;
mod home;
mod importing;
mod installing;
mod local;
mod mcp_settings;
mod placing;
mod placing_killed;
mod races;
mod which;
