//! An answer on its way: bytes to events to pieces, with an eye on the clock.

use std::borrow::Cow;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body;
use prowess_core::{ModelError, Piece};
use tokio::time::{Instant, Sleep};

use crate::dialect::{Progress, Reader, protocol};
use crate::failure;
use crate::key::Key;
use crate::provider::Kind;
use crate::sse::SseDecoder;

/// What an answer is read with.
pub(crate) struct Reading {
    pub(crate) provider: String,
    pub(crate) kind: Kind,
    pub(crate) key: Key,
    /// When the first token has to be there. Comments that keep a connection open do not move it.
    pub(crate) first_token: Instant,
    /// The same as a span, for the message.
    pub(crate) first_token_limit: Duration,
    /// The longest silence after the first token.
    pub(crate) stall: Duration,
}

/// An answer. Dropping it closes the connection, and the provider stops.
pub(crate) struct AnswerStream<B> {
    body: Pin<Box<B>>,
    decoder: SseDecoder,
    reader: Reader,
    progress: Progress,
    /// Rings when nothing has come for too long, or a little earlier: it is set anew only when it rings, and not for every
    /// token.
    alarm: Pin<Box<Sleep>>,
    /// Since when nothing has come, as long as nothing comes.
    silent_since: Option<Instant>,
    reading: Reading,
    /// A provider may repeat the key in its answer, cut into pieces however it likes.
    filter: prowess_secrets::Stream,
    explain: Box<dyn Fn(String) -> ModelError + Send + Sync>,
    /// Why nothing more comes, until it was told.
    error: Option<ModelError>,
    is_over: bool,
}

impl<B> AnswerStream<B>
where
    B: Body<Data = Bytes>,
    B::Error: std::error::Error + 'static,
{
    /// `explain` makes an error of the reason for which a connection broke.
    pub(crate) fn new(
        body: B,
        reading: Reading,
        explain: impl Fn(String) -> ModelError + Send + Sync + 'static,
    ) -> Self {
        Self {
            body: Box::pin(body),
            decoder: SseDecoder::default(),
            reader: Reader::new(reading.kind),
            progress: Progress::default(),
            alarm: Box::pin(tokio::time::sleep_until(reading.first_token)),
            silent_since: None,
            filter: reading.key.filter(),
            reading,
            explain: Box::new(explain),
            error: None,
            is_over: false,
        }
    }

    /// Waits until the model has begun to answer: until then everything can be tried again.
    pub(crate) async fn begin(&mut self) -> Result<(), ModelError> {
        std::future::poll_fn(|cx| {
            while !self.progress.has_begun && !self.progress.has_ended {
                if let Err(error) = ready!(self.poll_more(cx)) {
                    // The beginning and the error came in one packet: then it is an answer that broke off.
                    if self.progress.has_begun {
                        self.is_over = true;
                        self.error = Some(error);
                        break;
                    }
                    return Poll::Ready(Err(error));
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
        .map_err(|error| self.reading.key.clean_error(error))
    }

    /// Takes what the body has next.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ModelError>> {
        let frame = match self.body.as_mut().poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => return self.poll_alarm(cx).map(Err),
        };
        self.silent_since = None;
        let Some(frame) = frame else {
            return Poll::Ready(self.reader.end_of_body(&mut self.progress));
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return Poll::Ready(Err((self.explain)(deepest(&error)))),
        };
        let Ok(bytes) = frame.into_data() else { return Poll::Ready(Ok(())) };
        let mut failed = None;
        let (reader, progress) = (&mut self.reader, &mut self.progress);
        let pushed = self.decoder.push(&bytes, |event| {
            // What comes after the end means nothing.
            if failed.is_none() && !progress.has_ended {
                failed = reader.event(event, progress).err();
            }
        });
        if !self.progress.has_begun && Instant::now() >= self.reading.first_token {
            // The alarm is looked at only when nothing comes, and comments may come all the time.
            failed.get_or_insert(self.timed_out());
        }
        Poll::Ready(match (failed, pushed) {
            (Some(error), _) => Err(error),
            (None, Err(_)) => Err(protocol("an event of the answer is longer than any should be")),
            (None, Ok(())) => Ok(()),
        })
    }

    /// The next piece that may be shown. Text that may be the beginning of the key is held back until more is known.
    fn next_piece(&mut self) -> Option<Piece> {
        while let Some(piece) = self.progress.pieces.pop_front() {
            match piece {
                Piece::Text(text) => match self.filter.push(text.as_bytes()) {
                    Cow::Borrowed(_) => return Some(Piece::Text(text)),
                    Cow::Owned(certain) if certain.is_empty() => {}
                    Cow::Owned(certain) => return Some(as_text(&certain)),
                },
                other if self.filter.held() > 0 => {
                    self.progress.pieces.push_front(other);
                    return self.rest();
                }
                Piece::ToolCall(mut call) => {
                    call.arguments = self.reading.key.clean(&call.arguments);
                    return Some(Piece::ToolCall(call));
                }
                other => return Some(other),
            }
        }
        None
    }

    /// What was held back, when nothing comes after it.
    fn rest(&mut self) -> Option<Piece> {
        let held = self.filter.finish();
        (!held.is_empty()).then(|| as_text(&held))
    }

    /// Waits until it has been silent for too long.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Poll<ModelError> {
        let due = if self.progress.has_begun {
            *self.silent_since.get_or_insert_with(Instant::now) + self.reading.stall
        } else {
            self.reading.first_token
        };
        // The first token may take longer than any silence after it.
        if self.alarm.deadline() > due {
            self.alarm.as_mut().reset(due);
        }
        ready!(self.alarm.as_mut().poll(cx));
        if self.alarm.deadline() < due {
            self.alarm.as_mut().reset(due);
            ready!(self.alarm.as_mut().poll(cx));
        }
        Poll::Ready(self.timed_out())
    }

    fn timed_out(&self) -> ModelError {
        let provider = &self.reading.provider;
        if self.progress.has_begun {
            failure::timed_out(provider, "stall", self.reading.stall)
        } else {
            failure::timed_out(provider, "first token", self.reading.first_token_limit)
        }
    }
}

impl<B> Stream for AnswerStream<B>
where
    B: Body<Data = Bytes>,
    B::Error: std::error::Error + 'static,
{
    type Item = Result<Piece, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(piece) = self.next_piece() {
                return Poll::Ready(Some(Ok(piece)));
            }
            if (self.error.is_some() || self.is_over || self.progress.has_ended)
                && let Some(rest) = self.rest()
            {
                return Poll::Ready(Some(Ok(rest)));
            }
            // What came before an error is told first, even when both were in one packet.
            if let Some(error) = self.error.take() {
                return Poll::Ready(Some(Err(self.reading.key.clean_error(error))));
            }
            if self.is_over || self.progress.has_ended {
                return Poll::Ready(None);
            }
            if let Err(error) = ready!(self.poll_more(cx)) {
                self.is_over = true;
                self.error = Some(error);
            }
        }
    }
}

/// Keys are ASCII, so that no character is cut where one begins.
fn as_text(bytes: &[u8]) -> Piece {
    Piece::Text(String::from_utf8_lossy(bytes).into_owned())
}

fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let why = prowess_core::system_reason(deepest);
    // The library tells in which part of its own work that happened.
    if why.contains("EOF") { "it was closed too early".to_owned() } else { why }
}

#[cfg(test)]
mod tests;
