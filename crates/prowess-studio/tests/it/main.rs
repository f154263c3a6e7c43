//! The studio over real HTTP on the loopback address, with scripted models.

mod accounts;
mod chat;
mod company;
mod knowledge;
mod mistakes;
mod owners;
mod pages;
mod reference_clients;
mod runs;
#[cfg(target_os = "linux")]
mod several_servers;
mod skills;
mod support;
mod workflows;
