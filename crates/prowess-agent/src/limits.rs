//! What an agent may use up.

use std::time::Duration;

/// The budget of an agent. Time during which a person is asked does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentLimits {
    /// The most requests to the model.
    pub turns: u32,
    /// The most tokens of all requests and answers together, as the provider counts them.
    pub tokens: u64,
    /// The most time.
    pub time: Duration,
    /// The most calls that run at a time.
    pub parallel: usize,
}

impl AgentLimits {
    /// Enough for most tasks, and not enough to be expensive by mistake.
    pub const USUAL: Self =
        Self { turns: 25, tokens: 1_000_000, time: Duration::from_mins(30), parallel: 4 };
}

/// The most calls of one turn; further ones get an error.
pub(crate) const MAX_CALLS: usize = 32;
/// The most bytes of the arguments of a call.
pub(crate) const MAX_ARGUMENTS: usize = 256 << 10;
/// The most bytes of a result that a model gets: of a body, a part of a file, the output of a tool.
pub(crate) const MAX_RESULT: usize = 32 << 10;
/// The most bytes that hooks add to a result.
pub(crate) const MAX_CONTEXT: usize = 10_000;
/// The most tools that a model is offered; providers refuse more.
pub(crate) const MAX_TOOLS: usize = 128;
/// The estimated tokens that the menu of skills may have.
pub(crate) const MENU_BUDGET: usize = 8_000;
/// The most tokens of one answer that are asked for when the budget is nearly used up.
pub(crate) const USUAL_ANSWER: u64 = 8_192;
