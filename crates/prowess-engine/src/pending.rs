//! Runs that wait for an answer: each owns its question and everything that the run needs.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prowess_core::{Problem, ProblemKind, RunId};
use prowess_policy::{ApprovalAnswer, ApprovalQuestion, Decision};

use crate::approver::{ApprovalReply, ApprovalRequest};
use crate::clock::Clock;
use crate::decision::{self, Consent, Engine, ReadyRun, RunDecision};
use crate::differences;
use crate::error::RunError;
use crate::handle::Slot;
use crate::prepare::PreparedCall;
use crate::service;

/// A run that somebody has to approve. Dropping it refuses it.
pub struct PendingRun {
    request: ApprovalRequest,
    question: ApprovalQuestion,
    prepared: PreparedCall,
    engine: Engine,
    slot: Option<Slot>,
}

impl PendingRun {
    pub(crate) fn new(
        prepared: PreparedCall,
        question: ApprovalQuestion,
        engine: &Engine,
        slot: Option<Slot>,
    ) -> Result<Self, RunError> {
        let id = service::new_run_id().map_err(|problem| RunError::Unsupported(problem.message))?;
        // What grants come to is looked up on the disk, so only who is asked pays for it.
        let decision = Decision::Ask(question);
        let lines = prepared.explain(&decision);
        let Decision::Ask(question) = decision else {
            return Err(RunError::Unsupported("a question was expected".to_owned()));
        };
        let request = ApprovalRequest {
            id,
            expires_at: None,
            skill: question.skill().to_owned(),
            tool: question.tool().to_owned(),
            description: prepared.description().to_owned(),
            places: question.folders().cloned(),
            command: prepared.command().to_vec(),
            option_like: prepared.option_like().to_vec(),
            lines,
            differences: question.changed().map_or_else(Vec::new, |changed| {
                differences::since(changed, &prepared.request, engine.approvals.as_ref())
            }),
            reasons: question.clauses(),
            has_banner: question.has_banner(),
            can_be_remembered: question.can_be_remembered(),
            allows_in_advance: question.allows_in_advance(),
        };
        Ok(Self { request, question, prepared, engine: engine.clone(), slot })
    }

    /// Its id, which nobody can guess.
    pub fn id(&self) -> RunId {
        self.request.id
    }

    /// The question, with everything that has to be shown.
    pub fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// Lets the question expire at a time, in seconds since 1970.
    pub fn expire_at(&mut self, time: u64) {
        self.request.expires_at = Some(time);
    }

    /// Answers the question. A yes that is to be remembered is stored, which may block.
    ///
    /// The answer is about the files that were shown. [`ReadyRun::run`] compares them when it starts, not this: only there
    /// no time passes any more. An approval that is stored names the digest that was shown, so it is worth nothing for
    /// other files.
    pub fn answer(self, reply: ApprovalReply) -> Result<ReadyRun, RunError> {
        let Self { request, question, prepared, engine, slot } = self;
        let now = engine.clock.now();
        if request.expires_at.is_some_and(|expires_at| now >= expires_at) {
            return Err(RunError::Expired(request.name()));
        }
        let remember = match reply {
            ApprovalReply::Yes(remember) => remember,
            ApprovalReply::No => return Err(RunError::Declined(request.name())),
            ApprovalReply::Nobody => {
                return Err(RunError::NobodyToAsk {
                    name: request.name(),
                    reasons: request.reasons,
                    in_advance: request.allows_in_advance,
                });
            }
        };
        let allowed = question.approve(ApprovalAnswer { remember, at: now });
        // A yes for one run is no basis for the next one.
        let slot = slot.filter(|_| allowed.approval().is_some());
        if let Some(approval) = allowed.approval() {
            engine.approvals.add(approval.clone())?;
            differences::keep(&prepared.request, &approval.files, engine.approvals.as_ref());
        }
        prepared.remember_user_grants(&engine)?;
        Ok(ReadyRun::new(prepared, allowed, &engine, slot))
    }

    /// Decides again, because approvals may have been given since. Id and expiry stay where it is still a question.
    pub fn reconsider(self, consent: Consent) -> Result<RunDecision, RunError> {
        let (id, expires_at) = (self.request.id, self.request.expires_at);
        let verdict = decision::decide(self.prepared, &self.engine, consent, self.slot)?;
        Ok(match verdict {
            RunDecision::Ask(mut pending) => {
                (pending.request.id, pending.request.expires_at) = (id, expires_at);
                RunDecision::Ask(pending)
            }
            decided => decided,
        })
    }
}

impl fmt::Debug for PendingRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRun").field("request", &self.request).finish_non_exhaustive()
    }
}

/// How many runs may wait for an answer, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingLimits {
    /// Of all owners together.
    pub total: usize,
    /// Of one owner.
    pub per_owner: usize,
    /// How long a question waits before it is refused.
    pub lifetime: Duration,
}

impl PendingLimits {
    /// Enough for a server with many users who think for an hour.
    pub const USUAL: Self =
        Self { total: 10_000, per_owner: 100, lifetime: Duration::from_hours(1) };
}

/// Runs that wait for an answer, by id. Each belongs to an owner, and nobody else can see, answer or drop it.
pub struct PendingRuns {
    limits: PendingLimits,
    clock: Arc<dyn Clock>,
    runs: Mutex<HashMap<RunId, (String, PendingRun)>>,
}

impl PendingRuns {
    /// An empty registry.
    pub fn new(limits: PendingLimits, clock: Arc<dyn Clock>) -> Self {
        Self { limits, clock, runs: Mutex::default() }
    }

    /// Keeps a run until it is taken or expires. Gives the question as it has to be shown.
    pub fn keep(&self, owner: &str, mut run: PendingRun) -> Result<ApprovalRequest, Problem> {
        run.expire_at(self.clock.now().saturating_add(self.limits.lifetime.as_secs()));
        let mut runs = self.current();
        let of_owner = runs.values().filter(|(known, _)| known == owner).count();
        if runs.len() >= self.limits.total || of_owner >= self.limits.per_owner {
            let message = format!("{of_owner} runs are already waiting for an answer");
            let kind = ProblemKind::RateLimited { retry_after: None };
            return Err(Problem::new("too-many-pending-runs", kind, message)
                .advice("answer or refuse some of them first"));
        }
        let request = run.request().clone();
        runs.insert(run.id(), (owner.to_owned(), run));
        Ok(request)
    }

    /// Takes a run out to answer it. Of several who try, one succeeds.
    pub fn take(&self, owner: &str, id: RunId) -> Result<PendingRun, Problem> {
        let mut runs = self.current();
        match runs.remove(&id) {
            Some((known, run)) if known == owner => Ok(run),
            Some(other) => {
                // Not theirs: as if it did not exist.
                runs.insert(id, other);
                Err(not_pending(id))
            }
            None => Err(not_pending(id)),
        }
    }

    /// The questions of an owner.
    pub fn requests(&self, owner: &str) -> Vec<ApprovalRequest> {
        let runs = self.current();
        let own = runs.values().filter(|(known, _)| known == owner);
        own.map(|(_, run)| run.request().clone()).collect()
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.current().len()
    }

    /// The runs that have not expired; expired ones are refused by dropping them.
    fn current(&self) -> MutexGuard<'_, HashMap<RunId, (String, PendingRun)>> {
        let now = self.clock.now();
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|_, (_, run)| run.request.expires_at.is_none_or(|time| now < time));
        runs
    }
}

impl fmt::Debug for PendingRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRuns").field("limits", &self.limits).finish_non_exhaustive()
    }
}

fn not_pending(id: RunId) -> Problem {
    let message = format!("no run `{id}` is waiting for an answer");
    Problem::new("run-not-pending", ProblemKind::NotFound, message)
        .advice("it was answered or has expired: start it again")
}
