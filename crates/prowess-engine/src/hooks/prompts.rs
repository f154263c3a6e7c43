//! Hooks around a prompt skill: before the model is asked, and when it has answered.

use prowess_core::Event;
use prowess_format::hook_events::hook_event;
use prowess_format::skill::Skill;
use prowess_hooks::EventVerdict;
use serde_json::{Value, json};

use super::session::{HookSession, because};
use crate::error::RunError;
use crate::loaded::LoadedSkill;
use crate::prompt::Sink;
use crate::run::CancellationToken;

/// The events that a prompt has.
const PROMPT_EVENTS: &[&str] = &["UserPromptSubmit", "Stop"];

/// Whether hooks of a skill run around its prompt.
pub fn has_prompt_hooks(skill: &Skill) -> bool {
    skill.hooks.iter().any(|hook| {
        PROMPT_EVENTS.contains(&hook.event.as_str())
            && !hook.handlers.is_empty()
            && hook_event(&hook.event).is_some()
    })
}

/// The hooks around one prompt.
pub(crate) struct PromptHooks {
    session: HookSession,
    cancel: CancellationToken,
    name: String,
}

impl PromptHooks {
    /// The hooks of a session, where they concern a prompt. Those of the skill itself have to be among them: what nobody was
    /// asked about does not run, and without its gate neither does the prompt.
    pub(crate) fn of(
        skill: &LoadedSkill,
        session: Option<&HookSession>,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>, RunError> {
        let is_there = session.is_some_and(|session| session.has_hooks_of(&skill.name));
        if has_prompt_hooks(&skill.skill) && !is_there {
            return Err(RunError::HookDenied {
                name: skill.name.clone(),
                reason: "its prompt hooks are not approved, and approval can't be requested here"
                    .to_owned(),
                is_fault: false,
            });
        }
        let concerned =
            |session: &&HookSession| PROMPT_EVENTS.iter().any(|event| session.concerns(event));
        Ok(session.filter(concerned).map(|session| Self {
            session: session.clone(),
            cancel: cancel.clone(),
            name: skill.name.clone(),
        }))
    }

    /// `UserPromptSubmit`. Gives what belongs after the prompt.
    pub(crate) async fn submit(
        &self,
        prompt: &str,
        sink: &mut Sink<'_>,
    ) -> Result<String, RunError> {
        let fields = json!({ "prompt": prompt });
        let verdict = self.fire("UserPromptSubmit", fields).await;
        tell(&verdict, sink);
        if let Some(blocked) = verdict.stop.iter().chain(&verdict.blocks).next() {
            let (name, reason) = (self.name.clone(), because(blocked));
            return Err(RunError::HookDenied { name, reason, is_fault: false });
        }
        let paragraphs = verdict.context.iter().flat_map(|context| ["\n\n", context.as_str()]);
        Ok(paragraphs.collect())
    }

    /// `Stop`. Gives what the model is told where it has to go on.
    pub(crate) async fn stop(&self, answer: &str, sink: &mut Sink<'_>) -> Option<String> {
        let (session, cancel, text) =
            (self.session.clone(), self.cancel.clone(), answer.to_owned());
        let stopped = tokio::task::spawn_blocking(move || session.stop(&text, &cancel)).await;
        let stopped = stopped.ok()?;
        tell(&stopped.verdict, sink);
        for blocked in &stopped.verdict.blocks {
            sink(&Event::Warning { message: because(blocked) });
        }
        if !stopped.goes_on {
            return None;
        }
        let verdict = stopped.verdict;
        let reasons = verdict.blocks.into_iter().map(|blocked| blocked.reason);
        Some(reasons.chain(verdict.context).collect::<Vec<_>>().join("\n\n"))
    }

    async fn fire(&self, event: &'static str, fields: Value) -> EventVerdict {
        let (session, cancel) = (self.session.clone(), self.cancel.clone());
        let fired = tokio::task::spawn_blocking(move || session.fire(event, &fields, &cancel));
        fired.await.unwrap_or_default()
    }
}

fn tell(verdict: &EventVerdict, sink: &mut Sink<'_>) {
    for message in &verdict.messages {
        sink(&Event::Warning { message: super::around::bounded(message) });
    }
}
