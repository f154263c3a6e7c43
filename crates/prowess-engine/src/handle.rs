//! A tool that is called again and again, as agents do: what was decided stands as long as nothing has changed that it was
//! decided on, and only the values are new.

use std::sync::Arc;

use prowess_format::skill::Tool;
use prowess_policy::{Allowed, Mode};
use serde_json::{Map, Value};

use crate::approvals::ApprovalStore;
use crate::approver::{Approver, Asked, Reply};
use crate::clock::Clock;
use crate::deciding::{Consent, approve};
use crate::error::RunError;
use crate::evidence::Evidence;
use crate::inputs;
use crate::loaded::LoadedSkill;
use crate::prepare::{Call, prepare};
use crate::run::{self, Cancel, Kept};
use crate::tool::python::{Plan, PythonWorkers, Session};
use crate::world::World;
use prowess_core::Envelope;
use prowess_core::Event;

/// What calls take place in.
#[derive(Clone, Copy)]
pub struct Surroundings<'h> {
    /// The machine.
    pub world: &'h Arc<World>,
    /// Where Python tools run.
    pub workers: &'h PythonWorkers,
    /// What is approved.
    pub approvals: &'h ApprovalStore,
    /// When an approval is given.
    pub clock: &'h dyn Clock,
    /// What the user said before anything was asked.
    pub consent: Consent,
}

/// A tool of a skill, to be called as often as somebody likes.
///
/// The first call goes the whole way: [`prepare`], [`approve`], [`run::run_with`]. Where that has left a warm worker and
/// nobody had to answer a question that counts only once, the next one looks whether everything is as it was: the skill's
/// files, the approvals, the programs and what the worker has in view. If so, only the values are checked and the worker
/// is called. Another program of the same name further up in PATH does not matter: the one that was approved runs on.
pub struct ToolHandle {
    skill: Arc<LoadedSkill>,
    tool: Tool,
    mode: Mode,
    standing: Option<Standing>,
}

/// A decision that stands.
struct Standing {
    evidence: Evidence,
    allowed: Allowed,
    plan: Plan,
    kept: Kept,
}

impl ToolHandle {
    /// A tool that was not called yet.
    pub fn new(skill: Arc<LoadedSkill>, tool: Tool, mode: Mode) -> Self {
        Self { skill, tool, mode, standing: None }
    }

    /// Whether the next call can do without the whole way, as far as is known before looking.
    pub fn is_standing(&self) -> bool {
        self.standing.is_some()
    }

    /// Calls the tool. An error is one of before the start; everything later is in the envelope.
    pub fn call(
        &mut self,
        values: &Map<String, Value>,
        surroundings: Surroundings<'_>,
        approver: &mut dyn Approver,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Envelope, RunError> {
        if let Some(standing) = self.standing.take().filter(|standing| standing.evidence.holds())
            && let Some(envelope) =
                self.call_standing(&standing, values, surroundings, cancel, sink)?
        {
            self.standing = Some(standing);
            return Ok(envelope);
        }
        self.call_anew(values, surroundings, approver, cancel, sink)
    }

    /// `None` when the whole way is needed after all.
    fn call_standing(
        &self,
        standing: &Standing,
        values: &Map<String, Value>,
        surroundings: Surroundings<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Option<Envelope>, RunError> {
        let Surroundings { world, workers, .. } = surroundings;
        let tool = &self.tool;
        let files = inputs::check(tool, values, &world.working_directory)
            .map_err(|errors| RunError::Inputs { tool: tool.name.value.clone(), errors })?;
        if !files.is_empty() {
            // Each of them is a grant of its own.
            return Ok(None);
        }
        let call = self.request(values);
        let plan = standing.plan.again(&call);
        let session = Session {
            skill: &self.skill,
            plan: &plan,
            allowed: &standing.allowed,
            world,
            workers,
            cancel,
            time: standing.kept.time,
        };
        Ok(run::run_again(&session, &standing.kept, &call, sink))
    }

    fn call_anew(
        &mut self,
        values: &Map<String, Value>,
        surroundings: Surroundings<'_>,
        approver: &mut dyn Approver,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Envelope, RunError> {
        let Surroundings { world, workers, approvals, clock, consent } = surroundings;
        // Before anything is read: what changes from now on is seen.
        let evidence = self.evidence(approvals);
        let call = self.request(values);
        let prepared = prepare(call, world)?;
        let evidence = evidence.and_then(|mut evidence| {
            let mut programs = prepared.images.programs.iter();
            programs.try_for_each(|image| evidence.unchanged(image.clone()))?;
            Some(evidence)
        });
        let mut approver = Heard { approver, was_asked: false };
        let allowed = approve(&prepared, consent, &mut approver, clock, approvals)?;
        let (envelope, kept) = run::run_and_keep(workers, &prepared, &allowed, world, cancel, sink);
        let counts_once = approver.was_asked && allowed.approval().is_none();
        if let Some(plan) = prepared.recipe.python.filter(|_| !counts_once)
            && let (Some(mut evidence), Some(mut kept)) = (evidence, kept)
            && let Some(places) = kept.warmth.places.take()
        {
            evidence.extend(places);
            self.standing = Some(Standing { evidence, allowed, plan, kept });
        }
        Ok(envelope)
    }

    fn request(&self, values: &Map<String, Value>) -> Call {
        Call {
            skill: Arc::clone(&self.skill),
            tool: self.tool.clone(),
            values: values.clone(),
            mode: self.mode,
        }
    }

    /// What can be named before a call is prepared.
    fn evidence(&self, approvals: &ApprovalStore) -> Option<Evidence> {
        let mut evidence = Evidence::default();
        evidence.tree(self.skill.directory.as_deref()?)?;
        evidence.unchanged(approvals.path().to_owned())?;
        Some(evidence)
    }
}

/// Knows whether anybody was asked.
struct Heard<'a> {
    approver: &'a mut dyn Approver,
    was_asked: bool,
}

impl Approver for Heard<'_> {
    fn ask(&mut self, asked: &Asked<'_>) -> Reply {
        self.was_asked = true;
        self.approver.ask(asked)
    }
}
