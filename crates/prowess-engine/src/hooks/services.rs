//! What hooks need beside the sandbox. Whoever embeds the engine provides it; without it, such a hook has no answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prowess_hooks::Strictness;
use serde_json::Value;

use crate::loaded::LoadedSkill;
use crate::run::CancellationToken;

/// Something that is put to a model or an agent.
#[derive(Debug)]
pub struct HookEvaluation<'e> {
    /// The text, with the input of the event in it.
    pub prompt: &'e str,
    /// The model that the author names.
    pub model: Option<&'e str>,
    /// How long it may take.
    pub time: Duration,
    /// Ends it.
    pub cancel: &'e CancellationToken,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookFailure {
    /// It took too long.
    TimedOut,
    /// Something else, as a lowercase phrase.
    Failed(String),
}

/// Answers prompts of hooks. It blocks its thread.
pub trait HookModel: Send + Sync {
    /// The model's words: JSON with `ok` and `reason`.
    fn evaluate(&self, asked: &HookEvaluation<'_>) -> Result<String, HookFailure>;
}

/// Verifies conditions of hooks with tools that only read. It blocks its thread.
pub trait HookAgent: Send + Sync {
    /// The agent's words: JSON with `ok` and `reason`.
    fn verify(
        &self,
        skill: &Arc<LoadedSkill>,
        asked: &HookEvaluation<'_>,
    ) -> Result<String, HookFailure>;
}

/// A call of a tool of an MCP server.
#[derive(Debug)]
pub struct ServerToolCall<'c> {
    /// The server, by its configured name.
    pub server: &'c str,
    /// The tool.
    pub tool: &'c str,
    /// Its arguments.
    pub arguments: Value,
    /// How long it may take.
    pub time: Duration,
    /// Ends it.
    pub cancel: &'c CancellationToken,
}

/// What the tool gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerToolText {
    /// The text of its content.
    pub text: String,
    /// Whether it says that it is an error.
    pub is_error: bool,
}

/// Calls tools of MCP servers for hooks. It blocks its thread.
pub trait HookTools: Send + Sync {
    /// Calls a tool. That the skill may use the server is known by now.
    fn call(
        &self,
        skill: &Arc<LoadedSkill>,
        call: &ServerToolCall<'_>,
    ) -> Result<ServerToolText, HookFailure>;
}

/// What hooks of all runs share.
#[derive(Clone)]
pub struct HookServices {
    /// What a `PreToolUse` hook without an answer means.
    pub strictness: Strictness,
    /// For hooks of type `prompt`.
    pub model: Option<Arc<dyn HookModel>>,
    /// For hooks of type `agent`.
    pub agent: Option<Arc<dyn HookAgent>>,
    /// For hooks of type `mcp_tool`.
    pub tools: Option<Arc<dyn HookTools>>,
}

impl Default for HookServices {
    /// Strict, with hooks of type `command` and `http` only.
    fn default() -> Self {
        Self { strictness: Strictness::Strict, model: None, agent: None, tools: None }
    }
}

impl fmt::Debug for HookServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookServices").field("strictness", &self.strictness).finish_non_exhaustive()
    }
}
