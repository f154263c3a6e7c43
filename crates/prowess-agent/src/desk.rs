//! Who is asked about a call: a person, never the model.

use std::path::Path;

use prowess_core::BoxFuture;
use prowess_engine::{ApprovalReply, ApprovalRequest, LoadedSkill};
use prowess_format::skill::Tool;
use serde_json::{Map, Value};

/// A call that a person has to approve.
#[derive(Clone, Copy, Debug)]
pub struct CallQuestion<'q> {
    /// The question, with everything that has to be shown.
    pub request: &'q ApprovalRequest,
    /// The skill.
    pub skill: &'q LoadedSkill,
    /// Its tool; `None` where the question is about the skill's hooks.
    pub tool: Option<&'q Tool>,
    /// The values that the model chose.
    pub values: &'q Map<String, Value>,
    /// The folder in which the tool works.
    pub working_directory: &'q Path,
}

/// Asks a person about the calls of an agent, one at a time.
///
/// Where nobody can be asked, the answer is [`ApprovalReply::Nobody`], and whoever implements this tells the person how to
/// approve the call elsewhere: the model is only told that it was not run.
pub trait ApprovalDesk: Send {
    /// Asks, and waits for the answer. The future is dropped when the agent is cancelled.
    fn ask<'a>(&'a mut self, question: CallQuestion<'a>) -> BoxFuture<'a, ApprovalReply>;
}
