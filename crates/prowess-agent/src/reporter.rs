//! Where the events of an agent go: several calls may report at the same time.

use std::sync::{Mutex, PoisonError};

use prowess_core::{AgentEvent, Event};

/// Receives the events of a run.
pub(crate) type Sink<'s> = dyn FnMut(&Event) + Send + 's;

/// Sends events, and keeps the warnings for the envelope.
pub(crate) struct Reporter<'s> {
    sink: Mutex<&'s mut Sink<'s>>,
    warnings: Mutex<Vec<String>>,
}

/// The most warnings that are kept.
const MAX_WARNINGS: usize = 100;

impl<'s> Reporter<'s> {
    pub(crate) fn new(sink: &'s mut Sink<'s>) -> Self {
        Self { sink: Mutex::new(sink), warnings: Mutex::default() }
    }

    pub(crate) fn tell(&self, event: &Event) {
        if let Event::Warning { message } = event {
            let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
            if warnings.len() < MAX_WARNINGS {
                warnings.push(message.clone());
            }
        }
        (self.sink.lock().unwrap_or_else(PoisonError::into_inner))(event);
    }

    pub(crate) fn agent(&self, event: AgentEvent) {
        self.tell(&Event::Agent(event));
    }

    pub(crate) fn warn(&self, message: impl Into<String>) {
        self.tell(&Event::Warning { message: message.into() });
    }

    /// An event of a tool. Its end is reported as the result of the call.
    pub(crate) fn inside(&self, call: &str, event: Event) {
        if !matches!(event, Event::Error { .. } | Event::Done(_)) {
            self.agent(AgentEvent::Inside { call: call.to_owned(), event: Box::new(event) });
        }
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
