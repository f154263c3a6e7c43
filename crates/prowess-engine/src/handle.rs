//! A tool that is called again and again, as agents and workflows do.
//!
//! A decision stays valid as long as nothing has changed that it was based on; then only the values are new.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use prowess_core::{Envelope, Event};
use prowess_format::skill::Tool;
use prowess_policy::{Allowed, Mode};
use serde_json::{Map, Value};

use crate::approver::Approver;
use crate::decision::{self, Consent, Engine, ReadyRun, RunDecision};
use crate::decision_inputs::DecisionInputs;
use crate::error::RunError;
use crate::inputs;
use crate::loaded::LoadedSkill;
use crate::prepare::{Call, PreparedCall, prepare, prepare_for_user};
use crate::run::{self, CancellationToken, WarmRun};
use crate::tool::python::{Plan, PythonWorkers, Session};
use crate::user_grants::UserGrants;
use crate::world::World;

/// A tool of a skill, to be called any number of times, from several threads at once. Clones are the same tool.
///
/// The first call goes the whole way: prepare, decide, run. Where that has left a warm worker and nobody had to answer a
/// question that counts only once, the next one checks whether everything is as it was: the skill's files, the approvals,
/// the programs and what the worker can see. If so, only the values are checked and the worker is called. Another program
/// of the same name further up in PATH does not matter: the approved one keeps running.
#[derive(Clone, Debug)]
pub struct ToolHandle {
    skill: Arc<LoadedSkill>,
    tool: Tool,
    mode: Mode,
    valid: Shared,
}

/// The decision that is still valid, where there is one. A call takes it and puts it back.
type Shared = Arc<Mutex<Option<ValidDecision>>>;

/// A decision with what it was based on and the worker that it started.
#[derive(Debug)]
struct ValidDecision {
    evidence: DecisionInputs,
    /// Of the approvals.
    revision: String,
    consent: Consent,
    allowed: Allowed,
    plan: Plan,
    warm: WarmRun,
}

/// Where a run leaves its decision for the next call.
#[derive(Debug)]
pub(crate) struct Slot {
    shared: Shared,
    evidence: DecisionInputs,
    revision: String,
    consent: Consent,
}

/// A call that an earlier decision and its worker serve.
#[derive(Debug)]
pub(crate) struct WarmCall {
    call: Call,
    plan: Plan,
    decision: ValidDecision,
    shared: Shared,
    world: Arc<World>,
}

impl ToolHandle {
    /// A tool that was not called yet.
    pub fn new(skill: Arc<LoadedSkill>, tool: Tool, mode: Mode) -> Self {
        Self { skill, tool, mode, valid: Shared::default() }
    }

    /// Whether a decision may still be valid, as far as is known before the files are checked.
    pub fn has_decision(&self) -> bool {
        lock(&self.valid).is_some()
    }

    /// Where the skill is, and the tool's name.
    pub(crate) fn key(&self) -> (PathBuf, String) {
        (self.skill.place().to_owned(), self.tool.name.value.clone())
    }

    /// Whether both are of one loaded skill, and not of what lay in its folder at different times.
    pub(crate) fn is_same_skill(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.skill, &other.skill) && self.mode == other.mode
    }

    /// Prepares and decides about a call.
    pub fn decide(
        &self,
        values: Map<String, Value>,
        engine: &Engine,
        consent: Consent,
    ) -> Result<RunDecision, RunError> {
        let call = Call {
            skill: Arc::clone(&self.skill),
            tool: self.tool.clone(),
            values,
            mode: self.mode,
        };
        // Also before a decision that still holds: a pass can be taken back.
        engine.quizzes.require_passed(&self.skill)?;
        let valid = lock(&self.valid).take().filter(|valid| valid.holds(engine, consent));
        let call = match valid {
            None => call,
            Some(decision) => {
                let files =
                    inputs::check(&call.tool, &call.values, &engine.world.working_directory)
                        .map_err(|errors| {
                            let tool = call.tool.name.value.clone();
                            RunError::Inputs { tool, errors }
                        });
                match files {
                    // Each file is a grant of its own.
                    Ok(files) if !files.is_empty() => call,
                    Ok(_) => {
                        let plan = decision.plan.again(&call);
                        let (shared, world) = (Arc::clone(&self.valid), Arc::clone(&engine.world));
                        let warm = WarmCall { call, plan, decision, shared, world };
                        return Ok(RunDecision::Ready(ReadyRun::warm(warm, engine)));
                    }
                    Err(error) => {
                        lock(&self.valid).get_or_insert(decision);
                        return Err(error);
                    }
                }
            }
        };
        // Before anything is read: what changes from now on is seen.
        let seen = self.evidence().zip(engine.approvals.revision());
        let user = UserGrants::none().with_earlier(&engine.approvals.load()?);
        let prepared = prepare_for_user(call, user, &engine.world)?;
        let slot = seen.and_then(|(mut evidence, revision)| {
            let mut programs = prepared.images.programs.iter();
            programs.try_for_each(|image| evidence.unchanged(image.clone()))?;
            Some(Slot { shared: Arc::clone(&self.valid), evidence, revision, consent })
        });
        decision::decide(prepared, engine, consent, slot)
    }

    /// Calls the tool and waits for it. An error is one of before the start; everything later is in the envelope.
    pub fn call(
        &self,
        values: &Map<String, Value>,
        engine: &Engine,
        consent: Consent,
        approver: &mut dyn Approver,
        cancel: &CancellationToken,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Envelope, RunError> {
        let verdict = self.decide(values.clone(), engine, consent)?;
        Ok(verdict.answered(approver)?.run(cancel, sink))
    }

    /// The files of the skill.
    fn evidence(&self) -> Option<DecisionInputs> {
        let mut evidence = DecisionInputs::default();
        evidence.tree(self.skill.directory.as_deref()?)?;
        Some(evidence)
    }
}

impl ValidDecision {
    fn holds(&self, engine: &Engine, consent: Consent) -> bool {
        // A yes in advance counts where it is given again.
        let is_agreed = self.consent == Consent::None || consent == Consent::InAdvance;
        is_agreed
            && self.evidence.holds()
            && engine.approvals.revision().as_ref() == Some(&self.revision)
    }
}

impl Slot {
    /// Leaves the decision of a run for the next call.
    pub(crate) fn fill(mut self, prepared: PreparedCall, allowed: Allowed, mut warm: WarmRun) {
        if let Some(plan) = prepared.recipe.python
            && let Some(places) = warm.worker.places.take()
        {
            self.evidence.extend(places);
            let Self { shared, evidence, revision, consent } = self;
            let valid = ValidDecision { evidence, revision, consent, allowed, plan, warm };
            *lock(&shared) = Some(valid);
        }
    }
}

impl WarmCall {
    pub(crate) fn call(&self) -> &Call {
        &self.call
    }

    /// Prepares the call like one without an earlier decision, which is put back.
    pub(crate) fn prepare(self) -> Result<PreparedCall, RunError> {
        let Self { call, decision, shared, world, .. } = self;
        lock(&shared).get_or_insert(decision);
        prepare(call, &world)
    }

    /// Calls the worker. Where it is gone, the call is prepared again and starts one by the same decision: what it was
    /// based on held, and the files are compared with it before the start, as always.
    pub(crate) fn run(
        self,
        workers: &PythonWorkers,
        cancel: &CancellationToken,
        sink: &mut dyn FnMut(&Event),
    ) -> Envelope {
        let Self { call, plan, decision, shared, world } = self;
        let session = Session {
            skill: &call.skill,
            plan: &plan,
            allowed: &decision.allowed,
            world: &world,
            workers,
            cancel,
            time: decision.warm.time,
        };
        if let Some(envelope) = run::run_again(&session, &decision.warm, &call, sink) {
            lock(&shared).get_or_insert(decision);
            return envelope;
        }
        match prepare(call, &world) {
            Ok(prepared) => {
                run::run_and_keep(workers, &prepared, &decision.allowed, cancel, sink).0
            }
            Err(error) => run::not_started(&error, sink),
        }
    }
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Option<ValidDecision>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
