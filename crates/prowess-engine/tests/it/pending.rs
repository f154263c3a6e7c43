//! Runs that wait for an answer, and that everything public can be sent to another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prowess_core::{Event, ProblemKind, RunId, RunOutcome};
use prowess_engine::service::{ExecutionService, Owner, ServiceLimits};
use prowess_engine::workflow::{OpenRun, Workflow, WorkflowContext};
use prowess_engine::{
    ApprovalReply, AsyncApprover, Call, Clock, Consent, Engine, LoadedSkill, PendingLimits,
    PendingRun, PendingRuns, PreparedCall, PromptCall, PromptContext, ReadyRun, RunDecision,
    RunError, ToolHandle, prepare, run_prompt,
};
use prowess_policy::{Mode, Remember, Trust};

use crate::world::Scene;

/// A clock that a test moves.
#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

const LIMITS: PendingLimits =
    PendingLimits { total: 3, per_owner: 2, lifetime: Duration::from_mins(10) };

struct Desk {
    scene: Scene,
    engine: Engine,
    clock: Arc<Hand>,
    pending: PendingRuns,
}

impl Desk {
    fn new() -> Self {
        let scene = Scene::new("", &[("say", "./scripts/say.sh")])
            .script("skill/scripts/say.sh", "#!/bin/sh\necho hello\n");
        let clock = Arc::new(Hand::default());
        let engine = Engine { clock: clock.clone(), ..Engine::new(Arc::new(scene.world())) };
        let pending = PendingRuns::new(LIMITS, clock.clone());
        Self { scene, engine, clock, pending }
    }

    fn decide(&self) -> RunDecision {
        let skill = self.scene.skill();
        let tool = skill.tool("say").expect("the skill has the tool").clone();
        let trust = Trust::of(&skill, self.scene.attested, None, self.scene.origin);
        let skill = self.scene.loaded(trust);
        let call = Call { skill, tool, values: serde_json::Map::new(), mode: Mode::Global };
        let prepared = prepare(call, &self.engine.world).expect("it can be prepared");
        prepared.decide(&self.engine, Consent::None).expect("the approvals can be read")
    }

    fn question(&self) -> PendingRun {
        match self.decide() {
            RunDecision::Ask(pending) => *pending,
            other => panic!("nobody was asked: {other:?}"),
        }
    }

    fn keep(&self, owner: &str) -> RunId {
        self.pending.keep(owner, self.question()).expect("there is room").id
    }
}

#[test]
fn a_question_is_kept_shown_and_answered_on_another_thread() {
    let desk = Desk::new();
    let id = desk.keep("ann");
    let [request] = desk.pending.requests("ann").try_into().expect("one question");
    assert_eq!((request.id, request.name().as_str()), (id, "probe/say"));
    assert_eq!(request.command, ["./scripts/say.sh"]);
    assert_eq!(request.expires_at, Some(600));
    assert!(!request.lines.is_empty() && !request.reasons.is_empty(), "{request:?}");
    let pending = desk.pending.take("ann", id).expect("it waits");
    let envelope = std::thread::spawn(move || {
        let ready = pending.answer(ApprovalReply::Yes(Remember::Tool)).expect("it is approved");
        ready.run(&prowess_engine::CancellationToken::default(), &mut |_| ())
    });
    assert_eq!(envelope.join().expect("it ends").output, "hello\n");
    // The answer was remembered.
    assert!(matches!(desk.decide(), RunDecision::Ready(_)));
    assert_eq!(desk.engine.approvals.load().expect("the file").records().len(), 1);
}

#[test]
fn a_run_is_taken_once_and_by_its_owner_only() {
    let desk = Desk::new();
    let id = desk.keep("ann");
    let stranger = desk.pending.take("bob", id).expect_err("it is not his");
    assert_eq!((stranger.code, stranger.kind), ("run-not-pending", ProblemKind::NotFound));
    assert_eq!(desk.pending.requests("bob"), []);
    let taken = desk.pending.take("ann", id).expect("it is hers");
    assert_eq!(desk.pending.take("ann", id).expect_err("it was taken"), stranger);
    let declined = taken.answer(ApprovalReply::No).expect_err("she says no");
    assert!(matches!(declined, RunError::Declined(_)), "{declined}");
    assert_ne!(desk.keep("ann"), id);
}

#[test]
fn questions_expire() {
    let desk = Desk::new();
    let (early, late) = (desk.keep("ann"), desk.keep("ann"));
    desk.clock.0.store(599, Ordering::SeqCst);
    let taken = desk.pending.take("ann", early).expect("it still waits");
    desk.clock.0.store(600, Ordering::SeqCst);
    let expired = taken.answer(ApprovalReply::Yes(Remember::Tool)).expect_err("too late");
    assert!(matches!(expired, RunError::Expired(_)), "{expired}");
    assert!(desk.pending.take("ann", late).is_err());
    assert_eq!(desk.pending.count(), 0);
    assert_eq!(desk.engine.approvals.load().expect("the file").records(), []);
}

#[test]
fn there_is_a_bound_for_each_owner_and_for_all() {
    let desk = Desk::new();
    desk.keep("ann");
    let dropped = desk.keep("ann");
    let full = desk.pending.keep("ann", desk.question()).expect_err("she has two");
    assert_eq!(full.code, "too-many-pending-runs");
    desk.keep("bob");
    assert!(desk.pending.keep("bob", desk.question()).is_err(), "three in all");
    drop(desk.pending.take("ann", dropped));
    desk.keep("bob");
}

#[test]
fn files_are_compared_when_the_run_starts_however_long_the_question_waited() {
    // Attack G07.
    let desk = Desk::new();
    let id = desk.keep("ann");
    desk.scene.write("skill/scripts/say.sh", "#!/bin/sh\necho evil\n");
    let pending = desk.pending.take("ann", id).expect("it waits");
    let ready = pending.answer(ApprovalReply::Yes(Remember::Tool)).expect("it is approved");
    let envelope = ready.run(&prowess_engine::CancellationToken::default(), &mut |_| ());
    assert_eq!((envelope.outcome, envelope.output.as_str()), (RunOutcome::Refused, ""));
    // What was approved is what was shown, so the new files are asked about again.
    assert!(matches!(desk.decide(), RunDecision::Ask(_)));
}

#[test]
fn an_approval_for_one_question_answers_the_next() {
    let desk = Desk::new();
    let (first, second) = (desk.question(), desk.question());
    let kept = second.id();
    let RunDecision::Ask(second) = second.reconsider(Consent::None).expect("the approvals") else {
        panic!("nothing was approved yet");
    };
    assert_eq!(second.id(), kept);
    first.answer(ApprovalReply::Yes(Remember::Tool)).expect("it is approved");
    let decided = second.reconsider(Consent::None).expect("the approvals");
    assert!(matches!(decided, RunDecision::Ready(_)), "{decided:?}");
}

#[test]
fn a_ready_run_in_the_service_has_events_and_a_result() {
    let desk = Desk::new();
    let ready = desk.question().answer(ApprovalReply::Yes(Remember::Once)).expect("it is approved");
    let service = ExecutionService::new(ServiceLimits::of_this_machine());
    let mut handle = service.submit_run(&Owner::new("ann"), ready).expect("there is room");
    let mut events = handle.take_events().expect("nobody took them");
    let mut last = None;
    while let Some(frame) = events.recv_blocking() {
        last = Some(frame.event);
    }
    assert!(matches!(last, Some(Event::Done(_))), "{last:?}");
    assert_eq!(handle.join_blocking().output, "hello\n");
}

#[test]
fn a_skill_is_trusted_for_the_files_that_it_was_read_from() {
    let desk = Desk::new();
    let skill = desk.scene.skill();
    let tool = skill.tool("say").expect("the skill has the tool").clone();
    let trust = Trust::of(&skill, desk.scene.attested, None, desk.scene.origin);
    let loaded = desk.scene.loaded(trust);
    let digest = prowess_engine::digest_of_skill(loaded.place()).expect("its files");
    let skill = Arc::new(LoadedSkill { digest: Some(digest), ..Arc::unwrap_or_clone(loaded) });
    let call = Call { skill, tool, values: serde_json::Map::new(), mode: Mode::Global };
    assert!(prepare(call.clone(), &desk.engine.world).is_ok());
    desk.scene.write("skill/scripts/say.sh", "#!/bin/sh\necho evil\n");
    let error = prepare(call, &desk.engine.world).expect_err("these are other files");
    assert!(matches!(error, RunError::Changed(_)), "{error}");
}

fn assert_send<T: Send + 'static>() {}
fn assert_shared<T: Send + Sync + 'static>() {}
fn assert_future<F: Future + Send>(_: F) {}

#[test]
fn everything_public_can_be_sent() {
    assert_send::<Call>();
    assert_send::<PreparedCall>();
    assert_send::<PendingRun>();
    assert_send::<ReadyRun>();
    assert_send::<RunDecision>();
    assert_send::<OpenRun>();
    assert_shared::<LoadedSkill>();
    assert_shared::<Engine>();
    assert_shared::<PendingRuns>();
    assert_shared::<ToolHandle>();
    assert_shared::<Workflow>();
    assert_shared::<WorkflowContext>();
    assert_shared::<Arc<dyn Clock>>();
    assert_shared::<Arc<dyn prowess_engine::ApprovalStore>>();
    assert_shared::<Arc<dyn prowess_engine::workflow::RunStore>>();
    assert_shared::<Arc<dyn prowess_engine::SkillResolver>>();
}

/// Never called: it is enough that it compiles.
#[expect(dead_code, reason = "checked by the compiler")]
fn every_public_future_can_be_sent(
    workflow: &Workflow,
    open: &mut OpenRun,
    context: &WorkflowContext,
    approver: &mut dyn AsyncApprover,
    call: &PromptCall<'_>,
    around: &PromptContext<'_>,
    sink: &mut (dyn FnMut(&Event) + Send),
) {
    assert_future(prowess_engine::workflow::run(workflow, open, context, approver, sink));
    assert_future(run_prompt(call, around, sink));
}
