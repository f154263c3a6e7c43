//! What is known about names, as data: files and variables that hold secrets, services, installers.

pub(crate) mod hosts;
pub(crate) mod packages;
pub(crate) mod secrets;
