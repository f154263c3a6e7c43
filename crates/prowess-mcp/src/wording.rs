//! Texts that the program around the server provides: its commands and its question.

use std::path::Path;

use prowess_core::Remedy;
use prowess_engine::{ApprovalRequest, LoadedSkill};
use prowess_format::skill::Tool;
use prowess_policy::Mode;
use serde_json::{Map, Value};

/// A call that a person has to approve where they can be asked.
#[derive(Clone, Copy, Debug)]
pub struct AskOnTerminal<'c> {
    /// The skill.
    pub skill: &'c LoadedSkill,
    /// Its tool; `None` for a prompt.
    pub tool: Option<&'c Tool>,
    /// The values of the call.
    pub values: &'c Map<String, Value>,
    /// The mode that is on.
    pub mode: Mode,
    /// The folder in which the tool works.
    pub working_directory: &'c Path,
}

/// The words of the program that the server is a part of.
pub trait Wording: Send + Sync {
    /// The question as a person sees it, with everything that has to be known before it is answered.
    fn question(&self, request: &ApprovalRequest) -> String;
    /// Remedies, one line each.
    fn hints(&self, remedies: &[Remedy]) -> Vec<String>;
    /// A command that asks the same question on a terminal.
    fn ask_on_terminal(&self, call: &AskOnTerminal<'_>) -> String;
    /// A command that asks on a terminal about the commands in the text of a skill.
    fn approve_commands(&self, skill: &LoadedSkill, mode: Mode) -> String;
}
