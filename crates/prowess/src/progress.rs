//! Progress of what takes long, walks and fetches, on a terminal only.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::printer::Printer;

/// What ends earlier shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

/// Counts what is done; shows it when somebody watches and has waited for a while.
pub(crate) struct Progress {
    done: Arc<AtomicUsize>,
    watcher: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// `what` is counted, such as "files checked".
    pub(crate) fn new(printer: &Printer, what: &'static str) -> Self {
        let done = Arc::new(AtomicUsize::new(0));
        let watcher = printer.is_watched().then(|| {
            let (stop, stopped) = channel();
            let done = Arc::clone(&done);
            let handle = std::thread::spawn(move || {
                if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let bar = ProgressBar::new_spinner();
                if let Ok(style) =
                    ProgressStyle::with_template(&format!("{{spinner}} {{pos}} {what}"))
                {
                    bar.set_style(style);
                }
                loop {
                    bar.set_position(done.load(Ordering::Relaxed) as u64);
                    if stopped.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                        break;
                    }
                }
                bar.finish_and_clear();
            });
            (stop, handle)
        });
        Self { done, watcher }
    }

    /// One file more.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        if let Some((stop, handle)) = self.watcher {
            drop(stop);
            let _ = handle.join();
        }
    }
}

/// Shows how far a fetch is, in one line that goes away with it.
pub(crate) fn of_fetches(printer: &Printer) -> prowess_client::sources::Progress {
    use prowess_client::sources::Progress;
    if !printer.is_watched() {
        return Progress::silent();
    }
    let shown: Mutex<Option<Fetch>> = Mutex::default();
    Progress::new(move |line| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(line) = line else {
            // A question may come next, and needs the line for itself.
            if let Some(bar) = shown.take().and_then(|fetch| fetch.bar) {
                bar.finish_and_clear();
            }
            return;
        };
        let fetch = shown.get_or_insert_with(|| Fetch { since: Instant::now(), bar: None });
        if fetch.since.elapsed() >= PATIENCE {
            let bar = fetch.bar.get_or_insert_with(|| {
                let bar = ProgressBar::new_spinner();
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(TICK);
                bar
            });
            bar.set_message(line.to_owned());
        }
    })
}

/// A fetch that is under way.
struct Fetch {
    since: Instant,
    bar: Option<ProgressBar>,
}
