//! The fold of a run's events into its envelope (GIB §4.3, §4.4).

use std::time::Duration;

use prowess_core::{
    Decoder, Envelope, Event, INTERRUPTED, Outcome, Remedy, SIGNALLED, Stream, TIMED_OUT,
};
use prowess_sandbox::{Capture, How, Written};

/// How much of standard output is parsed as JSON. More is a file and not an answer.
const MOST_PARSED: usize = 4 << 20;

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
fn remedies(outcome: Outcome) -> Vec<Remedy> {
    match outcome {
        Outcome::TooMuchWritten => vec![Remedy::Advice(
            "check what it has left there and make room; then let it do less at a time".to_owned(),
        )],
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
            remedies: remedies(ending.outcome),
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
        if self.broken
            || (!self.decoder.is_inside_character() && std::str::from_utf8(bytes).is_ok())
        {
            return;
        }
        self.broken = self.decoder.push(bytes).is_lossy;
    }

    fn finish(self) -> bool {
        !self.broken && !self.decoder.is_inside_character()
    }
}

#[cfg(test)]
mod tests;
