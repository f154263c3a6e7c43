//! The core of behaviour: runs the tools of a skill, whatever dialect it is written in.
//!
//! How a tool is called: [`prepare`] checks the values, finds programs and hashes the files; [`Prepared::decide`] asks the
//! policy once and gives a [`Verdict`]. A [`ReadyRun`] holds a [`prowess_policy::Allowed`] and runs the tool in a sandbox; a
//! [`PendingRun`] waits for an answer, in [`PendingRuns`] or with a caller that blocks ([`approve`]). Everything is owned
//! and `Send`. [`Event`](prowess_core::Event)s are reported as they happen, and the
//! [`Envelope`](prowess_core::Envelope) is their fold.
//!
//! It never prints. Terminals, HTTP and host agents are somebody else's business, as are [`Approver`] and [`Clock`].

mod approvals;
mod approver;
mod chat;
mod clock;
mod closure;
mod credentials;
mod decision;
mod digest;
mod error;
mod evidence;
mod failure_hints;
mod fold;
mod git_files;
mod git_settings;
mod handle;
mod held_output;
mod inputs;
mod loaded;
mod lookout;
mod lower;
mod mcp_servers;
mod model;
mod network;
mod offer;
mod outputs;
mod pending;
mod pins;
mod platform;
mod prepare;
mod programs;
mod prompt;
mod redact;
mod registry;
mod run;
pub mod service;
mod skill_files;
mod skill_folders;
mod tool;
pub mod workflow;
mod world;

pub use approvals::{ApprovalStore, FileApprovals, StoreError};
pub use approver::{ApprovalRequest, Approver, AsyncApprover, Blocking, NoApprover, Reply};
pub use chat::{CHAT_LIMIT, map_text, parse_mention};
pub use clock::{Clock, SystemClock};
pub use credentials::{Credential, CredentialError};
pub use decision::{Consent, Engine, ReadyRun, Verdict, approve};
pub use digest::{DigestError, of_skill as digest_of_skill};
pub use error::RunError;
pub use fold::{Ending, Fold};
pub use handle::ToolHandle;
pub use inputs::InputError;
pub use loaded::{LoadedSkill, SkillResolver};
pub use lower::FileError;
pub use model::{looks_truncated, unmet};
pub use offer::{Offer, OfferedTool};
pub use pending::{PendingLimits, PendingRun, PendingRuns};
pub use prepare::{Call, Examined, Prepared, examine, prepare};
pub use programs::ProgramError;
pub use prompt::{PromptCall, PromptSurroundings, run_prompt};
pub use registry::{NameTaken, RegisteredTool, ToolRegistry};
pub use run::Cancel;
pub use skill_files::{DirectoryFiles, SPELLINGS, check_skill};
pub use skill_folders::SkillFolders;
pub use tool::openclaw::HandlerError;
pub use tool::python::{
    LoadError, LoadStep, Loading, PackageError, PythonWorkers, load_skill, requirements_file,
};
pub use world::{State, World, WorldError};
