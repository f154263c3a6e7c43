//! What is left of a run: its result, as callers get it (GIB §4.3, §4.4).

use std::time::Duration;

use serde_json::Value;

use crate::event::Source;
use crate::model::{Stop, Usage};
use crate::problem::Remedy;

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// What the run came to.
    pub outcome: Outcome,
    /// The code for a caller: the program's own, or one of 124 to 127, or 128 and the signal.
    pub exit_code: i32,
    /// Standard output and error in the order in which they came; the middle is left out where there is much (GIB §4.2).
    pub output: String,
    /// How many bytes are left out.
    pub left_out: u64,
    /// Whether everything printed was text; what is not is replaced in `output` (NEG-8).
    pub is_utf8: bool,
    /// Standard output, where it alone is JSON (GIB §4.4, R27).
    pub parsed: Option<Value>,
    /// What went wrong.
    pub error: Option<String>,
    /// From the start of the program to its end.
    pub duration: Duration,
    /// What stopped nothing and is still worth knowing.
    pub warnings: Vec<String>,
    /// What would help against the error.
    pub remedies: Vec<Remedy>,
    /// How an answer of a model came to be; set for every prompt skill, and for nothing else.
    pub answer: Option<Box<Answer>>,
}

/// How an answer of a model came to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The model; empty when none was asked.
    pub model: String,
    /// What the provider counted.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub stop: Option<Stop>,
    /// The passages that were found, those that the model got to see first.
    pub sources: Vec<Source>,
}

/// What a run came to. GIB §9.3 wants its four errors told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The program ended with 0, or with a code that its author calls a success.
    Success,
    /// The program ended with another code, or by a signal.
    Failed,
    /// The time was up.
    TimedOut,
    /// The user ended it.
    Cancelled,
    /// It wanted more memory than it may have.
    OutOfMemory,
    /// It printed more than anybody can want.
    TooMuchOutput,
    /// It filled the folders that it may write to.
    TooMuchWritten,
    /// What it returned is not what it declares (SRT §4.5).
    InvalidOutput,
    /// A value is missing; nothing was started.
    MissingParameter,
    /// A value is wrong; nothing was started.
    InvalidParameter,
    /// There is no such program; nothing was started.
    NotFound,
    /// The program can't be executed; nothing was started.
    NotExecutable,
    /// It may not run; nothing was started.
    Refused,
}

impl Outcome {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Failed => "failed",
            Outcome::TimedOut => "timeout",
            Outcome::Cancelled => "cancelled",
            Outcome::OutOfMemory => "out_of_memory",
            Outcome::TooMuchOutput => "too_much_output",
            Outcome::TooMuchWritten => "too_much_written",
            Outcome::InvalidOutput => "invalid_output",
            Outcome::MissingParameter => "missing_parameter",
            Outcome::InvalidParameter => "invalid_parameter",
            Outcome::NotFound => "not_found",
            Outcome::NotExecutable => "not_executable",
            Outcome::Refused => "refused",
        }
    }
}

impl Envelope {
    /// The result of a run that did not start.
    pub fn not_started(outcome: Outcome, exit_code: i32, error: String) -> Self {
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
            remedies: Vec::new(),
            answer: None,
        }
    }

    /// The result of a prompt skill that was answered.
    pub fn answered(answer: Answer) -> Self {
        Self {
            error: None,
            answer: Some(Box::new(answer)),
            ..Self::not_started(Outcome::Success, 0, String::new())
        }
    }

    /// Whether it went well.
    pub fn is_success(&self) -> bool {
        self.outcome == Outcome::Success
    }
}

/// The code of a run that took too long, as `timeout` of coreutils has it.
pub const TIMED_OUT: i32 = 124;
/// The code of a run that was refused.
pub const REFUSED: i32 = 125;
/// The code of a program that can't be executed, as in a shell.
pub const NOT_EXECUTABLE: i32 = 126;
/// The code of a program that is not there, as in a shell.
pub const NOT_FOUND: i32 = 127;
/// A program that a signal ended has this code and the signal's number, as in a shell.
pub const SIGNALLED: i32 = 128;
/// The code of a run that was cancelled and has none of its own: as after Ctrl-C.
pub const INTERRUPTED: i32 = SIGNALLED + 2;
