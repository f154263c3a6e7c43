//! From a prepared call to a run: the policy's yes, a question that can wait for its answer, or a refusal.
//!
//! A decision is made once, by [`PreparedCall::decide`]. Where it is a question, the [`PendingRun`] owns everything that the
//! run needs: it can be kept by its id, shown, answered later or dropped. [`approve`] is the same for a caller that waits
//! for the answer, as a terminal does.

use std::sync::Arc;

use prowess_core::{Envelope, Event};
use prowess_policy::{Allowed, ApprovalQuestion, Approvals, Decision, Denied};

use crate::approvals::{ApprovalStore, FileApprovals};
use crate::approver::{ApprovalReply, Approver, NoApprover};
use crate::clock::{Clock, SystemClock};
use crate::error::RunError;
use crate::handle::{Slot, WarmCall};
use crate::hooks::{self, Checked, HookServices, HookSession, ReadyHooks, SessionHooks};
use crate::pending::PendingRun;
use crate::prepare::{Call, PreparedCall};
use crate::quiz::Quizzes;
use crate::run::{self, CancellationToken, McpAccess, Talk};
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
    /// Which skills are closed until their quiz is passed.
    pub quizzes: Quizzes,
    /// Who talks to MCP servers; without it their tools are refused.
    pub mcp: Option<McpAccess>,
    /// What hooks of skills need.
    pub hooks: HookServices,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

impl Engine {
    /// The user's own approvals and the machine's clock. Python workers are not kept.
    pub fn new(world: Arc<World>) -> Self {
        Self {
            approvals: Arc::new(FileApprovals::of(&world.state)),
            quizzes: Quizzes::of_user(&world),
            world,
            clock: Arc::new(SystemClock),
            workers: PythonWorkers::one_shot(),
            mcp: None,
            hooks: HookServices::default(),
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

/// Decides about a call, and about the hooks around it. A run that goes well is remembered in the slot, for the next call of
/// the tool.
pub(crate) fn decide(
    mut prepared: PreparedCall,
    engine: &Engine,
    consent: Consent,
    slot: Option<Slot>,
) -> Result<RunDecision, RunError> {
    engine.quizzes.require_passed_for(&prepared.call.skill, prepared.request.digest())?;
    let approvals = engine.approvals.load()?;
    let hooks = prepared.hooks.take();
    let call = match part(prepared, &approvals, consent) {
        Ok(part) => part,
        Err(denied) => return Ok(RunDecision::Denied(denied)),
    };
    let hooks = match hooks.map(|hooks| part(*hooks, &approvals, consent)).transpose() {
        Ok(hooks) => hooks,
        Err(denied) => return Ok(RunDecision::Denied(denied)),
    };
    // A decision that is kept for the next call knows nothing of hooks.
    let slot = slot.filter(|_| hooks.is_none());
    match (call, hooks) {
        (DecidedPart::Allowed(prepared, allowed), None) => {
            prepared.remember_user_grants(engine)?;
            Ok(RunDecision::Ready(ReadyRun::new(*prepared, allowed, engine, slot)))
        }
        (DecidedPart::Allowed(prepared, allowed), Some(DecidedPart::Allowed(hooks, of_hooks))) => {
            prepared.remember_user_grants(engine)?;
            let ready = ReadyRun::new(*prepared, allowed, engine, None);
            let hooks = ReadyHooks { prepared: *hooks, allowed: of_hooks };
            Ok(RunDecision::Ready(ready.with_hooks(hooks, consent)))
        }
        (call, hooks) => {
            let pending = PendingRun::new(call, hooks, engine, consent, slot)?;
            Ok(RunDecision::Ask(Box::new(pending)))
        }
    }
}

/// A call or the hooks around it, with what was decided about it.
#[derive(Debug)]
pub(crate) enum DecidedPart {
    /// It may run.
    Allowed(Box<PreparedCall>, Allowed),
    /// Somebody has to be asked.
    Asked(Box<PreparedCall>, ApprovalQuestion),
}

fn part(
    prepared: PreparedCall,
    approvals: &Approvals,
    consent: Consent,
) -> Result<DecidedPart, Box<Denied>> {
    let question = match prepared.policy_decision(approvals) {
        Decision::Allow(allowed) => return Ok(DecidedPart::Allowed(Box::new(prepared), allowed)),
        Decision::Deny(denied) => return Err(Box::new(denied)),
        Decision::Ask(question) => question,
    };
    let question = match consent {
        Consent::None => question,
        Consent::InAdvance => match question.approve_in_advance() {
            Ok(allowed) => return Ok(DecidedPart::Allowed(Box::new(prepared), allowed)),
            Err(question) => *question,
        },
    };
    Ok(DecidedPart::Asked(Box::new(prepared), question))
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
    engine: Engine,
    hooks: RunHooks,
}

/// Where a run stands with its hooks.
#[derive(Debug)]
enum RunHooks {
    /// It has none.
    None,
    /// They run before it starts: its own, and those of a session.
    Waiting { own: Option<Box<ReadyHooks>>, session: Option<HookSession>, consent: Consent },
    /// Those before it have run.
    Passed(Box<SessionHooks>),
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
        mut prepared: PreparedCall,
        allowed: Allowed,
        engine: &Engine,
        slot: Option<Slot>,
    ) -> Self {
        prepared.access.clone_from(&engine.mcp);
        let start = Start::Prepared(Box::new(PreparedRun { prepared, allowed, slot }));
        Self { start, engine: engine.clone(), hooks: RunHooks::None }
    }

    pub(crate) fn warm(call: WarmCall, engine: &Engine) -> Self {
        let start = Start::Warm(Box::new(call));
        Self { start, engine: engine.clone(), hooks: RunHooks::None }
    }

    pub(crate) fn with_hooks(self, own: ReadyHooks, consent: Consent) -> Self {
        let hooks = RunHooks::Waiting { own: Some(Box::new(own)), session: None, consent };
        Self { hooks, ..self }
    }

    pub(crate) fn passed(self, hooks: Box<SessionHooks>) -> Self {
        Self { hooks: RunHooks::Passed(hooks), ..self }
    }

    /// Makes the run a part of a session: the hooks of all skills that the session uses run around it, and its own are
    /// registered there.
    #[must_use]
    pub fn in_session(self, session: &HookSession) -> Self {
        let session = Some(session.clone());
        let hooks = match self.hooks {
            RunHooks::None => RunHooks::Waiting { own: None, session, consent: Consent::None },
            RunHooks::Waiting { own, consent, .. } => RunHooks::Waiting { own, session, consent },
            passed @ RunHooks::Passed(_) => passed,
        };
        Self { hooks, ..self }
    }

    /// Whether hooks before it have not run yet.
    pub fn has_waiting_hooks(&self) -> bool {
        matches!(self.hooks, RunHooks::Waiting { .. })
    }

    /// Runs the hooks before it now, where there are any and they have not run. They may refuse the run, change its values,
    /// which decides about it again, or make a question of it. [`run`](Self::run) does the same by itself, and has nobody to
    /// ask: so this is for callers that do.
    pub fn check_hooks(self, cancel: &CancellationToken) -> Result<RunDecision, RunError> {
        let Self { start, engine, hooks } = self;
        let (own, session, consent) = match hooks {
            RunHooks::None | RunHooks::Passed(_) => {
                return Ok(RunDecision::Ready(Self { start, engine, hooks }));
            }
            RunHooks::Waiting { own, session, consent } => (own, session, consent),
        };
        let (prepared, allowed, slot) = match start {
            Start::Prepared(run) => (run.prepared, run.allowed, run.slot),
            // Hooks of a session around a tool that has none of its own: they see the call, and its decision holds.
            Start::Warm(call) => {
                let prepared = call.prepare()?;
                return Self::prepared_again(prepared, &engine, session, consent)?
                    .check_hooks(cancel);
            }
        };
        let go = |prepared, allowed, hooks| {
            Ok(RunDecision::Ready(Self::new(prepared, allowed, &engine, slot).passed(hooks)))
        };
        match hooks::before(&prepared, own.map(|own| *own), session, &engine, cancel)? {
            Checked::Go(hooks) => go(prepared, allowed, hooks),
            Checked::Ask(hooks, blocked) => {
                let question = allowed.ask_again();
                PendingRun::of_hook(prepared, question, hooks, &blocked, &engine).map(ask)
            }
            Checked::Changed(mut hooks, call, blocked) => {
                let changed = hooks::changed(*call, &prepared, &mut hooks)?;
                match (decide(changed, &engine, consent, None)?, blocked) {
                    (RunDecision::Ready(ready), None) => {
                        Ok(RunDecision::Ready(ready.passed(hooks)))
                    }
                    (RunDecision::Ready(ready), Some(blocked)) => match ready.into_parts() {
                        Some((prepared, allowed)) => {
                            let question = allowed.ask_again();
                            PendingRun::of_hook(prepared, question, hooks, &blocked, &engine)
                                .map(ask)
                        }
                        None => Err(RunError::Changed("the call")),
                    },
                    (RunDecision::Ask(pending), _) => Ok(ask(pending.after_hooks(hooks))),
                    (denied @ RunDecision::Denied(_), _) => Ok(denied),
                }
            }
        }
    }

    /// Checks the hooks like `check_hooks`, and asks the approver at once where that is needed.
    pub fn ask_hooks(
        self,
        approver: &mut dyn Approver,
        cancel: &CancellationToken,
    ) -> Result<Self, RunError> {
        match self.hooks {
            RunHooks::None | RunHooks::Passed(_) => Ok(self),
            RunHooks::Waiting { .. } => self.check_hooks(cancel)?.answered(approver),
        }
    }

    /// A call that an earlier decision allows, with a decision of its own.
    fn prepared_again(
        prepared: PreparedCall,
        engine: &Engine,
        session: Option<HookSession>,
        consent: Consent,
    ) -> Result<Self, RunError> {
        let ready = match decide(prepared, engine, consent, None)? {
            RunDecision::Ready(ready) => ready,
            RunDecision::Ask(pending) => {
                return pending.answer(ApprovalReply::Nobody);
            }
            RunDecision::Denied(denied) => return Err(RunError::Denied(denied)),
        };
        Ok(match session {
            Some(session) => ready.in_session(&session),
            None => ready,
        })
    }

    /// Says something else to the MCP server than the call. What `talk` returns is the result of the run.
    #[must_use]
    pub fn talking(mut self, talk: Talk) -> Self {
        if let Start::Prepared(run) = &mut self.start {
            run.prepared.talk = Some(talk);
        }
        self
    }

    /// Runs on the calling thread. Events end with [`Event::Done`], whatever happens.
    ///
    /// The skill's files and programs are compared with what was decided about here, at the last moment before the start:
    /// between the decision and now a question may have waited for hours, and the run in a queue. Hooks before the run that
    /// have not run yet run now.
    pub fn run(self, cancel: &CancellationToken, sink: &mut dyn FnMut(&Event)) -> Envelope {
        let Self { start, engine, hooks } = self;
        let hooks = match hooks {
            RunHooks::None => return start.run(&engine.workers, cancel, sink),
            RunHooks::Passed(hooks) => hooks,
            waiting @ RunHooks::Waiting { .. } => {
                let ready = Self { start, engine, hooks: waiting };
                return match ready.check_hooks(cancel).and_then(|it| it.answered(&mut NoApprover)) {
                    Ok(ready) => ready.run(cancel, sink),
                    Err(error) => run::not_started(&error, sink),
                };
            }
        };
        let call = start.call().clone();
        hooks.around(&call, cancel, sink, |sink| start.run(&engine.workers, cancel, sink))
    }

    /// The call and the permission, for loading, which runs something else than the call.
    pub(crate) fn into_parts(self) -> Option<(PreparedCall, Allowed)> {
        match self.start {
            Start::Prepared(run) => Some((run.prepared, run.allowed)),
            Start::Warm(_) => None,
        }
    }
}

impl Start {
    fn call(&self) -> &Call {
        match self {
            Start::Prepared(run) => &run.prepared.call,
            Start::Warm(warm) => warm.call(),
        }
    }

    fn run(
        self,
        workers: &PythonWorkers,
        cancel: &CancellationToken,
        sink: &mut dyn FnMut(&Event),
    ) -> Envelope {
        match self {
            Start::Warm(call) => call.run(workers, cancel, sink),
            Start::Prepared(run) => {
                let PreparedRun { prepared, allowed, slot } = *run;
                let (envelope, warm) =
                    run::run_and_keep(workers, &prepared, &allowed, cancel, sink);
                if let (Some(slot), Some(warm)) = (slot, warm) {
                    slot.fill(prepared, allowed, warm);
                }
                envelope
            }
        }
    }
}

fn ask(pending: PendingRun) -> RunDecision {
    RunDecision::Ask(Box::new(pending))
}
