//! Bounded output: the first and the last bytes, and an exact count of what was omitted (GIB §4.2).

use std::collections::VecDeque;

/// Bytes kept from the beginning (GIB §4.2).
pub const OUTPUT_HEAD_BYTES: usize = 2048;
/// Bytes kept from the end (GIB §4.2).
pub const OUTPUT_TAIL_BYTES: usize = 2048;

/// Captures output of any length and keeps its beginning and end.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// The result of a [`Capture`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The text, with a line that counts the omitted bytes. Invalid UTF-8 is replaced (NEG-8).
    pub text: String,
    /// The number of omitted bytes.
    pub omitted: u64,
    /// Whether the kept bytes were UTF-8, ignoring characters split by the limits.
    pub is_utf8: bool,
    /// The total number of bytes.
    pub total: u64,
}

impl Capture {
    /// Adds a chunk.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = OUTPUT_HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Only the last bytes of a long chunk are kept.
        let rest = &rest[rest.len().saturating_sub(OUTPUT_TAIL_BYTES)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(OUTPUT_TAIL_BYTES);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// Returns the beginning and the end as text. Up to 4096 bytes are kept completely (R28).
    pub fn finish(self) -> Captured {
        let total = self.total;
        let tail: Vec<u8> = self.tail.into();
        let kept = (self.head.len() + tail.len()) as u64;
        if kept == total {
            let mut bytes = self.head;
            bytes.extend(tail);
            let is_utf8 = std::str::from_utf8(&bytes).is_ok();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            return Captured { text, omitted: 0, is_utf8, total };
        }
        let head = &self.head[..whole_characters(&self.head)];
        let tail = &tail[continuation_bytes(&tail)..];
        let omitted = total - (head.len() + tail.len()) as u64;
        let is_utf8 = std::str::from_utf8(head).is_ok() && std::str::from_utf8(tail).is_ok();
        let text = format!(
            "{}\n... [truncated {omitted} bytes] ...\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail)
        );
        Captured { text, omitted, is_utf8, total }
    }
}

/// The length without a trailing partial character.
fn whole_characters(bytes: &[u8]) -> usize {
    let len = bytes.len();
    for back in 1..=len.min(3) {
        let byte = bytes[len - back];
        if byte & 0xc0 == 0x80 {
            continue;
        }
        let needs = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if needs > back { len - back } else { len };
    }
    len
}

/// The number of bytes of a leading partial character.
fn continuation_bytes(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn captured(pieces: &[&[u8]]) -> Captured {
        let mut capture = Capture::default();
        for piece in pieces {
            capture.push(piece);
        }
        capture.finish()
    }

    #[test]
    fn output_of_exactly_the_limit_is_kept() {
        // GIB-4.2-2
        let text = "x".repeat(4096);
        let kept = captured(&[text.as_bytes()]);
        assert_eq!((kept.text, kept.omitted), (text, 0));
        assert_eq!(captured(&["x".repeat(4097).as_bytes()]).omitted, 1);
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        // GIB-4.2-1
        let lines: Vec<String> = (1..=3000).map(|number| number.to_string()).collect();
        let text = lines.join("\n") + "\n";
        let kept = captured(&[text.as_bytes()]);
        let (head, rest) = kept.text.split_once("\n... [truncated ").expect("the line is there");
        let (count, tail) = rest.split_once(" bytes] ...\n").expect("the line is whole");
        assert_eq!((head, tail), (&text[..2048], &text[text.len() - 2048..]));
        assert_eq!(count.parse::<usize>(), Ok(text.len() - 4096));
        assert!(tail.ends_with("3000\n"));
    }

    #[test]
    fn characters_are_never_split() {
        // GIB-4.2-3, NEG-7
        let text = format!("a{}", "é".repeat(3000));
        let kept = captured(&[text.as_bytes()]);
        assert!(kept.is_utf8);
        assert!(!kept.text.contains('\u{fffd}'), "{}", kept.text);
        assert_eq!(kept.omitted, 6001 - 2047 - 2048);
    }

    #[test]
    fn invalid_utf8_is_flagged() {
        // NEG-8
        let kept = captured(&[b"ok \xff\xfe ok"]);
        assert_eq!((kept.text.as_str(), kept.is_utf8), ("ok \u{fffd}\u{fffd} ok", false));
    }

    proptest! {
        #[test]
        fn chunks_do_not_change_the_output(text in "\\PC{0,6000}", cut in 1_usize..5000) {
            let whole = captured(&[text.as_bytes()]);
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(cut).collect();
            prop_assert_eq!(&captured(&pieces), &whole);
            prop_assert!(whole.is_utf8);
            prop_assert_eq!(whole.total, text.len() as u64);
        }
    }
}
