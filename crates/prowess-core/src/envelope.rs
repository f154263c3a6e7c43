//! Envelopes: the result of a run (GIB §4.3, §4.4).

use std::time::Duration;

use serde_json::Value;

use crate::event::CitedSource;
use crate::model::{StopReason, Usage};
use crate::problem::Remedy;
use crate::run_changes::RunChanges;

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// How the run ended.
    pub outcome: RunOutcome,
    /// The exit code: that of the program, one of 124 to 127, or 128 plus the number of a signal.
    pub exit_code: i32,
    /// Standard output and standard error, interleaved; a long output is truncated in the middle (GIB §4.2).
    pub output: String,
    /// Number of bytes that were truncated.
    pub left_out: u64,
    /// Whether the output was valid UTF-8; invalid bytes are replaced in `output` (NEG-8).
    pub is_utf8: bool,
    /// Standard output parsed as JSON, if it is JSON as a whole (GIB §4.4, R27).
    pub parsed: Option<Value>,
    /// The error message.
    pub error: Option<String>,
    /// Time from the start of the program to its end.
    pub duration: Duration,
    /// Warnings, which did not stop the run.
    pub warnings: Vec<String>,
    /// What hooks of the skill tell an agent about it.
    pub context: Vec<String>,
    /// Remedies for the error.
    pub remedies: Vec<Remedy>,
    /// Details of the model's answer; only set for prompt skills.
    pub answer: Option<Box<AnswerDetails>>,
    /// What the run has changed; only set if its writes were staged.
    pub changes: Option<Box<RunChanges>>,
}

/// Details of an answer of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerDetails {
    /// The model; empty if no request was sent.
    pub model: String,
    /// The tokens that the provider counted.
    pub usage: Option<Usage>,
    /// Why the answer ended.
    pub stop: Option<StopReason>,
    /// The passages that were found; those included in the prompt come first.
    pub sources: Vec<CitedSource>,
    /// What an agent did; only set for agents.
    pub agent: Option<AgentSummary>,
}

/// What an agent did until it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentSummary {
    /// The number of requests to the model.
    pub turns: u32,
    /// The number of calls of tools.
    pub calls: u32,
    /// The number of calls that ran and failed.
    pub failed: u32,
    /// The number of invalid calls.
    pub invalid: u32,
    /// The number of refused calls.
    pub refused: u32,
    /// Where the transcript is, if it was written.
    pub transcript: Option<String>,
}

/// How a run ended. GIB §9.3 requires four distinct errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// The program exited with 0, or with a code that the skill declares as success.
    Success,
    /// The program exited with another code or was killed by a signal.
    Failed,
    /// The run exceeded its timeout.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
    /// The run exceeded its memory limit.
    OutOfMemory,
    /// The run exceeded the limit on output.
    TooMuchOutput,
    /// The run exceeded the limit on written files.
    TooMuchWritten,
    /// The output does not match the declared schema (SRT §4.5).
    InvalidOutput,
    /// A required parameter is missing; nothing was started.
    MissingParameter,
    /// A parameter is invalid; nothing was started.
    InvalidParameter,
    /// The program does not exist; nothing was started.
    NotFound,
    /// The program can't be executed; nothing was started.
    NotExecutable,
    /// The run is not allowed; nothing was started.
    Refused,
    /// An agent used up its turns or tokens, or went round in circles.
    OutOfBudget,
}

impl RunOutcome {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            RunOutcome::Success => "success",
            RunOutcome::Failed => "failed",
            RunOutcome::TimedOut => "timeout",
            RunOutcome::Cancelled => "cancelled",
            RunOutcome::OutOfMemory => "out_of_memory",
            RunOutcome::TooMuchOutput => "too_much_output",
            RunOutcome::TooMuchWritten => "too_much_written",
            RunOutcome::InvalidOutput => "invalid_output",
            RunOutcome::MissingParameter => "missing_parameter",
            RunOutcome::InvalidParameter => "invalid_parameter",
            RunOutcome::NotFound => "not_found",
            RunOutcome::NotExecutable => "not_executable",
            RunOutcome::Refused => "refused",
            RunOutcome::OutOfBudget => "out_of_budget",
        }
    }
}

impl Envelope {
    /// Creates the envelope of a run that did not start.
    pub fn not_started(outcome: RunOutcome, exit_code: i32, error: String) -> Self {
        Self {
            outcome,
            exit_code,
            output: String::new(),
            left_out: 0,
            is_utf8: true,
            parsed: None,
            error: Some(error),
            duration: Duration::ZERO,
            warnings: Vec::new(),
            context: Vec::new(),
            remedies: Vec::new(),
            answer: None,
            changes: None,
        }
    }

    /// Creates the envelope of a program that has ended and printed nothing.
    pub fn ended(outcome: RunOutcome, exit_code: i32) -> Self {
        Self { error: None, ..Self::not_started(outcome, exit_code, String::new()) }
    }

    /// Creates the envelope of a prompt skill that was answered.
    pub fn answered(answer: AnswerDetails) -> Self {
        Self {
            error: None,
            answer: Some(Box::new(answer)),
            ..Self::not_started(RunOutcome::Success, 0, String::new())
        }
    }

    /// Whether the run succeeded.
    pub fn is_success(&self) -> bool {
        self.outcome == RunOutcome::Success
    }
}

/// Exit code of an agent that used up its turns or tokens.
pub const OUT_OF_BUDGET: i32 = 123;
/// Exit code of a run that timed out, as with `timeout` of coreutils.
pub const TIMED_OUT: i32 = 124;
/// Exit code of a run that was refused.
pub const REFUSED: i32 = 125;
/// Exit code of a program that can't be executed, as in a shell.
pub const NOT_EXECUTABLE: i32 = 126;
/// Exit code of a program that does not exist, as in a shell.
pub const NOT_FOUND: i32 = 127;
/// Exit code of a program that was killed by a signal, plus the number of the signal, as in a shell.
pub const SIGNALLED: i32 = 128;
/// Exit code of a run that was cancelled before it had one, as after Ctrl-C.
pub const INTERRUPTED: i32 = SIGNALLED + 2;
