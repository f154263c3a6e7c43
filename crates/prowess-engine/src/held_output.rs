//! Buffers the standard output of a tool whose result is computed from all of it: the `output` block of a tool pack.

use prowess_format::skill::Tool;
use prowess_format::tool_output::OutputShape;

use prowess_core::{Envelope, RunOutcome};

/// Maximum size of buffered output.
const MAX_HELD: usize = 4 << 20;

/// Standard output that is held back until the end of the run.
#[derive(Debug)]
pub(crate) struct HeldOutput {
    shape: OutputShape,
    bytes: Vec<u8>,
    /// Number of bytes above the limit.
    dropped: u64,
}

/// The text that replaces the output, with notes for the envelope.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReleasedOutput {
    pub(crate) text: Vec<u8>,
    left_out: u64,
    is_utf8: bool,
}

impl HeldOutput {
    /// `None` for a tool whose output is its result.
    pub(crate) fn of(tool: &Tool) -> Option<Self> {
        let shape = tool.output_shape.clone()?;
        Some(Self { shape, bytes: Vec::new(), dropped: 0 })
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = MAX_HELD.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..room]);
        self.dropped += (bytes.len() - room) as u64;
    }

    /// The result of a successful run. For a failed one, the output itself: it may contain the reason.
    pub(crate) fn release(self, outcome: RunOutcome) -> ReleasedOutput {
        if outcome != RunOutcome::Success {
            return ReleasedOutput { text: self.bytes, left_out: self.dropped, is_utf8: true };
        }
        let printed = String::from_utf8_lossy(&self.bytes);
        let is_utf8 = matches!(printed, std::borrow::Cow::Borrowed(_));
        let shaped = self.shape.apply(&printed);
        let mut text = shaped.text.into_bytes();
        if !text.is_empty() {
            text.push(b'\n');
        }
        ReleasedOutput { text, left_out: self.dropped + shaped.left_out as u64, is_utf8 }
    }
}

impl ReleasedOutput {
    /// Adds notes that are not visible in the text.
    pub(crate) fn note(&self, envelope: &mut Envelope) {
        envelope.left_out += self.left_out;
        envelope.is_utf8 &= self.is_utf8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(max_chars: usize) -> HeldOutput {
        let shape = OutputShape { max_chars, ..OutputShape::of(None) };
        HeldOutput { shape, bytes: Vec::new(), dropped: 0 }
    }

    #[test]
    fn memory_is_bounded_and_what_is_dropped_is_counted() {
        let mut held = held(2);
        for _ in 0..5 {
            held.push(&vec![b'x'; 1 << 20]);
        }
        assert_eq!(held.bytes.len(), MAX_HELD);
        let released = held.release(RunOutcome::Success);
        let left_out = (5 << 20) - 2;
        assert_eq!(released, ReleasedOutput { text: b"xx...\n".to_vec(), left_out, is_utf8: true });
    }

    #[test]
    fn a_failed_run_keeps_its_output_and_half_a_character_is_noticed() {
        let mut failed = held(2);
        failed.push(b"why \xc3");
        assert_eq!(failed.release(RunOutcome::Failed).text, b"why \xc3");
        let mut odd = held(9);
        odd.push(b"why \xc3");
        let released = odd.release(RunOutcome::Success);
        assert_eq!((released.text, released.is_utf8), ("why \u{fffd}\n".into(), false));
        assert_eq!(held(9).release(RunOutcome::Success).text, b"");
    }
}
