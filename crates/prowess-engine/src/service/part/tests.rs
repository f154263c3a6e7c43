use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess_core::{AnswerDetails, Envelope, ProblemKind};

use super::super::{
    EventLimits, ExecutionService, Owner, QueueLimits, RunHandle, ServiceLimits, Shutdown,
    StreamLimits,
};
use crate::run::CancellationToken;

fn service(queued: usize) -> ExecutionService {
    ExecutionService::new(ServiceLimits {
        queue: QueueLimits { running: 1, running_per_owner: 1, queued, queued_per_owner: queued },
        streams: StreamLimits { running: 10, running_per_owner: 10 },
        events: EventLimits::USUAL,
    })
}

/// Occupies the only thread until it is told to end.
fn gate(service: &ExecutionService) -> (RunHandle, mpsc::Sender<()>) {
    let (go, wait) = mpsc::channel();
    let handle = service.submit(&Owner::new("gate"), move |_, _| {
        let _ = wait.recv();
        Envelope::answered(AnswerDetails::default())
    });
    (handle.expect("there is room"), go)
}

fn block_on(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("it starts").block_on(work);
}

async fn until_queued(service: &ExecutionService, count: usize) {
    while service.load().queued != count {
        tokio::task::yield_now().await;
    }
}

/// Queues a job that records its owner's name.
async fn say(
    service: &ExecutionService,
    name: &'static str,
    order: &Arc<Mutex<String>>,
    cancel: &CancellationToken,
) -> Result<(), prowess_core::Problem> {
    let order = Arc::clone(order);
    let work = move || order.lock().expect("nobody panics").push_str(name);
    service.run_part(&Owner::new(name), cancel, work).await
}

#[test]
fn owners_take_turns_with_the_parts_of_their_runs() {
    block_on(async {
        let service = service(100);
        let (gate, go) = gate(&service);
        let order = Arc::new(Mutex::new(String::new()));
        let mut parts = tokio::task::JoinSet::new();
        for (number, name) in ["a", "a", "a", "a", "b", "b"].into_iter().enumerate() {
            let (its_service, order) = (service.clone(), Arc::clone(&order));
            let cancel = CancellationToken::default();
            parts.spawn(async move { say(&its_service, name, &order, &cancel).await });
            until_queued(&service, number + 1).await;
        }
        go.send(()).expect("it waits");
        while let Some(part) = parts.join_next().await {
            part.expect("no panic").expect("it ran");
        }
        assert!(gate.join().await.is_success());
        assert_eq!(*order.lock().expect("nobody panics"), "ababaa");
    });
}

#[test]
fn a_part_that_is_cancelled_or_dropped_while_it_waits_never_runs() {
    block_on(async {
        let service = service(1);
        let (gate, go) = gate(&service);
        let order = Arc::new(Mutex::new(String::new()));
        let (first, second) = (CancellationToken::default(), CancellationToken::default());
        let both = async {
            // The second one does not fit into the queue.
            tokio::join!(
                say(&service, "a", &order, &first),
                say(&service, "a", &order, &second),
                async {
                    until_queued(&service, 1).await;
                    second.cancel();
                    first.cancel();
                }
            )
        };
        let (first, second, ()) = both.await;
        for ended in [first, second] {
            assert_eq!(ended.expect_err("it was cancelled").kind, ProblemKind::Cancelled);
        }
        let never = CancellationToken::default();
        let dropped = say(&service, "a", &order, &never);
        assert!(tokio::time::timeout(Duration::from_millis(5), dropped).await.is_err());
        assert_eq!(service.load().queued, 0);
        go.send(()).expect("it waits");
        assert!(gate.join().await.is_success());
        assert_eq!(*order.lock().expect("nobody panics"), "");
    });
}

#[test]
fn a_part_waits_for_room_and_runs_also_when_the_service_takes_no_new_runs() {
    block_on(async {
        let service = service(1);
        let (gate, go) = gate(&service);
        let order = Arc::new(Mutex::new(String::new()));
        let never = CancellationToken::default();
        let draining = async {
            until_queued(&service, 1).await;
            go.send(()).expect("it waits");
            service.shutdown(Shutdown::Drain, Duration::from_mins(1)).await
        };
        let (first, second, ended) = tokio::join!(
            say(&service, "a", &order, &never),
            say(&service, "a", &order, &never),
            draining
        );
        assert!(first.is_ok() && second.is_ok() && ended);
        assert!(say(&service, "b", &order, &never).await.is_ok());
        assert!(gate.join().await.is_success());
        assert_eq!(*order.lock().expect("nobody panics"), "aab");
    });
}

#[test]
fn a_part_that_panics_is_a_problem() {
    block_on(async {
        let service = service(1);
        let (owner, never) = (Owner::new("a"), CancellationToken::default());
        let ended = service.run_part(&owner, &never, || panic!("on purpose")).await;
        let problem: prowess_core::Problem = ended.map(|(): ()| ()).expect_err("it panicked");
        assert_eq!(problem.code, "run-panicked");
        assert_eq!(service.run_part(&owner, &never, || 1).await.expect("it runs"), 1);
    });
}
