//! Fault injection: kills the process before the n-th change of the disk, so that tests cover every step of applying and
//! undoing. Only compiled with the feature `faults`. The plan is thread-local.

use std::cell::RefCell;

#[derive(Debug, Default)]
struct Plan {
    kill_at: Option<usize>,
    steps: Vec<String>,
}

thread_local! {
    static PLAN: RefCell<Option<Plan>> = const { RefCell::new(None) };
}

/// Runs a closure whose process is killed before step `kill_at`, counted from 0, and returns the steps that were reached.
pub fn with<T>(kill_at: Option<usize>, run: impl FnOnce() -> T) -> (T, Vec<String>) {
    PLAN.set(Some(Plan { kill_at, steps: Vec::new() }));
    let result = run();
    let steps = PLAN.take().map(|plan| plan.steps).unwrap_or_default();
    (result, steps)
}

/// Called before every change of the disk.
pub(crate) fn step(what: &str) {
    PLAN.with_borrow_mut(|plan| {
        let Some(plan) = plan else { return };
        let number = plan.steps.len();
        plan.steps.push(what.to_owned());
        if plan.kill_at == Some(number) {
            let this = rustix::process::getpid();
            let _ = rustix::process::kill_process(this, rustix::process::Signal::KILL);
            // The signal is delivered before the call returns, or as soon as this thread is scheduled again.
            std::process::abort()
        }
    });
}
