use std::time::Duration;

use proptest::prelude::*;
use prowess_sandbox::{ExitReason, WriteLimit};
use serde_json::{Value, json};

use prowess_core::{Envelope, Event, StandardStream, Utf8Decoder, wire};

use super::{EnvelopeFold, RunEnding};

/// The JSON envelope of some output.
fn check(pieces: &[(StandardStream, &[u8])], how: ExitReason) -> Value {
    wire::envelope(&envelope(pieces, how))
}

fn envelope(pieces: &[(StandardStream, &[u8])], how: ExitReason) -> Envelope {
    let mut fold = EnvelopeFold::default();
    for (stream, bytes) in pieces {
        fold.push(&Event::Output { stream: *stream, bytes: bytes.to_vec() });
    }
    let time = Duration::from_millis(1500);
    fold.finish(RunEnding::of(how, time, &[3]), Duration::from_millis(150))
}

use StandardStream::{Stderr, Stdout};

#[test]
fn the_envelope_has_the_keys_of_the_specification() {
    // GIB-4.3-1
    assert_eq!(
        check(&[(Stdout, b"all is well\n")], ExitReason::Exited(0)),
        json!({
            "success": true, "exit_code": 0, "output": "all is well\n",
            "truncated": false, "duration_ms": 150, "outcome": "success",
        })
    );
    assert_eq!(
        check(&[(Stderr, b"error: not a git repository")], ExitReason::Exited(1)),
        json!({
            "success": false, "exit_code": 1, "output": "error: not a git repository",
            "error": "Command failed with exit code 1",
            "truncated": false, "duration_ms": 150, "outcome": "failed",
        })
    );
}

#[test]
fn streams_are_merged_in_the_order_they_came() {
    // GIB-4.1-1
    let pieces: &[(StandardStream, &[u8])] = &[(Stdout, b"1"), (Stderr, b"2"), (Stdout, b"3")];
    assert_eq!(check(pieces, ExitReason::Exited(7))["output"], "123");
    assert_eq!(check(pieces, ExitReason::Exited(7))["exit_code"], 7);
}

#[test]
fn json_is_looked_for_on_standard_output_alone() {
    // GIB-4.4-1
    let pieces: &[(StandardStream, &[u8])] =
        &[(Stderr, b"warming up\n"), (Stdout, b"{\"count\""), (Stdout, b": 5}\n")];
    let envelope = check(pieces, ExitReason::Exited(0));
    assert_eq!(envelope["parsed"], json!({ "count": 5 }));
    assert_eq!(envelope["output"], "warming up\n{\"count\": 5}\n");
    for no_json in ["", "five", "{\"a\": 1} {\"b\": 2}", "{'a': 1}"] {
        assert_eq!(
            check(&[(Stdout, no_json.as_bytes())], ExitReason::Exited(0)).get("parsed"),
            None
        );
    }
    // JSON on standard error is not parsed.
    assert_eq!(check(&[(Stderr, b"{}")], ExitReason::Exited(0)).get("parsed"), None);
}

#[test]
fn output_that_is_no_text_is_kept_and_flagged() {
    // NEG-8
    let envelope = check(&[(Stdout, b"a\xffb")], ExitReason::Exited(0));
    assert_eq!(envelope["output"], "a\u{fffd}b");
    assert_eq!(envelope["encoding"], "lossy");
    let cut = check(&[(Stdout, b"half \xc3")], ExitReason::Exited(0));
    assert_eq!(cut["encoding"], "lossy");
    let pieces: &[(StandardStream, &[u8])] = &[(Stdout, b"\xc3"), (Stdout, b"\xa9")];
    assert_eq!(check(pieces, ExitReason::Exited(0)).get("encoding"), None);
}

#[test]
fn every_end_has_a_code_and_a_reason() {
    let cases = [
        (ExitReason::Exited(0), "success", 0, None),
        (ExitReason::Exited(3), "success", 3, None),
        (ExitReason::Exited(2), "failed", 2, Some("Command failed with exit code 2")),
        (
            ExitReason::Signalled(11),
            "failed",
            139,
            Some("Command failed with exit code 139 (signal 11)"),
        ),
        (ExitReason::TimedOut(None), "timeout", 124, Some("Command timed out after 1.5 s")),
        (
            ExitReason::TimedOut(Some(3)),
            "timeout",
            124,
            Some("Command timed out after 1.5 s (it exited with 3)"),
        ),
        (ExitReason::Cancelled(None), "cancelled", 130, Some("Command was cancelled")),
        (ExitReason::Cancelled(Some(7)), "cancelled", 7, Some("Command was cancelled")),
        (ExitReason::OutOfMemory, "out_of_memory", 137, Some("Command exceeded its memory limit")),
        (
            ExitReason::TooMuchOutput,
            "too_much_output",
            137,
            Some("Command exceeded its output limit"),
        ),
        (
            ExitReason::TooMuchWritten(WriteLimit::Bytes(4 << 30)),
            "too_much_written",
            137,
            Some("Command was terminated: it added more than 4096 MiB to writable folders"),
        ),
        (
            ExitReason::TooMuchWritten(WriteLimit::Entries(200_000)),
            "too_much_written",
            137,
            Some("Command was terminated: it added more than 200000 files to writable folders"),
        ),
        (
            ExitReason::TooMuchWritten(WriteLimit::Disk),
            "too_much_written",
            137,
            Some("Command was terminated: the disk of a writable folder is nearly full"),
        ),
    ];
    for (how, outcome, code, error) in cases {
        let envelope = check(&[], how);
        assert_eq!(envelope["outcome"], outcome);
        assert_eq!(envelope["exit_code"], code);
        assert_eq!(envelope.get("error").and_then(Value::as_str), error);
        assert_eq!(envelope["success"], outcome == "success");
        let has_hint = envelope.get("hints").is_some();
        assert_eq!(has_hint, outcome == "too_much_written", "{envelope}");
    }
}

#[test]
fn a_long_answer_is_not_parsed_and_does_not_fill_the_memory() {
    let mut fold = EnvelopeFold::default();
    fold.push(&Event::Output { stream: Stdout, bytes: b"[".to_vec() });
    for _ in 0..80 {
        fold.push(&Event::Output { stream: Stdout, bytes: vec![b' '; 64 << 10] });
    }
    fold.push(&Event::Output { stream: Stdout, bytes: b"]".to_vec() });
    assert!(fold.stdout.capacity() == 0, "what is too long is let go");
    let envelope =
        fold.finish(RunEnding::of(ExitReason::Exited(0), Duration::ZERO, &[]), Duration::ZERO);
    assert_eq!(envelope.parsed, None);
    assert!(envelope.left_out > 0);
}

proptest! {
    /// However the bytes are split, the text is the same as for the whole.
    #[test]
    fn chunks_do_not_change_the_output(bytes: Vec<u8>, cuts in prop::collection::vec(0_usize..64, 0..8)) {
        let mut decoder = Utf8Decoder::default();
        let mut text = String::new();
        let mut rest = bytes.as_slice();
        for cut in cuts {
            let (piece, behind) = rest.split_at(cut.min(rest.len()));
            text.push_str(&decoder.push(piece).text);
            rest = behind;
        }
        text.push_str(&decoder.push(rest).text);
        text.extend(decoder.finish());
        prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
    }

    /// GIB-4.2-3: nothing panics, and no more is kept than the specification allows.
    #[test]
    fn output_stays_small(pieces: Vec<Vec<u8>>, repeat in 1_usize..200) {
        let mut fold = EnvelopeFold::default();
        let mut total = 0;
        for piece in pieces.iter().cycle().take(pieces.len() * repeat) {
            total += piece.len() as u64;
            fold.push(&Event::Output { stream: Stdout, bytes: piece.clone() });
        }
        let envelope = fold.finish(RunEnding::of(ExitReason::Exited(0), Duration::ZERO, &[]), Duration::ZERO);
        // An invalid byte becomes a replacement character of three bytes.
        prop_assert!(envelope.output.len() <= 3 * 4096 + 64);
        prop_assert_eq!(envelope.left_out > 0, total > 4096);
    }
}
