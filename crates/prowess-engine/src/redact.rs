//! Redacts the keys that a tool was given from its output (attack sandbox-F05).
//!
//! This is no protection against theft: a tool that has a key can use it. It keeps keys out of transcripts, logs and
//! the contexts of models, where they end up because programs print their settings when they fail.

use prowess_policy::SandboxSpec;
use prowess_policy::scope::is_credential;
use prowess_secrets::{MAX_SECRET_BYTES, Replacer, Secret};
use serde_json::{Map, Value};

use crate::credentials::CredentialError;
use crate::tool::python::LoadError;
use crate::world::World;
use prowess_core::Envelope;
use prowess_core::{Event, StandardStream};

/// Replaces keys in the events and the envelope of one run.
#[derive(Debug)]
pub(crate) struct Redactor {
    replacer: Replacer,
    streams: [prowess_secrets::ReplacerStream; 2],
}

impl Redactor {
    /// A redactor without keys.
    pub(crate) fn idle() -> Self {
        Self::with(&[])
    }

    /// The redactor of a run with these variables: it replaces the values of variables whose names denote keys, and
    /// credentials that the proxy inserts, which a server may echo.
    pub(crate) fn of(allowed: &SandboxSpec, world: &World) -> Result<Self, CredentialError> {
        let bound = |name: &str| world.credentials.iter().any(|bound| bound.name() == name);
        let mut secrets = Vec::new();
        // Secrets are only passed if they are granted by name (R31).
        for granted in &allowed.variables.named {
            let name = granted.as_str();
            let found = world.environment.iter().find(|(known, _)| known == name);
            let Some((_, value)) = found.filter(|_| is_credential(name) && !bound(name)) else {
                continue;
            };
            if value.len() > MAX_SECRET_BYTES {
                return Err(CredentialError::Long { name: name.to_owned(), length: value.len() });
            }
            secrets.push(Secret::new(name, value));
        }
        secrets.extend(world.credentials.iter().map(|bound| bound.placeholder.secret().clone()));
        Ok(Self::with(&secrets))
    }

    /// A redactor with the same keys for another run.
    pub(crate) fn fresh(&self) -> Self {
        let replacer = self.replacer.clone();
        Self { streams: [replacer.stream(), replacer.stream()], replacer }
    }

    /// A redactor for these secrets.
    pub(crate) fn with(secrets: &[Secret]) -> Self {
        let replacer = Replacer::redacting(secrets);
        Self { streams: [replacer.stream(), replacer.stream()], replacer }
    }

    /// Whether there is nothing to replace.
    pub(crate) fn is_idle(&self) -> bool {
        self.replacer.is_empty()
    }

    /// Redacts an event. `None` while output may be the beginning of a key.
    pub(crate) fn event(&mut self, event: &Event) -> Option<Event> {
        Some(match event {
            Event::Output { stream, bytes } => {
                let at = match stream {
                    StandardStream::Stdout => 0,
                    StandardStream::Stderr => 1,
                };
                let bytes = self.streams[at].push(bytes).into_owned();
                return (!bytes.is_empty()).then_some(Event::Output { stream: *stream, bytes });
            }
            Event::Thought(thought) => {
                let mut thought = thought.clone();
                thought.message = thought.message.map(|message| self.text(&message));
                let details = thought.details.into_iter();
                thought.details = details.map(|(key, value)| (key, self.value(value))).collect();
                Event::Thought(thought)
            }
            Event::Token { content } => Event::Token { content: self.text(content) },
            Event::Citation { sources } => {
                let mut sources = sources.clone();
                for source in &mut sources {
                    source.text = self.text(&source.text);
                }
                Event::Citation { sources }
            }
            Event::Started { skill, tool, command } => Event::Started {
                skill: skill.clone(),
                tool: tool.clone(),
                command: command.iter().map(|word| self.text(word)).collect(),
            },
            Event::Warning { message } => Event::Warning { message: self.text(message) },
            Event::Error { message } => Event::Error { message: self.text(message) },
            Event::Done(envelope) => Event::Done(Box::new(self.envelope((**envelope).clone()))),
            // Nodes and calls have their own redactors, and a tool sends no such events.
            Event::Workflow(told) => Event::Workflow(told.clone()),
            Event::Agent(told) => Event::Agent(told.clone()),
        })
    }

    /// The output that was held back, at the end of the run.
    pub(crate) fn rest(&mut self) -> Vec<Event> {
        let streams =
            [StandardStream::Stdout, StandardStream::Stderr].into_iter().zip(&mut self.streams);
        let rest = streams.map(|(stream, held)| Event::Output { stream, bytes: held.finish() });
        rest.filter(|event| !matches!(event, Event::Output { bytes, .. } if bytes.is_empty()))
            .collect()
    }

    /// Redacts an envelope. Its output is folded from redacted events.
    pub(crate) fn envelope(&self, mut envelope: Envelope) -> Envelope {
        if self.is_idle() {
            return envelope;
        }
        let all = |texts: Vec<String>| texts.iter().map(|text| self.text(text)).collect();
        envelope.parsed = envelope.parsed.map(|value| self.value(value));
        envelope.error = envelope.error.map(|error| self.text(&error));
        envelope.warnings = all(envelope.warnings);
        let remedies = envelope.remedies.into_iter();
        envelope.remedies =
            remedies.map(|remedy| remedy.map_target(|text| self.text(text))).collect();
        envelope
    }

    /// Redacts a load error.
    pub(crate) fn load_error(&self, error: LoadError) -> LoadError {
        let reason = self.text(&error.reason);
        let remedies = error.remedies.into_iter();
        let remedies = remedies.map(|remedy| remedy.map_target(|text| self.text(text))).collect();
        LoadError { reason, remedies, ..error }
    }

    /// Redacts a JSON result. A string can be escaped in many ways in JSON, so the parsed values are searched.
    pub(crate) fn value(&self, value: Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value,
            Value::Number(number) => {
                let text = number.to_string();
                let redacted = self.text(&text);
                if redacted == text { Value::Number(number) } else { redacted.into() }
            }
            Value::String(text) => self.text(&text).into(),
            Value::Array(values) => values.into_iter().map(|value| self.value(value)).collect(),
            Value::Object(object) => {
                let pairs = object.into_iter();
                let pairs = pairs.map(|(key, value)| (self.text(&key), self.value(value)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    fn text(&self, text: &str) -> String {
        self.replacer.text(text).into_owned()
    }
}
