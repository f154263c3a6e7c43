//! What a run did with the network.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::refusal::Refusal;

/// How many refusals and how many notes are kept. The sandbox decides how many it provokes, and
/// what can grow has a bound.
const KEPT: usize = 64;

/// What a run did with the network so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Bytes sent to servers.
    pub bytes_up: u64,
    /// Bytes received from servers.
    pub bytes_down: u64,
    /// Connections that were accepted from the sandbox.
    pub connections: u64,
    /// The most that were open at the same time.
    pub peak_connections: usize,
    /// The first refusals, in the order they happened.
    pub refusals: Vec<Refusal>,
    /// Refusals that are not listed, because there were so many.
    pub refusals_not_listed: u64,
    /// What was let through or failed, and may still be worth knowing. Bounded as well.
    pub notes: Vec<String>,
    /// Whether the byte cap cut something off.
    pub byte_cap_reached: bool,
}

/// The report while it is being written.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    report: Mutex<Report>,
    open: Mutex<usize>,
}

impl Ledger {
    pub(crate) fn snapshot(&self) -> Report {
        self.lock().clone()
    }

    pub(crate) fn refused(&self, refusal: Refusal) {
        let mut report = self.lock();
        if report.refusals.len() < KEPT {
            report.refusals.push(refusal);
        } else {
            report.refusals_not_listed += 1;
        }
    }

    pub(crate) fn note(&self, note: String) {
        let mut report = self.lock();
        if report.notes.len() < KEPT && !report.notes.contains(&note) {
            report.notes.push(note);
        }
    }

    pub(crate) fn opened(&self) -> Open<'_> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open += 1;
        let mut report = self.lock();
        report.connections += 1;
        report.peak_connections = report.peak_connections.max(*open);
        Open(self)
    }

    /// A panic while it was held leaves numbers that are still true.
    fn lock(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that counts as open until this is dropped.
pub(crate) struct Open<'a>(&'a Ledger);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}
