//! Folds a run's events into its envelope (GIB §4.3, §4.4).

use std::time::Duration;

use prowess_core::{
    Envelope, Event, INTERRUPTED, Remedy, RunOutcome, SIGNALLED, StandardStream, TIMED_OUT,
    Utf8Decoder,
};
use prowess_sandbox::{Capture, ExitReason, WriteLimit};

/// Maximum size of standard output that is parsed as JSON.
const MAX_PARSED: usize = 4 << 20;

/// How a program ended, independent of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnding {
    /// The outcome.
    pub outcome: RunOutcome,
    /// The exit code.
    pub exit_code: i32,
    /// The error message.
    pub error: Option<String>,
}

const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

impl RunEnding {
    /// Turns the ending into a failure if files of the run could not be cleaned up.
    pub(crate) fn fail(&mut self, failure: Option<String>) {
        if let Some(failure) = failure.filter(|_| self.outcome == RunOutcome::Success) {
            *self = Self { outcome: RunOutcome::Failed, exit_code: 1, error: Some(failure) };
        }
    }

    /// Interprets an exit reason. `successes` are further exit codes that the tool declares as success.
    pub fn of(how: ExitReason, time: Duration, successes: &[i32]) -> Self {
        let (outcome, exit_code, error) = match how {
            ExitReason::Exited(code) if code == 0 || successes.contains(&code) => {
                return Self { outcome: RunOutcome::Success, exit_code: code, error: None };
            }
            ExitReason::Exited(code) => {
                (RunOutcome::Failed, code, format!("Command failed with exit code {code}"))
            }
            ExitReason::Signalled(SIGXCPU) => {
                let error = "Command exceeded its CPU time limit";
                (RunOutcome::Failed, SIGNALLED + SIGXCPU, error.to_owned())
            }
            ExitReason::Signalled(signal) => {
                let code = SIGNALLED + signal;
                let error = format!("Command failed with exit code {code} (signal {signal})");
                (RunOutcome::Failed, code, error)
            }
            ExitReason::TimedOut(code) => {
                let own = code.map_or(String::new(), |code| format!(" (it exited with {code})"));
                let error = format!("Command timed out after {} s{own}", time.as_secs_f64());
                (RunOutcome::TimedOut, TIMED_OUT, error)
            }
            ExitReason::Cancelled(code) => {
                let code = code.filter(|code| *code != 0).unwrap_or(INTERRUPTED);
                (RunOutcome::Cancelled, code, "Command was cancelled".to_owned())
            }
            ExitReason::OutOfMemory => {
                let error = "Command exceeded its memory limit";
                (RunOutcome::OutOfMemory, SIGNALLED + SIGKILL, error.to_owned())
            }
            ExitReason::TooMuchOutput => {
                let error = "Command exceeded its output limit";
                (RunOutcome::TooMuchOutput, SIGNALLED + SIGKILL, error.to_owned())
            }
            ExitReason::TooMuchWritten(written) => {
                (RunOutcome::TooMuchWritten, SIGNALLED + SIGKILL, too_much_written(written))
            }
        };
        Self { outcome, exit_code, error: Some(error) }
    }
}

/// The error message for an exceeded write limit.
fn too_much_written(written: WriteLimit) -> String {
    const MIB: u64 = 1 << 20;
    match written {
        WriteLimit::Bytes(most) => format!(
            "Command was terminated: it added more than {} MiB to writable folders",
            most / MIB
        ),
        WriteLimit::Entries(most) => {
            format!("Command was terminated: it added more than {most} files to writable folders")
        }
        WriteLimit::Disk => {
            "Command was terminated: the disk of a writable folder is nearly full".to_owned()
        }
    }
}

/// Remedies for an outcome that the tool can't fix itself.
fn remedies(outcome: RunOutcome) -> Vec<Remedy> {
    match outcome {
        RunOutcome::TooMuchWritten => vec![Remedy::Advice(
            "check what it left there and free some space; then let it do less at a time"
                .to_owned(),
        )],
        _ => Vec::new(),
    }
}

/// Folds events into an envelope, in bounded memory.
#[derive(Debug, Default)]
pub struct EnvelopeFold {
    merged: Capture,
    stdout: Vec<u8>,
    /// Whether standard output exceeded the parsing limit.
    overflown: bool,
    /// One decoder per stream: when the streams are merged, one may split a character of the other.
    text: [Utf8Check; 2],
    warnings: Vec<String>,
}

impl EnvelopeFold {
    /// Adds an event.
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
            | Event::Workflow(_)
            | Event::Agent(_) => {}
        }
    }

    fn output(&mut self, stream: StandardStream, bytes: &[u8]) {
        self.merged.push(bytes);
        let at = match stream {
            StandardStream::Stdout => 0,
            StandardStream::Stderr => 1,
        };
        self.text[at].push(bytes);
        if stream == StandardStream::Stderr || self.overflown {
            return;
        }
        if self.stdout.len() + bytes.len() > MAX_PARSED {
            self.overflown = true;
            self.stdout = Vec::new();
        } else {
            self.stdout.extend_from_slice(bytes);
        }
    }

    /// The envelope of a run with this ending.
    pub fn finish(self, ending: RunEnding, duration: Duration) -> Envelope {
        let captured = self.merged.finish();
        let parsed = if self.overflown { None } else { serde_json::from_slice(&self.stdout).ok() };
        Envelope {
            outcome: ending.outcome,
            exit_code: ending.exit_code,
            output: captured.text,
            left_out: captured.omitted,
            is_utf8: self.text.into_iter().all(Utf8Check::finish),
            parsed,
            error: ending.error,
            duration,
            warnings: self.warnings,
            context: Vec::new(),
            remedies: remedies(ending.outcome),
            answer: None,
            changes: None,
        }
    }
}

/// Checks incrementally whether bytes are UTF-8.
#[derive(Debug, Default)]
struct Utf8Check {
    decoder: Utf8Decoder,
    broken: bool,
}

impl Utf8Check {
    fn push(&mut self, bytes: &[u8]) {
        // Fast path: text that ends at a character boundary needs no copy.
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
