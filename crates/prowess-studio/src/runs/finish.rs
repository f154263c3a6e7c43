//! The end of a run: its record is written, then its last event is told.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use prowess_core::{Envelope, RunOutcome, Usage};
use prowess_server::database::DatabaseError;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::live::LiveRun;
use super::record::{self, EndedRun, RunKind, RunStatus, StoredEvents};
use super::start::{NewRun, RunEnd, Runs};
use crate::timestamp;

/// The message of a run that went well (specification §8).
const SUCCESS: &str = "Skill execution completed successfully";
/// The message of a workflow that went well.
const WORKFLOW_SUCCESS: &str = "Workflow execution completed successfully";

/// What is needed to end a run.
pub(crate) struct Finish {
    runs: Runs,
    live: Arc<LiveRun>,
    new: NewRun,
    begun: JoinHandle<Result<(), DatabaseError>>,
}

impl Finish {
    pub(crate) fn new(
        runs: Runs,
        live: Arc<LiveRun>,
        new: NewRun,
        begun: JoinHandle<Result<(), DatabaseError>>,
    ) -> Self {
        Self { runs, live, new, begun }
    }

    /// Records the end and tells it. What a client was told has ended survives a power failure.
    pub(crate) async fn finish(self, end: RunEnd, unfinished: Unfinished) -> Envelope {
        let RunEnd { envelope, at_end } = end;
        let (status, data) = last_event(&envelope, self.new.kind.as_str());
        let answer = envelope.answer.as_deref();
        let usage = answer.and_then(|answer| answer.usage);
        let model = answer.map(|answer| answer.model.clone()).filter(|model| !model.is_empty());
        let cost = usage.zip(self.new.price).map(|(usage, price)| price.of(usage));
        let duration = self.live.started.elapsed();
        if let Some(Usage { input, output }) = usage {
            self.live.custom(
                "usage",
                &json!({
                    "model": model, "input_tokens": input, "output_tokens": output, "cost": cost,
                    "duration_ms": u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                }),
            );
        }
        let last = self.live.last_frame(&data);
        let sources = answer
            .filter(|answer| !answer.sources.is_empty())
            .map(|_| prowess_core::wire::envelope(&envelope)["sources"].take());
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let ended = EndedRun {
            id: self.live.id.to_string(),
            owner: self.new.owner.clone(),
            node: self.runs.inner.node.clone(),
            status,
            model,
            ended_at: timestamp::millis(SystemTime::now()),
            first_token_ms: self.live.first_token_ms(),
            input_tokens: usage.map(|usage| signed(usage.input)),
            output_tokens: usage.map(|usage| signed(usage.output)),
            cost,
            output: envelope.output.clone(),
            error: envelope.error.clone(),
            sources,
            events: events(&self.live, &last),
        };
        if self.is_left_to_others(&envelope) {
            self.live.log.push(last);
            self.live.log.end();
            self.runs.inner.forget(self.live.id);
            unfinished.disarm();
            return envelope;
        }
        // The record of the start comes first.
        let begun = self.begun.await.unwrap_or(Err(DatabaseError::Closed));
        let store = &self.runs.inner.store;
        let written = match begun {
            Ok(()) => {
                let mut at_end = at_end;
                store
                    .database
                    .write(move |transaction| {
                        record::end(transaction, &ended)?;
                        match &mut at_end {
                            Some(write) => write(transaction, &ended),
                            None => Ok(()),
                        }
                    })
                    .await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::error!(run_id = %self.live.id, %error, "the run was not recorded");
            let warning =
                json!({ "message": "the run could not be saved, and will not be in the history" });
            self.live.custom("warning", &warning);
            self.live.log.push(self.live.last_frame(&data));
        } else {
            self.live.log.push(last);
        }
        self.live.log.end();
        self.runs.inner.forget(self.live.id);
        unfinished.disarm();
        envelope
    }

    /// Whether the run was cut off because this server stops, and another one continues it.
    fn is_left_to_others(&self, envelope: &Envelope) -> bool {
        self.runs.inner.is_leaving.load(Ordering::Relaxed)
            && envelope.outcome == RunOutcome::Cancelled
            && matches!(self.new.kind, RunKind::Skill | RunKind::Workflow)
    }
}

/// The events of a run for its record. The last one is not in the log yet.
fn events(live: &LiveRun, last: &[u8]) -> StoredEvents {
    let (frames, gone) = live.log.all();
    let mut text = String::new();
    for frame in frames.iter().map(AsRef::as_ref).chain([last]) {
        // Frames are JSON texts between ASCII.
        text.push_str(std::str::from_utf8(frame).unwrap_or_default());
    }
    StoredEvents { gone: i64::try_from(gone).unwrap_or(i64::MAX), frames: text }
}

/// The status of a run and the data of its last event.
fn last_event(envelope: &Envelope, kind: &str) -> (RunStatus, Value) {
    let status = match envelope.outcome {
        RunOutcome::Success => RunStatus::Success,
        RunOutcome::Cancelled => RunStatus::Cancelled,
        _ => RunStatus::Error,
    };
    let success = if kind == "workflow" { WORKFLOW_SUCCESS } else { SUCCESS };
    let (word, message) = match status {
        RunStatus::Success => ("success", success),
        _ => ("error", envelope.error.as_deref().unwrap_or("the run failed")),
    };
    (status, json!({ "status": word, "message": message }))
}

/// Ends the log of a run whose task was dropped or panicked.
pub(crate) struct Unfinished {
    run: Option<(Runs, Arc<LiveRun>)>,
}

impl Unfinished {
    pub(crate) fn of(finish: &Finish) -> Self {
        Self { run: Some((finish.runs.clone(), Arc::clone(&finish.live))) }
    }

    fn disarm(mut self) {
        self.run = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some((runs, live)) = self.run.take() else { return };
        let message = "the run was stopped";
        live.custom("error", &json!({ "message": message }));
        live.log.push(live.last_frame(&json!({ "status": "error", "message": message })));
        live.log.end();
        runs.inner.forget(live.id);
    }
}
