//! The channel from a run to the reader of its events: bounded, with a defined rule for slow readers.
//!
//! 1. Unread text of the same stream is merged: tokens with tokens, output with output of the same stream, up to
//!    [`EventLimits::merged_bytes`] per event. Only neighbours are merged, so nothing is reordered.
//! 2. When [`EventLimits::unread_bytes`] are unread, the run waits: the pipe of a tool or the connection to a provider
//!    fills up.
//! 3. When it has waited for [`EventLimits::patience`], or [`EventLimits::most_bytes`] are unread, the run is cancelled.
//!    Buffered events can still be read; then the error and the final event follow, with the reason.
//!
//! So a reader gets all events, or all events up to the point where the run was cancelled because of it.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use prowess_core::Remedy;
use prowess_core::{AgentEvent, Envelope, Event, EventFrame, RunId, RunOutcome, WorkflowEvent};
use serde_json::Value;

use crate::run::CancellationToken;

/// The size of an event without its text.
const OVERHEAD: usize = 128;

/// Limits of unread events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLimits {
    /// Maximum size of a merged event.
    pub merged_bytes: usize,
    /// With this many unread bytes, the run waits for its reader.
    pub unread_bytes: usize,
    /// With this many unread bytes, the run is cancelled. Only events that can't wait reach this limit.
    pub most_bytes: usize,
    /// Time that a run waits for its reader before it is cancelled.
    pub patience: Duration,
}

impl EventLimits {
    /// 64 KiB per event, 1 MiB before the run waits, 8 MiB at most, 30 seconds.
    pub const USUAL: Self = Self {
        merged_bytes: 64 << 10,
        unread_bytes: 1 << 20,
        most_bytes: 8 << 20,
        patience: Duration::from_secs(30),
    };
}

/// Creates the channel of a run. If the reader is too slow, `cancel` is triggered.
pub(crate) fn channel(
    run: RunId,
    limits: EventLimits,
    cancel: CancellationToken,
) -> (EventSender, EventReceiver) {
    let shared = Arc::new(Shared {
        run,
        limits,
        cancel,
        buffer: Mutex::new(Buffer::default()),
        changed: Condvar::new(),
    });
    (EventSender { shared: Arc::clone(&shared) }, EventReceiver { shared, sequence: 0 })
}

struct Shared {
    run: RunId,
    limits: EventLimits,
    cancel: CancellationToken,
    buffer: Mutex<Buffer>,
    /// Notified when something was sent or read, or the run was cancelled.
    changed: Condvar,
}

#[derive(Default)]
struct Buffer {
    events: VecDeque<Event>,
    bytes: usize,
    /// Whether the last event was sent, or the sender is gone.
    is_ended: bool,
    /// Whether the receiver is gone.
    is_unread: bool,
    cut: Option<Cut>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Why a run was cancelled because of its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Patience,
    Size,
}

/// The sender of a run's events.
pub(crate) struct EventSender {
    shared: Arc<Shared>,
}

impl EventSender {
    /// Sends an event, and blocks if too much is unread. For threads; tasks use [`poll_ready`](Self::poll_ready).
    pub(crate) fn send(&self, event: Event) {
        let shared = &*self.shared;
        let mut buffer = shared.lock();
        if !is_last(&event) {
            let deadline = Instant::now() + shared.limits.patience;
            while shared.is_full(&buffer) {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    shared.cut(&mut buffer, Cut::Patience);
                    break;
                }
                let waited = shared.changed.wait_timeout(buffer, left);
                buffer = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        shared.push(buffer, event);
    }

    /// Sends an event without waiting.
    pub(crate) fn send_now(&self, event: Event) {
        self.shared.push(self.shared.lock(), event);
    }

    /// Ready while not too much is unread.
    pub(crate) fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut buffer = self.shared.lock();
        if !self.shared.is_full(&buffer) {
            return Poll::Ready(());
        }
        buffer.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Cancels the run because its reader is too slow.
    pub(crate) fn give_up(&self) {
        self.shared.cut(&mut self.shared.lock(), Cut::Patience);
    }

    /// Wakes a run that waits for its reader, because it was cancelled.
    pub(crate) fn unblock(&self) {
        let writer = self.shared.lock().writer.take();
        self.shared.changed.notify_all();
        if let Some(writer) = writer {
            writer.wake();
        }
    }

    /// Sends the final event if the run has not done so, and notes in the envelope if the reader was too slow.
    pub(crate) fn finish(&self, envelope: Envelope) -> Envelope {
        let buffer = self.shared.lock();
        let (envelope, is_ended) = (self.shared.blame(&buffer, envelope), buffer.is_ended);
        drop(buffer);
        if !is_ended {
            if let Some(error) = &envelope.error {
                self.send_now(Event::Error { message: error.clone() });
            }
            self.send_now(Event::Done(Box::new(envelope.clone())));
        }
        envelope
    }

    /// Another sender for the same run, for unblocking it.
    pub(crate) fn another(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }

    /// The time that a run waits for its reader.
    pub(crate) fn patience(&self) -> Duration {
        self.shared.limits.patience
    }
}

impl fmt::Debug for EventSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSender").field("run", &self.shared.run).finish_non_exhaustive()
    }
}

impl Shared {
    /// A poisoned lock is safe to use: no code that holds it can panic halfway.
    fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the run has to wait. A cancelled run only has to finish.
    fn is_full(&self, buffer: &Buffer) -> bool {
        buffer.bytes >= self.limits.unread_bytes
            && !buffer.is_unread
            && buffer.cut.is_none()
            && !self.cancel.is_cancelled()
    }

    fn push(&self, mut buffer: MutexGuard<'_, Buffer>, event: Event) {
        if buffer.is_ended {
            return;
        }
        buffer.is_ended = is_last(&event);
        if !buffer.is_unread {
            let event = match event {
                Event::Done(envelope) => Event::Done(Box::new(self.blame(&buffer, *envelope))),
                Event::Error { message } if buffer.cut.is_some() => {
                    Event::Error { message: buffer.cut.map_or(message, |cut| cut.message(self)) }
                }
                event => event,
            };
            let is_closing = buffer.is_ended || matches!(event, Event::Error { .. });
            if buffer.cut.is_none() || is_closing {
                let size = size(&event);
                if !is_closing && buffer.bytes + size > self.limits.most_bytes {
                    self.cut(&mut buffer, Cut::Size);
                } else {
                    let merged = match buffer.events.back_mut() {
                        Some(last) => merge(last, event, self.limits.merged_bytes),
                        None => Merged::Apart(event),
                    };
                    buffer.bytes += match merged {
                        Merged::Into(added) => added,
                        Merged::Apart(event) => {
                            buffer.events.push_back(event);
                            size
                        }
                    };
                }
            }
        }
        let reader = buffer.reader.take();
        drop(buffer);
        self.changed.notify_all();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    fn cut(&self, buffer: &mut Buffer, cut: Cut) {
        if buffer.cut.is_none() {
            buffer.cut = Some(cut);
            self.cancel.cancel();
        }
    }

    /// Sets the reason in the envelope of a run that was cancelled because of its reader.
    fn blame(&self, buffer: &Buffer, envelope: Envelope) -> Envelope {
        match buffer.cut {
            Some(cut) if envelope.outcome == RunOutcome::Cancelled => Envelope {
                error: Some(cut.message(self)),
                remedies: vec![Remedy::Advice("read the events while the run goes on".to_owned())],
                ..envelope
            },
            _ => envelope,
        }
    }
}

impl Cut {
    fn message(self, shared: &Shared) -> String {
        let EventLimits { most_bytes, patience, .. } = shared.limits;
        match self {
            Cut::Patience => {
                format!("the run was cancelled because nobody read its events for {patience:?}")
            }
            Cut::Size => format!(
                "the run was cancelled because more than {most_bytes} bytes of its events were unread"
            ),
        }
    }
}

/// Receives the events of a run, in order and without gaps. If it is dropped, the run continues unread.
pub struct EventReceiver {
    shared: Arc<Shared>,
    sequence: u64,
}

impl EventReceiver {
    /// The id of the run.
    pub fn run(&self) -> RunId {
        self.shared.run
    }

    /// Waits for the next event; `None` after the last one.
    pub async fn recv(&mut self) -> Option<EventFrame> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// Waits for the next event, blocking the thread; `None` after the last one.
    pub fn recv_blocking(&mut self) -> Option<EventFrame> {
        let shared = Arc::clone(&self.shared);
        let mut buffer = shared.lock();
        loop {
            if let Some(event) = self.take(&mut buffer) {
                drop(buffer);
                return Some(self.frame(event));
            }
            if buffer.is_ended {
                return None;
            }
            buffer = shared.changed.wait(buffer).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Polls for the next event.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<EventFrame>> {
        let shared = Arc::clone(&self.shared);
        let mut buffer = shared.lock();
        if let Some(event) = self.take(&mut buffer) {
            drop(buffer);
            return Poll::Ready(Some(self.frame(event)));
        }
        if buffer.is_ended {
            return Poll::Ready(None);
        }
        buffer.reader = Some(context.waker().clone());
        Poll::Pending
    }

    fn take(&self, buffer: &mut Buffer) -> Option<Event> {
        let event = buffer.events.pop_front()?;
        buffer.bytes = buffer.bytes.saturating_sub(size(&event));
        // At half the limit: otherwise run and reader would wake each other for every event.
        if buffer.bytes <= self.shared.limits.unread_bytes / 2 {
            self.shared.changed.notify_all();
            if let Some(writer) = buffer.writer.take() {
                writer.wake();
            }
        }
        Some(event)
    }

    fn frame(&mut self, event: Event) -> EventFrame {
        let sequence = self.sequence;
        self.sequence += 1;
        EventFrame { run: self.shared.run, sequence, event }
    }
}

impl futures_core::Stream for EventReceiver {
    type Item = EventFrame;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<EventFrame>> {
        self.poll_recv(context)
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        let mut buffer = self.shared.lock();
        buffer.is_unread = true;
        let events = std::mem::take(&mut buffer.events);
        buffer.bytes = 0;
        let writer = buffer.writer.take();
        drop(buffer);
        drop(events);
        self.shared.changed.notify_all();
        if let Some(writer) = writer {
            writer.wake();
        }
    }
}

impl fmt::Debug for EventReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventReceiver").field("run", &self.shared.run).finish_non_exhaustive()
    }
}

/// Whether nothing follows this event.
fn is_last(event: &Event) -> bool {
    match event {
        Event::Done(_)
        | Event::Workflow(WorkflowEvent::Complete { .. } | WorkflowEvent::Error { .. }) => true,
        Event::Thought(_)
        | Event::Token { .. }
        | Event::Citation { .. }
        | Event::Started { .. }
        | Event::Output { .. }
        | Event::Warning { .. }
        | Event::Error { .. }
        | Event::Workflow(_)
        | Event::Agent(_) => false,
    }
}

/// The result of merging an event.
enum Merged {
    /// It was appended to the previous one, which has grown by this many bytes.
    Into(usize),
    /// It can't be merged.
    Apart(Event),
}

/// Appends an event to the one before it, if both are text of the same stream.
fn merge(last: &mut Event, event: Event, most: usize) -> Merged {
    match (last, event) {
        (Event::Token { content: known }, Event::Token { content })
            if known.len() + content.len() <= most =>
        {
            known.push_str(&content);
            Merged::Into(content.len())
        }
        (Event::Output { stream: of, bytes: known }, Event::Output { stream, bytes })
            if *of == stream && known.len() + bytes.len() <= most =>
        {
            known.extend_from_slice(&bytes);
            Merged::Into(bytes.len())
        }
        (
            Event::Workflow(WorkflowEvent::Inside { node: known, event: last }),
            Event::Workflow(WorkflowEvent::Inside { node, event }),
        ) if *known == node => match merge(last, *event, most) {
            Merged::Into(added) => Merged::Into(added),
            Merged::Apart(event) => {
                let event = Box::new(event);
                Merged::Apart(Event::Workflow(WorkflowEvent::Inside { node, event }))
            }
        },
        (
            Event::Agent(AgentEvent::Inside { call: known, event: last }),
            Event::Agent(AgentEvent::Inside { call, event }),
        ) if *known == call => match merge(last, *event, most) {
            Merged::Into(added) => Merged::Into(added),
            Merged::Apart(event) => {
                let event = Box::new(event);
                Merged::Apart(Event::Agent(AgentEvent::Inside { call, event }))
            }
        },
        (_, event) => Merged::Apart(event),
    }
}

/// The approximate size of an event.
fn size(event: &Event) -> usize {
    let text = match event {
        Event::Token { content } => content.len(),
        Event::Output { bytes, .. } => bytes.len(),
        Event::Warning { message } | Event::Error { message } => message.len(),
        Event::Thought(thought) => thought.message.as_ref().map_or(0, String::len),
        Event::Citation { sources } => {
            sources.iter().map(|source| source.text.len() + source.doc_id.len() + OVERHEAD).sum()
        }
        Event::Started { skill, tool, command } => {
            skill.len() + tool.len() + command.iter().map(|word| word.len() + 24).sum::<usize>()
        }
        Event::Done(envelope) => envelope.output.len(),
        Event::Workflow(event) => match event {
            WorkflowEvent::Inside { node, event } => node.len() + size(event),
            WorkflowEvent::NodeComplete { node, output, .. } => node.len() + json_size(output),
            WorkflowEvent::Complete { output, .. } => json_size(output),
            WorkflowEvent::NodeError { error, .. } | WorkflowEvent::Error { error, .. } => {
                error.len()
            }
            WorkflowEvent::Start { .. }
            | WorkflowEvent::NodeStart { .. }
            | WorkflowEvent::NodeSkipped { .. } => 0,
        },
        Event::Agent(event) => match event {
            AgentEvent::Inside { call, event } => call.len() + size(event),
            AgentEvent::ToolCall { name, arguments, .. } => name.len() + json_size(arguments),
            AgentEvent::ToolResult { content, .. } => content.len(),
            AgentEvent::Start { skills, .. } => skills.iter().map(String::len).sum(),
            AgentEvent::Turn { .. } | AgentEvent::Usage { .. } => 0,
        },
    };
    text + OVERHEAD
}

fn json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 16,
        Value::String(text) => text.len() + 16,
        Value::Array(items) => items.iter().map(json_size).sum::<usize>() + 16,
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + json_size(value) + 16).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests;
