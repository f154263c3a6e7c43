//! The body of an event stream: frames as they come, a comment when it is silent, and the run's end when the client leaves.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, header};
use http_body::Frame;
use serde_json::json;
use tokio::time::{Instant, Sleep};

use super::frame::frame;
use super::log::{EventLog, Read};

/// How long a stream may be silent. Proxies close connections after 30 s and more.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A comment, which clients ignore.
const COMMENT: &[u8] = b": heartbeat\n\n";

/// A reader of a log as the body of a response.
pub(crate) struct EventBody {
    log: Arc<EventLog>,
    reader: u64,
    after: u64,
    sent_at: Instant,
    silence: Pin<Box<Sleep>>,
    /// Called when the client leaves before the end.
    on_leave: Option<Box<dyn FnOnce(bool) + Send>>,
}

impl EventBody {
    /// A body with the events after a number. `on_leave` is told whether the last reader left an unfinished run.
    pub(crate) fn new(
        log: Arc<EventLog>,
        after: u64,
        on_leave: impl FnOnce(bool) + Send + 'static,
    ) -> Self {
        let now = Instant::now();
        Self {
            reader: log.join(),
            log,
            after,
            sent_at: now,
            silence: Box::pin(tokio::time::sleep_until(now + HEARTBEAT)),
            on_leave: Some(Box::new(on_leave)),
        }
    }
}

impl http_body::Body for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        match this.log.poll_read(this.reader, this.after, context) {
            Poll::Ready(Read::Frames(bytes, last)) => {
                this.after = last;
                this.sent_at = Instant::now();
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            Poll::Ready(Read::Gap(from, to)) => {
                this.after = to;
                // Its id is that of the last lost event, so that a client that reconnects there misses nothing more.
                let gap = frame(to, "gap", &json!({ "from": from, "to": to }));
                return Poll::Ready(Some(Ok(Frame::data(gap))));
            }
            Poll::Ready(Read::End) => return Poll::Ready(None),
            Poll::Pending => {}
        }
        // The timer is only moved when it fires: moving it for every token would cost more than the token.
        while this.silence.as_mut().poll(context).is_ready() {
            let due = this.sent_at + HEARTBEAT;
            let now = Instant::now();
            if due > now {
                this.silence.as_mut().reset(due);
                continue;
            }
            this.sent_at = now;
            this.silence.as_mut().reset(now + HEARTBEAT);
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(COMMENT)))));
        }
        Poll::Pending
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        let is_last = self.log.leave(self.reader);
        if let Some(on_leave) = self.on_leave.take() {
            on_leave(is_last);
        }
    }
}

/// The response for an event stream (specification §8).
pub(crate) fn event_response(body: EventBody) -> Response {
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies such as nginx would otherwise collect the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::LogLimits;
    use http_body::Body as _;
    use std::future::poll_fn;

    async fn next(body: &mut EventBody) -> Option<String> {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
        let bytes = frame.expect("no body fails").into_data().expect("data");
        Some(String::from_utf8(bytes.to_vec()).expect("UTF-8"))
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_filled_with_comments() {
        let log = Arc::new(EventLog::new(LogLimits::USUAL));
        let mut body = EventBody::new(Arc::clone(&log), 0, |_| ());
        let begin = Instant::now();
        assert_eq!(next(&mut body).await.as_deref(), Some(": heartbeat\n\n"));
        assert_eq!(begin.elapsed().as_secs(), 15);
        tokio::time::advance(Duration::from_secs(10)).await;
        log.push(Bytes::from_static(b"id: 1\n\n"));
        assert_eq!(next(&mut body).await.as_deref(), Some("id: 1\n\n"));
        assert_eq!(next(&mut body).await.as_deref(), Some(": heartbeat\n\n"));
        assert_eq!(begin.elapsed().as_secs(), 40, "15 s after the event");
        log.end();
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test]
    async fn a_client_that_leaves_is_noticed() {
        let log = Arc::new(EventLog::new(LogLimits::USUAL));
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let tell = move |is_last| sender.send(is_last).expect("it is waited for");
        drop(EventBody::new(Arc::clone(&log), 0, tell));
        assert!(receiver.await.expect("it is told"));
    }

    #[tokio::test]
    async fn a_gap_is_told() {
        let log = Arc::new(EventLog::new(LogLimits { events: 1, bytes: 100 }));
        log.push(Bytes::from_static(b"one"));
        log.push(Bytes::from_static(b"two"));
        let mut body = EventBody::new(Arc::clone(&log), 0, |_| ());
        let gap = "id: 1\nevent: gap\ndata: {\"from\":1,\"to\":1}\n\n";
        assert_eq!(next(&mut body).await.as_deref(), Some(gap));
        assert_eq!(next(&mut body).await.as_deref(), Some("two"));
    }
}
