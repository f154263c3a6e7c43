//! What is left of a run: the fold of its events (GIB §4.3, §4.4).

use std::time::Duration;

use prowess_sandbox::{Capture, How, Written};
use serde_json::Value;

use crate::event::{Event, Source, Stream};
use crate::model::{Stop, Usage};

/// How much of standard output is looked at for JSON. More is a file and not an answer.
const MOST_PARSED: usize = 4 << 20;

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
    /// What to do about the error, one line each.
    pub hints: Vec<String>,
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
            hints: Vec::new(),
            answer: None,
        }
    }

    /// The result of a prompt skill that was answered.
    pub(crate) fn answered(answer: Answer) -> Self {
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

/// How a program ended, for a reader who does not know sandboxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What it came to.
    pub outcome: Outcome,
    /// The code for a caller.
    pub exit_code: i32,
    /// What went wrong.
    pub error: Option<String>,
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
pub(crate) const SIGNALLED: i32 = 128;
/// The code of a run that was cancelled and has none of its own: as after Ctrl-C.
pub(crate) const INTERRUPTED: i32 = SIGNALLED + 2;
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

impl Ending {
    /// What has not been put right after a run is no success, whatever the tool says.
    pub(crate) fn fail(&mut self, failure: Option<String>) {
        if let Some(failure) = failure.filter(|_| self.outcome == Outcome::Success) {
            *self = Self { outcome: Outcome::Failed, exit_code: 1, error: Some(failure) };
        }
    }

    /// What an end means. `successes` are codes other than 0 that the tool's author calls a success.
    pub fn of(how: How, time: Duration, successes: &[i32]) -> Self {
        let (outcome, exit_code, error) = match how {
            How::Exited(code) if code == 0 || successes.contains(&code) => {
                return Self { outcome: Outcome::Success, exit_code: code, error: None };
            }
            How::Exited(code) => {
                (Outcome::Failed, code, format!("Command failed with exit code {code}"))
            }
            How::Signalled(SIGXCPU) => {
                let error = "Command computed for longer than it may";
                (Outcome::Failed, SIGNALLED + SIGXCPU, error.to_owned())
            }
            How::Signalled(signal) => {
                let code = SIGNALLED + signal;
                let error = format!("Command failed with exit code {code} (signal {signal})");
                (Outcome::Failed, code, error)
            }
            How::TimedOut(code) => {
                let own = code.map_or(String::new(), |code| format!(" (it exited with {code})"));
                let error = format!("Command timed out after {} s{own}", time.as_secs_f64());
                (Outcome::TimedOut, TIMED_OUT, error)
            }
            How::Cancelled(code) => {
                let code = code.filter(|code| *code != 0).unwrap_or(INTERRUPTED);
                (Outcome::Cancelled, code, "Command was cancelled".to_owned())
            }
            How::OutOfMemory => {
                let error = "Command needed more memory than it may have";
                (Outcome::OutOfMemory, SIGNALLED + SIGKILL, error.to_owned())
            }
            How::TooMuchOutput => {
                let error = "Command printed more than it may";
                (Outcome::TooMuchOutput, SIGNALLED + SIGKILL, error.to_owned())
            }
            How::TooMuchWritten(written) => {
                (Outcome::TooMuchWritten, SIGNALLED + SIGKILL, too_much_written(written))
            }
        };
        Self { outcome, exit_code, error: Some(error) }
    }
}

/// Which limit it was.
fn too_much_written(written: Written) -> String {
    const MIB: u64 = 1 << 20;
    match written {
        Written::Bytes(most) => format!(
            "Command was ended: it added more than {} MiB to the folders it may write",
            most / MIB
        ),
        Written::Entries(most) => format!(
            "Command was ended: it added more than {most} files to the folders it may write"
        ),
        Written::Disk => {
            "Command was ended: the disk of a folder it may write is nearly full".to_owned()
        }
    }
}

/// What to do about an end, where that is not the tool's own business.
fn hints(outcome: Outcome) -> Vec<String> {
    match outcome {
        Outcome::TooMuchWritten => vec![
            "look at what it has left there and make room; then let it do less at a time"
                .to_owned(),
        ],
        _ => Vec::new(),
    }
}

/// Folds events into an envelope, in bounded memory.
#[derive(Debug, Default)]
pub struct Fold {
    merged: Capture,
    stdout: Vec<u8>,
    /// Standard output was longer than what is looked at.
    overflown: bool,
    /// Of each stream alone: where the streams are merged, a character of one may be split by the other.
    text: [Utf8Check; 2],
    warnings: Vec<String>,
}

impl Fold {
    /// Takes an event.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::Output { stream, bytes } => self.output(*stream, bytes),
            Event::Warning { message } => self.warnings.push(message.clone()),
            Event::Thought(_)
            | Event::Token { .. }
            | Event::Citation { .. }
            | Event::Started { .. }
            | Event::Error { .. }
            | Event::Done(_)
            | Event::Workflow(_) => {}
        }
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.merged.push(bytes);
        let at = match stream {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
        };
        self.text[at].push(bytes);
        if stream == Stream::Stderr || self.overflown {
            return;
        }
        if self.stdout.len() + bytes.len() > MOST_PARSED {
            self.overflown = true;
            self.stdout = Vec::new();
        } else {
            self.stdout.extend_from_slice(bytes);
        }
    }

    /// The envelope of a run that ended this way.
    pub fn finish(self, ending: Ending, duration: Duration) -> Envelope {
        let captured = self.merged.finish();
        let parsed = if self.overflown { None } else { serde_json::from_slice(&self.stdout).ok() };
        Envelope {
            outcome: ending.outcome,
            exit_code: ending.exit_code,
            output: captured.text,
            left_out: captured.left_out,
            is_utf8: self.text.into_iter().all(Utf8Check::finish),
            parsed,
            error: ending.error,
            duration,
            warnings: self.warnings,
            hints: hints(ending.outcome),
            answer: None,
        }
    }
}

/// Whether bytes that come in pieces are UTF-8.
#[derive(Debug, Default)]
struct Utf8Check {
    decoder: Decoder,
    broken: bool,
}

impl Utf8Check {
    fn push(&mut self, bytes: &[u8]) {
        // Nearly always text that ends where a character ends, and then nothing has to be copied.
        if self.broken || (self.decoder.rest.is_empty() && std::str::from_utf8(bytes).is_ok()) {
            return;
        }
        self.broken = self.decoder.push(bytes).is_lossy;
    }

    fn finish(self) -> bool {
        !self.broken && self.decoder.rest.is_empty()
    }
}

/// Turns bytes that come in pieces into text, a whole character at a time.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a character whose end has not come yet.
    rest: Vec<u8>,
}

/// Text out of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The characters that are complete.
    pub text: String,
    /// Whether something was no UTF-8 and is replaced.
    pub is_lossy: bool,
}

impl Decoder {
    /// Takes a piece and gives the characters that are complete now.
    pub fn push(&mut self, bytes: &[u8]) -> Decoded {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut is_lossy = false;
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let unfinished =
                std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if chunks.peek().is_none() && unfinished {
                self.rest = invalid.to_vec();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
                is_lossy = true;
            }
        }
        Decoded { text, is_lossy }
    }

    /// The end: what is left is half a character.
    pub fn finish(&mut self) -> Option<char> {
        let rest = std::mem::take(&mut self.rest);
        (!rest.is_empty()).then_some(char::REPLACEMENT_CHARACTER)
    }
}

#[cfg(test)]
mod tests;
