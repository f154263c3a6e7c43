//! Decides what a skill may do, and explains why.
//!
//! Pure: takes a skill, its trust and the user's earlier approvals, and returns a [`Decision`].
//! Nothing here reads a file, the clock or the environment.
//!
//! The flow of a request: [`grants::of`] collects what the skill requests, [`RunRequest::of`] names
//! the tool to run, [`decide`] decides. Only an [`Allowed`] can be run, and only [`decide`] and the
//! approval of a [`ApprovalQuestion`] create one.

pub mod approval;
pub mod binaries;
pub mod changes;
mod decide;
mod decision;
pub mod environment;
mod explain;
mod grant;
pub mod grants;
pub mod limits;
pub mod matrix;
mod mode;
pub mod protected_places;
mod request;
pub mod scope;
pub mod spec;
mod tool_policy;
pub mod tool_rules;
mod trust;
mod user_grant;
pub mod utilities;

pub use approval::{Approval, Approvals, Digest, FileHashes, ProgramPin, Project, RememberedGrant};
pub use decide::{decide, decide_with_effects};
pub use decision::{
    Allowed, ApprovalAnswer, ApprovalQuestion, Decision, Denial, Denied, Frequency, Reason,
    ReasonKind, Remember,
};
pub use explain::{GrantEffect, Line, LineKind, explain, explain_with_effects};
pub use grant::{Grant, GrantError, GrantScope, GrantSource};
pub use grants::{GrantSet, RefusedGrant};
pub use mode::{Mode, ModeError, is_available};
pub use request::{
    ALWAYS_ASK_FIELD, NoSuchTool, PROGRAMS_FIELD, RunFolders, RunRequest, TIMEOUT_FIELD,
};
pub use spec::SandboxSpec;
pub use tool_policy::{ToolPolicy, ToolSource, tool_policies};
pub use trust::{Badge, Origin, Tier, TierError, Trust};
pub use user_grant::{UserGrantError, parse_user_grant};
