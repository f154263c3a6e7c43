//! A run that goes on: its log, and what is known about it before its record is written.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use prowess_core::{Event, RunId};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use utoipa::ToSchema;

use crate::events::{EventLog, LogLimits, RunFrames};

/// What happens when the last reader of a run leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnDisconnect {
    /// The request to the model is closed at once.
    #[default]
    Cancel,
    /// The run goes on, and can be read again.
    Continue,
}

/// What another server has written down of a run.
#[derive(Clone, Debug)]
pub(crate) struct EarlierEvents {
    pub(crate) id: RunId,
    /// The number of events that are gone.
    pub(crate) gone: u64,
    pub(crate) frames: Vec<Bytes>,
}

/// A run that goes on.
#[derive(Debug)]
pub(crate) struct LiveRun {
    pub(crate) id: RunId,
    /// Its id in the execution service; another one if the run was taken over from another server.
    pub(crate) service_id: RunId,
    /// Whether its record has been written, so that other servers know it.
    pub(crate) is_recorded: watch::Sender<bool>,
    /// The number of events that were written down before it began here.
    pub(crate) first_noted: u64,
    pub(crate) owner: String,
    pub(crate) on_disconnect: OnDisconnect,
    pub(crate) log: Arc<EventLog>,
    pub(crate) started: Instant,
    frames: Mutex<RunFrames>,
    first_token_ms: OnceLock<i64>,
}

impl LiveRun {
    pub(crate) fn new(id: RunId, owner: &str, on_disconnect: OnDisconnect) -> Self {
        Self {
            id,
            service_id: id,
            is_recorded: watch::Sender::new(false),
            first_noted: 0,
            owner: owner.to_owned(),
            on_disconnect,
            log: Arc::new(EventLog::new(LogLimits::USUAL)),
            started: Instant::now(),
            frames: Mutex::default(),
            first_token_ms: OnceLock::new(),
        }
    }

    /// A run that another server began, with the frames that it has written down.
    pub(crate) fn resumed(
        service_id: RunId,
        owner: &str,
        on_disconnect: OnDisconnect,
        earlier: &EarlierEvents,
    ) -> Self {
        let limits = LogLimits::USUAL;
        let log = EventLog::resumed(limits, earlier.gone, earlier.frames.clone());
        let last = earlier.gone + earlier.frames.len() as u64;
        Self {
            id: earlier.id,
            service_id,
            first_noted: last,
            log: Arc::new(log),
            frames: Mutex::new(RunFrames::after(last)),
            ..Self::new(earlier.id, owner, on_disconnect)
        }
    }

    /// Writes an event, except the last one: that follows when the run is recorded.
    pub(crate) fn event(&self, event: &Event) {
        if matches!(event, Event::Done(_)) {
            return;
        }
        if matches!(event, Event::Token { .. }) && self.first_token_ms.get().is_none() {
            let millis = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
            let _ = self.first_token_ms.set(millis);
        }
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.write(event, |frame| self.log.push(frame));
    }

    /// Writes an event of the studio's own.
    pub(crate) fn custom(&self, name: &str, data: &Value) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        self.log.push(frames.custom(name, data));
    }

    /// The frame of the last event, which is not in the log yet.
    pub(crate) fn last_frame(&self, data: &Value) -> Bytes {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).custom("done", data)
    }

    /// The time to the first token.
    pub(crate) fn first_token_ms(&self) -> Option<i64> {
        self.first_token_ms.get().copied()
    }
}
