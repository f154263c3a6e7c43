//! Shared by the verbs that run tools: loading a skill, errors of runs, signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use prowess_engine::{CancellationToken, LoadedSkill, RunError, World};
use prowess_format::dialect::Dialect;
use prowess_format::skill::Tool;
use prowess_policy::Mode;

use crate::error::{Error, ErrorKind};
use crate::render::problem_text::hints;
use crate::session;
use crate::skill::check_report;
use crate::skill::skill_ref::Loaded;
use crate::terminal::printer::{Printer, aside};

/// The signal for a write to a closed pipe.
pub(crate) const SIGPIPE: i32 = 13;
/// The exit code of a run that was refused.
pub(crate) const REFUSED: u8 = 125;

/// Loads a skill and refuses one with errors, whose findings are printed. `done` is what the verb does with a skill, such
/// as "run".
pub(crate) fn load_without_errors(
    loaded: &Loaded,
    dialect: Option<&'static Dialect>,
    done: &str,
    printer: &mut Printer,
) -> Result<Arc<LoadedSkill>, Error> {
    if loaded.path == std::path::Path::new("-") {
        return Err(Error::usage("a skill from standard input can't be run")
            .hint("save it in a folder of its own and run that"));
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

/// The machine with the working directory of a tool.
pub(crate) fn world_for(tool: &Tool, world: Arc<World>) -> Result<World, Error> {
    let world = Arc::unwrap_or_clone(world).for_tool(tool);
    world.map_err(|error| {
        Error::refused(error.to_string()).hint("change to another folder, such as a project's")
    })
}

/// Parses a mode from the command line.
pub(crate) fn parse_mode(text: &str) -> Result<Mode, String> {
    text.parse().map_err(|error: prowess_policy::ModeError| error.to_string())
}

/// The error of a run that was refused.
pub(crate) fn refused(message: impl Into<String>) -> Error {
    Error { kind: ErrorKind::NotRun(REFUSED), ..Error::failed(message) }
}

/// The error of a run that did not start, with its exit code and hints.
pub(crate) fn not_run(error: &RunError) -> Error {
    let code = u8::try_from(error.exit_code()).unwrap_or(REFUSED);
    let failed = Error { kind: ErrorKind::NotRun(code), ..Error::failed(error.to_string()) };
    hints(&error.remedies()).into_iter().fold(failed, Error::hint)
}

/// Cancels the run on SIGINT, SIGTERM or SIGHUP: SIGTERM, then SIGKILL (GIB §5.3).
///
/// A second signal sends SIGKILL at once, and the check of what the tool has left behind still runs. A third ends this
/// process, and so does one that answers the question about the changes of a run that has ended.
#[cfg(unix)]
pub(crate) fn listen_for_signals(cancel: &CancellationToken) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Without a handler a signal ends this process, and the sandbox with it.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    let cancel = cancel.clone();
    std::thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if IS_ASKING_ABOUT_CHANGES.load(Ordering::SeqCst) {
                aside("error: interrupted; the changes wait: `prowess runs list` shows them");
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                std::process::exit(128 + signal);
            }
            match count {
                0 => cancel.cancel_by(signal),
                1 => cancel.kill(),
                _ => std::process::exit(128 + signal),
            }
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn listen_for_signals(_cancel: &CancellationToken) {}

/// Set while a person is asked about the changes of a run that has ended.
static IS_ASKING_ABOUT_CHANGES: AtomicBool = AtomicBool::new(false);

/// Asks about the changes of a run that has ended. A signal ends this process meanwhile: there is no tool that it could
/// cancel, and the changes are kept.
pub(crate) fn ask_about_changes(ask: impl FnOnce() -> Option<bool>) -> bool {
    IS_ASKING_ABOUT_CHANGES.store(true, Ordering::SeqCst);
    let answer = ask();
    IS_ASKING_ABOUT_CHANGES.store(false, Ordering::SeqCst);
    answer == Some(true)
}

/// A request to stop between two steps: set by the first signal, while a second one ends the process.
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
            // Without a handler a signal ends this process by default.
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

    /// The signal that arrived, if any.
    pub(crate) fn signal(&self) -> Option<u8> {
        u8::try_from(self.signal.load(Ordering::SeqCst)).ok().filter(|number| *number > 0)
    }
}
