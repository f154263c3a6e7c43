//! Writes an answer: skills one after another, or the model with the conversation so far.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use prowess_core::{AnswerDetails, Envelope, Event, Message, RunOutcome, Thought, Usage};
use prowess_engine::{CHAT_LIMIT, LoadedSkill};
use prowess_policy::{Origin, Tier, Trust};
use serde_json::{Map, Value, json};

use crate::prompt_job::PromptJob;
use crate::runs::RunScope;

/// The text of a message to the model itself, as a prompt skill: the same way through the engine as for skills.
const PLAIN: &str = "---\nname: chat\ndescription: A conversation\ninputs:\n  - name: message\n    \
                     label: Message\n    required: true\n---\n{{message}}";

/// A skill that a message names.
pub(crate) struct SkillCall {
    pub(crate) name: String,
    pub(crate) job: Result<PromptJob, String>,
}

/// A message to the model itself.
pub(crate) struct PlainChat {
    pub(crate) job: PromptJob,
}

/// What an answer is made of.
pub(crate) enum ChatReply {
    Skills(Vec<SkillCall>),
    Plain(Box<PlainChat>),
}

/// The conversation as a skill, which may search a knowledge base.
pub(crate) fn plain_skill(knowledge_base: Option<&str>) -> LoadedSkill {
    let mut skill = prowess_format::check(PLAIN, prowess_format::ReadOptions::DETECT).skill;
    if let Some(base) = knowledge_base {
        skill.knowledge_base = Some(prowess_format::span::Spanned {
            value: base.to_owned(),
            span: prowess_format::span::Span::at(0),
        });
    }
    LoadedSkill {
        name: "chat".to_owned(),
        trust: Trust::of(&skill, Tier::Experimental, None, Origin::Local),
        skill,
        directory: None,
        file: PathBuf::from("chat/SKILL.md"),
        diagnostics: Vec::new(),
        digest: None,
    }
}

impl ChatReply {
    /// Writes the answer; the events go to the readers of the run.
    pub(crate) async fn run(self, scope: RunScope) -> Envelope {
        match self {
            ChatReply::Plain(plain) => plain.run(&scope).await,
            ChatReply::Skills(calls) => run_skills(calls, &scope).await,
        }
    }
}

impl PlainChat {
    async fn run(self, scope: &RunScope) -> Envelope {
        let mut text = String::new();
        let mut sink = |event: &Event| {
            // A conversation has no inputs to check or substitute.
            let is_internal = matches!(
                event,
                Event::Thought(Thought { kind: "validation" | "substitution", .. })
            );
            keep(&mut text, event);
            if !is_internal {
                scope.event(event);
            }
        };
        let envelope = self.job.run(scope, &mut sink).await;
        with_text(envelope, text)
    }
}

async fn run_skills(calls: Vec<SkillCall>, scope: &RunScope) -> Envelope {
    let begin = Instant::now();
    let mut whole = String::new();
    let mut answer = AnswerDetails::default();
    let mut usage: Option<Usage> = None;
    let mut last = None;
    for (at, SkillCall { name, job }) in calls.into_iter().enumerate() {
        let thought = |status, message: Option<String>| {
            let details = vec![("skill", Value::from(name.as_str()))];
            Event::Thought(Thought { kind: "skill", status, message, details })
        };
        scope.event(&thought("start", None));
        let job = match job {
            Ok(job) => job,
            Err(error) => {
                scope.event(&thought("error", Some(error.clone())));
                scope.event(&Event::Error { message: error.clone() });
                last = Some(Envelope::not_started(RunOutcome::Failed, 1, error));
                break;
            }
        };
        if at > 0 {
            let separator = Event::Token { content: "\n\n".to_owned() };
            keep(&mut whole, &separator);
            scope.event(&separator);
        }
        // The limit is for the whole message (specification §7.2).
        let left = CHAT_LIMIT.saturating_sub(begin.elapsed()).max(Duration::from_millis(1));
        let job = PromptJob { time: left, ..job };
        let mut sink = |event: &Event| {
            keep(&mut whole, event);
            scope.event(event);
        };
        let envelope = job.run(scope, &mut sink).await;
        if let Some(details) = &envelope.answer {
            if !details.model.is_empty() {
                answer.model.clone_from(&details.model);
            }
            answer.sources.extend(details.sources.iter().cloned());
            usage = match (usage, details.usage) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            };
        }
        let is_success = envelope.is_success();
        scope
            .event(&thought(if is_success { "complete" } else { "error" }, envelope.error.clone()));
        last = Some(envelope);
        if !is_success {
            break;
        }
    }
    let envelope = last.unwrap_or_else(|| {
        Envelope::not_started(RunOutcome::Failed, 1, "the message names no skill".to_owned())
    });
    answer.usage = usage;
    let envelope = Envelope { answer: Some(Box::new(answer)), ..envelope };
    with_text(envelope, whole)
}

fn keep(text: &mut String, event: &Event) {
    if let Event::Token { content } = event {
        text.push_str(content);
    }
}

/// An answer that was stopped keeps what was written.
fn with_text(envelope: Envelope, text: String) -> Envelope {
    Envelope { output: text, ..envelope }
}

/// The messages before an answer, for the model. The oldest are left out above a limit.
pub(crate) fn history<'m>(
    branch: impl DoubleEndedIterator<Item = &'m super::ChatMessage>,
) -> Vec<Message> {
    const MAX_MESSAGES: usize = 100;
    const MAX_BYTES: usize = 200_000;
    let mut bytes = 0;
    let mut messages: Vec<Message> = branch
        .rev()
        .filter(|message| !message.content.is_empty())
        .take(MAX_MESSAGES)
        .take_while(|message| {
            bytes += message.content.len();
            bytes <= MAX_BYTES
        })
        .map(|message| match message.role.as_str() {
            "assistant" => Message::Assistant { text: message.content.clone(), calls: Vec::new() },
            _ => Message::User(message.content.clone()),
        })
        .collect();
    messages.reverse();
    // Providers want a conversation to begin with the user.
    let first = messages.iter().position(|message| matches!(message, Message::User(_)));
    messages.split_off(first.unwrap_or(messages.len()))
}

/// The inputs of a chat's run, for its record.
pub(crate) fn recorded(message: &str, skills: &[String]) -> Value {
    let mut inputs = Map::new();
    inputs.insert("message".to_owned(), json!(message));
    inputs.insert("skills".to_owned(), json!(skills));
    Value::Object(inputs)
}
