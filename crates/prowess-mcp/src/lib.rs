//! Skills served over the Model Context Protocol, to any number of clients.
//!
//! ```text
//! SkillSource ──► Catalog: tools, prompts, files ──► SkillServer ──► stdio, or HTTP
//!                                                        │
//!                                        calls: decide ─► ask ─► ExecutionService
//! ```
//!
//! A `SkillServer` is built once. Every call of a tool goes through the policy; where a person has to be asked, the client
//! is asked to show the question, and a client that can't is told how its user can be asked. The texts for that come from the
//! program around the server (`Wording`), which knows its own commands.
//!
//! [`PublishedMcp`] serves the skills of a registry instead: they are listed, searched and read, never run. Without the feature
//! `run` it is all there is, and no engine is built.

#[cfg(feature = "run")]
mod annotations;
#[cfg(feature = "run")]
mod approval;
#[cfg(feature = "run")]
mod call;
#[cfg(feature = "run")]
mod catalog;
#[cfg(all(feature = "run", target_os = "linux"))]
mod changes;
#[cfg(feature = "run")]
mod files;
#[cfg(feature = "run")]
mod fixtures;
#[cfg(feature = "run")]
mod handler;
#[cfg(feature = "run")]
mod http;
#[cfg(feature = "run")]
mod injected;
#[cfg(feature = "run")]
mod lines;
mod media;
#[cfg(feature = "run")]
mod names;
mod paging;
#[cfg(feature = "run")]
mod prompt_call;
#[cfg(feature = "run")]
mod prompts;
mod published;
#[cfg(feature = "run")]
mod quiz;
#[cfg(feature = "run")]
mod server;
#[cfg(feature = "run")]
mod skills_extension;
#[cfg(feature = "run")]
mod source;
#[cfg(feature = "run")]
mod stdio;
#[cfg(feature = "run")]
mod tools;
mod uri;
#[cfg(feature = "run")]
mod watch;
#[cfg(feature = "run")]
mod wording;

#[cfg(feature = "run")]
pub use http::{HttpSettings, bearer_token, serve as serve_http};
pub use published::{
    PublishedCard, PublishedFile, PublishedMcp, PublishedPage, PublishedReply, PublishedSkill,
    PublishedSkills,
};
#[cfg(feature = "run")]
pub use server::{ServerSettings, SkillServer};
#[cfg(feature = "run")]
pub use source::{LeftOut, SkillSource, SourceSkills};
#[cfg(feature = "run")]
pub use stdio::serve as serve_stdio;
#[cfg(feature = "run")]
pub use wording::{AskOnTerminal, Wording};
