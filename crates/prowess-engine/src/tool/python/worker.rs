//! A process that has imported a `tools.py`, and the protocol to talk to it.
//!
//! Requests and answers are JSON with a length prefix of four bytes, on two separate pipes. The tool's output uses two
//! others, so it can't be confused with an answer. A tool's code runs in the worker's process and could find its pipes:
//! then it can answer its own request, which it may do anyway, but it can't answer a later one, because every request
//! has an unpredictable number.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use prowess_sandbox::{
    Canceller, Capture, ExitReason, Observer, OutputStream, Sandbox, SandboxError, SandboxOutcome,
    Spec,
};
use serde_json::{Map, Value, json};

use super::polling::{self, Interest};
use crate::network::RunNetwork;
use crate::run::CancellationToken;
use prowess_core::StandardStream;

/// Maximum size of a result, as for handlers.
const MAX_ANSWER: usize = 64 << 20;
/// Maximum output between two calls that is discarded; above it the worker is discarded too.
const MAX_STRAY: usize = 1 << 20;
/// Size of a read buffer. It is on the stack, so that a call needs no large allocation.
const PIECE: usize = 16 << 10;
/// Time that a process may take to exit after its last answer.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A Python worker.
#[derive(Debug)]
pub(super) struct Worker {
    requests: Option<PipeWriter>,
    answers: PipeReader,
    streams: [Option<PipeReader>; 2],
    canceller: Canceller,
    /// The result of the thread that waits for the sandbox; `None` after it was received.
    waiter: Option<Receiver<WorkerExit>>,
    grace: Duration,
    /// Requests that the proxy refused, after the worker has ended.
    refused: Vec<String>,
}

/// How a worker ended.
#[derive(Debug)]
struct WorkerExit {
    ended: Result<SandboxOutcome, SandboxError>,
    /// The output on the sandbox's own streams.
    words: String,
    refused: Vec<String>,
}

/// The answer of a worker.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// `tools.py` was imported and has these tools.
    Tools(Vec<String>),
    /// A tool returned a value.
    Returned(Value),
    /// A tool raised an exception.
    Raised { kind: String, message: String },
    /// A tool returned a value that is not JSON.
    Unserializable(String),
}

/// Why there is no answer. The worker has ended.
#[derive(Debug)]
pub(super) enum WorkerError {
    /// The sandbox could not be built.
    Sandbox(SandboxError),
    /// It exited; with the output on its own streams, such as a missing library.
    Ended(ExitReason, String),
    /// The time limit was exceeded.
    TimedOut,
    /// The output limit was exceeded.
    TooMuchOutput,
    /// The answer was too long.
    TooLong,
    /// The answer was invalid: something else was written to the pipe.
    ForgedAnswer,
}

/// Limits of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) until: Instant,
    /// Maximum number of bytes printed on both streams.
    pub(super) output: u64,
}

/// Why a request is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Silent,
    Time,
    Output,
    TooLong,
    ForgedAnswer,
}

impl Worker {
    /// Starts a worker. The descriptors of the specification are added here; its time limit applies to the whole
    /// worker. The proxy runs as long as the worker.
    pub(super) fn start(mut spec: Spec, door: RunNetwork) -> Result<Self, SandboxError> {
        let failed = |source| SandboxError::SetUp { stage: "pipe", source };
        let (request_end, requests) = io::pipe().map_err(failed)?;
        let (answers, answer_end) = io::pipe().map_err(failed)?;
        let (output, output_end) = io::pipe().map_err(failed)?;
        let (error, error_end) = io::pipe().map_err(failed)?;
        polling::set_nonblocking(&requests).map_err(failed)?;
        for reader in [&answers, &output, &error] {
            polling::set_nonblocking(reader).map_err(failed)?;
        }
        spec.descriptors = vec![OwnedFd::from(request_end)];
        spec.descriptors.extend([answer_end, output_end, error_end].map(OwnedFd::from));
        let grace = spec.limits.grace;
        let sandbox = Sandbox::spawn(spec)?;
        let canceller = sandbox.canceller();
        let (told, waiter) = sync_channel(1);
        std::thread::Builder::new()
            .name("prowess-worker".to_owned())
            .spawn(move || {
                let mut watch = WorkerObserver { words: Capture::default(), door, closed: None };
                let ended = sandbox.wait(&mut watch);
                let mut refused = watch.door.close();
                refused.extend(watch.closed);
                let words = watch.words.finish().text.trim().to_owned();
                // The receiver may be gone.
                let _ = told.send(WorkerExit { ended, words, refused });
            })
            .map_err(|source| SandboxError::SetUp { stage: "thread", source })?;
        Ok(Self {
            requests: Some(requests),
            answers,
            streams: [Some(output), Some(error)],
            canceller,
            waiter: Some(waiter),
            grace,
            refused: Vec::new(),
        })
    }

    /// Sends a request and waits for the answer. The tool's output is forwarded, all of it before the answer.
    pub(super) fn ask(
        &mut self,
        number: &str,
        mut request: Map<String, Value>,
        bounds: Bounds,
        cancel: &CancellationToken,
        output: &mut dyn FnMut(StandardStream, &[u8]),
    ) -> Result<Answer, WorkerError> {
        request.insert("id".to_owned(), number.into());
        cancel.watch(self.canceller.clone());
        let told = self.converse(&frame(&request), bounds, output);
        let stop = match told {
            Ok(frame) => match read_answer(&frame, number) {
                Some(answer) => {
                    cancel.release();
                    return Ok(answer);
                }
                None => Stop::ForgedAnswer,
            },
            Err(stop) => stop,
        };
        if stop != Stop::Silent {
            self.canceller.cancel();
        }
        // A second cancellation can still kill it immediately.
        let WorkerExit { ended, words, .. } = self.wait(output);
        cancel.release();
        Err(match stop {
            Stop::Silent => match ended {
                Ok(ended) => WorkerError::Ended(ended.exit, words),
                Err(error) => WorkerError::Sandbox(error),
            },
            Stop::Time => WorkerError::TimedOut,
            Stop::Output => WorkerError::TooMuchOutput,
            Stop::TooLong => WorkerError::TooLong,
            Stop::ForgedAnswer => WorkerError::ForgedAnswer,
        })
    }

    /// The requests that the proxy refused, of a worker that has ended.
    pub(super) fn refused(&mut self) -> Vec<String> {
        std::mem::take(&mut self.refused)
    }

    /// Whether nothing was written since the last answer. Such output belongs to no call and is discarded.
    pub(super) fn is_clean(&mut self) -> bool {
        // One poll of all pipes; they are nearly always empty.
        match self.ready(None, true, Instant::now()) {
            Ok([_, false, false, false]) => return true,
            Ok([_, true, ..]) | Err(_) => return false,
            Ok(_) => {}
        }
        let silent = matches!(self.answers.read(&mut [0]), Err(error) if is_not_yet(&error));
        let mut stray = 0;
        self.drain(&mut |_, bytes| stray += bytes.len(), MAX_STRAY) && silent && stray < MAX_STRAY
    }

    /// Lets the worker exit, and kills it if it does not.
    pub(super) fn end(
        &mut self,
        output: &mut dyn FnMut(StandardStream, &[u8]),
    ) -> Result<SandboxOutcome, SandboxError> {
        self.requests = None;
        self.drain_until(Instant::now() + self.grace, output);
        self.wait(output).ended
    }

    fn converse(
        &mut self,
        request: &[u8],
        bounds: Bounds,
        output: &mut dyn FnMut(StandardStream, &[u8]),
    ) -> Result<Vec<u8>, Stop> {
        let mut written = 0;
        let mut answer = Vec::new();
        let mut printed = 0;
        let mut buffer = [0; PIECE];
        // The pipe of an idle worker is empty: most requests fit into it at once.
        let mut has_room = true;
        loop {
            if has_room
                && written < request.len()
                && let Some(pipe) = &mut self.requests
            {
                match pipe.write(&request[written..]) {
                    Ok(count) => written += count,
                    Err(error) if is_not_yet(&error) => {}
                    Err(_) => return Err(Stop::Silent),
                }
            }
            let requests = self.requests.as_ref().filter(|_| written < request.len());
            let requests = requests.map(|pipe| (pipe.as_fd(), Interest::Write));
            let ready = self.ready(requests, true, bounds.until)?;
            has_room = ready[0];
            for (at, stream) in
                [StandardStream::Stdout, StandardStream::Stderr].into_iter().enumerate()
            {
                if ready[2 + at] {
                    printed += self.forward_output(at, stream, &mut buffer, output) as u64;
                }
            }
            if printed > bounds.output {
                return Err(Stop::Output);
            }
            if ready[1] {
                match self.answers.read(&mut buffer) {
                    Ok(0) => return Err(Stop::Silent),
                    Ok(count) => answer.extend_from_slice(&buffer[..count]),
                    Err(error) if is_not_yet(&error) => {}
                    Err(_) => return Err(Stop::Silent),
                }
            }
            match length_of(&answer) {
                Some(length) if length > MAX_ANSWER => return Err(Stop::TooLong),
                Some(length) if answer.len() > 4 + length => return Err(Stop::ForgedAnswer),
                Some(length) if answer.len() == 4 + length => {
                    // Output was flushed before the answer, so it was in the pipes when the answer arrived.
                    if ready[2] || ready[3] {
                        self.drain(output, usize::try_from(bounds.output).unwrap_or(usize::MAX));
                    }
                    return Ok(answer.split_off(4));
                }
                _ => {}
            }
            if Instant::now() >= bounds.until {
                return Err(Stop::Time);
            }
        }
    }

    /// Polls the relevant pipes: requests, answers and the two streams.
    fn ready(
        &self,
        requests: Option<(BorrowedFd<'_>, Interest)>,
        answers: bool,
        until: Instant,
    ) -> Result<[bool; 4], Stop> {
        let idle = (self.answers.as_fd(), None);
        let stream = |at: usize| {
            self.streams[at].as_ref().map_or(idle, |pipe| (pipe.as_fd(), Some(Interest::Read)))
        };
        let wanted = [
            requests.map_or(idle, |(pipe, interest)| (pipe, Some(interest))),
            (self.answers.as_fd(), answers.then_some(Interest::Read)),
            stream(0),
            stream(1),
        ];
        polling::wait(&wanted, Some(until)).map_err(|_| Stop::Silent)
    }

    /// Forwards a chunk of a stream, and returns its length.
    fn forward_output(
        &mut self,
        at: usize,
        stream: StandardStream,
        buffer: &mut [u8],
        output: &mut dyn FnMut(StandardStream, &[u8]),
    ) -> usize {
        let Some(pipe) = &mut self.streams[at] else { return 0 };
        match pipe.read(buffer) {
            Ok(count) if count > 0 => {
                output(stream, &buffer[..count]);
                count
            }
            Err(error) if is_not_yet(&error) => 0,
            // End of file.
            _ => {
                self.streams[at] = None;
                0
            }
        }
    }

    /// Forwards the buffered output; false if there is more.
    fn drain(&mut self, output: &mut dyn FnMut(StandardStream, &[u8]), most: usize) -> bool {
        let mut buffer = [0; PIECE];
        for (at, stream) in [StandardStream::Stdout, StandardStream::Stderr].into_iter().enumerate()
        {
            let mut passed = 0;
            loop {
                match self.forward_output(at, stream, &mut buffer, output) {
                    0 => break,
                    count => passed += count,
                }
                if passed > most {
                    return false;
                }
            }
        }
        true
    }

    /// Forwards output until the worker and all its processes have ended, or the deadline.
    fn drain_until(&mut self, until: Instant, output: &mut dyn FnMut(StandardStream, &[u8])) {
        let mut buffer = [0; PIECE];
        while self.streams.iter().any(Option::is_some) && Instant::now() < until {
            let Ok(ready) = self.ready(None, false, until) else { return };
            for (at, stream) in
                [StandardStream::Stdout, StandardStream::Stderr].into_iter().enumerate()
            {
                if ready[2 + at] {
                    self.forward_output(at, stream, &mut buffer, output);
                }
            }
        }
    }

    /// Waits for a worker that is exiting, and kills it if it isn't.
    fn wait(&mut self, output: &mut dyn FnMut(StandardStream, &[u8])) -> WorkerExit {
        self.requests = None;
        self.drain_until(Instant::now() + EXIT_TIMEOUT, output);
        let told = self.waiter.take();
        let mut waited = told.as_ref().and_then(|told| told.recv_timeout(EXIT_TIMEOUT).ok());
        if waited.is_none() {
            self.canceller.cancel();
            self.drain_until(Instant::now() + self.grace + EXIT_TIMEOUT, output);
            waited = told.and_then(|told| told.recv().ok());
        }
        let mut waited = waited.unwrap_or_else(|| {
            let error = io::Error::other("the thread that waits for the sandbox is gone");
            let ended = Err(SandboxError::Supervise(error));
            WorkerExit { ended, words: String::new(), refused: Vec::new() }
        });
        self.refused = std::mem::take(&mut waited.refused);
        waited
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter.take() {
            self.requests = None;
            self.canceller.cancel();
            // A dropped worker needs no report.
            let _ = waiter.recv();
        }
    }
}

/// Observes the sandbox: the output of an interpreter that fails before the worker starts, and the network.
struct WorkerObserver {
    words: Capture,
    door: RunNetwork,
    /// The reason if there is no network.
    closed: Option<String>,
}

impl Observer for WorkerObserver {
    fn output(&mut self, _stream: OutputStream, bytes: &[u8]) {
        self.words.push(bytes);
    }

    fn listeners(&mut self, listeners: Vec<TcpListener>) {
        let opened = self.door.open(listeners);
        self.closed = opened.err().map(|reason| format!("the network is not available: {reason}"));
    }
}

fn is_not_yet(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn frame(request: &Map<String, Value>) -> Vec<u8> {
    let text = json!(request).to_string().into_bytes();
    // Values are limited when they are read, far below this.
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend(text);
    frame
}

fn length_of(answer: &[u8]) -> Option<usize> {
    let length: [u8; 4] = answer.get(..4)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(length)).ok()
}

/// Parses an answer, if it has the number of the request.
fn read_answer(frame: &[u8], number: &str) -> Option<Answer> {
    let mut answer: Map<String, Value> = match serde_json::from_slice(frame) {
        Ok(Value::Object(answer)) => answer,
        // Python allows deeper nesting than our parser.
        Err(error) if error.to_string().starts_with("recursion limit") => {
            return Some(Answer::Unserializable("a value that is nested too deeply".to_owned()));
        }
        _ => return None,
    };
    if answer.get("id").and_then(Value::as_str) != Some(number) {
        return None;
    }
    if let Some(result) = answer.remove("result") {
        return Some(Answer::Returned(result));
    }
    if let Some(Value::String(what)) = answer.remove("unserializable") {
        return Some(Answer::Unserializable(what));
    }
    if let Some(tools) = answer.get("tools").and_then(Value::as_array) {
        let names = tools.iter().filter_map(|name| Some(name.as_str()?.to_owned()));
        return Some(Answer::Tools(names.collect()));
    }
    let error = answer.get("error")?;
    let text = |key: &str| Some(error.get(key)?.as_str()?.to_owned());
    Some(Answer::Raised { kind: text("type")?, message: text("message")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Answer> {
        read_answer(text.as_bytes(), "7")
    }

    #[test]
    fn only_an_answer_to_the_request_is_one() {
        let yes = Some(Answer::Returned(Value::Bool(true)));
        assert_eq!(read(r#"{"id": "7", "result": true}"#), yes);
        for forged in [
            r#"{"id": "8", "result": true}"#,
            r#"{"result": true}"#,
            r#"{"id": "7"}"#,
            "true",
            "",
            "{",
        ] {
            assert_eq!(read(forged), None, "{forged}");
        }
    }

    #[test]
    fn a_result_nested_too_deeply_is_told_as_that() {
        let deep = format!(r#"{{"id": "7", "result": {}1{}}}"#, "[".repeat(500), "]".repeat(500));
        assert!(matches!(read(&deep), Some(Answer::Unserializable(_))), "{:?}", read(&deep));
    }
}
