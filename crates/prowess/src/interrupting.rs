//! Ctrl-C while skills are installed or removed: whoever pressed it is told what has become of the store.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use prowess_store::store::Moment;

use crate::printer::{Printer, aside};

/// How far this process is with what it changes.
#[derive(Debug)]
struct Progress {
    quiet: bool,
    /// A change is happening, which is better finished than broken off.
    is_changing: bool,
    /// Something is not as it was.
    has_changed: bool,
}

static PROGRESS: Mutex<Progress> =
    Mutex::new(Progress { quiet: false, is_changing: false, has_changed: false });
static ENDED: Condvar = Condvar::new();

fn progress() -> MutexGuard<'static, Progress> {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on a signal is answered with a sentence before it ends the process.
#[cfg(unix)]
pub(crate) fn listen(printer: &Printer) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    progress().quiet = printer.is_quiet();
    // Without a handler a signal ends this process without a word, which is as safe.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    std::thread::spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        let settled = ENDED.wait_while(progress(), |progress| progress.is_changing);
        let progress = settled.unwrap_or_else(PoisonError::into_inner);
        aside(if progress.has_changed {
            "error: interrupted; what was changed until then stays"
        } else {
            "error: interrupted; nothing was changed"
        });
        // The lock stays with this thread, so that no change begins behind the sentence.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        std::process::exit(128 + signal);
    });
}

#[cfg(not(unix))]
pub(crate) fn listen(printer: &Printer) {
    progress().quiet = printer.is_quiet();
}

/// A change of a store has got so far.
pub(crate) fn at_moment(store: &Path, moment: Moment) {
    match moment {
        Moment::Waits => {
            if !progress().quiet {
                aside(&format!("waiting for another process that changes `{}`", store.display()));
            }
        }
        Moment::Begins => progress().is_changing = true,
        Moment::Ends => {
            let mut progress = progress();
            progress.is_changing = false;
            progress.has_changed = true;
            ENDED.notify_all();
        }
    }
}

/// Something outside of the store is changed now, such as the folders of agents.
pub(crate) fn changes_begin() {
    progress().has_changed = true;
}
