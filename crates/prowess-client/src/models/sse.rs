//! Events of a `text/event-stream`, however it is cut into pieces.
//!
//! Written here because every line needs a bound, and because nothing of the standard is needed beyond two fields.

/// The most bytes of one event. The largest that providers send are whole tool calls.
const LONGEST_EVENT: usize = 4 << 20;

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
    /// Takes a piece and hands on the events that it completes.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        mut hand_on: impl FnMut(SseEvent),
    ) -> Result<(), TooLong> {
        if let Some(first) = bytes.first()
            && std::mem::take(&mut self.after_return)
            && *first == b'\n'
        {
            bytes = &bytes[1..];
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend(&bytes[..end])?;
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_return {
                match bytes.first() {
                    Some(b'\n') => bytes = &bytes[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            if let Some(event) = self.end_line()? {
                hand_on(event);
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

    fn end_line(&mut self) -> Result<Option<SseEvent>, TooLong> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let complete = std::mem::take(&mut self.has_data);
            return Ok(complete.then_some(event));
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
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
