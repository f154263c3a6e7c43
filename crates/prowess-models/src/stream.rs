//! A streamed answer: bytes to events to deltas, with timeouts.

use std::borrow::Cow;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body;
use prowess_core::{ModelDelta, ModelError};
use tokio::time::{Instant, Sleep};

use crate::dialect::{AnswerProgress, AnswerReader, protocol};
use crate::failure;
use crate::key::Key;
use crate::provider::ProviderKind;
use crate::sse::SseDecoder;

/// Settings for reading an answer.
pub(crate) struct StreamSettings {
    pub(crate) provider: String,
    pub(crate) kind: ProviderKind,
    pub(crate) key: Key,
    /// Deadline of the first token. Comments that keep the connection open do not extend it.
    pub(crate) first_token: Instant,
    /// The timeout of the first token, for the message.
    pub(crate) first_token_limit: Duration,
    /// Maximum time between two chunks after the first token.
    pub(crate) stall: Duration,
}

/// A streamed answer. Dropping it closes the connection, and the provider stops.
pub(crate) struct AnswerStream<B> {
    body: Pin<Box<B>>,
    decoder: SseDecoder,
    reader: AnswerReader,
    progress: AnswerProgress,
    /// A timer for the timeout. It is only reset when it fires and not for every token, so it may fire early.
    alarm: Pin<Box<Sleep>>,
    /// The start of the current period without data.
    silent_since: Option<Instant>,
    reading: StreamSettings,
    /// Removes the key from the answer, which may repeat it in any number of pieces.
    filter: prowess_secrets::ReplacerStream,
    explain: Box<dyn Fn(String) -> ModelError + Send + Sync>,
    /// The error that ended the answer, until it is returned.
    error: Option<ModelError>,
    is_over: bool,
}

impl<B> AnswerStream<B>
where
    B: Body<Data = Bytes>,
    B::Error: std::error::Error + 'static,
{
    /// Creates a stream. `explain` converts the error of a failed connection.
    pub(crate) fn new(
        body: B,
        reading: StreamSettings,
        explain: impl Fn(String) -> ModelError + Send + Sync + 'static,
    ) -> Self {
        Self {
            body: Box::pin(body),
            decoder: SseDecoder::default(),
            reader: AnswerReader::new(reading.kind),
            progress: AnswerProgress::default(),
            alarm: Box::pin(tokio::time::sleep_until(reading.first_token)),
            silent_since: None,
            filter: reading.key.filter(),
            reading,
            explain: Box::new(explain),
            error: None,
            is_over: false,
        }
    }

    /// Waits until the model has started to answer; until then the request can be retried.
    pub(crate) async fn begin(&mut self) -> Result<(), ModelError> {
        std::future::poll_fn(|cx| {
            while !self.progress.has_begun && !self.progress.has_ended {
                if let Err(error) = ready!(self.poll_more(cx)) {
                    // The first token and an error arrived together: the answer has started.
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

    /// Reads the next chunk of the body.
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
            // Data after the end is ignored.
            if failed.is_none() && !progress.has_ended {
                failed = reader.event(event, progress).err();
            }
        });
        if !self.progress.has_begun && Instant::now() >= self.reading.first_token {
            // The timer is only polled when no data arrives, and comments may arrive all the time.
            failed.get_or_insert(self.timed_out());
        }
        Poll::Ready(match (failed, pushed) {
            (Some(error), _) => Err(error),
            (None, Err(_)) => Err(protocol("an event of the answer is too long")),
            (None, Ok(())) => Ok(()),
        })
    }

    /// The next delta. Text that may be the start of the key is held back until more arrives.
    fn next_piece(&mut self) -> Option<ModelDelta> {
        while let Some(piece) = self.progress.pieces.pop_front() {
            match piece {
                ModelDelta::Text(text) => match self.filter.push(text.as_bytes()) {
                    Cow::Borrowed(_) => return Some(ModelDelta::Text(text)),
                    Cow::Owned(certain) if certain.is_empty() => {}
                    Cow::Owned(certain) => return Some(as_text(&certain)),
                },
                other if self.filter.held() > 0 => {
                    self.progress.pieces.push_front(other);
                    return self.rest();
                }
                ModelDelta::ToolCall(mut call) => {
                    call.arguments = self.reading.key.clean(&call.arguments);
                    return Some(ModelDelta::ToolCall(call));
                }
                other => return Some(other),
            }
        }
        None
    }

    /// The text that was held back, at the end of the answer.
    fn rest(&mut self) -> Option<ModelDelta> {
        let held = self.filter.finish();
        (!held.is_empty()).then(|| as_text(&held))
    }

    /// Polls the timeout.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Poll<ModelError> {
        let due = if self.progress.has_begun {
            *self.silent_since.get_or_insert_with(Instant::now) + self.reading.stall
        } else {
            self.reading.first_token
        };
        // The timeout of the first token is longer than the later one.
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
    type Item = Result<ModelDelta, ModelError>;

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
            // Deltas before an error are returned first, even if both arrived together.
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

/// Converts filtered bytes to text. Keys are ASCII, so the filter does not split a character.
fn as_text(bytes: &[u8]) -> ModelDelta {
    ModelDelta::Text(String::from_utf8_lossy(bytes).into_owned())
}

fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let why = prowess_core::system_reason(deepest);
    // The library's message describes its internals.
    if why.contains("EOF") { "connection closed early".to_owned() } else { why }
}

#[cfg(test)]
mod tests;
