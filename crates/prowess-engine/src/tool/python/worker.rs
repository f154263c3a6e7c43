//! One process that has imported a `tools.py`, and the conversation with it.
//!
//! Requests and answers are JSON behind four bytes of length, on two pipes of their own. What the tool prints comes on two
//! others, so it can't be taken for an answer. A tool's code lives in the worker's process and could find its pipes: then
//! it can answer its own request, which it may do anyway, but it can't answer one that has not come yet, because every
//! request carries a number that nobody can guess.

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

/// What a tool may return, as for handlers.
const MAX_ANSWER: usize = 64 << 20;
/// What is thrown away of output that came between two calls, before the worker itself is thrown away.
const MAX_STRAY: usize = 1 << 20;
/// What is read at a time. It lies on the stack, so that a call costs no large allocation.
const PIECE: usize = 16 << 10;
/// How long a process that gives no more answers may take to end by itself.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A worker.
#[derive(Debug)]
pub(super) struct Worker {
    requests: Option<PipeWriter>,
    answers: PipeReader,
    streams: [Option<PipeReader>; 2],
    canceller: Canceller,
    /// From the thread that waits for the sandbox; absent when it has told.
    waiter: Option<Receiver<WorkerExit>>,
    grace: Duration,
    /// What the proxy has refused, when the worker is gone.
    refused: Vec<String>,
}

/// How a worker ended.
#[derive(Debug)]
struct WorkerExit {
    ended: Result<SandboxOutcome, SandboxError>,
    /// What was said on the sandbox's own streams.
    words: String,
    refused: Vec<String>,
}

/// What a worker answers.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// `tools.py` is imported and has these tools.
    Tools(Vec<String>),
    /// A tool has returned.
    Returned(Value),
    /// Something was raised.
    Raised { kind: String, message: String },
    /// A tool has returned something that is no JSON.
    Unserializable(String),
}

/// Why there is no answer. The worker is gone.
#[derive(Debug)]
pub(super) enum WorkerError {
    /// The sandbox could not be built.
    Sandbox(SandboxError),
    /// It ended; what it said on its own streams, such as a library that is missing.
    Ended(ExitReason, String),
    /// The time was up.
    TimedOut,
    /// It printed more than it may.
    TooMuchOutput,
    /// The answer was longer than anybody can want.
    TooLong,
    /// The answer was none: something else was written to the pipe.
    ForgedAnswer,
}

/// What bounds a conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) until: Instant,
    /// Bytes printed on both streams.
    pub(super) output: u64,
}

/// Why a conversation is being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Silent,
    Time,
    Output,
    TooLong,
    ForgedAnswer,
}

impl Worker {
    /// Starts a worker. The descriptors of the specification are added here; its time limit is that of the whole worker.
    /// The door is open as long as it lives.
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
                // Somebody who is gone needs no telling.
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

    /// Says something and waits for the answer. What the tool prints meanwhile is passed on, all of it before the answer.
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
        // Who does not want to wait for it can still end it at once.
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

    /// What the proxy has refused, of a worker that is gone.
    pub(super) fn refused(&mut self) -> Vec<String> {
        std::mem::take(&mut self.refused)
    }

    /// Whether nothing was written since the last answer. Output of that time belongs to no call and is thrown away.
    pub(super) fn is_clean(&mut self) -> bool {
        // One look at all of them; nearly always nothing is there.
        match self.ready(None, true, Instant::now()) {
            Ok([_, false, false, false]) => return true,
            Ok([_, true, ..]) | Err(_) => return false,
            Ok(_) => {}
        }
        let silent = matches!(self.answers.read(&mut [0]), Err(error) if is_not_yet(&error));
        let mut stray = 0;
        self.drain(&mut |_, bytes| stray += bytes.len(), MAX_STRAY) && silent && stray < MAX_STRAY
    }

    /// Lets the worker end by itself, and ends it where it does not.
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
                    // What was printed was flushed before the answer, so it was in the pipes when the answer was seen.
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

    /// Waits for something to happen to the pipes that matter: requests, answers and the two streams.
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

    /// Passes on a piece of a stream, and tells how long it was.
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
            // The end.
            _ => {
                self.streams[at] = None;
                0
            }
        }
    }

    /// Passes on what is in the streams now; false if there is more than that.
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

    /// Passes on output until the worker and everything in it are gone, or the time has come.
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

    /// The end of a worker that is ending. One that only pretends to is ended.
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
            // Whoever drops a worker wants it gone, not told about.
            let _ = waiter.recv();
        }
    }
}

/// The sandbox itself: the words of an interpreter that does not get as far as the worker, and the way out.
struct WorkerObserver {
    words: Capture,
    door: RunNetwork,
    /// Why there is none.
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
    // Values are bounded where they are read, far below this.
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend(text);
    frame
}

fn length_of(answer: &[u8]) -> Option<usize> {
    let length: [u8; 4] = answer.get(..4)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(length)).ok()
}

/// What an answer says, if it is one to the request of this number.
fn read_answer(frame: &[u8], number: &str) -> Option<Answer> {
    let mut answer: Map<String, Value> = match serde_json::from_slice(frame) {
        Ok(Value::Object(answer)) => answer,
        // Python nests deeper than anybody here reads.
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
