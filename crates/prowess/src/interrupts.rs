//! What is put right before a signal ends this program: a terminal that does not show what is typed, temporary folders.
//!
//! It still ends by that signal, so that a shell sees why. Verbs that run tools have their own way, see `running.rs`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

type Repair = Box<dyn Fn() + Send>;

static REPAIRS: Mutex<Vec<(u64, Repair)>> = Mutex::new(Vec::new());

/// Something that is put right should a signal come before this is dropped.
#[must_use]
pub(crate) struct Repaired(u64);

/// Has something put right by the next signal that ends the program.
pub(crate) fn repaired_by(repair: impl Fn() + Send + 'static) -> Repaired {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    repairs().push((number, Box::new(repair)));
    listen();
    Repaired(number)
}

impl Drop for Repaired {
    fn drop(&mut self) {
        repairs().retain(|(number, _)| *number != self.0);
    }
}

fn repairs() -> std::sync::MutexGuard<'static, Vec<(u64, Repair)>> {
    REPAIRS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    static LISTENING: std::sync::Once = std::sync::Once::new();
    LISTENING.call_once(|| {
        // Without a handler a signal ends this process, as it always did.
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
            return;
        };
        std::thread::spawn(move || {
            for signal in signals.forever() {
                for (_, repair) in repairs().iter() {
                    repair();
                }
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
    });
}

#[cfg(not(unix))]
fn listen() {}
