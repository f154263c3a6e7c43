//! A future of work that blocks: it is done on a thread of its own, so that it holds up nobody else's.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use prowess_core::{BoxFuture, Passage, RetrieveError};

use crate::error::BaseError;

enum State<T> {
    Working(Option<Waker>),
    Done(Option<T>),
}

struct OffThread<T>(Arc<Mutex<State<T>>>);

/// Does something on another thread. It gives `None` when that panicked.
pub(crate) fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Option<T>> + Send {
    let state = Arc::new(Mutex::new(State::Working(None)));
    let shared = Arc::clone(&state);
    let done = move |result: Option<T>| {
        let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *state, State::Done(result));
        drop(state);
        if let State::Working(Some(waker)) = before {
            waker.wake();
        }
    };
    let failed = done.clone();
    let thread = std::thread::Builder::new().name("knowledge".to_owned()).spawn(move || {
        done(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok());
    });
    if thread.is_err() {
        failed(None);
    }
    OffThread(state)
}

/// A search that blocks, as the trait of the engine wants it.
pub(crate) fn search(
    base: &str,
    work: impl FnOnce() -> Result<Vec<Passage>, BaseError> + Send + 'static,
) -> BoxFuture<'_, Result<Vec<Passage>, RetrieveError>> {
    Box::pin(async move {
        let found = off_thread(work).await.ok_or_else(|| {
            RetrieveError::new(format!("the search in knowledge base `{base}` broke down"))
        })?;
        found.map_err(RetrieveError::from)
    })
}

impl<T> Future for OffThread<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            State::Done(result) => Poll::Ready(result.take()),
            State::Working(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};
    use std::task::{Context, Poll, Wake, Waker};

    use super::off_thread;

    struct Signal(Sender<()>);

    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    #[test]
    fn whoever_waits_is_woken_with_the_result() {
        let (go, wait) = channel::<()>();
        let (signal, woken) = channel();
        let waker = Waker::from(Arc::new(Signal(signal)));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(off_thread(move || wait.recv().map(|()| 42)));
        assert!(future.as_mut().poll(&mut context).is_pending());
        go.send(()).expect("the thread listens");
        woken.recv().expect("it wakes");
        let Poll::Ready(Some(Ok(42))) = future.as_mut().poll(&mut context) else {
            panic!("the result is there after waking");
        };
    }
}
