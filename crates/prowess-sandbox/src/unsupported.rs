//! Systems without a supported sandbox: nothing runs.

#![cfg_attr(
    test,
    allow(dead_code, unreachable_pub, reason = "compiled everywhere, so that it compiles there")
)]

use std::convert::Infallible;
use std::ffi::OsString;

use crate::error::SandboxError;
use crate::probe::{Layer, LayerState, Probe};
use crate::spec::{Input, Observer, SandboxOutcome, Spec};

const CAUSE: &str = "there is no sandbox for this system";
const REMEDY: &str = "use Linux 6.12 or newer, or macOS";

fn refused() -> SandboxError {
    SandboxError::Unenforceable { cause: CAUSE.to_owned(), remedy: REMEDY.to_owned() }
}

/// Always fails.
pub fn run(spec: Spec, observer: &mut dyn Observer) -> Result<SandboxOutcome, SandboxError> {
    Sandbox::spawn(spec)?.wait(observer)
}

/// There is nothing to prepare.
pub fn warm_up() {}

/// Always true: nothing runs.
pub fn has_memory_accounting() -> bool {
    true
}

/// Reports that this machine can't enforce anything.
pub fn probe() -> Probe {
    let layer = Layer {
        name: "sandbox",
        state: LayerState::Missing,
        detail: CAUSE.to_owned(),
        remedy: Some(REMEDY.to_owned()),
    };
    Probe { layers: vec![layer] }
}

/// A program in a sandbox; there are none on this system.
#[derive(Debug)]
pub struct Sandbox(Infallible);

impl Sandbox {
    /// Always fails.
    pub fn spawn(_: Spec) -> Result<Self, SandboxError> {
        Err(refused())
    }

    /// A handle that ends the run from another thread.
    pub fn canceller(&self) -> Canceller {
        match self.0 {}
    }

    /// Waits for the end.
    pub fn wait(self, _: &mut dyn Observer) -> Result<SandboxOutcome, SandboxError> {
        match self.0 {}
    }
}

/// Ends a run from another thread.
#[derive(Clone, Debug)]
pub struct Canceller(Infallible);

impl Canceller {
    /// Ends the run.
    pub fn cancel(&self) {
        match self.0 {}
    }

    /// Ends the run at once.
    pub fn kill(&self) {
        match self.0 {}
    }
}

/// A prepared sandbox; there are none on this system.
#[derive(Debug)]
pub struct PreparedSandbox(Infallible);

impl PreparedSandbox {
    /// Always fails.
    pub fn new(_: Spec) -> Result<Self, SandboxError> {
        Err(refused())
    }

    /// Waits until the sandbox is set up.
    pub fn ready(&mut self) -> Result<(), SandboxError> {
        match self.0 {}
    }

    /// Starts the program.
    pub fn start(
        self,
        _: &[OsString],
        _: &[(OsString, OsString)],
        _: Input,
    ) -> Result<Sandbox, SandboxError> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use crate::error::SandboxError;
    use crate::spec::{Observer, OutputStream, Spec};

    struct Nobody;

    impl Observer for Nobody {
        fn output(&mut self, _: OutputStream, bytes: &[u8]) {
            panic!("something ran: {bytes:?}");
        }
    }

    #[test]
    fn nothing_runs_without_a_sandbox() {
        let ended = super::run(Spec::new("/bin/echo"), &mut Nobody);
        assert!(matches!(ended, Err(SandboxError::Unenforceable { .. })), "{ended:?}");
        let prepared = super::PreparedSandbox::new(Spec::new("/bin/echo"));
        assert!(matches!(prepared, Err(SandboxError::Unenforceable { .. })), "{prepared:?}");
        assert!(!super::probe().is_enforceable());
    }
}
