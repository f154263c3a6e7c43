//! What the verbs about running share: a skill on this machine, and the machine.

use std::sync::Arc;
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess_engine::{Cancel, LoadedSkill, RunError};
use prowess_format::dialect::Dialect;
use prowess_policy::Mode;

use crate::error::{Error, ErrorKind};
use crate::render::problem_text::hints;
use crate::session;
use crate::skill::check_report;
use crate::skill::skill_ref::Loaded;
use crate::terminal::printer::Printer;

/// What the system sends to a program that writes where nobody reads.
pub(crate) const SIGPIPE: i32 = 13;
/// The code of a run that was refused.
pub(crate) const REFUSED: u8 = 125;

/// Reads a skill; one with errors is refused, because nobody can say what it would do. `done` is what the verb does with
/// a skill, such as "run".
pub(crate) fn sound(
    loaded: &Loaded,
    dialect: Option<&'static Dialect>,
    done: &str,
    printer: &mut Printer,
) -> Result<Arc<LoadedSkill>, Error> {
    if loaded.path == std::path::Path::new("-") {
        return Err(Error::usage("a skill from standard input can't be run")
            .hint("save it in a folder of its own and name that"));
    }
    match session::library()?.load(loaded, dialect) {
        Err(problem) if problem.code == "invalid-skill" => {
            let findings = check_report::print_problems(loaded, dialect, printer);
            let error = Error::failed(format!("`{}` has errors and was not {done}", loaded.shown))
                .hint("correct them first, or try `prowess check --fix`");
            Err(Error { findings, ..error })
        }
        loaded => Ok(loaded?),
    }
}

/// A mode as a person types it.
pub(crate) fn parse_mode(text: &str) -> Result<Mode, String> {
    text.parse().map_err(|error: prowess_policy::ModeError| error.to_string())
}

/// A run that was refused.
pub(crate) fn refused(message: impl Into<String>) -> Error {
    Error { kind: ErrorKind::NotRun(REFUSED), ..Error::failed(message) }
}

/// A run that did not start, as an error with its code and its next steps.
pub(crate) fn not_run(error: &RunError) -> Error {
    let code = u8::try_from(error.exit_code()).unwrap_or(REFUSED);
    let failed = Error { kind: ErrorKind::NotRun(code), ..Error::failed(error.to_string()) };
    hints(&error.remedies()).into_iter().fold(failed, Error::hint)
}

/// Ctrl-C and its relatives end the tool first: SIGTERM, then SIGKILL (GIB §5.3). A second one is SIGKILL at once, and what
/// the tool has left is still looked at; only a third ends this program too.
#[cfg(unix)]
pub(crate) fn listen_for_signals(cancel: &Cancel) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Without a handler a signal ends this process, and the sandbox with it: no worse than that.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    let cancel = cancel.clone();
    std::thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            match count {
                0 => cancel.cancel_by(signal),
                1 => cancel.kill(),
                _ => std::process::exit(128 + signal),
            }
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn listen_for_signals(_cancel: &Cancel) {}

/// A wish to stop what can be stopped between two steps. The first signal asks for it, a second one ends the process.
pub(crate) struct Interrupt {
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    #[cfg(unix)]
    pub(crate) fn listen() -> Self {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let signal = Arc::new(AtomicUsize::new(0));
        let again = Arc::new(AtomicBool::new(false));
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // Without a handler a signal ends this process, as it always did.
            let known = usize::try_from(number).unwrap_or_default();
            let _ = signal_hook::flag::register_conditional_shutdown(
                number,
                128 + number,
                again.clone(),
            );
            let _ = signal_hook::flag::register_usize(number, signal.clone(), known);
            let _ = signal_hook::flag::register(number, again.clone());
        }
        Self { signal }
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> Self {
        Self { signal: Arc::new(AtomicUsize::new(0)) }
    }

    /// The signal that asked for it.
    pub(crate) fn signal(&self) -> Option<u8> {
        u8::try_from(self.signal.load(Ordering::SeqCst)).ok().filter(|number| *number > 0)
    }
}
