use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use prowess_core::{AnswerDetails, Envelope, Event, ProblemKind, RunOutcome};

use super::{
    EventLimits, ExecutionService, Owner, QueueLimits, RunHandle, RunState, ServiceLimits,
    Shutdown, StreamLimits,
};

fn limits() -> ServiceLimits {
    ServiceLimits {
        queue: QueueLimits { running: 1, running_per_owner: 1, queued: 10, queued_per_owner: 10 },
        streams: StreamLimits { running: 3, running_per_owner: 2 },
        events: EventLimits { patience: Duration::from_millis(50), ..EventLimits::USUAL },
    }
}

fn service() -> ExecutionService {
    ExecutionService::new(limits())
}

fn owner(name: &str) -> Owner {
    Owner::new(name)
}

fn success() -> Envelope {
    Envelope::answered(AnswerDetails::default())
}

fn token(text: &str) -> Event {
    Event::Token { content: text.to_owned() }
}

/// A run that reports its start and ends when it is allowed to.
fn blocked(service: &ExecutionService, name: &str) -> (RunHandle, mpsc::Sender<()>) {
    let (go, wait) = mpsc::channel();
    let (started, starts) = mpsc::channel();
    let handle = service
        .submit(&owner(name), move |_, _| {
            let _ = started.send(());
            let _ = wait.recv();
            success()
        })
        .expect("there is room");
    if service.load().queued == 0 {
        starts.recv().expect("it starts");
    }
    (handle, go)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts")
}

#[test]
fn the_service_and_its_handles_can_be_sent_anywhere() {
    fn sendable<T: Send + Sync + 'static>() {}
    fn future<T: Send>(_: &T) {}
    sendable::<ExecutionService>();
    sendable::<RunHandle>();
    sendable::<super::EventReceiver>();
    let service = service();
    future(&service.shutdown(Shutdown::Drain, Duration::ZERO));
    let handle = service.submit(&owner("a"), |_, _| success()).expect("there is room");
    future(&handle.position_changed(None));
    future(&handle.join());
}

#[test]
fn a_run_has_events_and_an_envelope() {
    let mut handle = service()
        .submit(&owner("a"), |_, sink| {
            sink(&token("hi"));
            success()
        })
        .expect("there is room");
    let mut events = handle.take_events().expect("they are there once");
    assert!(handle.take_events().is_none());
    let first = events.recv_blocking().expect("it says something");
    assert_eq!((first.run, first.sequence, first.event), (handle.id(), 0, token("hi")));
    // The final event is there although the work has not sent it.
    assert!(matches!(events.recv_blocking().map(|it| it.event), Some(Event::Done(_))));
    assert!(events.recv_blocking().is_none());
    assert_eq!(handle.join_blocking(), success());
}

#[test]
fn a_queued_run_knows_its_position_and_hears_of_changes() {
    let service = service();
    let (first, go) = blocked(&service, "a");
    let second = service.submit(&owner("a"), |_, _| success()).expect("there is room");
    let third = service.submit(&owner("a"), |_, _| success()).expect("there is room");
    assert_eq!(first.state(), RunState::Running);
    assert_eq!(second.state(), RunState::Queued { position: 0 });
    assert_eq!(third.position(), Some(1));
    runtime().block_on(async {
        let changed = third.position_changed(Some(1));
        second.cancel();
        assert_eq!(changed.await, Some(0));
        go.send(()).expect("it waits");
        assert_eq!(third.position_changed(Some(0)).await, None);
        assert_eq!(third.join().await, success());
        assert_eq!(second.join().await.outcome, RunOutcome::Cancelled);
    });
}

#[test]
fn a_run_that_waits_can_be_cancelled_and_never_starts() {
    let service = service();
    let (_first, _go) = blocked(&service, "a");
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let mut second = service
        .submit(&owner("b"), move |_, _| {
            count.fetch_add(1, Ordering::SeqCst);
            success()
        })
        .expect("there is room");
    assert!(service.cancel(second.id()));
    let mut events = second.take_events().expect("they are there once");
    let told: Vec<Event> =
        std::iter::from_fn(|| events.recv_blocking()).map(|frame| frame.event).collect();
    assert!(matches!(&told[..], [Event::Error { .. }, Event::Done(_)]), "{told:?}");
    assert_eq!(second.state(), RunState::Ended);
    let id = second.id();
    assert_eq!(second.join_blocking().outcome, RunOutcome::Cancelled);
    assert!(!service.cancel(id), "it has ended");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[test]
fn dropping_a_handle_cancels_and_detaching_does_not() {
    let service = service();
    let (ended, ends) = mpsc::channel();
    let run = |name: &'static str| {
        let ended = ended.clone();
        let handle = service.submit(&owner("a"), move |context, _| {
            while name == "dropped" && !context.cancel().is_cancelled() {
                std::thread::yield_now();
            }
            let _ = ended.send(name);
            success()
        });
        handle.expect("there is room")
    };
    drop(run("dropped"));
    run("detached").detach();
    drop(ended);
    // The first may have been cancelled before it started.
    assert_eq!(ends.iter().last(), Some("detached"));
}

#[test]
fn a_run_that_panics_ends_with_an_envelope() {
    let service = service();
    let handle = service.submit(&owner("a"), |_, _| panic!("on purpose")).expect("there is room");
    let envelope = handle.join_blocking();
    assert_eq!(envelope.error.as_deref(), Some("the run panicked (internal error)"));
    let handle = service.submit(&owner("a"), |_, _| success()).expect("there is room");
    assert!(handle.join_blocking().is_success());
}

#[test]
fn a_reader_that_does_not_read_ends_the_run_and_is_told() {
    let mut handle = service()
        .submit(&owner("a"), |context, sink| {
            while !context.cancel().is_cancelled() {
                sink(&Event::Warning { message: "x".repeat(1000) });
            }
            super::cancelled(context.cancel())
        })
        .expect("there is room");
    let mut events = handle.take_events().expect("they are there once");
    let envelope = handle.join_blocking();
    let error = envelope.error.clone().expect("it was cancelled");
    assert_eq!(error, "the run was cancelled because nobody read its events for 50ms");
    let mut last = None;
    while let Some(frame) = events.recv_blocking() {
        last = Some(frame.event);
    }
    assert_eq!(last, Some(Event::Done(Box::new(envelope))));
}

#[test]
fn streams_are_tasks_and_bounded() {
    runtime().block_on(async {
        let service = service();
        let (go, _) = tokio::sync::broadcast::channel::<()>(1);
        let start = |name: &str| {
            let mut wait = go.subscribe();
            service.spawn(&owner(name), |_, mut sink| async move {
                sink.send(&token("hi"));
                let _ = wait.recv().await;
                success()
            })
        };
        let mut runs = vec![start("a").expect("room"), start("a").expect("room")];
        let problem = start("a").expect_err("two are there");
        assert!(matches!(problem.kind, ProblemKind::RateLimited { .. }));
        runs.push(start("b").expect("room"));
        let problem = start("c").expect_err("three are there");
        assert_eq!(problem.kind, ProblemKind::Unavailable);
        go.send(()).expect("they wait");
        for run in runs {
            assert!(run.join().await.is_success());
        }
        start("c").expect("places are free again");
    });
}

#[test]
fn a_stream_is_not_polled_while_its_reader_is_behind() {
    runtime().block_on(async {
        let limits = ServiceLimits {
            events: EventLimits {
                unread_bytes: 1000,
                patience: Duration::from_mins(10),
                ..EventLimits::USUAL
            },
            ..limits()
        };
        let polls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&polls);
        let mut handle = ExecutionService::new(limits)
            .spawn(&owner("a"), |_, mut sink| async move {
                for _ in 0..100 {
                    sink.send(&Event::Warning { message: "x".repeat(400) });
                    count.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
                success()
            })
            .expect("there is room");
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        assert_eq!(polls.load(Ordering::SeqCst), 2);
        let mut events = handle.take_events().expect("they are there once");
        let mut warnings = 0;
        while let Some(frame) = events.recv().await {
            warnings += usize::from(matches!(frame.event, Event::Warning { .. }));
        }
        assert_eq!(warnings, 100);
        assert!(handle.join().await.is_success());
    });
}

#[test]
fn a_stream_without_a_reader_is_given_up() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
    runtime.block_on(async {
        let mut handle = service()
            .spawn(&owner("a"), |context, mut sink| async move {
                while !context.cancel().is_cancelled() {
                    sink.send(&Event::Warning { message: "x".repeat(100_000) });
                    tokio::task::yield_now().await;
                }
                super::cancelled(context.cancel())
            })
            .expect("there is room");
        let _events = handle.take_events();
        let error = handle.join().await.error.expect("it was cancelled");
        assert_eq!(error, "the run was cancelled because nobody read its events for 50ms");
    });
}

#[test]
fn a_stream_whose_runtime_goes_away_still_ends() {
    let service = service();
    let runtime = runtime();
    let handle = runtime.block_on(async {
        service.spawn(&owner("a"), |_, _| std::future::pending()).expect("there is room")
    });
    drop(runtime);
    assert_eq!(handle.join_blocking().outcome, RunOutcome::Cancelled);
    assert_eq!(service.active(), 0);
}

#[test]
fn draining_lets_everything_end_and_takes_nothing_new() {
    let service = service();
    let (first, go) = blocked(&service, "a");
    let second = service.submit(&owner("a"), |_, _| success()).expect("there is room");
    let closing = {
        let service = service.clone();
        std::thread::spawn(move || {
            service.shutdown_blocking(Shutdown::Drain, Duration::from_mins(1))
        })
    };
    let problem = loop {
        // It may not have started to close.
        match service.submit(&owner("b"), |_, _| success()) {
            Ok(handle) => drop(handle),
            Err(problem) => break problem,
        }
    };
    assert_eq!((problem.code, problem.kind), ("shutting-down", ProblemKind::Unavailable));
    go.send(()).expect("it waits");
    assert!(closing.join().expect("it ends"));
    assert!(first.join_blocking().is_success() && second.join_blocking().is_success());
}

#[test]
fn a_deadline_cancels_what_has_not_ended() {
    runtime().block_on(async {
        let service = service();
        let running = service
            .submit(&owner("a"), |context, _| {
                while !context.cancel().is_cancelled() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                super::cancelled(context.cancel())
            })
            .expect("there is room");
        let queued = service.submit(&owner("a"), |_, _| success()).expect("there is room");
        assert!(service.shutdown(Shutdown::Drain, Duration::from_millis(20)).await);
        assert_eq!(running.join().await.outcome, RunOutcome::Cancelled);
        assert_eq!(queued.join().await.outcome, RunOutcome::Cancelled);
    });
}
