//! The core of behaviour: runs the tools of a skill, whatever dialect it is written in.
//!
//! How a tool is called: [`prepare`] checks the values, finds programs and hashes the files; [`PreparedCall::decide`] asks the
//! policy once and gives a [`RunDecision`]. A [`ReadyRun`] holds a [`prowess_policy::Allowed`] and runs the tool in a sandbox; a
//! [`PendingRun`] waits for an answer, in [`PendingRuns`] or with a caller that blocks ([`approve`]). Everything is owned
//! and `Send`. [`Event`](prowess_core::Event)s are reported as they happen, and the
//! [`Envelope`](prowess_core::Envelope) is their fold.
//!
//! A skill behind a quiz is closed until the quiz is passed: [`quiz::Quizzes`] decides that for every door.
//!
//! It never prints. Terminals, HTTP and host agents are somebody else's business, as are [`Approver`] and [`Clock`].

mod approvals;
mod approver;
#[cfg(target_os = "linux")]
pub mod changes;
mod chat;
mod clock;
mod closure;
mod credentials;
mod decision;
mod decision_inputs;
mod differences;
mod digest;
mod error;
mod failure_hints;
mod fold;
mod git_files;
mod git_settings;
mod handle;
mod held_output;
mod hooks;
mod injected;
mod inputs;
mod loaded;
mod lower;
pub mod manifest;
mod mcp_servers;
mod model;
mod named_programs;
mod network;
mod offer;
mod outputs;
mod path_values;
mod pending;
mod pins;
mod planted;
mod platform;
mod plugin;
mod prepare;
mod programs;
mod prompt;
pub mod quiz;
mod redact;
mod registry;
mod run;
mod scripts;
pub mod service;
mod skill_files;
mod skill_folders;
mod staging;
mod tool;
mod tracked;
mod user_grants;
pub mod workflow;
mod world;

pub use approvals::{ApprovalStore, ApprovalStoreError, FileApprovals};
pub use approver::{
    ApprovalReply, ApprovalRequest, Approver, AsyncApprover, BlockingApprover, NoApprover,
};
pub use chat::{CHAT_LIMIT, map_text, parse_mention};
pub use clock::{Clock, SystemClock};
pub use credentials::{Credential, CredentialError};
pub use decision::{Consent, Engine, ReadyRun, RunDecision, approve};
pub use differences::FileDifference;
pub use digest::{SkillDigestError, of_skill as digest_of_skill};
pub use error::RunError;
pub use fold::{EnvelopeFold, RunEnding};
pub use handle::ToolHandle;
pub use hooks::{
    Blocked, EventVerdict, HOOKS_TOOL, HookAgent, HookEvaluation, HookFacts, HookFailure,
    HookModel, HookServices, HookSession, HookTools, PreToolDecision, PreToolVerdict,
    PromptHookModel, ServerToolCall, ServerToolText, StopVerdict, Strictness, ToolUse, ToolView,
    has_prompt_hooks, prepare_hooks,
};
pub use injected::{
    FailedInjection, INJECTED_TOOL, InjectedRun, InjectionDecision, InjectionError,
    PendingInjection, PreparedInjection, prepare_injection,
};
pub use inputs::ToolInputError;
pub use loaded::{LoadedSkill, SkillResolver};
pub use lower::FileError;
pub use mcp_servers::{ConfiguredServer, ListedServer, ServerTransport, all_servers};
pub use model::{looks_truncated, unmet, unmet_by};
pub use offer::{OfferedTool, ToolOffer};
pub use path_values::{PathValues, is_path_parameter, resolve_paths};
pub use pending::{PendingLimits, PendingRun, PendingRuns};
pub use plugin::plugin_root;
pub use prepare::{
    Call, Examination, PreparedCall, examine, examine_for_user, prepare, prepare_for_user,
};
pub use programs::ProgramLookupError;
pub use prompt::{CommandOutputs, PromptCall, PromptContext, render_call, run_prompt};
pub use registry::{DuplicateSkillError, RegisteredTool, ToolRegistry};
pub use run::{CancellationToken, McpAccess, Talk};
pub use scripts::{
    ARGUMENTS, Script, ScriptError, ScriptKind, command_line_tool, listed, script_tool, scripts,
};
pub use skill_files::{DirectoryFiles, SPELLINGS, check_skill};
pub use skill_folders::SkillFolders;
pub use staging::StagingError;
pub use tool::mcp::ServerAnswer;
pub use tool::openclaw::HandlerError;
pub use tool::python::{
    LoadError, LoadOptions, LoadStep, PackageError, PythonWorkers, load_skill, requirements_file,
};
pub use tracked::TrackedFiles;
pub use user_grants::UserGrants;
pub use world::{
    ApplyWhen, FailedRunChanges, StagedWrites, StateFolders, WithoutStaging, World, WorldError,
    Writes,
};
