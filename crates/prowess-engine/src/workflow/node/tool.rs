//! Nodes that run a tool of a skill: prepared, decided and approved like any other run.

use std::pin::pin;
use std::sync::Arc;

use prowess_core::{Envelope, Event, StandardStream};
use prowess_format::text::shorten;
use serde_json::Value;
use tokio::sync::mpsc;

use super::super::graph::SkillUse;
use super::super::run::{EventReporter, ToolHandles, WorkflowContext};
use super::super::scope::{Input, ValueScope};
use super::super::skill::{SkillPart, SkillPartError};
use super::{Failure, MAX_OUTPUT, Step, blocking, printed};
use crate::decision::ReadyRun;
use crate::handle::ToolHandle;
use crate::run::CancellationToken;

/// Maximum number of buffered events. A tool that prints faster than they are read waits.
const WAITING_EVENTS: usize = 256;

/// Resolves the skill of a node, and decides about its tool if it has one.
pub(crate) async fn decide(
    used: &SkillUse,
    input: &Input,
    scope: &ValueScope,
    context: &WorkflowContext,
    tools: &ToolHandles,
) -> Result<Step, Failure> {
    let (used, input, scope) = (used.clone(), input.value.clone(), scope.clone());
    let (context, tools) = (context.clone(), tools.clone());
    blocking(move || {
        let (name, tool) = used.skill_and_tool();
        let skill = context.skills.resolve(name)?;
        let unusable = |SkillPartError { message, hint }| Failure::new(message).advice(hint);
        let part = SkillPart::of(&skill, tool).map_err(unusable)?;
        let SkillPart::Tool(tool) = part else { return Ok(Step::Prompt) };
        let values = part.values(&used, &input, &scope).map_err(Failure::new)?;
        let handle = ToolHandle::new(Arc::clone(&skill), tool.clone(), context.mode);
        Ok(Step::Tool(tools.get(handle).decide(values, &context.engine, context.consent)?))
    })
    .await?
}

/// Maximum length of a failed tool's last line in a message.
const MAX_LAST_LINE: usize = 200;

/// Runs a tool. Its output is parsed as JSON if possible, otherwise it is text.
pub(crate) async fn run(
    node: &str,
    ready: ReadyRun,
    context: &WorkflowContext,
    teller: &EventReporter<'_, '_>,
) -> Result<Value, Failure> {
    let cancel = CancelOnDrop(CancellationToken::default());
    let (sender, mut events) = mpsc::channel(WAITING_EVENTS);
    let inner = cancel.0.clone();
    let work = move || on_thread(ready, &inner, &sender);
    let mut run = pin!(context.executor.run(&cancel.0, work));
    let ended = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => teller.inside(node, &event),
            () = context.cancel.cancelled(), if !cancel.0.is_cancelled() => cancel.0.cancel(),
            ended = &mut run => break ended,
        }
    };
    while let Ok(event) = events.try_recv() {
        teller.inside(node, &event);
    }
    let (envelope, stdout) = ended?;
    if !envelope.is_success() {
        // The program has reported the error at the end of its output.
        let last = envelope.output.lines().rfind(|line| !line.trim().is_empty());
        let failure = Failure::of(&envelope);
        return Err(match last {
            Some(line) => Failure {
                message: format!("{} ({})", failure.message, shorten(line.trim(), MAX_LAST_LINE)),
                ..failure
            },
            None => failure,
        });
    }
    Ok(envelope.parsed.unwrap_or_else(|| printed(&stdout)))
}

/// Runs the tool; returns its standard output.
fn on_thread(
    ready: ReadyRun,
    cancel: &CancellationToken,
    events: &mpsc::Sender<Event>,
) -> (Envelope, Vec<u8>) {
    let mut stdout = Vec::new();
    let envelope = ready.run(cancel, &mut |event| {
        if let Event::Output { stream: StandardStream::Stdout, bytes } = event
            && stdout.len() <= MAX_OUTPUT
        {
            stdout.extend_from_slice(bytes);
        }
        // The receiver is gone: the tool is being cancelled, and its output does not matter.
        let _ = events.blocking_send(event.clone());
    });
    (envelope, stdout)
}

/// Cancels the tool when the node is dropped.
struct CancelOnDrop(CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
