//! Skills served over the Model Context Protocol, to any number of clients.
//!
//! ```text
//! SkillSource ──► Catalog: tools, prompts, files ──► SkillServer ──► stdio, or HTTP
//!                                                        │
//!                                        calls: decide ─► ask ─► ExecutionService
//! ```
//!
//! A [`SkillServer`] is built once. Every call of a tool goes through the policy; where a person has to be asked, the client
//! is asked to show the question, and a client that can't is told how its user can be asked. The texts for that come from the
//! program around the server ([`Wording`]), which knows its own commands.

mod annotations;
mod approval;
mod call;
mod catalog;
#[cfg(target_os = "linux")]
mod changes;
mod files;
mod fixtures;
mod handler;
mod http;
mod injected;
mod lines;
mod names;
mod paging;
mod prompt_call;
mod prompts;
mod quiz;
mod server;
mod skills_extension;
mod source;
mod stdio;
mod tools;
mod uri;
mod watch;
mod wording;

pub use http::{HttpSettings, bearer_token, serve as serve_http};
pub use server::{ServerSettings, SkillServer};
pub use source::{LeftOut, SkillSource, SourceSkills};
pub use stdio::serve as serve_stdio;
pub use wording::{AskOnTerminal, Wording};
