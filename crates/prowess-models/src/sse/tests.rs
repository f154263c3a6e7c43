use proptest::prelude::*;

use super::{LONGEST_EVENT, SseDecoder, SseEvent, TooLong};

fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for piece in pieces {
        decoder
            .push(piece, |SseEvent { kind, data }| events.push((kind.clone(), data.clone())))
            .expect("the events are short");
    }
    events
}

#[test]
fn fields_lines_and_comments() {
    for (text, wanted) in [
        ("data: a\n\n", vec![("", "a")]),
        ("data:a\n\ndata: b\n\n", vec![("", "a"), ("", "b")]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", vec![("", "a"), ("", "b"), ("", "c")]),
        (": ping\n\ndata: a\n: ping\n\n", vec![("", "a")]),
        ("event: ping\ndata: {}\n\ndata: a\n\n", vec![("ping", "{}"), ("", "a")]),
        ("data: a\ndata: b\n\n", vec![("", "a\nb")]),
        ("data\n\n", vec![("", "")]),
        ("id: 1\nretry: 5\n\nevent: x\n\n", vec![]),
        ("\u{feff}data: a\n\n", vec![("", "a")]),
        ("data: never ended", vec![]),
        ("data: never ended\n", vec![]),
        ("data:  two blanks\n\n", vec![("", " two blanks")]),
    ] {
        let found = events(&[text.as_bytes()]);
        let found: Vec<_> = found.iter().map(|(kind, data)| (&**kind, &**data)).collect();
        assert_eq!(found, wanted, "{text:?}");
    }
}

#[test]
fn rejects_an_endless_line() {
    let mut decoder = SseDecoder::default();
    let piece = vec![b'x'; LONGEST_EVENT];
    assert_eq!(decoder.push(&piece, |_| ()), Ok(()));
    assert_eq!(decoder.push(b"x", |_| ()), Err(TooLong));
}

#[test]
fn rejects_an_event_of_too_many_lines() {
    let mut decoder = SseDecoder::default();
    let line = format!("data: {}\n", "x".repeat(LONGEST_EVENT / 2));
    assert_eq!(decoder.push(line.as_bytes(), |_| ()), Ok(()));
    assert_eq!(decoder.push(line.as_bytes(), |_| ()), Ok(()));
    assert_eq!(decoder.push(b"data: x\n", |_| ()), Err(TooLong));
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_matter(
        text in "((data|event|: ping|id):? ?[aä😀\u{feff}]{0,3}(\r\n|\n|\r)){0,12}(\n|\r\n)?",
        cuts in prop::collection::vec(0usize..200, 0..8),
    ) {
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(events(&pieces), events(&[bytes]));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(events(&single), events(&[bytes]));
    }
}
