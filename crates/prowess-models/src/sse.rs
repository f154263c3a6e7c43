//! Incremental decoder for server-sent events (`text/event-stream`).
//!
//! Our own, because every line needs a limit and only two fields of the standard are needed.

/// Maximum size of an event in bytes. The largest ones are whole tool calls.
const LONGEST_EVENT: usize = 4 << 20;

/// Maximum capacity of the buffer that is kept between events; more than any token needs.
const KEPT_BYTES: usize = 16 << 10;

/// A server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The event type; empty if there is none.
    pub(crate) kind: String,
    /// The data lines, joined.
    pub(crate) data: String,
}

/// An event or a line exceeds the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Decodes events from bytes.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    /// The incomplete last line.
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// Whether the last byte was a carriage return, so that a line feed after it is ignored.
    after_return: bool,
    begun: bool,
}

impl SseDecoder {
    /// Adds a chunk and passes on the events that it completes. Each token is an event, so this does not allocate per
    /// event: complete lines are parsed in place, and the buffer of an event is reused.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        mut hand_on: impl FnMut(&SseEvent),
    ) -> Result<(), TooLong> {
        if let Some(first) = bytes.first()
            && std::mem::take(&mut self.after_return)
            && *first == b'\n'
        {
            bytes = &bytes[1..];
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let line = &bytes[..end];
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_return {
                match bytes.first() {
                    Some(b'\n') => bytes = &bytes[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            let ended = if self.line.is_empty() {
                self.end_line(line)?
            } else {
                self.extend(line)?;
                let whole = std::mem::take(&mut self.line);
                let ended = self.end_line(&whole)?;
                self.line = whole;
                self.line.clear();
                ended
            };
            match ended {
                Ended::Line => {}
                Ended::Event => {
                    hand_on(&self.event);
                    self.event.clear();
                }
                // An event without data is ignored.
                Ended::Nothing => self.event.clear(),
            }
        }
        self.extend(bytes)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > LONGEST_EVENT {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Parses a line, and returns what it completes.
    fn end_line(&mut self, mut line: &[u8]) -> Result<Ended, TooLong> {
        if line.len() > LONGEST_EVENT {
            return Err(TooLong);
        }
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            let has_data = std::mem::take(&mut self.has_data);
            return Ok(if has_data { Ended::Event } else { Ended::Nothing });
        }
        // Only complete lines are decoded, so no character is split.
        let line = String::from_utf8_lossy(line);
        let (field, value) = match line.split_once(':') {
            Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
            None => (&*line, ""),
        };
        match field {
            "data" => {
                if self.event.data.len() + value.len() > LONGEST_EVENT {
                    return Err(TooLong);
                }
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.event.kind),
            // A line that begins with a colon is a comment that keeps the connection open; other fields are for
            // clients that reconnect.
            _ => {}
        }
        Ok(Ended::Line)
    }
}

/// What a line completes.
enum Ended {
    Line,
    Event,
    Nothing,
}

impl SseEvent {
    fn clear(&mut self) {
        self.kind.clear();
        self.data.clear();
        // The buffer of a large event is not kept for the rest of the answer.
        self.data.shrink_to(KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests;
