//! A run of a tool of an MCP server: the server in its own sandbox, and a conversation with it on a second thread. A remote
//! server is talked to directly; nothing of it runs here.

use std::io::{PipeWriter, Write as _};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prowess_core::{
    McpBounds, McpClient, McpConnection, McpError, McpErrorKind, McpSession, StandardStream,
};
use prowess_sandbox::{Canceller, Input, Observer, OutputStream, Sandbox, Spec};
use serde_json::Value;

use super::{FinishedRun, RunNetwork, RunReporter, left_behind};
use crate::error::RunError;
use crate::fold::RunEnding;
use crate::mcp_servers::ServerTransport;
use crate::run::CancellationToken;
use crate::tool::mcp::{self, ServerAnswer, ServerPlan};
use prowess_core::{Event, REFUSED, RunOutcome};

/// What a server that ends at once may lack.
pub(super) const SANDBOX_HINT: &str = "the server runs in a sandbox: it can read the working directory, has the variables of its settings, and reaches only the hosts that are granted";
/// How the error of a server that goes away ends.
pub(super) const LOST: &str = "has closed the connection";
/// How long a server may take to end when its input is closed.
const LEAVING: Duration = Duration::from_secs(2);
/// How much longer a conversation may take than the server's own limit, which ends it in order.
const SLACK: Duration = Duration::from_secs(10);

/// What is said to a server in place of one call of a tool, and what comes of it.
#[derive(Clone)]
pub struct Talk(Arc<TalkFunction>);

type TalkFunction = dyn Fn(&mut dyn McpSession) -> Result<Value, McpError> + Send + Sync;

impl Talk {
    /// A conversation by a function. What it returns is the result of the run.
    pub fn new(
        talk: impl Fn(&mut dyn McpSession) -> Result<Value, McpError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(talk))
    }
}

impl std::fmt::Debug for Talk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Talk")
    }
}

/// A client for [`crate::Engine`]; a value of its own, because a client has nothing to show.
#[derive(Clone)]
pub struct McpAccess(Arc<dyn McpClient>);

impl McpAccess {
    /// Access through a client.
    pub fn new(client: Arc<dyn McpClient>) -> Self {
        Self(client)
    }
}

impl std::fmt::Debug for McpAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("McpAccess")
    }
}

/// A conversation that is about to happen.
pub(super) struct Conversation<'c> {
    pub(super) access: &'c McpAccess,
    pub(super) plan: &'c ServerPlan,
    pub(super) talk: Option<&'c Talk>,
    pub(super) cancel: &'c CancellationToken,
}

type Answered = Result<ServerAnswer, McpError>;

/// Connects and talks.
fn converse(
    access: &McpAccess,
    connection: McpConnection,
    plan: &ServerPlan,
    talk: Option<&Talk>,
    (cancel, deadline): (&CancellationToken, Instant),
) -> Answered {
    let cancelled = cancel.clone();
    let stopped = Box::pin(async move { cancelled.cancelled().await });
    let mut session = access.0.connect(connection, McpBounds { deadline, stopped })?;
    match talk {
        None => mcp::call_tool(plan, session.as_mut()),
        Some(talk) => {
            let result = (talk.0)(session.as_mut())?;
            Ok(ServerAnswer { result: Some(result), ..ServerAnswer::default() })
        }
    }
}

impl Conversation<'_> {
    /// Talks to a remote server.
    pub(super) fn over_http(&self, time: Duration, reporter: &mut RunReporter<'_>) -> FinishedRun {
        let started = Instant::now();
        let ServerTransport::Http { url, headers } = &self.plan.server.transport else {
            return self.finished(Err(closed()), started.elapsed(), reporter);
        };
        let connection = McpConnection::Http { url: url.clone(), headers: headers.clone() };
        let bounds = (self.cancel, started + time);
        let answered = converse(self.access, connection, self.plan, self.talk, bounds);
        let answered = match answered {
            Err(error) if error.kind == McpErrorKind::TimedOut => {
                return timed_out(time, started.elapsed());
            }
            Err(error) if error.kind == McpErrorKind::Stopped => {
                let ending = RunEnding::of(prowess_sandbox::ExitReason::Cancelled(None), time, &[]);
                return FinishedRun { ending, duration: started.elapsed(), result: None };
            }
            answered => answered,
        };
        self.finished(answered, started.elapsed(), reporter)
    }

    /// Starts a server and talks to it.
    pub(super) fn over_pipes(
        &self,
        mut spec: Spec,
        time: Duration,
        reporter: &mut RunReporter<'_>,
    ) -> Result<FinishedRun, RunError> {
        let failed = |source| prowess_sandbox::SandboxError::SetUp { stage: "pipe", source };
        let (server_reads, we_write) = std::io::pipe().map_err(failed)?;
        let (we_read, output) = std::io::pipe().map_err(failed)?;
        spec.input = Input::Pipe(server_reads.into());
        let longest = time + spec.limits.grace + SLACK;
        let sandbox = Sandbox::spawn(spec)?;
        self.cancel.watch(sandbox.canceller());
        let canceller = sandbox.canceller();
        let connection =
            McpConnection::Pipes { output: we_read.into(), input: OwnedFd::from(we_write) };
        let answered: Mutex<Option<Answered>> = Mutex::new(None);
        let (ended, has_ended) = channel::<()>();
        let outcome = std::thread::scope(|scope| {
            let talking = std::thread::Builder::new().name("prowess-mcp".to_owned());
            let answered = &answered;
            talking
                .spawn_scoped(scope, move || {
                    let bounds = (self.cancel, Instant::now() + longest);
                    let result = converse(self.access, connection, self.plan, self.talk, bounds);
                    *answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                    leave(&has_ended, &canceller);
                })
                .map_err(failed)?;
            let mut relay = Relay { reporter: &mut *reporter, output: Some(output) };
            let outcome = sandbox.wait(&mut relay);
            drop(ended);
            outcome
        });
        let refused = std::mem::replace(&mut reporter.door, RunNetwork::Closed).close();
        reporter.warn(refused);
        let outcome = outcome?;
        reporter.flush();
        reporter.warn(left_behind(&outcome));
        let answered = answered.into_inner().unwrap_or_else(PoisonError::into_inner);
        let answered = answered.unwrap_or_else(|| Err(closed()));
        // The limits of the sandbox explain why there is no answer; with an answer it does not matter how the server ended.
        let ending = RunEnding::of(outcome.exit, time, &[]);
        if let Err(error) = &answered
            && !matches!(ending.outcome, RunOutcome::Success | RunOutcome::Failed)
            && matches!(
                error.kind,
                McpErrorKind::Unreachable | McpErrorKind::Stopped | McpErrorKind::TimedOut
            )
        {
            return Ok(FinishedRun { ending, duration: outcome.duration, result: None });
        }
        Ok(self.finished(answered, outcome.duration, reporter))
    }

    fn finished(
        &self,
        answered: Answered,
        duration: Duration,
        reporter: &mut RunReporter<'_>,
    ) -> FinishedRun {
        let failed = |error: String| RunEnding {
            outcome: RunOutcome::Failed,
            exit_code: 1,
            error: Some(error),
        };
        let (ending, result) = match answered {
            Ok(answer) if answer.is_error => (failed(mcp::failure(self.plan, &answer)), None),
            Ok(answer) => {
                if !answer.text.is_empty() {
                    let mut bytes = answer.text.into_bytes();
                    if !bytes.ends_with(b"\n") {
                        bytes.push(b'\n');
                    }
                    reporter.tell(&Event::Output { stream: StandardStream::Stdout, bytes });
                }
                let success = RunEnding { outcome: RunOutcome::Success, exit_code: 0, error: None };
                (success, answer.result)
            }
            Err(error) => {
                let mut ending = failed(mcp::about(&self.plan.server.name, &error));
                if error.kind == McpErrorKind::Refused {
                    // Nothing was sent.
                    (ending.outcome, ending.exit_code) = (RunOutcome::Refused, REFUSED);
                }
                (ending, None)
            }
        };
        FinishedRun { ending, duration, result }
    }
}

fn timed_out(time: Duration, duration: Duration) -> FinishedRun {
    let ending = RunEnding::of(prowess_sandbox::ExitReason::TimedOut(None), time, &[]);
    FinishedRun { ending, duration, result: None }
}

fn closed() -> McpError {
    McpError::new(McpErrorKind::Unreachable, LOST)
}

/// The input of the server is closed by now. One that stays is asked to end, and killed after the grace period.
fn leave(has_ended: &Receiver<()>, canceller: &Canceller) {
    if has_ended.recv_timeout(LEAVING) == Err(RecvTimeoutError::Timeout) {
        canceller.cancel();
    }
}

/// Passes the messages of the server on to the conversation, and what it logs to the user.
struct Relay<'r, 'w> {
    reporter: &'r mut RunReporter<'w>,
    /// `None` when nobody listens any more.
    output: Option<PipeWriter>,
}

impl Observer for Relay<'_, '_> {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        match stream {
            OutputStream::Output => {
                let written = self.output.as_mut().map(|output| output.write_all(bytes));
                if matches!(written, Some(Err(_))) {
                    self.output = None;
                }
            }
            OutputStream::Error => self.reporter.output(stream, bytes),
        }
    }

    fn listeners(&mut self, listeners: Vec<std::net::TcpListener>) {
        self.reporter.listeners(listeners);
    }
}
