//! The studio: prompt skills, chat, knowledge bases and workflows for a team, over HTTP.
//!
//! It knows HTTP and a database, and decides nothing about skills: what a text means, how a prompt runs and what a tool may
//! do are other crates' business. `docs/design/studio-api.md` has the routes, `docs/design/studio.md` the reasons.

mod backup;
mod caller;
mod chat;
mod cluster;
mod company;
mod dify;
mod events;
mod knowledge;
mod limiter;
mod migrations;
mod models;
mod objects;
mod problem;
mod prompt_job;
mod questions;
mod request;
mod routes;
mod runs;
mod serve;
mod settings;
mod shelf;
mod skills;
mod studio;
mod timestamp;
mod web;
mod workflows;

pub use backup::{backup, restore};
pub use company::CompanySettings;
pub use knowledge::OfferedEmbedder;
pub use objects::ObjectFiles;
pub use problem::{ApiProblem, PROBLEM_CODE};
pub use routes::openapi;
pub use skills::{MAX_CONTENT_BYTES, SkillName};
pub use studio::{Studio, StudioLimits, StudioOptions};

/// The SHA-256 of bytes in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
