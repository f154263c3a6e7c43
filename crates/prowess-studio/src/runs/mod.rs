//! Runs: skills, chats and workflows that a model works on, their events while they run and their records afterwards.

mod finish;
mod live;
mod record;
mod slots;
mod start;

pub(crate) use live::{EarlierEvents, LiveRun, OnDisconnect};
pub(crate) use record::{
    EndedRun, RunFilter, RunKind, RunRecord, RunStatus, RunStore, StoredEvents, TakenRun, storable,
};
pub(crate) use slots::{RunSlots, SlotLimits};
pub(crate) use start::{NewRun, RunEnd, RunScope, Runs, WorkflowStart};
