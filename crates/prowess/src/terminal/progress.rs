//! Progress of what takes long, walks and fetches, on a terminal only.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::printer::Printer;

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
pub(crate) fn of_fetches(printer: &Printer) -> prowess_sources::Progress {
    use prowess_sources::Progress;
    if !printer.is_watched() {
        return Progress::silent();
    }
    let state: Mutex<(Fetch, Option<ProgressBar>)> = Mutex::default();
    Progress::new(move |line| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let (fetch, bar) = &mut *state;
        match fetch.hear(line, Instant::now()) {
            Screen::Same => {}
            Screen::Line(line) => {
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
            Screen::Cleared => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
            }
        }
    })
}

/// A fetch that may be under way, and what is on the screen about it.
#[derive(Default)]
struct Fetch {
    since: Option<Instant>,
    is_shown: bool,
}

/// What becomes of the line on the screen.
#[derive(Debug, PartialEq, Eq)]
enum Screen<'l> {
    /// It stays as it is.
    Same,
    /// It says this.
    Line(&'l str),
    /// It goes away: a question may come next, and needs the place for itself.
    Cleared,
}

impl Fetch {
    /// Takes a line, or nothing when the fetch is over.
    fn hear<'l>(&mut self, line: Option<&'l str>, now: Instant) -> Screen<'l> {
        let Some(line) = line else {
            let was_shown = self.is_shown;
            *self = Self::default();
            return if was_shown { Screen::Cleared } else { Screen::Same };
        };
        let since = *self.since.get_or_insert(now);
        if now.duration_since(since) < PATIENCE {
            return Screen::Same;
        }
        self.is_shown = true;
        Screen::Line(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_is_shown_when_it_takes_a_while_and_goes_away_with_its_end() {
        let start = Instant::now();
        let mut fetch = Fetch::default();
        let mut hear = |line: Option<&'static str>, milliseconds: u64| {
            fetch.hear(line, start + Duration::from_millis(milliseconds))
        };
        assert_eq!(hear(Some("1 KiB of 9 KiB"), 0), Screen::Same);
        assert_eq!(hear(Some("2 KiB of 9 KiB"), 499), Screen::Same);
        assert_eq!(hear(Some("3 KiB of 9 KiB"), 500), Screen::Line("3 KiB of 9 KiB"));
        assert_eq!(hear(None, 501), Screen::Cleared);
        // The next one has its own patience, and what was never shown needs no clearing.
        assert_eq!(hear(Some("1 KiB"), 600), Screen::Same);
        assert_eq!(hear(None, 2_000), Screen::Same);
        assert_eq!(hear(Some("1 KiB"), 3_000), Screen::Same);
    }
}
