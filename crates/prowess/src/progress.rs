//! A progress bar for walks that take long, on a terminal only.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::printer::Printer;

/// A walk that ends earlier shows nothing.
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
