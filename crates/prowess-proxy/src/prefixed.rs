//! A stream with a buffer of bytes that were already read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

const READ_AT_ONCE: usize = 16 * 1024;

/// A stream whose first bytes were inspected and are still to be delivered.
#[derive(Debug)]
pub(crate) struct Prefixed<S> {
    stream: S,
    prefix: Vec<u8>,
}

impl<S> Prefixed<S> {
    pub(crate) fn new(stream: S, prefix: Vec<u8>) -> Self {
        Prefixed { stream, prefix }
    }

    /// The bytes that were read but not yet consumed.
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.prefix
    }

    /// Removes the first `length` bytes from the buffer.
    pub(crate) fn consume(&mut self, length: usize) -> Vec<u8> {
        let rest = self.prefix.split_off(length);
        std::mem::replace(&mut self.prefix, rest)
    }

    pub(crate) fn into_parts(self) -> (S, Vec<u8>) {
        (self.stream, self.prefix)
    }
}

impl<S: AsyncRead + Unpin> Prefixed<S> {
    /// Reads more bytes into the buffer; 0 at the end of the stream.
    pub(crate) async fn fill(&mut self) -> io::Result<usize> {
        self.prefix.reserve(READ_AT_ONCE);
        self.stream.read_buf(&mut self.prefix).await
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.prefix.is_empty() {
            return Pin::new(&mut self.stream).poll_read(ctx, buf);
        }
        let length = self.prefix.len().min(buf.remaining());
        buf.put_slice(&self.consume(length));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prefixed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(ctx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(ctx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(ctx)
    }
}
