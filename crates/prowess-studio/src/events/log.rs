//! The events of a running run: a bounded log that any number of readers follow, each from any place.
//!
//! The run writes without waiting, so that a slow reader never holds up a model. What a slow reader finds gone from the
//! log is told to it as a gap; a run's usual length is far below the limits.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};

/// How much a log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogLimits {
    /// Maximum number of events.
    pub(crate) events: usize,
    /// Maximum size of all events.
    pub(crate) bytes: usize,
}

impl LogLimits {
    /// Twice the events of the longest answer that a skill may ask for (8,192 tokens).
    pub(crate) const USUAL: Self = Self { events: 16_384, bytes: 4 << 20 };
}

/// Maximum size of what a reader gets at once.
const MAX_READ: usize = 64 << 10;

/// The log of one run.
#[derive(Debug)]
pub(crate) struct EventLog {
    limits: LogLimits,
    content: Mutex<Content>,
}

#[derive(Debug, Default)]
struct Content {
    frames: VecDeque<Bytes>,
    bytes: usize,
    /// The number of events that are gone.
    gone: u64,
    is_ended: bool,
    readers: Vec<(u64, Option<Waker>)>,
    next_reader: u64,
}

/// What a reader gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Frames, and the number of the last one.
    Frames(Bytes, u64),
    /// The events with these numbers are gone.
    Gap(u64, u64),
    /// There are no more.
    End,
}

impl EventLog {
    pub(crate) fn new(limits: LogLimits) -> Self {
        Self { limits, content: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a frame and wakes the readers.
    pub(crate) fn push(&self, frame: Bytes) {
        let mut content = self.lock();
        content.bytes += frame.len();
        content.frames.push_back(frame);
        while content.frames.len() > self.limits.events || content.bytes > self.limits.bytes {
            let Some(oldest) = content.frames.pop_front() else { break };
            content.bytes -= oldest.len();
            content.gone += 1;
        }
        content.wake();
    }

    /// Marks the end and wakes the readers.
    pub(crate) fn end(&self) {
        let mut content = self.lock();
        content.is_ended = true;
        content.wake();
    }

    /// A log that begins with frames that were written down earlier, after a number of them that are gone.
    pub(crate) fn resumed(limits: LogLimits, gone: u64, frames: Vec<Bytes>) -> Self {
        let log = Self::new(limits);
        log.lock().gone = gone;
        for frame in frames {
            log.push(frame);
        }
        log
    }

    /// The frames after a number as one text, with the numbers of the first and the last; `None` if there are none.
    pub(crate) fn since(&self, after: u64) -> Option<(u64, u64, String)> {
        let content = self.lock();
        let after = after.max(content.gone);
        let skip = usize::try_from(after - content.gone).unwrap_or(usize::MAX);
        let last = content.gone + content.frames.len() as u64;
        if last <= after {
            return None;
        }
        let mut text = String::new();
        for frame in content.frames.range(skip..) {
            text.push_str(std::str::from_utf8(frame).unwrap_or_default());
        }
        Some((after + 1, last, text))
    }

    /// All frames that are there, and how many are gone.
    pub(crate) fn all(&self) -> (Vec<Bytes>, u64) {
        let content = self.lock();
        (content.frames.iter().cloned().collect(), content.gone)
    }

    /// Registers a reader.
    pub(crate) fn join(&self) -> u64 {
        let mut content = self.lock();
        content.next_reader += 1;
        let reader = content.next_reader;
        content.readers.push((reader, None));
        reader
    }

    /// Removes a reader; returns whether it was the last one of a run that goes on.
    pub(crate) fn leave(&self, reader: u64) -> bool {
        let mut content = self.lock();
        content.readers.retain(|(it, _)| *it != reader);
        content.readers.is_empty() && !content.is_ended
    }

    /// Reads what follows the event `after`.
    pub(crate) fn poll_read(&self, reader: u64, after: u64, task: &mut Context<'_>) -> Poll<Read> {
        let mut content = self.lock();
        if after < content.gone {
            return Poll::Ready(Read::Gap(after + 1, content.gone));
        }
        let skip = usize::try_from(after - content.gone).unwrap_or(usize::MAX);
        match content.frames.len().saturating_sub(skip) {
            0 if content.is_ended => Poll::Ready(Read::End),
            0 => {
                if let Some((_, waker)) = content.readers.iter_mut().find(|(it, _)| *it == reader) {
                    match waker {
                        Some(waker) if waker.will_wake(task.waker()) => {}
                        waker => *waker = Some(task.waker().clone()),
                    }
                }
                Poll::Pending
            }
            1 => Poll::Ready(Read::Frames(content.frames[skip].clone(), after + 1)),
            _ => {
                // A reader that lags gets everything in one write.
                let mut bytes = BytesMut::new();
                let mut last = after;
                for frame in content.frames.range(skip..) {
                    if !bytes.is_empty() && bytes.len() + frame.len() > MAX_READ {
                        break;
                    }
                    bytes.extend_from_slice(frame);
                    last += 1;
                }
                Poll::Ready(Read::Frames(bytes.freeze(), last))
            }
        }
    }
}

impl Content {
    fn wake(&mut self) {
        for (_, waker) in &mut self.readers {
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &EventLog, reader: u64, after: u64) -> Poll<Read> {
        log.poll_read(reader, after, &mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn readers_follow_from_any_place() {
        let log = EventLog::new(LogLimits { events: 3, bytes: 100 });
        let reader = log.join();
        assert_eq!(read(&log, reader, 0), Poll::Pending);
        log.push(Bytes::from_static(b"a"));
        assert_eq!(read(&log, reader, 0), Poll::Ready(Read::Frames(Bytes::from_static(b"a"), 1)));
        log.push(Bytes::from_static(b"b"));
        log.push(Bytes::from_static(b"c"));
        assert_eq!(read(&log, reader, 1), Poll::Ready(Read::Frames(Bytes::from_static(b"bc"), 3)));
        // A number from the future is waited for, and not an error.
        assert_eq!(read(&log, reader, 9), Poll::Pending);
        log.push(Bytes::from_static(b"d"));
        assert_eq!(read(&log, reader, 0), Poll::Ready(Read::Gap(1, 1)));
        log.end();
        assert_eq!(read(&log, reader, 3), Poll::Ready(Read::Frames(Bytes::from_static(b"d"), 4)));
        assert_eq!(read(&log, reader, 4), Poll::Ready(Read::End));
        assert!(!log.leave(reader), "the run has ended");
    }

    #[test]
    fn the_last_reader_is_known() {
        let log = EventLog::new(LogLimits::USUAL);
        let (one, other) = (log.join(), log.join());
        assert!(!log.leave(one));
        assert!(log.leave(other));
    }

    #[test]
    fn the_size_is_bounded() {
        let log = EventLog::new(LogLimits { events: 100, bytes: 10 });
        for _ in 0..50 {
            log.push(Bytes::from_static(b"12345"));
        }
        let (frames, gone) = log.all();
        assert_eq!((frames.len(), gone), (2, 48));
    }
}
