//! One call of a tool: checked, decided by the policy, asked about where needed, run in the queue.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use prowess_core::{CallStatus, Envelope, Event, Problem, RunOutcome};
use prowess_engine::quiz::NOT_PASSED;
use prowess_engine::service::RunHandle;
use prowess_engine::{
    ApprovalReply, CancellationToken, CommandOutputs, Engine, HookSession, InjectionDecision,
    InjectionError, LoadedSkill, PendingRun, PromptCall, PromptContext, ReadyRun, RunDecision,
    RunError, UserGrants, prepare_hooks, prepare_injection, render_call, run_prompt,
};
use prowess_format::render::RenderedPrompt;
use prowess_format::text::{shorten, visible};
use serde_json::{Map, Value};

use crate::desk::CallQuestion;
use crate::ending::Halt;
use crate::limits::{MAX_ARGUMENTS, MAX_CONTEXT, MAX_RESULT};
use crate::patience::Patience;
use crate::reporter::Reporter;
use crate::roster::SkillTool;
use crate::run::AgentContext;
use crate::wrapping::wrapped;

/// The longest part of a model's broken arguments that a message repeats.
const MAX_QUOTED: usize = 80;

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallResult {
    pub(crate) status: CallStatus,
    /// The text for the model, with tags around untrusted text.
    pub(crate) for_model: String,
    /// The text without tags, for people and programs.
    pub(crate) plain: String,
    pub(crate) left_out: u64,
}

impl CallResult {
    /// A message of the loop itself.
    pub(crate) fn of_loop(status: CallStatus, message: impl Into<String>) -> Self {
        let plain = message.into();
        Self { status, for_model: format!("error: {plain}"), plain, left_out: 0 }
    }

    /// A text with its marks.
    pub(crate) fn marked(status: CallStatus, text: String, left_out: u64) -> Self {
        Self { status, for_model: text.clone(), plain: text, left_out }
    }

    /// The agent was stopped.
    pub(crate) fn stopped() -> Self {
        Self::of_loop(CallStatus::Cancelled, "the agent was stopped before this call ended")
    }

    /// The result of a run.
    pub(crate) fn of_run(name: &str, envelope: &Envelope) -> Self {
        let (text, more) = bounded(&envelope.output);
        let left_out = envelope.left_out + more;
        let context = context(&envelope.context);
        if envelope.is_success() {
            let for_model = if text.is_empty() {
                "The tool succeeded and printed nothing.".to_owned()
            } else {
                wrapped("tool_output", &[("tool", name)], &text)
            };
            let for_model = for_model + &context;
            return Self { status: CallStatus::Success, for_model, plain: text, left_out };
        }
        let error = envelope.error.as_deref().unwrap_or("the tool failed");
        let status = match envelope.outcome {
            RunOutcome::Cancelled => CallStatus::Cancelled,
            RunOutcome::MissingParameter | RunOutcome::InvalidParameter => CallStatus::Invalid,
            RunOutcome::Refused => CallStatus::Refused,
            _ => CallStatus::Failed,
        };
        let mut for_model = format!("error: {}", visible(error));
        let mut plain = error.to_owned();
        if !text.is_empty() {
            for_model.push('\n');
            for_model.push_str(&wrapped("tool_output", &[("tool", name)], &text));
            plain = format!("{plain}\n{text}");
        }
        for_model.push_str(&context);
        Self { status, for_model, plain, left_out }
    }

    /// The last word of an agent that worked on a task of its own.
    pub(crate) fn of_agent(agent: &str, text: &str) -> Self {
        let (plain, left_out) = bounded(text);
        let for_model = wrapped("tool_output", &[("agent", agent)], &plain);
        Self { status: CallStatus::Success, for_model, plain, left_out }
    }

    /// The result of a run that did not start.
    pub(crate) fn of_error(error: &RunError) -> Self {
        let status = match error {
            RunError::Inputs { .. } => CallStatus::Invalid,
            RunError::Denied(_) | RunError::Declined(_) | RunError::Expired(_) => {
                CallStatus::Refused
            }
            RunError::NobodyToAsk { .. }
            | RunError::Quiz(_)
            | RunError::HookDenied { .. }
            | RunError::HookDeferred { .. } => CallStatus::Refused,
            _ => CallStatus::Failed,
        };
        let message = match error {
            RunError::NobodyToAsk { name, reasons, .. } => format!(
                "`{name}` was not run: a person has to approve it ({}), and nobody can be asked now. Nothing in this \
                 conversation can approve it. Do not call it again; go on without it, or tell the user what you need it for.",
                reasons.join("; ")
            ),
            RunError::Declined(name) => format!(
                "`{name}` was not run: the user was asked and said no. Do not call it again unless the user asks for it."
            ),
            RunError::Quiz(problem) if problem.code == NOT_PASSED => {
                format!("{problem}; call `quiz_next` with its name")
            }
            other => other.to_string(),
        };
        Self::of_loop(status, visible(&message))
    }

    pub(crate) fn of_problem(problem: &Problem) -> Self {
        Self::of_loop(CallStatus::Failed, visible(&problem.message))
    }
}

/// Messages of hooks for the model about a call, after its result.
fn context(said: &[String]) -> String {
    if said.is_empty() {
        return String::new();
    }
    let text = said.join("\n");
    let end = text.floor_char_boundary(MAX_CONTEXT.min(text.len()));
    format!("\n{}", wrapped("hook_output", &[], &text[..end]))
}

/// The beginning of a text that is too long, with a count of the rest.
fn bounded(text: &str) -> (String, u64) {
    if text.len() <= MAX_RESULT {
        return (text.to_owned(), 0);
    }
    let end = text.floor_char_boundary(MAX_RESULT);
    let rest = text.len() - end;
    (format!("{}\n... [truncated {rest} bytes] ...\n", &text[..end]), rest as u64)
}

/// The arguments of a call as an object. Models write nothing for a tool without parameters.
pub(crate) fn arguments(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    if text.len() > MAX_ARGUMENTS {
        return Err(format!(
            "the arguments have {} bytes, and the limit is {MAX_ARGUMENTS}",
            text.len()
        ));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(
            "the arguments are JSON, but not an object: write one with a key for each parameter"
                .to_owned(),
        ),
        Err(error) => {
            let quoted = shorten(&visible(text), MAX_QUOTED);
            Err(format!("the arguments are not valid JSON ({error}): {quoted}"))
        }
    }
}

/// A call that has begun.
pub(crate) enum Begun {
    Running(RunHandle),
    Ended(CallResult),
}

/// A run whose decision is awaited, and what a person has to see of it.
struct Asked<'a> {
    skill: &'a LoadedSkill,
    target: Option<&'a SkillTool>,
    values: &'a Map<String, Value>,
    folder: &'a Path,
}

/// Why a call is not running.
enum NotBegun {
    Halt(Halt),
    Ended(CallResult),
}

impl From<Halt> for NotBegun {
    fn from(halt: Halt) -> Self {
        NotBegun::Halt(halt)
    }
}

impl From<RunError> for NotBegun {
    fn from(error: RunError) -> Self {
        NotBegun::Ended(CallResult::of_error(&error))
    }
}

fn internal(what: &str) -> NotBegun {
    let message = format!("{what} (internal error)");
    NotBegun::Ended(CallResult::of_loop(CallStatus::Failed, message))
}

impl AgentContext<'_> {
    /// Decides about a call of a tool, asks where that is needed, lets hooks have their say, and starts it.
    pub(crate) async fn begin_tool(
        &mut self,
        target: &Arc<SkillTool>,
        values: Map<String, Value>,
        hooks: &HookSession,
        patience: &Patience,
    ) -> Result<Begun, Halt> {
        let engine = match (target.is_script(), &self.script_engine) {
            (false, _) => self.engine.clone(),
            (true, Ok(engine)) => engine.clone(),
            (true, Err(reason)) => {
                let result = CallResult::of_loop(CallStatus::Failed, reason.clone());
                return Ok(Begun::Ended(result));
            }
        };
        match self.ready(target, &values, engine, hooks, patience).await {
            Ok(ready) => Ok(match self.service.submit_run(&self.owner, ready) {
                Ok(run) => Begun::Running(run),
                Err(problem) => Begun::Ended(CallResult::of_problem(&problem)),
            }),
            Err(NotBegun::Ended(result)) => Ok(Begun::Ended(result)),
            Err(NotBegun::Halt(halt)) => Err(halt),
        }
    }

    async fn ready(
        &mut self,
        target: &Arc<SkillTool>,
        values: &Map<String, Value>,
        engine: Engine,
        hooks: &HookSession,
        patience: &Patience,
    ) -> Result<ReadyRun, NotBegun> {
        let folder = engine.world.working_directory.clone();
        let asked = Asked { skill: &target.skill, target: Some(target), values, folder: &folder };
        let (handle, consent, chosen) = (target.handle.clone(), self.consent, values.clone());
        let deciding = tokio::task::spawn_blocking(move || handle.decide(chosen, &engine, consent));
        let Ok(decided) = patience.bound(deciding).await? else {
            return Err(internal("the call could not be prepared"));
        };
        let ready = self.settle(decided?, &asked, patience).await?;
        let is_bound = |event: &str| hooks.concerns(event);
        let has_own = !target.skill.skill.hooks.is_empty();
        if !has_own
            && !["PreToolUse", "PostToolUse", "PostToolUseFailure"].into_iter().any(is_bound)
        {
            return Ok(ready);
        }
        let (ready, cancel) = (ready.in_session(hooks), CancellationToken::default());
        let token = cancel.clone();
        let checking = tokio::task::spawn_blocking(move || ready.check_hooks(&token));
        let checked = patience.bound(checking).await;
        if checked.is_err() {
            cancel.cancel();
        }
        let Ok(checked) = checked? else {
            return Err(internal("the hooks before the call could not be run"));
        };
        self.settle(checked?, &asked, patience).await
    }

    /// Registers the hooks of a skill that is being loaded: decided about like a tool, and asked about where needed.
    pub(crate) async fn register_hooks(
        &mut self,
        skill: &Arc<LoadedSkill>,
        mode: prowess_policy::Mode,
        hooks: &HookSession,
        patience: &Patience,
    ) -> Result<Option<CallResult>, Halt> {
        let (engine, consent, loaded) = (self.engine.clone(), self.consent, Arc::clone(skill));
        let folder = engine.world.working_directory.clone();
        let deciding = tokio::task::spawn_blocking(move || {
            let user = UserGrants::none().with_earlier(&engine.approvals.load()?);
            let prepared = prepare_hooks(&loaded, mode, &user, &engine.world)?;
            prepared.map(|prepared| prepared.decide(&engine, consent)).transpose()
        });
        let decided = match patience.bound(deciding).await? {
            Ok(Ok(Some(decided))) => decided,
            Ok(Ok(None)) => return Ok(None),
            Ok(Err(error)) => return Ok(Some(CallResult::of_error(&error))),
            Err(_) => {
                let message = "the hooks of the skill could not be prepared (internal error)";
                return Ok(Some(CallResult::of_loop(CallStatus::Failed, message)));
            }
        };
        let values = Map::new();
        let asked = Asked { skill, target: None, values: &values, folder: &folder };
        match self.settle(decided, &asked, patience).await {
            Ok(ready) => {
                hooks.register(ready);
                Ok(None)
            }
            Err(NotBegun::Ended(result)) => Ok(Some(result)),
            Err(NotBegun::Halt(halt)) => Err(halt),
        }
    }

    /// The run that may start, after a person was asked where that is needed.
    async fn settle(
        &mut self,
        decided: RunDecision,
        asked: &Asked<'_>,
        patience: &Patience,
    ) -> Result<ReadyRun, NotBegun> {
        let pending = match decided {
            RunDecision::Ready(ready) => return Ok(ready),
            RunDecision::Denied(denied) => return Err(RunError::Denied(denied).into()),
            RunDecision::Ask(pending) => *pending,
        };
        let question = CallQuestion {
            request: pending.request(),
            skill: asked.skill,
            tool: asked.target.map(|target| &target.tool),
            values: asked.values,
            working_directory: asked.folder,
        };
        // A person may think as long as they like.
        let since = Instant::now();
        let reply = self.desk.ask(question).await;
        patience.extend(since.elapsed());
        answered(pending, reply).await
    }

    /// The text of a skill with the outputs of the commands in it: decided about like a tool, asked about once for all of
    /// them, and run one after the other. The first that fails ends the loading.
    pub(crate) async fn inject(
        &mut self,
        skill: &Arc<LoadedSkill>,
        rendered: RenderedPrompt,
        mode: prowess_policy::Mode,
        patience: &Patience,
        reporter: &Reporter<'_>,
    ) -> Result<Result<String, CallResult>, Halt> {
        if self.disables_injection {
            return Ok(Ok(rendered.with_disabled_commands()));
        }
        let rendered = Arc::new(rendered);
        match self.outputs(skill, &rendered, mode, patience, reporter).await {
            Ok(outputs) => Ok(Ok(rendered.with_outputs(&outputs))),
            Err(NotBegun::Ended(result)) => Ok(Err(result)),
            Err(NotBegun::Halt(halt)) => Err(halt),
        }
    }

    /// Runs the commands in the text of a prompt skill that is called. Wrong inputs are reported by the call itself, and no
    /// command runs.
    pub(crate) async fn prompt_commands(
        &mut self,
        skill: &Arc<LoadedSkill>,
        values: &Map<String, Value>,
        mode: prowess_policy::Mode,
        patience: &Patience,
        reporter: &Reporter<'_>,
    ) -> Result<Result<PromptCommands, CallResult>, Halt> {
        let call = prompt_call(skill, values, CommandOutputs::NotRun);
        let Ok(rendered) = render_call(&call, &self.engine.world) else {
            return Ok(Ok(PromptCommands::Outputs(Vec::new())));
        };
        if rendered.commands.is_empty() {
            return Ok(Ok(PromptCommands::Outputs(Vec::new())));
        }
        if self.disables_injection {
            return Ok(Ok(PromptCommands::Disabled));
        }
        match self.outputs(skill, &Arc::new(rendered), mode, patience, reporter).await {
            Ok(outputs) => Ok(Ok(PromptCommands::Outputs(outputs))),
            Err(NotBegun::Ended(result)) => Ok(Err(result)),
            Err(NotBegun::Halt(halt)) => Err(halt),
        }
    }

    async fn outputs(
        &mut self,
        skill: &Arc<LoadedSkill>,
        rendered: &Arc<RenderedPrompt>,
        mode: prowess_policy::Mode,
        patience: &Patience,
        reporter: &Reporter<'_>,
    ) -> Result<Vec<String>, NotBegun> {
        let (engine, consent) = (self.engine.clone(), self.consent);
        let (loaded, text) = (Arc::clone(skill), Arc::clone(rendered));
        let folder = engine.world.current.clone();
        let deciding = tokio::task::spawn_blocking(move || {
            let user = UserGrants::none().with_earlier(&engine.approvals.load()?);
            prepare_injection(&loaded, &text, mode, &user, &engine.world)?.decide(&engine, consent)
        });
        let Ok(decided) = patience.bound(deciding).await? else {
            return Err(internal("the commands in the skill's text could not be prepared"));
        };
        let run = match decided? {
            InjectionDecision::Ready(run) => run,
            InjectionDecision::Denied(denied) => return Err(RunError::Denied(denied).into()),
            InjectionDecision::Ask(pending) => {
                let values = Map::new();
                let question = CallQuestion {
                    request: pending.request(),
                    skill,
                    tool: None,
                    values: &values,
                    working_directory: &folder,
                };
                let since = Instant::now();
                let reply = self.desk.ask(question).await;
                patience.extend(since.elapsed());
                match tokio::task::spawn_blocking(move || pending.answer(reply)).await {
                    Ok(answered) => answered?,
                    Err(_) => return Err(internal("the answer could not be stored")),
                }
            }
        };
        let cancel = CancellationToken::default();
        let token = cancel.clone();
        let mut running = tokio::task::spawn_blocking(move || {
            let mut warnings = Vec::new();
            let ended = run.run(&token, &mut |event| {
                if let Event::Warning { message } = event {
                    warnings.push(message.clone());
                }
            });
            (ended, warnings)
        });
        let ended = patience.bound(&mut running).await;
        if let Err(halt) = ended {
            // It gets a few seconds to end, and is waited for.
            cancel.cancel();
            let _ = running.await;
            return Err(halt.into());
        }
        let Ok((ended, warnings)) = ended? else {
            return Err(internal("the commands in the skill's text could not be run"));
        };
        for warning in warnings {
            reporter.warn(warning);
        }
        ended.map_err(|error| match error {
            InjectionError::Refused(error) => error.into(),
            InjectionError::Failed(failed) => {
                let said = failed.shown_output().map(|output| format!("; it printed: {output}"));
                let message = format!("{failed}{}", said.unwrap_or_default());
                NotBegun::Ended(CallResult::of_loop(CallStatus::Failed, visible(&message)))
            }
        })
    }

    /// Starts a prompt skill, which the agent's model answers without the conversation.
    pub(crate) fn begin_prompt(
        &self,
        skill: &Arc<LoadedSkill>,
        values: Map<String, Value>,
        hooks: &HookSession,
        commands: PromptCommands,
    ) -> Begun {
        let hooks = hooks.has_hooks_of(&skill.name).then(|| hooks.clone());
        let (skill, model) = (Arc::clone(skill), Arc::clone(&self.model));
        let (world, retriever) = (Arc::clone(&self.engine.world), self.retriever.clone());
        let (skills, quizzes) = (Arc::clone(&self.skills), self.engine.quizzes.clone());
        let spawned = self.service.spawn(&self.owner, |run, mut sink| async move {
            let around = PromptContext {
                world: &world,
                model: Ok(model.as_ref()),
                retriever: retriever.as_deref(),
                skills: skills.as_ref(),
                quizzes: &quizzes,
                cancel: run.cancel(),
                hooks: hooks.as_ref(),
            };
            let commands = match &commands {
                PromptCommands::Disabled => CommandOutputs::Disabled,
                PromptCommands::Outputs(outputs) => CommandOutputs::Given(outputs),
            };
            let call = prompt_call(&skill, &values, commands);
            run_prompt(&call, &around, &mut |event: &Event| sink.send(event)).await
        });
        match spawned {
            Ok(run) => Begun::Running(run),
            Err(problem) => Begun::Ended(CallResult::of_problem(&problem)),
        }
    }
}

/// The replacements of the commands in the text of a prompt.
pub(crate) enum PromptCommands {
    /// The user's settings disable them.
    Disabled,
    /// One output for each.
    Outputs(Vec<String>),
}

fn prompt_call<'c>(
    skill: &'c LoadedSkill,
    values: &'c Map<String, Value>,
    commands: CommandOutputs<'c>,
) -> PromptCall<'c> {
    let seconds = skill.skill.timeout_secs.as_ref();
    let seconds = seconds.and_then(|secs| u64::try_from(secs.value).ok());
    let time = seconds.map(std::time::Duration::from_secs);
    PromptCall { skill, values, arguments: None, history: &[], time, commands }
}

/// Answers a question. A lasting yes is stored, which may block.
async fn answered(pending: PendingRun, reply: ApprovalReply) -> Result<ReadyRun, NotBegun> {
    match tokio::task::spawn_blocking(move || pending.answer(reply)).await {
        Ok(answered) => Ok(answered?),
        Err(_) => Err(internal("the answer could not be stored")),
    }
}

/// Waits for the end of a run and reports its events. When the agent has to end, the run is cancelled and waited for: it has
/// a few seconds, and then it is killed.
pub(crate) async fn follow(
    mut run: RunHandle,
    call: &str,
    patience: &Patience,
    reporter: &Reporter<'_>,
) -> Envelope {
    let Some(mut events) = run.take_events() else { return run.join().await };
    let (mut is_cancelled, mut is_killed) = (false, false);
    loop {
        let frame = tokio::select! {
            frame = events.recv() => frame,
            _ = patience.over(), if !is_cancelled => {
                run.cancel();
                is_cancelled = true;
                continue;
            }
            () = patience.killed(), if !is_killed => {
                run.kill();
                is_killed = true;
                continue;
            }
        };
        match frame.map(|frame| frame.event) {
            Some(Event::Done(_)) | None => break,
            Some(event) => reporter.inside(call, event),
        }
    }
    drop(events);
    run.join().await
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn arguments_are_an_object() {
        let shown = |text: &str| match arguments(text) {
            Ok(values) => serde_json::Value::Object(values).to_string(),
            Err(error) => error,
        };
        assert_eq!(shown(" "), "{}");
        assert_eq!(shown("{\"a\": 1}"), "{\"a\":1}");
        for (text, expected) in [
            ("[1]", "JSON, but not an object"),
            ("{\"a\": \u{202e}", "not valid JSON"),
            (&format!("\"{}\"", "x".repeat(300_000)), "the limit is 262144"),
        ] {
            let shown = shown(text);
            assert!(shown.contains(expected) && shown.len() < 300, "{shown}");
            assert!(!shown.contains('\u{202e}'), "{shown}");
        }
        // Nesting without end is refused by the parser.
        assert!(shown(&"[".repeat(10_000)).contains("recursion limit"));
    }
}
