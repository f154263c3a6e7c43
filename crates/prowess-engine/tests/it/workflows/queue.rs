//! Workflows in an execution service: their tools wait in the queue like all other runs.

use std::sync::mpsc;
use std::time::Duration;

use prowess_core::{AnswerDetails, Envelope, Event, RunOutcome, WorkflowEvent};
use prowess_engine::service::{
    EventLimits, ExecutionService, Owner, QueueLimits, RunHandle, RunState, ServiceLimits,
    Shutdown, StreamLimits,
};
use prowess_engine::{BlockingApprover, Consent, NoApprover, workflow};
use serde_json::{Value, json};

use super::scene::{Parrot, Scene, graph};

const TOOLS: &str = "---\nname: tools\nversion: 1.0.0\ndescription: Says something\npermissions:\n  - shell:execute:echo\n  - shell:execute:sleep\n---\n\n### say\n\nSays it.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | yes | Some text |\n\n#### Command\n\n```bash\necho {{text}}\n```\n\n### hang\n\nHangs.\n\n#### Command\n\n```bash\nsleep 48617\n```\n";

/// A test that waits longer than this waits in vain. No test passes because of it.
const IN_VAIN: Duration = Duration::from_mins(1);

fn service(queued_per_owner: usize) -> ExecutionService {
    ExecutionService::new(ServiceLimits {
        queue: QueueLimits { running: 1, running_per_owner: 1, queued: 100, queued_per_owner },
        streams: StreamLimits { running: 10, running_per_owner: 10 },
        events: EventLimits::USUAL,
    })
}

fn scene() -> Scene {
    let mut scene = Scene::new().skill("tools", TOOLS);
    scene.consent = Consent::InAdvance;
    scene
}

/// A workflow whose tools run side by side.
fn wide(tools: &[&str]) -> Value {
    let names: Vec<String> = (0..tools.len()).map(|number| format!("n{number}")).collect();
    let nodes: Vec<String> = names.iter().map(|name| format!("{name}:skill")).collect();
    let edges: Vec<String> = names.iter().map(|name| format!("start>{name} {name}>end")).collect();
    let data = names.iter().zip(tools).map(|(name, tool)| {
        let mappings =
            if *tool == "say" { json!({ "text": format!("this is {name}") }) } else { json!({}) };
        let data = json!({ "skillName": format!("tools/{tool}"), "inputMappings": mappings });
        (name.clone(), data)
    });
    let data = Value::Object(data.collect());
    graph(&format!("start:start {} end:end", nodes.join(" ")), &edges.join(" "), &data)
}

fn spawn(service: &ExecutionService, owner: &str, scene: &Scene, flow: &Value) -> RunHandle {
    let open = scene.create(flow, &json!({ "input": "x" }));
    let (workflow, _) = workflow::read(&open.record.text);
    let context = scene.context(&Parrot::echo());
    let approver = Box::new(BlockingApprover(NoApprover));
    let workflow = workflow.expect("it was read");
    let handle = service.spawn_workflow(&Owner::new(owner), workflow, open, context, approver);
    handle.expect("there is room")
}

/// Holds the only thread until it is told to end.
fn gate(service: &ExecutionService) -> (RunHandle, mpsc::Sender<()>) {
    let (go, wait) = mpsc::channel();
    let handle = service.submit(&Owner::new("gate"), move |_, _| {
        let _ = wait.recv();
        Envelope::answered(AnswerDetails::default())
    });
    (handle.expect("there is room"), go)
}

async fn until_queued(service: &ExecutionService, count: usize) {
    let wait = async {
        while service.load().queued != count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(IN_VAIN, wait).await.expect("they get into the queue");
}

async fn join(handle: RunHandle) -> Envelope {
    tokio::time::timeout(IN_VAIN, handle.join()).await.expect("the run ends")
}

fn block_on(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("it starts").block_on(work);
}

#[test]
fn one_thread_is_enough_for_a_workflow_with_parallel_tools() {
    block_on(async {
        let (scene, service) = (scene(), service(100));
        let mut flow = wide(&["say", "say"]);
        let code = json!({ "id": "c", "type": "code", "data": { "code": "print('code')" } });
        flow["nodes"].as_array_mut().expect("a list").push(code);
        let edges = flow["edges"].as_array_mut().expect("a list");
        edges.push(json!({ "source": "start", "target": "c" }));
        edges.push(json!({ "source": "c", "target": "end" }));
        let mut handle = spawn(&service, "a", &scene, &flow);
        assert_eq!(handle.state(), RunState::Running);
        let mut events = handle.take_events().expect("they are there once");
        let mut most_running = 0;
        let mut last = None;
        while let Some(frame) = events.recv().await {
            assert_eq!(frame.run, handle.id());
            most_running = most_running.max(service.load().running);
            last = Some(frame.event);
        }
        assert_eq!(most_running, 1);
        assert!(matches!(last, Some(Event::Workflow(WorkflowEvent::Complete { .. }))), "{last:?}");
        let envelope = join(handle).await;
        assert!(envelope.is_success(), "{:?}", envelope.error);
        let expected = json!({ "n0": "this is n0", "n1": "this is n1", "c": "code" });
        assert_eq!(envelope.parsed, Some(expected));
    });
}

#[test]
fn a_wide_workflow_holds_another_owner_up_for_one_run() {
    block_on(async {
        let (scene, service) = (scene(), service(100));
        let (gate, go) = gate(&service);
        let eight = spawn(&service, "wide", &scene, &wide(&["say"; 8]));
        until_queued(&service, 8).await;
        let one = spawn(&service, "narrow", &scene, &wide(&["say"]));
        until_queued(&service, 9).await;
        let other = service
            .submit(&Owner::new("other"), |_, _| Envelope::answered(AnswerDetails::default()))
            .expect("there is room");
        // One node of each workflow comes first, and not all nine.
        assert_eq!(other.position(), Some(2));
        go.send(()).expect("it waits");
        for handle in [gate, other, one, eight] {
            let envelope = join(handle).await;
            assert!(envelope.is_success(), "{:?}", envelope.error);
        }
    });
}

#[test]
fn cancelling_a_workflow_cancels_its_tools_in_the_queue_and_on_the_thread() {
    block_on(async {
        let (scene, service) = (scene(), service(100));
        let (gate, go) = gate(&service);
        let waiting = spawn(&service, "a", &scene, &wide(&["hang"; 4]));
        until_queued(&service, 4).await;
        waiting.cancel();
        assert_eq!(join(waiting).await.outcome, RunOutcome::Cancelled);
        assert_eq!((service.load().queued, service.active()), (0, 1));
        go.send(()).expect("it waits");
        assert!(join(gate).await.is_success());

        let mut running = spawn(&service, "a", &scene, &wide(&["hang"; 4]));
        let mut events = running.take_events().expect("they are there once");
        let is_started = |event: &Event| match event {
            Event::Workflow(WorkflowEvent::Inside { event, .. }) => {
                matches!(**event, Event::Started { .. })
            }
            _ => false,
        };
        while !is_started(&events.recv().await.expect("a tool starts").event) {}
        assert!(service.cancel(running.id()));
        assert_eq!(join(running).await.outcome, RunOutcome::Cancelled);
        assert!(service.shutdown(Shutdown::Drain, IN_VAIN).await);
        assert_eq!(service.load().queued, 0);
    });
}

#[test]
fn a_full_queue_makes_tools_of_a_workflow_wait() {
    block_on(async {
        let (scene, service) = (scene(), service(1));
        let envelope = join(spawn(&service, "a", &scene, &wide(&["say"; 6]))).await;
        assert!(envelope.is_success(), "{:?}", envelope.error);
    });
}

#[test]
fn a_service_that_drains_lets_workflows_start_their_next_nodes() {
    block_on(async {
        let (scene, service) = (scene(), service(100));
        let flow = graph(
            "start:start a:skill b:skill end:end",
            "start>a a>b b>end",
            &json!({
                "a": { "skillName": "tools/say", "inputMappings": { "text": "one" } },
                "b": { "skillName": "tools/say", "inputMappings": { "text": "{{a.output}} two" } },
            }),
        );
        let handle = spawn(&service, "a", &scene, &flow);
        assert!(service.shutdown(Shutdown::Drain, IN_VAIN).await);
        let envelope = join(handle).await;
        assert_eq!(envelope.output, "one two", "{:?}", envelope.error);
    });
}
