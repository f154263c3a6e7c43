//! The hooks around one run: before it starts, and after it has ended.

use std::time::Duration;

use prowess_core::{Envelope, Event, INTERRUPTED, RunOutcome};
use prowess_format::command;
use prowess_format::text::visible_line;
use prowess_hooks::{Blocked, EventVerdict, HookFacts, PreToolDecision, ToolView};
use prowess_policy::{Allowed, Line, LineKind};
use serde_json::Value;

use super::call::{self, Printed, ToolUse};
use super::session::{HandlerAnswer, HookSession, because};
use crate::decision::Engine;
use crate::error::RunError;
use crate::outputs;
use crate::prepare::{self, Call, PreparedCall};
use crate::run::CancellationToken;
use crate::service;

/// How long hooks in the background may go on after the run that they belong to.
const BACKGROUND_PATIENCE: Duration = Duration::from_secs(5);

/// The hooks of a run that were decided about with it.
#[derive(Debug)]
pub(crate) struct ReadyHooks {
    pub(crate) prepared: PreparedCall,
    pub(crate) allowed: Allowed,
}

/// A run whose `PreToolUse` hooks have let it through.
#[derive(Debug)]
pub(crate) struct SessionHooks {
    session: HookSession,
    tool_use: ToolUse,
    /// Whether the session ends with the run.
    is_own: bool,
    /// What the hooks said to the user.
    messages: Vec<String>,
    /// What they said to the agent.
    context: Vec<String>,
}

/// What the hooks before a run have come to.
pub(crate) enum Checked {
    /// It runs.
    Go(Box<SessionHooks>),
    /// A person has to confirm it.
    Ask(Box<SessionHooks>, Blocked),
    /// It becomes another call, which has to be decided about, and perhaps confirmed.
    Changed(Box<SessionHooks>, Box<Call>, Option<Blocked>),
}

/// Runs the hooks before a call.
pub(crate) fn before(
    prepared: &PreparedCall,
    hooks: Option<ReadyHooks>,
    session: Option<HookSession>,
    engine: &Engine,
    cancel: &CancellationToken,
) -> Result<Checked, RunError> {
    let is_own = session.is_none();
    let id = || {
        service::new_run_id()
            .map(|id| id.to_string())
            .map_err(|problem| RunError::Unsupported(problem.message))
    };
    let session = match session {
        Some(session) => session,
        None => HookSession::new(engine, HookFacts { session_id: id()?, ..facts(prepared) }),
    };
    if let Some(hooks) = hooks {
        session.add(hooks.prepared, hooks.allowed);
    }
    let (call, shown) = (&prepared.call, prepared.command());
    let tool_use = ToolUse::of_call(format!("toolu_{}", id()?), call, shown);
    let verdict = session.pre_tool(&tool_use, cancel);
    // Hooks that were killed have decided nothing.
    if cancel.is_cancelled() {
        return Err(RunError::Cancelled { code: cancel.exit_code().unwrap_or(INTERRUPTED) });
    }
    let name = prepared.name();
    if let Some(stop) = &verdict.stop {
        return Err(denied(name, stop));
    }
    match &verdict.decision {
        PreToolDecision::Deny(blocked) => return Err(denied(name, blocked)),
        PreToolDecision::Defer(blocked) => {
            return Err(RunError::HookDeferred { name, hook: blocked.hook.clone() });
        }
        PreToolDecision::Ask(_) | PreToolDecision::Proceed => {}
    }
    let changed = match &verdict.updated_input {
        None => None,
        Some((view, input)) => {
            let view = tool_use.views.get(*view).or(tool_use.views.first());
            let under = view.map_or("", |view| view.name.as_str());
            let call = call::with_input(call, shown, under, input).map_err(|why| {
                RunError::HookDenied {
                    name: name.clone(),
                    reason: format!(
                        "a hook requested a different input, which can't be used: {why}"
                    ),
                    is_fault: false,
                }
            })?;
            let is_same =
                call.values == prepared.call.values && call.tool.name == prepared.call.tool.name;
            (!is_same).then(|| Box::new(call))
        }
    };
    let (messages, context) = (verdict.messages, verdict.context);
    let state = Box::new(SessionHooks { session, tool_use, is_own, messages, context });
    Ok(match (verdict.decision, changed) {
        (PreToolDecision::Ask(blocked), None) => Checked::Ask(state, blocked),
        (PreToolDecision::Ask(blocked), Some(call)) => Checked::Changed(state, call, Some(blocked)),
        (_, Some(call)) => Checked::Changed(state, call, None),
        (_, None) => Checked::Go(state),
    })
}

/// The call that a hook wants, prepared like any other. Its hooks have run.
pub(crate) fn changed(
    call: Call,
    before: &PreparedCall,
    hooks: &mut SessionHooks,
) -> Result<PreparedCall, RunError> {
    let prepared = prepare::without_hooks(call, before.user.clone(), &before.world)?;
    let line = command::join(prepared.command());
    hooks.messages.push(format!("a hook has changed the call: {}", visible_line(&line)));
    hooks.tool_use =
        ToolUse::of_call(hooks.tool_use.id.clone(), &prepared.call, prepared.command());
    Ok(prepared)
}

/// A line of a question that says which hook asks, and why.
pub(crate) fn asks(blocked: &Blocked) -> Line {
    Line::new(LineKind::Asks, format!("asks because of {}", because(blocked)))
}

fn facts(prepared: &PreparedCall) -> HookFacts {
    let cwd = prepared.world.working_directory.to_string_lossy().into_owned();
    let effort = prepared.call.skill.skill.invocation.effort.as_ref();
    HookFacts { cwd, effort: effort.map(|level| level.value.clone()), ..HookFacts::default() }
}

fn denied(name: String, blocked: &Blocked) -> RunError {
    RunError::HookDenied { name, reason: because(blocked), is_fault: blocked.is_fault }
}

impl SessionHooks {
    /// Runs a tool between its hooks. `run` reports to the sink that it gets.
    pub(crate) fn around(
        self,
        call: &Call,
        cancel: &CancellationToken,
        sink: &mut dyn FnMut(&Event),
        run: impl FnOnce(&mut dyn FnMut(&Event)) -> Envelope,
    ) -> Envelope {
        let mut told: Vec<String> = Vec::new();
        let mut warn = |messages: Vec<String>, sink: &mut dyn FnMut(&Event)| {
            for message in messages {
                let message = bounded(&message);
                sink(&Event::Warning { message: message.clone() });
                told.push(message);
            }
        };
        warn(self.messages.clone(), sink);
        let mut printed = Printed::default();
        let mut has_started = false;
        let mut envelope = run(&mut |event| match event {
            // It is told when the hooks have seen it.
            Event::Done(_) => {}
            Event::Output { stream, bytes } => {
                printed.push(*stream, bytes);
                sink(event);
            }
            Event::Started { .. } => {
                has_started = true;
                sink(event);
            }
            _ => sink(event),
        });
        let mut context = self.context.clone();
        if has_started {
            let verdict = self.after(call, &mut envelope, &printed, cancel, &mut |messages| {
                warn(messages, sink);
            });
            for blocked in verdict.blocks.iter().chain(&verdict.stop) {
                warn(vec![because(blocked)], sink);
            }
            warn(verdict.messages, sink);
            context.extend(verdict.blocks.into_iter().map(|blocked| blocked.reason));
            context.extend(verdict.context);
        }
        if self.is_own {
            self.session.settle(BACKGROUND_PATIENCE);
            for verdict in self.session.take_background() {
                warn(verdict.messages, sink);
                context.extend(verdict.context);
            }
        }
        envelope.warnings.extend(told);
        envelope.context.extend(context);
        sink(&Event::Done(Box::new(envelope.clone())));
        envelope
    }

    fn after(
        &self,
        call: &Call,
        envelope: &mut Envelope,
        printed: &Printed,
        cancel: &CancellationToken,
        warn: &mut dyn FnMut(Vec<String>),
    ) -> EventVerdict {
        let took = envelope.duration;
        if !envelope.is_success() {
            // An interrupted run wakes nobody up: its hooks were cancelled with it.
            let error = call::failure(envelope);
            let is_interrupt = envelope.outcome == RunOutcome::Cancelled;
            return self.session.post_tool_failure(
                &self.tool_use,
                &error,
                is_interrupt,
                took,
                cancel,
            );
        }
        let response = |view: &ToolView| -> Value { call::response(&view.name, envelope, printed) };
        let answers = self.session.answers_after(&self.tool_use, &response, took, cancel);
        let last = answers.iter().rev().find_map(|HandlerAnswer { answer, view, hook }| {
            Some((hook.clone(), *view, answer.updated_output.clone()?))
        });
        let answers: Vec<_> = answers.into_iter().map(|one| (one.hook, one.answer)).collect();
        let verdict = prowess_hooks::event_verdict(&answers);
        if let Some((hook, view, output)) = last {
            let name = self.tool_use.views.get(view).map_or("", |view| view.name.as_str());
            let mut changed = envelope.clone();
            match call::with_output(&mut changed, name, &output) {
                Ok(()) => {
                    let schema = outputs::schema(&call.skill.skill, &call.tool);
                    *envelope = match schema {
                        Some(schema) => outputs::validate(changed, schema),
                        None => changed,
                    };
                    warn(vec![format!("{hook} has changed the output")]);
                }
                Err(why) => warn(vec![format!("{hook}: its output can't be used: {why}")]),
            }
        }
        verdict
    }
}

/// A message of a hook, as a terminal can show it.
pub(super) fn bounded(message: &str) -> String {
    prowess_format::text::shorten(&visible_line(message), super::MAX_REASON)
}
