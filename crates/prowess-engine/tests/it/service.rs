//! Many owners share the execution service, with real tools in real sandboxes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Envelope, Event, RunOutcome, StandardStream};
use prowess_engine::ApprovalReply;
use prowess_engine::service::{
    EventLimits, EventReceiver, ExecutionService, Owner, QueueLimits, RunHandle, RunState,
    ServiceLimits, Shutdown, StreamLimits,
};

use crate::world::{Scene, Scripted};

fn service(running: usize, events: EventLimits) -> ExecutionService {
    ExecutionService::new(ServiceLimits {
        queue: QueueLimits { running, running_per_owner: 1, queued: 100, queued_per_owner: 100 },
        streams: StreamLimits { running: 10, running_per_owner: 10 },
        events,
    })
}

/// Queues a tool of a scene.
fn submit(
    service: &ExecutionService,
    owner: &str,
    scene: &Arc<Scene>,
    tool: &'static str,
    text: Option<String>,
) -> RunHandle {
    let scene = Arc::clone(scene);
    let handle = service.submit(&Owner::new(owner), move |context, sink| {
        let mut nobody = Scripted::new(ApprovalReply::Nobody);
        let ended = scene.run_to(tool, text.as_deref(), &mut nobody, context.cancel(), sink);
        ended.unwrap_or_else(|error| error.envelope())
    });
    handle.expect("there is room")
}

/// Everything that a tool printed, and how it ended.
async fn read(mut events: EventReceiver) -> (String, Option<Envelope>) {
    let (mut text, mut next) = (Vec::new(), 0);
    let mut end = None;
    while let Some(frame) = events.recv().await {
        assert_eq!((frame.run, frame.sequence), (events.run(), next));
        next += 1;
        assert!(end.is_none(), "nothing follows the end");
        match frame.event {
            Event::Output { stream: StandardStream::Stdout, bytes } => text.extend(bytes),
            Event::Done(envelope) => end = Some(*envelope),
            _ => {}
        }
    }
    (String::from_utf8(text).expect("it is text"), end)
}

fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("there are threads");
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.starts_with("prowess-run"))
        .count()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts")
}

#[test]
fn runs_of_many_owners_share_a_few_threads_and_lose_nothing() {
    let scene = Arc::new(Scene::new("", &[("say", "echo {{text}}")]));
    let service = service(2, EventLimits::USUAL);
    runtime().block_on(async {
        let mut runs = HashMap::new();
        for number in 0..12 {
            let owner = format!("owner-{}", number % 3);
            let mut handle = submit(&service, &owner, &scene, "say", Some(format!("run {number}")));
            let events = handle.take_events().expect("they are there once");
            runs.insert(handle.id(), (number, handle, events));
        }
        assert_eq!(runs.len(), 12, "every run has an id of its own");
        for (number, handle, events) in runs.into_values() {
            let (text, end) = read(events).await;
            assert_eq!(text, format!("run {number}\n"));
            assert!(threads() <= 2);
            assert_eq!(end, Some(handle.join().await));
        }
        assert!(service.shutdown(Shutdown::Drain, Duration::from_secs(10)).await);
    });
}

#[test]
fn a_run_is_cancelled_by_its_id_and_the_next_one_starts() {
    let scene = Arc::new(Scene::new("", &[("hang", "sleep 48615"), ("say", "echo {{text}}")]));
    let service = service(1, EventLimits::USUAL);
    runtime().block_on(async {
        let mut hangs = submit(&service, "a", &scene, "hang", None);
        let mut events = hangs.take_events().expect("they are there once");
        let waits = submit(&service, "a", &scene, "hang", None);
        let says = submit(&service, "b", &scene, "say", Some("hi".to_owned()));
        // One that waits, and one that has started.
        assert!(matches!(waits.state(), RunState::Queued { .. }));
        assert!(service.cancel(waits.id()));
        assert_eq!(waits.join().await.outcome, RunOutcome::Cancelled);
        while !matches!(events.recv().await.map(|it| it.event), Some(Event::Started { .. })) {}
        assert!(service.cancel(hangs.id()));
        assert_eq!(hangs.join().await.outcome, RunOutcome::Cancelled);
        assert_eq!(says.join().await.output, "hi\n");
    });
}

#[test]
fn a_tool_waits_for_a_slow_reader_and_all_of_its_output_arrives() {
    let scene = Arc::new(Scene::new("", &[("count", "seq 1 60000")]));
    let events = EventLimits {
        merged_bytes: 4 << 10,
        unread_bytes: 16 << 10,
        most_bytes: 256 << 10,
        patience: Duration::from_mins(1),
    };
    let mut handle = submit(&service(1, events), "a", &scene, "count", None);
    let mut events = handle.take_events().expect("they are there once");
    let mut text = Vec::new();
    while let Some(frame) = events.recv_blocking() {
        if let Event::Output { bytes, .. } = frame.event {
            assert!(bytes.len() <= 64 << 10);
            text.extend(bytes);
            // The reader is the slower one.
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    assert!(handle.join_blocking().is_success());
    let lines: Vec<String> = (1..=60_000).map(|number| number.to_string()).collect();
    let expected = lines.join("\n") + "\n";
    assert!(text == expected.as_bytes(), "{} of {} bytes", text.len(), expected.len());
}

#[test]
fn a_tool_whose_output_nobody_reads_is_ended() {
    let noise = "#!/bin/sh\nwhile :; do echo noise noise noise noise noise; done\n";
    let scene = Scene::new("", &[("noise", "./noise.sh")]).script("skill/noise.sh", noise);
    let events = EventLimits {
        merged_bytes: 4 << 10,
        unread_bytes: 64 << 10,
        most_bytes: 512 << 10,
        patience: Duration::from_millis(300),
    };
    let service = service(1, events);
    let mut handle = submit(&service, "a", &Arc::new(scene), "noise", None);
    let events = handle.take_events().expect("they are there once");
    let envelope = handle.join_blocking();
    assert_eq!(envelope.outcome, RunOutcome::Cancelled);
    let why = "the run was cancelled because nobody read its events for 300ms";
    assert_eq!(envelope.error.as_deref(), Some(why));
    let (text, end) = runtime().block_on(read(events));
    // What came before is there, and then the reason.
    assert!(text.len() >= 32 << 10, "{} bytes", text.len());
    assert_eq!(end, Some(envelope));
}

#[test]
fn a_shutdown_ends_tools_that_hang() {
    let scene = Arc::new(Scene::new("", &[("hang", "sleep 48616")]));
    let service = service(2, EventLimits::USUAL);
    let handles: Vec<_> =
        (0..4).map(|number| submit(&service, &number.to_string(), &scene, "hang", None)).collect();
    assert!(service.shutdown_blocking(Shutdown::Cancel, Duration::from_secs(20)));
    for handle in handles {
        assert_eq!(handle.join_blocking().outcome, RunOutcome::Cancelled);
    }
    assert!(service.submit(&Owner::new("late"), |_, _| unreachable!("it is closed")).is_err());
}
