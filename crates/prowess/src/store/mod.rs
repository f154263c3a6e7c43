//! Installed skills as verbs work with them.

pub(crate) mod agent_folders;
pub(crate) mod lock_import;
pub(crate) mod packages;
pub(crate) mod survey;
