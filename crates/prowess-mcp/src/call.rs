//! One call of a tool: decided by the policy, asked about where needed, run in the queue, told by progress.

use std::path::Path;
use std::sync::Arc;

use prowess_core::{Envelope, Event, Problem};
use prowess_engine::service::{Owner, RunHandle};
use prowess_engine::{
    ApprovalReply, CancellationToken, Consent, Engine, PendingRun, ReadyRun, RunDecision, RunError,
    ToolHandle,
};
use prowess_format::skill::{Tool, ToolKind};
use prowess_format::text::visible;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ContentBlock,
    ElicitRequest, ElicitRequestParams, ElicitResult, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

#[cfg(target_os = "linux")]
use crate::changes;
use crate::server::SkillServer;
use crate::tools::{Action, ServedTool};
use crate::wording::AskOnTerminal;
use crate::{approval, prompt_call, quiz};

/// How long a person may think about a question that a connection waits for.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_mins(10);
/// The most bytes of one progress message.
const MAX_MESSAGE: usize = 2048;

/// A call, with everything it was made with.
pub(crate) struct ToolCall<'c> {
    pub(crate) server: &'c SkillServer,
    pub(crate) tool: Arc<ServedTool>,
    pub(crate) values: Map<String, Value>,
    pub(crate) owner: Owner,
    /// Questions of requests without a session are kept under it: the next request is another connection.
    pub(crate) door: &'static str,
    pub(crate) context: &'c RequestContext<RoleServer>,
}

/// The state of a call before it runs.
pub(crate) enum Decided {
    Run(Box<ReadyRun>),
    Unfinished(Box<rmcp::model::InputRequiredResult>),
    Refused(String),
}

impl ToolCall<'_> {
    /// Runs the call to its end, or to a question that the client has to put to its user.
    pub(crate) async fn run(
        self,
        request: &CallToolRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(closed) = quiz::closed(self.server, &self.tool.skill).await {
            return Ok(failure(closed).into());
        }
        let (tool, handle) = match &self.tool.action {
            Action::Prompt => return prompt_call::run(&self, request).await,
            Action::Run(action) => (&action.tool, &action.handle),
        };
        let engine = match tool.kind {
            ToolKind::Script | ToolKind::CommandLine => match &self.server.shared.script_engine {
                Ok(engine) => engine.clone(),
                Err(reason) => return Ok(failure(reason.clone()).into()),
            },
            ToolKind::Command | ToolKind::Python | ToolKind::Handler | ToolKind::McpTool => {
                self.server.shared.engine.clone()
            }
        };
        let folder = engine.world.working_directory.clone();
        let decided = match &request.request_state {
            Some(state) => self.answered(state, request, Some(tool), &folder)?,
            None => self.decide(tool, handle, engine).await,
        };
        let decided = match decided {
            Decided::Run(ready) if ready.has_waiting_hooks() => {
                self.check_hooks(*ready, tool, &folder).await
            }
            other => other,
        };
        let ready = match decided {
            Decided::Run(ready) => ready,
            Decided::Unfinished(question) => return Ok(CallToolResponse::InputRequired(*question)),
            Decided::Refused(text) => return Ok(failure(text).into()),
        };
        let submitted = self.server.shared.service.submit_run(&self.owner, *ready);
        Ok(match submitted {
            Ok(run) => {
                let envelope = self.follow(run).await;
                #[cfg(target_os = "linux")]
                let envelope = changes::offer(&self, envelope).await;
                self.result(envelope).into()
            }
            Err(problem) => failure(self.problem_text(&problem)).into(),
        })
    }

    /// Prepares and decides, and asks where that is needed and possible.
    async fn decide(&self, tool: &Tool, handle: &ToolHandle, engine: Engine) -> Decided {
        let (handle, values) = (handle.clone(), self.values.clone());
        let folder = engine.world.working_directory.clone();
        let decided =
            tokio::task::spawn_blocking(move || handle.decide(values, &engine, Consent::None));
        let decided = match decided.await {
            Ok(Ok(decided)) => decided,
            Ok(Err(error)) => return Decided::Refused(self.error_text(&error)),
            Err(_) => return Decided::Refused("the call could not be prepared".to_owned()),
        };
        self.settle(decided, Some(tool), &folder).await
    }

    /// Runs the hooks before a call while there is somebody to ask, should one of them want that.
    async fn check_hooks(&self, ready: ReadyRun, tool: &Tool, folder: &Path) -> Decided {
        let cancel = CancellationToken::default();
        let token = cancel.clone();
        let mut checking = tokio::task::spawn_blocking(move || ready.check_hooks(&token));
        let checked = tokio::select! {
            checked = &mut checking => checked,
            () = self.context.ct.cancelled() => {
                cancel.cancel();
                checking.await
            }
        };
        match checked {
            Ok(Ok(decided)) => self.settle(decided, Some(tool), folder).await,
            Ok(Err(error)) => Decided::Refused(self.error_text(&error)),
            Err(_) => Decided::Refused("the hooks of the call could not be run".to_owned()),
        }
    }

    /// Turns a decision into a run, a question for the client's user, or a refusal. Without a tool it concerns the hooks of a
    /// prompt.
    pub(crate) async fn settle(
        &self,
        decided: RunDecision,
        tool: Option<&Tool>,
        folder: &Path,
    ) -> Decided {
        let pending = match decided {
            RunDecision::Ready(ready) => return Decided::Run(Box::new(ready)),
            RunDecision::Denied(denied) => {
                return Decided::Refused(self.error_text(&RunError::Denied(denied)));
            }
            RunDecision::Ask(pending) => *pending,
        };
        let capabilities = self.context.client_capabilities();
        let page = self.server.shared.settings.wording.question(pending.request());
        let form = approval::can_ask(capabilities.as_ref())
            .then(|| approval::form(pending.request(), page))
            .flatten();
        match form {
            None => Decided::Refused(self.nobody_asked(&pending, tool, folder)),
            Some(form) if self.is_stateless() => self.leave_question(pending, form),
            Some(form) => self.ask(pending, form, tool, folder).await,
        }
    }

    /// Whether the client can't be asked while it waits for a result, but only by a result (from 2026-07-28 on).
    pub(crate) fn is_stateless(&self) -> bool {
        self.context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
    }

    /// Keeps the run until the client repeats the call with an answer.
    fn leave_question(&self, pending: PendingRun, form: ElicitRequestParams) -> Decided {
        let kept = self.server.shared.pending.keep(self.door, pending);
        match kept {
            Err(problem) => Decided::Refused(self.problem_text(&problem)),
            Ok(request) => {
                let name = &self.tool.definition.name;
                let state = approval::state(request.id, name, &self.values);
                Decided::Unfinished(Box::new(approval::unfinished(form, state)))
            }
        }
    }

    /// Asks the client, which waits for its result meanwhile.
    async fn ask(
        &self,
        pending: PendingRun,
        form: ElicitRequestParams,
        tool: Option<&Tool>,
        folder: &Path,
    ) -> Decided {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
        let options = PeerRequestOptions::with_timeout(PATIENCE);
        let asked = async {
            let handle = self.context.peer.send_request_with_option(request, options).await?;
            handle.await_response().await
        };
        let answer = tokio::select! {
            answer = asked => answer,
            () = self.context.ct.cancelled() => return Decided::Refused("cancelled".to_owned()),
        };
        let reply = match answer {
            Ok(ClientResult::ElicitResult(result)) => {
                approval::reply(&result, pending.request().can_be_remembered)
            }
            Ok(_) | Err(_) => ApprovalReply::No,
        };
        match tokio::task::spawn_blocking(move || pending.answer(reply)).await {
            Ok(Ok(ready)) => Decided::Run(Box::new(ready)),
            Ok(Err(error)) => Decided::Refused(self.answer_text(&error, tool, folder)),
            Err(_) => Decided::Refused("the answer could not be stored".to_owned()),
        }
    }

    /// The run that a repeated call is about, with the answer that came with it.
    pub(crate) fn answered(
        &self,
        state: &str,
        request: &CallToolRequestParams,
        tool: Option<&Tool>,
        folder: &Path,
    ) -> Result<Decided, ErrorData> {
        let unknown =
            || ErrorData::invalid_params("the request state belongs to another call", None);
        let id = approval::run_of(state, &self.tool.definition.name, &self.values)
            .ok_or_else(unknown)?;
        let answer = request.input_responses.as_ref().and_then(|all| all.get(approval::QUESTION));
        let answer: ElicitResult =
            answer.and_then(|answer| serde_json::from_value(answer.clone()).ok()).ok_or_else(
                || ErrorData::invalid_params("the response to the question is missing", None),
            )?;
        let pending = match self.server.shared.pending.take(self.door, id) {
            Ok(pending) => pending,
            Err(problem) => return Ok(Decided::Refused(self.problem_text(&problem))),
        };
        let reply = approval::reply(&answer, pending.request().can_be_remembered);
        Ok(match pending.answer(reply) {
            Ok(ready) => Decided::Run(Box::new(ready)),
            Err(error) => Decided::Refused(self.answer_text(&error, tool, folder)),
        })
    }

    /// Why a call was not run after an answer. Some clients decline each question without showing it, so a no comes with the
    /// command that asks on a terminal as well.
    fn answer_text(&self, error: &RunError, tool: Option<&Tool>, folder: &Path) -> String {
        let text = self.error_text(error);
        match error {
            RunError::Declined(_) => {
                let command = self.terminal_command(tool, folder);
                format!("{text}\nThe user can still approve it on a terminal, with `{command}`")
            }
            _ => text,
        }
    }

    /// A command that asks about this call on a terminal.
    fn terminal_command(&self, tool: Option<&Tool>, working_directory: &Path) -> String {
        self.server.shared.settings.wording.ask_on_terminal(&AskOnTerminal {
            skill: &self.tool.skill,
            tool,
            values: &self.values,
            mode: self.server.shared.settings.mode,
            working_directory,
        })
    }

    /// The refusal for a client that can't ask its user, with the command that can.
    fn nobody_asked(
        &self,
        pending: &PendingRun,
        tool: Option<&Tool>,
        working_directory: &Path,
    ) -> String {
        let request = pending.request();
        let command = self.terminal_command(tool, working_directory);
        let name = match tool {
            Some(_) => format!("`{}` was not run: a person has to approve it", request.name()),
            None => {
                format!("`{}` was not run: a person has to approve its hooks", self.tool.skill.name)
            }
        };
        format!(
            "{name} ({}), and this client can't ask one.\n\
             Show the user this command for a terminal; it asks there, and a lasting yes counts here too:\n\
             `{command}`",
            request.reasons.join("; "),
        )
    }

    /// Waits for the end of a run. A call that is cancelled cancels it, and so does a client that goes away, because the
    /// handle is dropped then.
    pub(crate) async fn follow(&self, mut run: RunHandle) -> Envelope {
        let mut progress = Progress::of(self.context);
        let Some(mut events) = run.take_events() else { return run.join().await };
        let mut is_cancelled = false;
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                () = self.context.ct.cancelled(), if !is_cancelled => {
                    run.cancel();
                    is_cancelled = true;
                    continue;
                }
            };
            let Some(frame) = event else { break };
            if let Event::Done(envelope) = frame.event {
                return *envelope;
            }
            progress.tell(&frame.event).await;
        }
        run.join().await
    }

    /// The result that the client gets.
    pub(crate) fn result(&self, envelope: Envelope) -> CallToolResult {
        #[cfg(target_os = "linux")]
        let (changed, meta) = match envelope.changes.as_deref().filter(|it| !it.changes.is_empty())
        {
            Some(run) => (changes::text(run), Some(changes::meta(run))),
            None => (None, None),
        };
        #[cfg(not(target_os = "linux"))]
        let (changed, meta): (Option<String>, _) = (None, None);
        let mut text = envelope.output.clone();
        if envelope.is_success() {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.content.extend(envelope.context.into_iter().map(ContentBlock::text));
            if self.tool.definition.output_schema.is_some() {
                result.structured_content = envelope.parsed;
            }
            result.content.extend(changed.map(ContentBlock::text));
            result.meta = meta;
            return result;
        }
        let error = envelope.error.unwrap_or_else(|| format!("exit code {}", envelope.exit_code));
        let hints = self.server.shared.settings.wording.hints(&envelope.remedies);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&with_hints(&error, &hints));
        for context in envelope.context {
            text.push('\n');
            text.push_str(&context);
        }
        let mut result = failure(text);
        result.content.extend(changed.map(ContentBlock::text));
        result.meta = meta;
        result
    }

    pub(crate) fn problem_text(&self, problem: &Problem) -> String {
        let hints = self.server.shared.settings.wording.hints(&problem.remedies);
        with_hints(&problem.message, &hints)
    }

    pub(crate) fn error_text(&self, error: &RunError) -> String {
        let hints = self.server.shared.settings.wording.hints(&error.remedies());
        with_hints(&error.to_string(), &hints)
    }
}

/// An error result with its reason.
pub(crate) fn failure(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

pub(crate) fn with_hints(message: &str, hints: &[String]) -> String {
    let mut text = message.to_owned();
    for hint in hints {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    text
}

/// Progress notifications for a client that asked for them.
struct Progress<'c> {
    peer: &'c Peer<RoleServer>,
    token: Option<ProgressToken>,
    count: u32,
}

impl<'c> Progress<'c> {
    fn of(context: &'c RequestContext<RoleServer>) -> Self {
        Self { peer: &context.peer, token: context.meta.get_progress_token(), count: 0 }
    }

    /// Tells about an event. A client that reads slowly slows the run down, as any reader does.
    async fn tell(&mut self, event: &Event) {
        let Some(token) = &self.token else { return };
        let message = match event {
            Event::Started { skill, tool, .. } => format!("{skill}/{tool} has started"),
            Event::Output { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
            Event::Token { content } => content.clone(),
            Event::Thought(thought) => thought.message.clone().unwrap_or_default(),
            Event::Warning { message } | Event::Error { message } => message.clone(),
            Event::Citation { .. } | Event::Done(_) | Event::Workflow(_) | Event::Agent(_) => {
                return;
            }
        };
        self.count += 1;
        let end = message.floor_char_boundary(MAX_MESSAGE);
        let message = visible(&message[..end]).into_owned();
        let note = ProgressNotificationParam::new(token.clone(), f64::from(self.count))
            .with_message(message);
        // A client that is gone is noticed by the end of its connection.
        let _ = self.peer.notify_progress(note).await;
    }
}
