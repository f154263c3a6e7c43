//! Fault injection: kills the process, or fails, at the n-th disk operation, so that tests cover
//! every step of a transaction.
//!
//! Only compiled with the feature `faults`. The plan is thread-local.

use std::cell::RefCell;
use std::io;

/// The fault at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed, as by `kill -9`, before the step is done.
    Kill,
    /// This step fails with an I/O error, and later ones succeed.
    FailOnce(i32),
    /// This step and all later ones fail.
    FailFrom(i32),
}

/// The planned fault, and the steps so far.
#[derive(Debug, Default)]
struct Plan {
    fault: Option<(usize, Fault)>,
    steps: Vec<String>,
    no_exchange: bool,
}

thread_local! {
    static PLAN: RefCell<Option<Plan>> = const { RefCell::new(None) };
}

/// Runs a closure with a fault planned for step `at`, counted from 0, and returns the steps that
/// were reached.
pub fn with<T>(
    fault: Option<(usize, Fault)>,
    exchange: Exchange,
    run: impl FnOnce() -> T,
) -> (T, Vec<String>) {
    let no_exchange = exchange == Exchange::Missing;
    PLAN.set(Some(Plan { fault, steps: Vec::new(), no_exchange }));
    let result = run();
    let steps = PLAN.take().map(|plan| plan.steps).unwrap_or_default();
    (result, steps)
}

/// Whether the file system can exchange two names in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    /// As supported by the file system.
    Real,
    /// Not supported.
    Missing,
}

/// Whether the plan pretends that names can't be exchanged.
pub(crate) fn exchange_is_missing() -> bool {
    PLAN.with_borrow(|plan| plan.as_ref().is_some_and(|plan| plan.no_exchange))
}

/// Called before every disk operation.
pub(crate) fn step(what: &str, name: &str) -> io::Result<()> {
    PLAN.with_borrow_mut(|plan| {
        let Some(plan) = plan else { return Ok(()) };
        let number = plan.steps.len();
        plan.steps.push(format!("{what} {name}"));
        match plan.fault {
            Some((at, Fault::Kill)) if at == number => {
                let this = rustix::process::getpid();
                let _ = rustix::process::kill_process(this, rustix::process::Signal::KILL);
                // The signal is delivered before the call returns, or as soon as this thread is scheduled again.
                std::process::abort()
            }
            Some((at, Fault::FailOnce(code))) if at == number => {
                Err(io::Error::from_raw_os_error(code))
            }
            Some((at, Fault::FailFrom(code))) if at <= number => {
                Err(io::Error::from_raw_os_error(code))
            }
            _ => Ok(()),
        }
    })
}
