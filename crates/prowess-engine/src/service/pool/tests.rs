use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use prowess_core::Problem;

use super::{Job, Load, Pool};
use crate::service::queue::{Owner, QueueLimits};

/// A job that reports its start, and ends when it is allowed to.
struct Waiting {
    name: &'static str,
    started: Sender<&'static str>,
    go: Arc<Mutex<Receiver<()>>>,
}

impl Job for Waiting {
    fn run(self: Box<Self>) {
        self.started.send(self.name).expect("the test listens");
        let _ = self.go.lock().expect("nobody panics").recv();
    }

    fn refuse(self: Box<Self>, _: Problem) {}
}

struct Counted(Arc<AtomicUsize>, Sender<()>);

impl Job for Counted {
    fn run(self: Box<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        let _ = self.1.send(());
    }

    fn refuse(self: Box<Self>, _: Problem) {}
}

struct Panics;

impl Job for Panics {
    fn run(self: Box<Self>) {
        panic!("on purpose");
    }

    fn refuse(self: Box<Self>, _: Problem) {}
}

fn limits(running: usize, running_per_owner: usize) -> QueueLimits {
    QueueLimits { running, running_per_owner, queued: 10_000, queued_per_owner: 10_000 }
}

#[test]
fn threads_are_started_on_demand_and_bounded() {
    let pool = Pool::new(limits(3, 2));
    assert_eq!(pool.load().threads, 0);
    let (started, starts) = channel();
    let (go, wait) = channel();
    let wait = Arc::new(Mutex::new(wait));
    let submit = |owner: &str, name| {
        let job = Waiting { name, started: started.clone(), go: Arc::clone(&wait) };
        pool.submit(&Owner::new(owner), Box::new(job)).expect("there is room")
    };
    submit("a", "a1");
    assert_eq!(starts.recv(), Ok("a1"));
    assert_eq!(pool.load(), Load { running: 1, queued: 0, threads: 1 });
    submit("a", "a2");
    let third = submit("a", "a3");
    submit("b", "b1");
    let last = submit("c", "c1");
    let mut begun = [starts.recv().expect("it starts"), starts.recv().expect("it starts")];
    begun.sort_unstable();
    assert_eq!(begun, ["a2", "b1"]);
    assert_eq!(pool.load(), Load { running: 3, queued: 2, threads: 3 });
    assert_eq!((pool.position(&third), pool.position(&last)), (Some(0), Some(1)));
    assert!(pool.remove(&third).is_some());
    assert_eq!((pool.position(&third), pool.position(&last)), (None, Some(0)));
    go.send(()).expect("one of them waits");
    assert_eq!(starts.recv(), Ok("c1"));
    drop(go);
}

#[test]
fn many_jobs_of_many_owners_all_run() {
    let pool = Pool::new(limits(4, 2));
    let count = Arc::new(AtomicUsize::new(0));
    let (done, ends) = channel();
    for number in 0..2000 {
        let owner = Owner::new(&(number % 17).to_string());
        let job = Counted(Arc::clone(&count), done.clone());
        pool.submit(&owner, Box::new(job)).expect("there is room");
    }
    drop(done);
    assert_eq!(ends.iter().count(), 2000);
    assert_eq!(count.load(Ordering::SeqCst), 2000);
    assert!(pool.load().threads <= 4);
}

#[test]
fn a_job_that_panics_takes_no_place_with_it() {
    let pool = Pool::new(limits(1, 1));
    for _ in 0..3 {
        pool.submit(&Owner::new("a"), Box::new(Panics)).expect("there is room");
    }
    let (done, ends) = channel();
    let job = Counted(Arc::default(), done);
    pool.submit(&Owner::new("a"), Box::new(job)).expect("there is room");
    assert_eq!(ends.recv(), Ok(()));
}

#[test]
fn a_closed_pool_takes_nothing_and_its_threads_end() {
    let pool = Pool::new(limits(2, 2));
    let (done, ends) = channel();
    pool.submit(&Owner::new("a"), Box::new(Counted(Arc::default(), done))).expect("there is room");
    assert_eq!(ends.recv(), Ok(()));
    pool.close();
    let (done, _) = channel();
    let refused = pool.submit(&Owner::new("a"), Box::new(Counted(Arc::default(), done)));
    assert_eq!(refused.expect_err("it is closed").code, "shutting-down");
    while pool.load().threads > 0 {
        std::thread::yield_now();
    }
}
