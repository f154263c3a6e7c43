//! Bounds on what a server sends. The SDK skips what is too long and goes on waiting; here the conversation ends, with the
//! reason.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use prowess_core::{McpError, McpErrorKind};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;

/// The largest message that is read: a file of a skill may have 5 MiB, which base64 makes 7.
pub const MAX_MESSAGE_BYTES: usize = 8 << 20;
/// The most bytes of one stream of events, which holds a response and what precedes it.
pub(crate) const MAX_STREAM_BYTES: usize = 2 * MAX_MESSAGE_BYTES;

/// Why a transport gave up, for the session, which would otherwise only learn that the connection is closed. The first
/// reason counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure(Arc<FailureState>);

#[derive(Debug, Default)]
struct FailureState {
    reason: Mutex<Option<McpError>>,
    noticed: Notify,
}

impl Failure {
    pub(crate) fn set(&self, error: McpError) {
        let mut reason = self.0.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.get_or_insert(error);
        self.0.noticed.notify_waiters();
    }

    pub(crate) fn get(&self) -> Option<McpError> {
        self.0.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Resolves when there is a reason.
    pub(crate) async fn happened(&self) -> McpError {
        loop {
            let noticed = self.0.noticed.notified();
            let mut noticed = std::pin::pin!(noticed);
            // Registered first: it may be set between the check and the wait.
            noticed.as_mut().enable();
            if let Some(error) = self.get() {
                return error;
            }
            noticed.await;
        }
    }
}

/// The error about a message that is too large.
pub(crate) fn too_large() -> McpError {
    let most = MAX_MESSAGE_BYTES >> 20;
    McpError::new(McpErrorKind::Protocol, format!("sent a message of more than {most} MiB"))
}

/// Reads lines of bounded length.
#[derive(Debug)]
pub(crate) struct BoundedLines<R> {
    inner: R,
    length: usize,
    failure: Failure,
}

impl<R> BoundedLines<R> {
    pub(crate) fn new(inner: R, failure: Failure) -> Self {
        Self { inner, length: 0, failure }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        // A line that has ended within this piece can't have been longer than what was allowed before, and the piece.
        self.length = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => read.len() - at - 1,
            None => self.length + read.len(),
        };
        if self.length > MAX_MESSAGE_BYTES {
            self.failure.set(too_large());
            return Poll::Ready(Err(io::Error::other("the line is too long")));
        }
        Poll::Ready(Ok(()))
    }
}
