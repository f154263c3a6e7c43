use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};

use super::{Failed, Pool};

struct Signal(Sender<()>);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// Waits for a future on this thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let (signal, woken) = channel();
    let waker = Waker::from(Arc::new(Signal(signal)));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        woken.recv().expect("it wakes");
    }
}

#[test]
fn whoever_waits_is_woken_with_the_result() {
    let pool = Pool::new(2, 10);
    let (go, gone) = channel::<()>();
    let (signal, woken) = channel();
    let waker = Waker::from(Arc::new(Signal(signal)));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(pool.run(move || gone.recv().map(|()| 42)));
    assert!(future.as_mut().poll(&mut context).is_pending());
    go.send(()).expect("the thread listens");
    woken.recv().expect("it wakes");
    assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(Ok(Ok(42))));
}

#[test]
fn a_thousand_searches_share_a_few_threads() {
    let pool = Pool::new(3, 1000);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let all: Vec<_> = (0..1000)
        .map(|number| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            pool.run(move || {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
                number
            })
        })
        .collect();
    for (number, future) in all.into_iter().enumerate() {
        assert_eq!(wait(future), Ok(number));
    }
    assert!(most.load(Ordering::SeqCst) <= 3);
    assert!(pool.shared.lock().threads <= 3);
}

#[test]
fn a_full_queue_refuses_and_forgotten_work_is_skipped() {
    let pool = Pool::new(1, 2);
    let (go, gone) = channel::<()>();
    let (started, starts) = channel();
    let first = pool.run(move || {
        let _ = started.send(());
        gone.recv()
    });
    starts.recv().expect("it starts");
    let ran = Arc::new(AtomicUsize::new(0));
    let count = || {
        let ran = Arc::clone(&ran);
        move || ran.fetch_add(1, Ordering::SeqCst)
    };
    let forgotten = pool.run(count());
    let waiting = pool.run(count());
    assert_eq!(wait(pool.run(count())), Err(Failed::Full));
    drop(forgotten);
    go.send(()).expect("it waits");
    assert_eq!(wait(first), Ok(Ok(())));
    assert_eq!(wait(waiting), Ok(0));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[test]
fn work_that_panics_is_an_error_and_the_thread_goes_on() {
    let pool = Pool::new(1, 10);
    let panics: Pin<Box<dyn Future<Output = Result<(), Failed>>>> =
        Box::pin(pool.run(|| panic!("on purpose")));
    assert_eq!(wait(panics), Err(Failed::Panicked));
    assert_eq!(wait(pool.run(|| 7)), Ok(7));
    assert_eq!(pool.shared.lock().threads, 1);
}
