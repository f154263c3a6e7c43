//! Event frames: events with the id of their run.

use std::fmt;
use std::str::FromStr;

use crate::event::Event;

/// Identifies a run: 128 bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId([u8; 16]);

impl RunId {
    /// Creates an id from its bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({self})")
    }
}

/// An invalid run id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidRunId;

impl fmt::Display for InvalidRunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a run id consists of 32 hexadecimal digits")
    }
}

impl std::error::Error for InvalidRunId {}

impl FromStr for RunId {
    type Err = InvalidRunId;

    /// Parses 32 lowercase hexadecimal digits; no other spelling is accepted.
    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.bytes().all(is_digit) {
            return Err(InvalidRunId);
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| InvalidRunId)?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// An event with its run and sequence number. Numbers start at zero without gaps, so that a reader can detect lost events.
#[derive(Clone, Debug, PartialEq)]
pub struct EventFrame {
    /// The id of the run.
    pub run: RunId,
    /// The sequence number.
    pub sequence: u64,
    /// The event.
    pub event: Event,
}

#[cfg(test)]
mod tests {
    use super::{InvalidRunId, RunId};

    #[test]
    fn a_run_id_has_one_spelling() {
        let id = RunId::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(id.to_string(), "000102030405060708090a0b0c0d0eff");
        assert_eq!(id.to_string().parse(), Ok(id));
        let wrong =
            ["", "0", "000102030405060708090A0B0C0D0EFF", "+00102030405060708090a0b0c0d0eff"];
        for text in wrong {
            assert_eq!(text.parse::<RunId>(), Err(InvalidRunId), "{text}");
        }
    }
}
