//! A small agent: the loop between a model, its skills and their tools (GAIA §9).
//!
//! ```text
//! AGENT.yaml ──► assemble ──► Agent ──► run_agent ──► events ──► Envelope
//!                                           │
//!      model ◄── menu, bodies, files ───────┤
//!      tools ◄── check, policy, approval, sandbox, each call through the execution service
//! ```
//!
//! Everything is owned and `Send`: a server can run an agent as a task, a terminal drives it on its own thread. Nothing is
//! printed; who is asked is an [`ApprovalDesk`], and what is kept goes to a [`Transcript`]. Text of skills, files and
//! tools is data here: it is wrapped before a model sees it, and nothing that a model writes approves anything.

mod agent;
mod assemble;
mod call;
mod desk;
mod ending;
mod hook_agent;
mod limits;
mod native_tools;
mod own_tools;
mod patience;
mod repetition;
mod reporter;
mod roster;
mod run;
mod system_prompt;
mod transcript;
mod turn;
mod wrapping;

pub use agent::{Agent, AgentTask, NamedText};
pub use assemble::{AgentSource, AssembledAgent, assemble};
pub use desk::{ApprovalDesk, CallQuestion};
pub use hook_agent::SkillReader;
pub use limits::AgentLimits;
pub use run::{AgentContext, run_agent};
pub use transcript::{
    Earlier, FileTranscript, Transcript, TranscriptEntry, TranscriptFolder, read_transcript,
};
