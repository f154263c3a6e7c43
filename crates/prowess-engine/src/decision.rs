//! From a prepared call to a run: the policy's yes, a question that can wait for its answer, or a refusal.
//!
//! A decision is made once, by [`PreparedCall::decide`]. Where it is a question, the [`PendingRun`] owns everything that the
//! run needs: it can be kept by its id, shown, answered later or dropped. [`approve`] is the same for a caller that waits
//! for the answer, as a terminal does.

use std::sync::Arc;

use prowess_core::{Envelope, Event};
use prowess_policy::{Allowed, Decision, Denied};

use crate::approvals::{ApprovalStore, FileApprovals};
use crate::approver::Approver;
use crate::clock::{Clock, SystemClock};
use crate::error::RunError;
use crate::handle::{Slot, WarmCall};
use crate::pending::PendingRun;
use crate::prepare::PreparedCall;
use crate::run::{self, CancellationToken};
use crate::tool::python::PythonWorkers;
use crate::world::World;

/// What runs share: the machine, the approvals, the clock and the Python workers. Clones share all of it.
#[derive(Clone)]
pub struct Engine {
    /// The machine.
    pub world: Arc<World>,
    /// What is approved.
    pub approvals: Arc<dyn ApprovalStore>,
    /// When an approval is given, and when a question expires.
    pub clock: Arc<dyn Clock>,
    /// Where Python tools run.
    pub workers: PythonWorkers,
}

impl Engine {
    /// The user's own approvals and the machine's clock. Python workers are not kept.
    pub fn new(world: Arc<World>) -> Self {
        Self {
            approvals: Arc::new(FileApprovals::of(&world.state)),
            world,
            clock: Arc::new(SystemClock),
            workers: PythonWorkers::one_shot(),
        }
    }
}

/// What the user said before anything was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing.
    None,
    /// Yes to everything that may be answered in advance.
    InAdvance,
}

/// What was decided about a call.
#[derive(Debug)]
pub enum RunDecision {
    /// It may run.
    Ready(ReadyRun),
    /// Somebody has to be asked.
    Ask(Box<PendingRun>),
    /// It may not run, whatever anybody answers.
    Denied(Box<Denied>),
}

impl PreparedCall {
    /// Decides about the call. The approvals are read, which may block.
    pub fn decide(self, engine: &Engine, consent: Consent) -> Result<RunDecision, RunError> {
        decide(self, engine, consent, None)
    }
}

/// Decides about a call. A run that goes well is remembered in the slot, for the next call of the tool.
pub(crate) fn decide(
    prepared: PreparedCall,
    engine: &Engine,
    consent: Consent,
    slot: Option<Slot>,
) -> Result<RunDecision, RunError> {
    let approvals = engine.approvals.load()?;
    let question = match prepared.policy_decision(&approvals) {
        Decision::Allow(allowed) => {
            prepared.remember_user_grants(engine)?;
            return Ok(RunDecision::Ready(ReadyRun::new(prepared, allowed, engine, slot)));
        }
        Decision::Deny(denied) => return Ok(RunDecision::Denied(Box::new(denied))),
        Decision::Ask(question) => question,
    };
    let question = match consent {
        Consent::None => question,
        Consent::InAdvance => match question.approve_in_advance() {
            Ok(allowed) => {
                prepared.remember_user_grants(engine)?;
                return Ok(RunDecision::Ready(ReadyRun::new(prepared, allowed, engine, slot)));
            }
            Err(question) => *question,
        },
    };
    Ok(RunDecision::Ask(Box::new(PendingRun::new(prepared, question, engine, slot)?)))
}

/// Decides about a call and waits for the answer where somebody has to be asked: for terminals.
pub fn approve(
    prepared: PreparedCall,
    engine: &Engine,
    consent: Consent,
    approver: &mut dyn Approver,
) -> Result<ReadyRun, RunError> {
    prepared.decide(engine, consent)?.answered(approver)
}

impl RunDecision {
    /// The run that may start, after the question was asked where there is one.
    pub fn answered(self, approver: &mut dyn Approver) -> Result<ReadyRun, RunError> {
        match self {
            RunDecision::Ready(ready) => Ok(ready),
            RunDecision::Denied(denied) => Err(RunError::Denied(denied)),
            RunDecision::Ask(pending) => {
                let reply = approver.ask(pending.request());
                pending.answer(reply)
            }
        }
    }
}

/// A run that may start, once. It owns what it needs and can be started on any thread.
#[derive(Debug)]
pub struct ReadyRun {
    start: Start,
    workers: PythonWorkers,
}

/// A prepared call with its permission.
#[derive(Debug)]
struct PreparedRun {
    prepared: PreparedCall,
    allowed: Allowed,
    /// Where the decision is left for the next call of the tool.
    slot: Option<Slot>,
}

#[derive(Debug)]
enum Start {
    /// Everything was prepared and decided for this call.
    Prepared(Box<PreparedRun>),
    /// An earlier decision and its worker serve this call too.
    Warm(Box<WarmCall>),
}

impl ReadyRun {
    pub(crate) fn new(
        prepared: PreparedCall,
        allowed: Allowed,
        engine: &Engine,
        slot: Option<Slot>,
    ) -> Self {
        let start = Start::Prepared(Box::new(PreparedRun { prepared, allowed, slot }));
        Self { start, workers: engine.workers.clone() }
    }

    pub(crate) fn warm(call: WarmCall, engine: &Engine) -> Self {
        Self { start: Start::Warm(Box::new(call)), workers: engine.workers.clone() }
    }

    /// Runs on the calling thread. Events end with [`Event::Done`], whatever happens.
    ///
    /// The skill's files and programs are compared with what was decided about here, at the last moment before the start:
    /// between the decision and now a question may have waited for hours, and the run in a queue.
    pub fn run(self, cancel: &CancellationToken, sink: &mut dyn FnMut(&Event)) -> Envelope {
        match self.start {
            Start::Warm(call) => call.run(&self.workers, cancel, sink),
            Start::Prepared(run) => {
                let PreparedRun { prepared, allowed, slot } = *run;
                let (envelope, warm) =
                    run::run_and_keep(&self.workers, &prepared, &allowed, cancel, sink);
                if let (Some(slot), Some(warm)) = (slot, warm) {
                    slot.fill(prepared, allowed, warm);
                }
                envelope
            }
        }
    }

    /// The call and the permission, for loading, which runs something else than the call.
    pub(crate) fn into_parts(self) -> Option<(PreparedCall, Allowed)> {
        match self.start {
            Start::Prepared(run) => Some((run.prepared, run.allowed)),
            Start::Warm(_) => None,
        }
    }
}
