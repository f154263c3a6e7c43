//! Events of a `text/event-stream`, however it is cut into pieces.
//!
//! Written here because every line needs a bound, and because nothing of the standard is needed beyond two fields.

/// The most bytes of one event. The largest that providers send are whole tool calls.
const LONGEST_EVENT: usize = 4 << 20;

/// The room for events that is kept: more than any token takes.
const KEPT_BYTES: usize = 16 << 10;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// What kind it is; empty when nothing was said.
    pub(crate) kind: String,
    /// Its lines of data, joined.
    pub(crate) data: String,
}

/// An event or a line is longer than any provider's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Takes bytes and gives events.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    /// The line that is not complete yet, without its end.
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The last byte was a carriage return, so a line feed right after it ends no line.
    after_return: bool,
    begun: bool,
}

impl SseDecoder {
    /// Takes a piece and hands on the events that it completes. A token is an event, so that this allocates nothing for
    /// one: lines that come whole are looked at where they are, and an event's room is used for the next.
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
                // One without data is none.
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

    /// Takes a line, and says what has ended with it.
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
        // Lines are decoded whole, so a character that was cut in two has grown together again.
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
            // A line that begins with a colon is a comment, which keeps a connection open; other fields are for
            // clients that come back later.
            _ => {}
        }
        Ok(Ended::Line)
    }
}

/// What ends with a line.
enum Ended {
    Line,
    Event,
    Nothing,
}

impl SseEvent {
    fn clear(&mut self) {
        self.kind.clear();
        self.data.clear();
        // What one large event took is not kept as long as the answer lasts.
        self.data.shrink_to(KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests;
