//! The network activity of a run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::refusal::NetworkRefusal;

/// Maximum number of refusals and of notes that are kept: the sandbox can provoke any number.
const KEPT: usize = 64;

/// The network activity of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkReport {
    /// Bytes sent to servers.
    pub bytes_up: u64,
    /// Bytes received from servers.
    pub bytes_down: u64,
    /// Connections that were accepted from the sandbox.
    pub connections: u64,
    /// The maximum number of simultaneous connections.
    pub peak_connections: usize,
    /// The first refusals, in the order they happened.
    pub refusals: Vec<NetworkRefusal>,
    /// Number of refusals beyond the limit.
    pub refusals_not_listed: u64,
    /// Notes about other events, also bounded.
    pub notes: Vec<String>,
    /// Whether the traffic limit aborted a transfer.
    pub byte_cap_reached: bool,
}

/// The report during the run.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    report: Mutex<NetworkReport>,
    open: Mutex<usize>,
}

impl Ledger {
    pub(crate) fn snapshot(&self) -> NetworkReport {
        self.lock().clone()
    }

    pub(crate) fn refused(&self, refusal: NetworkRefusal) {
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

    /// Ignores poisoning: the numbers stay correct after a panic.
    fn lock(&self) -> MutexGuard<'_, NetworkReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a connection as open until it is dropped.
pub(crate) struct Open<'a>(&'a Ledger);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}
