//! Hooks of skills: what a skill wants to run around the calls of tools, inside the same limits as its tools.
//!
//! A hook is a stranger's program. It is decided about like a tool, by the policy and the user, before anything of the skill
//! runs ([`prepare_hooks`], and [`prepare`](crate::prepare()) for the tool that it surrounds); it runs in the sandbox with the
//! skill's grants; and its word only ever tightens. Which handlers run and what their answers mean is decided by
//! `prowess-hooks`, which is pure. `docs/design/hooks.md` has the rules.

mod around;
mod call;
mod command;
mod handler;
mod model;
mod prepared;
mod prompts;
mod request;
mod services;
mod session;

pub(crate) use around::{Checked, ReadyHooks, SessionHooks, asks, before, changed};
pub use call::ToolUse;
pub use model::PromptHookModel;
pub use prepared::prepare_hooks;
pub(crate) use prepared::{alone, for_call, lines};
pub(crate) use prompts::PromptHooks;
pub use prompts::has_prompt_hooks;
pub use prowess_hooks::{
    Blocked, EventVerdict, HookFacts, PreToolDecision, PreToolVerdict, Strictness, ToolView,
};
pub use services::{
    HookAgent, HookEvaluation, HookFailure, HookModel, HookServices, HookTools, ServerToolCall,
    ServerToolText,
};
pub use session::{HookSession, StopVerdict};

/// The tool that the hooks of a skill are for the policy: what is approved, listed and revoked under its name. No tool and no
/// script can be called so.
pub const HOOKS_TOOL: &str = "hooks/";
/// The most characters of a hook's reason in a message.
pub(crate) const MAX_REASON: usize = 1000;
