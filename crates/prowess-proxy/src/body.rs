//! Request bodies, streamed from the client to the server.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use thiserror::Error;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;

use crate::head::Framing;
use crate::prefixed::Prefixed;

const MAX_CHUNK_SIZE_DIGITS: usize = 15; // hexadecimal digits; one more could overflow

/// The receiving end of a body, which is read for the server.
#[derive(Debug)]
pub(crate) struct Upload {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    left: Option<u64>,
}

/// The sending end of a body, which is filled from the client.
pub(crate) type Uploader = mpsc::Sender<io::Result<Bytes>>;

/// Why a body could not be read completely.
#[derive(Debug, Error)]
pub(crate) enum UploadError {
    #[error("{0}")]
    Malformed(&'static str),
    #[error(transparent)]
    Client(#[from] io::Error),
    /// The server stopped reading.
    #[error("the server stopped reading")]
    ServerStopped,
}

/// Creates both ends of a body with this framing. At most one chunk is buffered: a slow server
/// slows the client.
pub(crate) fn channel(framing: Framing) -> (Uploader, Upload) {
    let (uploader, pieces) = mpsc::channel(1);
    let left = match framing {
        Framing::None => Some(0),
        Framing::Length(length) => Some(length),
        Framing::Chunked => None,
    };
    (uploader, Upload { pieces, left })
}

/// Reads one body and forwards it. An aborted body aborts the request to the server, so that a
/// partial body is never mistaken for a complete one.
pub(crate) async fn pump<R: AsyncRead + Unpin>(
    client: &mut Prefixed<R>,
    framing: Framing,
    uploader: Uploader,
) -> Result<(), UploadError> {
    let result = match framing {
        Framing::None => Ok(()),
        Framing::Length(length) => forward(client, length, &uploader).await,
        Framing::Chunked => forward_chunks(client, &uploader).await,
    };
    if result.is_err() {
        let broken = io::Error::new(io::ErrorKind::UnexpectedEof, "the body was aborted");
        let _ = uploader.send(Err(broken)).await;
    }
    result
}

async fn forward<R: AsyncRead + Unpin>(
    client: &mut Prefixed<R>,
    length: u64,
    uploader: &Uploader,
) -> Result<(), UploadError> {
    let mut left = length;
    while left > 0 {
        if client.buffered().is_empty() {
            fill(client).await?;
        }
        let buffered = client.buffered().len();
        let portion = usize::try_from(left).map_or(buffered, |left| left.min(buffered));
        let piece = Bytes::from(client.consume(portion));
        left -= portion as u64;
        uploader.send(Ok(piece)).await.map_err(|_| UploadError::ServerStopped)?;
    }
    Ok(())
}

/// Forwards a chunked body (RFC 9112 §7.1), without extensions and trailers, which only request
/// smuggling needs.
async fn forward_chunks<R: AsyncRead + Unpin>(
    client: &mut Prefixed<R>,
    uploader: &Uploader,
) -> Result<(), UploadError> {
    loop {
        let size = chunk_size(client).await?;
        if size > 0 {
            forward(client, size, uploader).await?;
        }
        // The end of the chunk, or the empty line after the last one.
        while client.buffered().len() < 2 {
            fill(client).await?;
        }
        if client.consume(2) != b"\r\n" {
            return Err(UploadError::Malformed("a chunk does not end where it should"));
        }
        if size == 0 {
            return Ok(());
        }
    }
}

async fn chunk_size<R: AsyncRead + Unpin>(client: &mut Prefixed<R>) -> Result<u64, UploadError> {
    let malformed = UploadError::Malformed("a chunk's size is not a hexadecimal number");
    let digits = loop {
        let bytes = client.buffered();
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if digits > MAX_CHUNK_SIZE_DIGITS {
            return Err(malformed);
        }
        match bytes[digits..] {
            [b'\r', b'\n', ..] if digits > 0 => break digits,
            [] | [b'\r'] => fill(client).await?,
            _ => return Err(malformed),
        }
    };
    let line = client.consume(digits + 2);
    let size = line[..digits].iter().fold(0, |sum, &digit| {
        sum * 16 + u64::from(char::from(digit).to_digit(16).expect("only digits were counted"))
    });
    Ok(size)
}

async fn fill<R: AsyncRead + Unpin>(client: &mut Prefixed<R>) -> Result<(), UploadError> {
    match client.fill().await? {
        0 => Err(UploadError::Client(io::ErrorKind::UnexpectedEof.into())),
        _ => Ok(()),
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.pieces.poll_recv(ctx).map(|piece| {
            let piece = piece?;
            if let (Some(left), Ok(bytes)) = (&mut self.left, &piece) {
                *left = left.saturating_sub(bytes.len() as u64);
            }
            Some(piece.map(Frame::data))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests;
