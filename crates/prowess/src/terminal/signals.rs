//! Ctrl-C and its like: what is put right before a signal ends this program (a terminal that does not show what is typed,
//! temporary folders), and what whoever pressed it is told about the store.
//!
//! The program still ends by that signal, so that a shell sees why. Verbs that run tools have their own way, see `run/tool_run.rs`.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use prowess_store::store::Moment;

use crate::terminal::printer::{Printer, aside};

/// Who is told what becomes of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// The verb changes none.
    Nobody,
    /// Whoever wants results and errors only.
    Quiet,
    Everybody,
}

/// How far this process is with what it changes.
#[derive(Debug)]
struct Progress {
    audience: Audience,
    /// A change is happening, which is better finished than broken off.
    is_changing: bool,
    /// Something is not as it was.
    has_changed: bool,
}

type Repair = Box<dyn Fn() + Send>;

static PROGRESS: Mutex<Progress> =
    Mutex::new(Progress { audience: Audience::Nobody, is_changing: false, has_changed: false });
static ENDED: Condvar = Condvar::new();
static REPAIRS: Mutex<Vec<(u64, Repair)>> = Mutex::new(Vec::new());

fn progress() -> MutexGuard<'static, Progress> {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn repairs() -> MutexGuard<'static, Vec<(u64, Repair)>> {
    REPAIRS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on a signal is answered with a sentence about the store before it ends the process.
pub(crate) fn listen(printer: &Printer) {
    progress().audience = if printer.is_quiet() { Audience::Quiet } else { Audience::Everybody };
    wait_for_signals();
}

/// Something that is put right should a signal come before this is dropped.
#[must_use]
pub(crate) struct Repaired(u64);

/// Has something put right by the next signal that ends the program.
pub(crate) fn repaired_by(repair: impl Fn() + Send + 'static) -> Repaired {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    repairs().push((number, Box::new(repair)));
    wait_for_signals();
    Repaired(number)
}

impl Drop for Repaired {
    fn drop(&mut self) {
        repairs().retain(|(number, _)| *number != self.0);
    }
}

#[cfg(unix)]
fn wait_for_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    static WAITING: std::sync::Once = std::sync::Once::new();
    WAITING.call_once(|| {
        // Without a handler a signal ends this process without a word, as it always did.
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
            return;
        };
        std::thread::spawn(move || {
            let Some(signal) = signals.forever().next() else { return };
            let settled = ENDED.wait_while(progress(), |progress| progress.is_changing);
            let progress = settled.unwrap_or_else(PoisonError::into_inner);
            for (_, repair) in repairs().iter() {
                repair();
            }
            if progress.audience != Audience::Nobody {
                aside(if progress.has_changed {
                    "error: interrupted; what was changed until then stays"
                } else {
                    "error: interrupted; nothing was changed"
                });
            }
            // The lock stays with this thread, so that no change begins behind the sentence.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        });
    });
}

#[cfg(not(unix))]
fn wait_for_signals() {}

/// A change of a store has got so far.
pub(crate) fn at_moment(store: &Path, moment: Moment) {
    match moment {
        Moment::Waits => {
            if progress().audience != Audience::Quiet {
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
