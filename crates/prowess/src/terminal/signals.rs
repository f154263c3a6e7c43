//! Cleanup on SIGINT, SIGTERM and SIGHUP: restores the terminal's echo, removes temporary folders, and reports whether the
//! store was changed.
//!
//! The process still ends by the signal, so that a shell sees it. Verbs that run tools handle signals in `run/tool_run.rs`.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use prowess_store::store::ChangePhase;

use crate::terminal::printer::{Printer, aside};

/// What is reported about the store when a signal arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verbosity {
    /// Nothing: the verb does not change the store.
    Silent,
    /// Errors only.
    Quiet,
    Normal,
}

/// The state of this process's changes to the store.
#[derive(Debug)]
struct StoreChange {
    verbosity: Verbosity,
    /// A change is under way; the signal waits for its end.
    is_changing: bool,
    /// Something was changed.
    has_changed: bool,
}

type Cleanup = Box<dyn Fn() + Send>;

static STORE_CHANGE: Mutex<StoreChange> = Mutex::new(StoreChange {
    verbosity: Verbosity::Silent,
    is_changing: false,
    has_changed: false,
});
static CHANGE_ENDED: Condvar = Condvar::new();
static CLEANUPS: Mutex<Vec<(u64, Cleanup)>> = Mutex::new(Vec::new());

fn store_change() -> MutexGuard<'static, StoreChange> {
    STORE_CHANGE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cleanups() -> MutexGuard<'static, Vec<(u64, Cleanup)>> {
    CLEANUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on a signal reports whether the store was changed before it ends the process.
pub(crate) fn listen(printer: &Printer) {
    store_change().verbosity =
        if printer.is_quiet() { Verbosity::Quiet } else { Verbosity::Normal };
    wait_for_signals();
}

/// A registered cleanup, which is unregistered when this is dropped.
#[must_use]
pub(crate) struct Repaired(u64);

/// Registers a cleanup to run when a signal terminates the process.
pub(crate) fn repaired_by(cleanup: impl Fn() + Send + 'static) -> Repaired {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    cleanups().push((number, Box::new(cleanup)));
    wait_for_signals();
    Repaired(number)
}

impl Drop for Repaired {
    fn drop(&mut self) {
        cleanups().retain(|(number, _)| *number != self.0);
    }
}

#[cfg(unix)]
fn wait_for_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    static WAITING: std::sync::Once = std::sync::Once::new();
    WAITING.call_once(|| {
        // Without a handler the signal ends this process by default.
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
            return;
        };
        std::thread::spawn(move || {
            let Some(signal) = signals.forever().next() else { return };
            let settled = CHANGE_ENDED.wait_while(store_change(), |change| change.is_changing);
            let change = settled.unwrap_or_else(PoisonError::into_inner);
            for (_, cleanup) in cleanups().iter() {
                cleanup();
            }
            if change.verbosity != Verbosity::Silent {
                aside(if change.has_changed {
                    "error: interrupted; changes made so far are kept"
                } else {
                    "error: interrupted; nothing was changed"
                });
            }
            // This thread keeps the lock, so that no change starts after the message.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        });
    });
}

#[cfg(not(unix))]
fn wait_for_signals() {}

/// Records a phase of a change to a store.
pub(crate) fn at_phase(store: &Path, phase: ChangePhase) {
    match phase {
        ChangePhase::Waiting => {
            if store_change().verbosity != Verbosity::Quiet {
                aside(&format!("waiting for another process that changes `{}`", store.display()));
            }
        }
        ChangePhase::Started => store_change().is_changing = true,
        ChangePhase::Finished => {
            let mut change = store_change();
            change.is_changing = false;
            change.has_changed = true;
            CHANGE_ENDED.notify_all();
        }
        ChangePhase::Placing => store_change().has_changed = true,
    }
}
