//! Progress of walks and fetches that take long, on a terminal only.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::printer::Printer;

/// Progress is shown only after this time.
const DELAY: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

/// A counter that is shown on a terminal after a delay.
pub(crate) struct ProgressCounter {
    done: Arc<AtomicUsize>,
    display: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ProgressCounter {
    /// Starts at zero; `what` is counted, such as "files checked".
    pub(crate) fn new(printer: &Printer, what: &'static str) -> Self {
        let done = Arc::new(AtomicUsize::new(0));
        let display = printer.is_watched().then(|| {
            let (stop, stopped) = channel();
            let done = Arc::clone(&done);
            let handle = std::thread::spawn(move || {
                if stopped.recv_timeout(DELAY) != Err(RecvTimeoutError::Timeout) {
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
        Self { done, display }
    }

    /// Counts one more.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Clears the display.
    pub(crate) fn finish(self) {
        if let Some((stop, handle)) = self.display {
            drop(stop);
            let _ = handle.join();
        }
    }
}

/// Shows the progress of fetches in one line, which is cleared at the end of each.
pub(crate) fn of_fetches(printer: &Printer) -> prowess_sources::Progress {
    use prowess_sources::Progress;
    if !printer.is_watched() {
        return Progress::silent();
    }
    let state: Mutex<(FetchDisplay, Option<ProgressBar>)> = Mutex::default();
    Progress::new(move |line| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let (fetch, bar) = &mut *state;
        match fetch.update(line, Instant::now()) {
            Redraw::Nothing => {}
            Redraw::Line(line) => {
                let bar = bar.get_or_insert_with(|| {
                    let bar = ProgressBar::new_spinner();
                    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                        bar.set_style(style);
                    }
                    bar.enable_steady_tick(TICK);
                    bar
                });
                bar.set_message(line.to_owned());
            }
            Redraw::Clear => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
            }
        }
    })
}

/// When a fetch started, and whether its line is on the screen.
#[derive(Default)]
struct FetchDisplay {
    since: Option<Instant>,
    is_shown: bool,
}

/// The change to the line on the screen.
#[derive(Debug, PartialEq, Eq)]
enum Redraw<'l> {
    /// No change.
    Nothing,
    /// The new text.
    Line(&'l str),
    /// Clear it: a question may come next.
    Clear,
}

impl FetchDisplay {
    /// Takes a line of progress, or `None` at the end of the fetch.
    fn update<'l>(&mut self, line: Option<&'l str>, now: Instant) -> Redraw<'l> {
        let Some(line) = line else {
            let was_shown = self.is_shown;
            *self = Self::default();
            return if was_shown { Redraw::Clear } else { Redraw::Nothing };
        };
        let since = *self.since.get_or_insert(now);
        if now.duration_since(since) < DELAY {
            return Redraw::Nothing;
        }
        self.is_shown = true;
        Redraw::Line(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_is_shown_after_a_delay_and_cleared_at_its_end() {
        let start = Instant::now();
        let mut fetch = FetchDisplay::default();
        let mut update = |line: Option<&'static str>, milliseconds: u64| {
            fetch.update(line, start + Duration::from_millis(milliseconds))
        };
        assert_eq!(update(Some("1 KiB of 9 KiB"), 0), Redraw::Nothing);
        assert_eq!(update(Some("2 KiB of 9 KiB"), 499), Redraw::Nothing);
        assert_eq!(update(Some("3 KiB of 9 KiB"), 500), Redraw::Line("3 KiB of 9 KiB"));
        assert_eq!(update(None, 501), Redraw::Clear);
        // The next fetch has a delay of its own, and nothing is cleared that was never shown.
        assert_eq!(update(Some("1 KiB"), 600), Redraw::Nothing);
        assert_eq!(update(None, 2_000), Redraw::Nothing);
        assert_eq!(update(Some("1 KiB"), 3_000), Redraw::Nothing);
    }
}
