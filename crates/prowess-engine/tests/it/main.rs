//! Runs real tools behind real walls and looks at what is left of them.

mod approving;
mod attacks;
mod hooks;
mod limits;
mod network;
mod pending;
mod planted;
mod planted_git;
mod prompts;
mod python;
mod running;
mod secrets;
mod service;
#[cfg(target_os = "linux")]
mod staged;
mod workflows;
mod world;
