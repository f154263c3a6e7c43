//! Heads that are accepted or refused.

use proptest::prelude::*;

use super::{Framing, Head, HeadScanner, MAX_HEAD, parse};

fn read(bytes: &[u8]) -> Result<Option<Head>, &'static str> {
    match HeadScanner::default().find_end(bytes)? {
        Some(end) => parse(&bytes[..end]).map(Some),
        None => Ok(None),
    }
}

fn why_not(text: &str) -> &'static str {
    match read(text.as_bytes()) {
        Err(what) => what,
        Ok(head) => panic!("{text:?} was accepted: {head:?}"),
    }
}

/// A request with these header lines.
fn with(lines: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a.test\r\n{lines}\r\n")
}

#[test]
fn an_ordinary_head_is_parsed() {
    let text = "POST /x?y HTTP/1.1\r\nHost: a.test\r\nContent-Length: 12\r\n\r\nbody";
    let head = read(text.as_bytes()).unwrap().unwrap();
    assert_eq!(
        (head.method.as_str(), head.target.as_str(), head.framing, head.keeps_alive()),
        ("POST", "/x?y", Framing::Length(12), true)
    );
    let chunked = read(with("Transfer-Encoding: Chunked\r\n").as_bytes()).unwrap().unwrap();
    assert_eq!(chunked.framing, Framing::Chunked);
    let closing = read(with("Connection: x, Close\r\n").as_bytes()).unwrap().unwrap();
    assert!(!closing.keeps_alive());
    let old = read(b"GET / HTTP/1.0\r\n\r\n").unwrap().unwrap();
    assert!(!old.keeps_alive());
}

#[test]
fn ambiguous_heads_are_refused() {
    // sandbox-C20
    let table = [
        (with("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "both"),
        (with("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), "both"),
        (with("Content-Length: 1\r\nContent-Length: 1\r\n"), "more than one `Content-Length`"),
        (with("Content-Length: 1\r\nContent-Length: 2\r\n"), "more than one `Content-Length`"),
        (with("Content-Length: 1, 1\r\n"), "`Content-Length` is not"),
        (with("Content-Length: +1\r\n"), "`Content-Length` is not"),
        (with("Content-Length: -1\r\n"), "`Content-Length` is not"),
        (with("Content-Length: 0x1\r\n"), "`Content-Length` is not"),
        (with("Content-Length:\r\n"), "`Content-Length` is not"),
        (with("Content-Length: 99999999999999999999\r\n"), "`Content-Length` is not"),
        (with("Transfer-Encoding: gzip, chunked\r\n"), "a `Transfer-Encoding`"),
        (with("Transfer-Encoding: xchunked\r\n"), "a `Transfer-Encoding`"),
        (with("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"), "a `Transfer-Encoding`"),
        (with("Transfer-Encoding:\x0bchunked\r\n"), "the request is not"),
        ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".into(), "a `Transfer-Encoding`"),
        (with("X: a\r\n b\r\n"), "a folded line"),
        (with("X: a\r\n\tb\r\n"), "a folded line"),
        (with("X: a\nY: b\r\n"), "a line feed"),
        (with("X: a\rY: b\r\n"), "a carriage return"),
        (with("X: a\0b\r\n"), "a zero byte"),
        ("GET / HTTP/1.1\nHost: a.test\n\n".into(), "a line feed"),
        ("\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n".into(), "an empty line"),
        (with("Content-Length : 1\r\n"), "the request is not"),
        (with("no colon\r\n"), "the request is not"),
        (with("Host: b.test\r\n"), "more than one `Host`"),
        ("GET / HTTP/1.1\r\n\r\n".into(), "no `Host`"),
        ("GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n".into(), "the request is not"),
        ("GET /a#b HTTP/1.1\r\nHost: a.test\r\n\r\n".into(), "the request's target"),
        ("GET /\u{e9} HTTP/1.1\r\nHost: a.test\r\n\r\n".into(), "the request's target"),
        ("GET / HTTP/2.0\r\nHost: a.test\r\n\r\n".into(), "the request is not"),
        ("PRI * HTTP/2.0\r\n\r\n".into(), "the request is not"),
        ("GET /\r\n\r\n".into(), "the request is not"),
        (with(&"X: y\r\n".repeat(200)), "the request has too many"),
    ];
    for (text, expected) in table {
        let why = why_not(&text);
        assert!(why.starts_with(expected), "{text:?}: {why}");
    }
}

#[test]
fn the_length_of_a_head_is_bounded() {
    // sandbox-C29
    let endless = with(&format!("X: {}", "y".repeat(MAX_HEAD)));
    assert_eq!(why_not(&endless), "the request's head is longer than 64 KiB");
}

proptest! {
    #[test]
    fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
        let _ = read(&[b"GET / HTTP/1.1\r\nHost: a\r\n", &bytes[..], b"\r\n\r\n"].concat());
    }

    /// The end of a head does not depend on chunk boundaries.
    #[test]
    fn chunk_boundaries_do_not_change_the_end(text in "[a-zA-Z: \r\n\t]{0,60}", cut in 0..60_usize) {
        let bytes = text.as_bytes();
        let whole = HeadScanner::default().find_end(bytes);
        let mut scanner = HeadScanner::default();
        let first = scanner.find_end(&bytes[..cut.min(bytes.len())]);
        let pieces = match first {
            Ok(None) => scanner.find_end(bytes),
            decided => decided,
        };
        prop_assert_eq!(pieces, whole);
    }
}
