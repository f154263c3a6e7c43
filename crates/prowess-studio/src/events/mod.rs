//! Events of runs: their frames, the log that readers follow and replay, and the body of a response.

mod body;
mod frame;
mod log;

pub(crate) use body::{EventBody, event_response};
pub(crate) use frame::{RunFrames, frame};
pub(crate) use log::{EventLog, LogLimits};
