//! Runs that wait for an answer: each owns its question and everything that the run needs.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prowess_core::{Problem, ProblemKind, RunId};
use prowess_policy::{
    Allowed, ApprovalAnswer, ApprovalQuestion, Decision, Line, LineKind, Remember,
};

use crate::approver::{ApprovalReply, ApprovalRequest};
use crate::clock::Clock;
use crate::decision::{self, Consent, DecidedPart, Engine, ReadyRun, RunDecision};
use crate::differences;
use crate::error::RunError;
use crate::handle::Slot;
use crate::hooks::{self, Blocked, ReadyHooks, SessionHooks};
use crate::prepare::PreparedCall;
use crate::service;

/// A run that somebody has to approve. Dropping it refuses it.
pub struct PendingRun {
    request: ApprovalRequest,
    call: DecidedPart,
    /// The hooks around it, which the question is about as well.
    hooks: Option<DecidedPart>,
    /// The hooks that have run, where one of them asks.
    passed: Option<Box<SessionHooks>>,
    consent: Consent,
    engine: Engine,
    slot: Option<Slot>,
}

impl PendingRun {
    pub(crate) fn new(
        call: DecidedPart,
        hooks: Option<DecidedPart>,
        engine: &Engine,
        consent: Consent,
        slot: Option<Slot>,
    ) -> Result<Self, RunError> {
        let id = service::new_run_id().map_err(|problem| RunError::Unsupported(problem.message))?;
        // What grants come to is looked up on the disk, so only who is asked pays for it.
        let (call, mut lines) = call.explained();
        if call.prepared().call.tool.name.value == hooks::HOOKS_TOOL {
            lines = hooks::alone(call.prepared(), lines);
        }
        let hooks = hooks.map(DecidedPart::explained);
        let hooks = hooks.map(|(hooks, own)| {
            lines = with_hooks(std::mem::take(&mut lines), &hooks, &own);
            hooks
        });
        let questions: Vec<(&PreparedCall, &ApprovalQuestion)> =
            std::iter::once(&call).chain(&hooks).filter_map(DecidedPart::question).collect();
        let all = |is: fn(&ApprovalQuestion) -> bool| questions.iter().all(|(_, it)| is(it));
        let prepared = call.prepared();
        let mut reasons: Vec<String> = Vec::new();
        for clause in questions.iter().flat_map(|(_, question)| question.clauses()) {
            if !reasons.contains(&clause) {
                reasons.push(clause);
            }
        }
        let changed = questions.iter().find_map(|(asked, question)| {
            let changed = question.changed()?;
            Some(differences::since(changed, &asked.request, engine.approvals.as_ref()))
        });
        let request = ApprovalRequest {
            id,
            expires_at: None,
            skill: prepared.request.skill().to_owned(),
            tool: prepared.request.tool().to_owned(),
            description: prepared.description().to_owned(),
            places: prepared.request.folders().cloned(),
            command: prepared.command().to_vec(),
            injected: Vec::new(),
            option_like: prepared.option_like().to_vec(),
            lines,
            differences: changed.unwrap_or_default(),
            reasons,
            has_banner: questions.iter().any(|(_, question)| question.has_banner()),
            can_be_remembered: all(ApprovalQuestion::can_be_remembered),
            allows_in_advance: all(ApprovalQuestion::allows_in_advance),
        };
        let engine = engine.clone();
        Ok(Self { request, call, hooks, passed: None, consent, engine, slot })
    }

    /// A run that a hook wants a person to confirm.
    pub(crate) fn of_hook(
        prepared: PreparedCall,
        question: ApprovalQuestion,
        hooks: Box<SessionHooks>,
        blocked: &Blocked,
        engine: &Engine,
    ) -> Result<Self, RunError> {
        let call = DecidedPart::Asked(Box::new(prepared), question);
        let mut pending = Self::new(call, None, engine, Consent::None, None)?;
        let line = hooks::asks(blocked);
        pending.request.reasons = vec![line.text.clone()];
        pending.request.lines.retain(|known| known.kind != LineKind::Asks);
        pending.request.lines.push(line);
        Ok(pending.after_hooks(hooks))
    }

    /// Marks a run whose hooks have run.
    pub(crate) fn after_hooks(self, hooks: Box<SessionHooks>) -> Self {
        Self { passed: Some(hooks), ..self }
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
        let Self { request, call, hooks, passed, consent, engine, slot } = self;
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
        // Of two questions in one, a yes that one of them does not take from now on counts once for both.
        let remember = if request.can_be_remembered { remember } else { Remember::Once };
        let answer = ApprovalAnswer { remember, at: now };
        let (prepared, allowed) = call.approved(answer, &engine)?;
        let hooks = hooks.map(|hooks| hooks.approved(answer, &engine)).transpose()?;
        // A yes for one run is no basis for the next one.
        let slot = slot.filter(|_| allowed.approval().is_some() && hooks.is_none());
        prepared.remember_user_grants(&engine)?;
        let ready = ReadyRun::new(prepared, allowed, &engine, slot);
        Ok(match (passed, hooks) {
            (Some(passed), _) => ready.passed(passed),
            (None, Some((prepared, allowed))) => {
                ready.with_hooks(ReadyHooks { prepared, allowed }, consent)
            }
            (None, None) => ready,
        })
    }

    /// Decides again, because approvals may have been given since. Id and expiry stay where it is still a question.
    pub fn reconsider(self, consent: Consent) -> Result<RunDecision, RunError> {
        // What a hook wants a person to confirm is confirmed by nothing else, and hooks that have run are not forgotten.
        if self.passed.is_some() {
            return Ok(RunDecision::Ask(Box::new(self)));
        }
        let (id, expires_at) = (self.request.id, self.request.expires_at);
        let mut prepared = self.call.into_prepared();
        prepared.hooks = self.hooks.map(|hooks| Box::new(hooks.into_prepared()));
        let verdict = decision::decide(prepared, &self.engine, consent, self.slot)?;
        Ok(match verdict {
            RunDecision::Ask(mut pending) => {
                (pending.request.id, pending.request.expires_at) = (id, expires_at);
                RunDecision::Ask(pending)
            }
            decided => decided,
        })
    }
}

impl DecidedPart {
    fn prepared(&self) -> &PreparedCall {
        match self {
            DecidedPart::Allowed(prepared, _) | DecidedPart::Asked(prepared, _) => prepared,
        }
    }

    fn into_prepared(self) -> PreparedCall {
        match self {
            DecidedPart::Allowed(prepared, _) | DecidedPart::Asked(prepared, _) => *prepared,
        }
    }

    fn question(&self) -> Option<(&PreparedCall, &ApprovalQuestion)> {
        match self {
            DecidedPart::Allowed(..) => None,
            DecidedPart::Asked(prepared, question) => Some((prepared, question)),
        }
    }

    /// With what the policy says about it in plain words.
    fn explained(self) -> (Self, Vec<Line>) {
        match self {
            DecidedPart::Allowed(prepared, allowed) => {
                let decision = Decision::Allow(allowed);
                let lines = prepared.explain(&decision);
                match decision {
                    Decision::Allow(allowed) => (DecidedPart::Allowed(prepared, allowed), lines),
                    Decision::Ask(_) | Decision::Deny(_) => unreachable!("it was made above"),
                }
            }
            DecidedPart::Asked(prepared, question) => {
                let decision = Decision::Ask(question);
                let lines = prepared.explain(&decision);
                match decision {
                    Decision::Ask(question) => (DecidedPart::Asked(prepared, question), lines),
                    Decision::Allow(_) | Decision::Deny(_) => unreachable!("it was made above"),
                }
            }
        }
    }

    /// With its permission. A yes that is to be remembered is stored.
    fn approved(
        self,
        answer: ApprovalAnswer,
        engine: &Engine,
    ) -> Result<(PreparedCall, Allowed), RunError> {
        let (prepared, allowed) = match self {
            DecidedPart::Allowed(prepared, allowed) => (prepared, allowed),
            DecidedPart::Asked(prepared, question) => (prepared, question.approve(answer)),
        };
        if let Some(approval) = allowed.approval() {
            engine.approvals.add(approval.clone())?;
            differences::keep(&prepared.request, &approval.files, engine.approvals.as_ref());
        }
        Ok((*prepared, allowed))
    }
}

/// The lines of a question with those about hooks: what they do belongs to what is allowed, and why they ask to the reasons.
fn with_hooks(mut lines: Vec<Line>, hooks: &DecidedPart, own: &[Line]) -> Vec<Line> {
    let told = hooks::lines(hooks.prepared(), own, &lines);
    let after_grants = lines.iter().rposition(|line| line.kind == LineKind::May);
    let at = after_grants.map_or(lines.len(), |at| at + 1);
    lines.splice(at..at, told);
    if hooks.question().is_some() {
        let is_new = |line: &&Line| {
            line.kind == LineKind::Asks && !lines.iter().any(|known| known.text == line.text)
        };
        let more: Vec<Line> = own.iter().filter(is_new).cloned().collect();
        lines.extend(more);
    }
    lines
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
