//! Complete and aborted request bodies.

use hyper::body::Body;
use proptest::prelude::*;

use super::{UploadError, channel, pump};
use crate::head::Framing;
use crate::prefixed::Prefixed;

/// What a server receives of a body that arrives in chunks of this size, and what is left unread.
fn pass(framing: Framing, bytes: &[u8], pieces: usize) -> (Vec<u8>, Result<Vec<u8>, String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (uploader, mut upload) = channel(framing);
        let client = tokio_pieces(bytes, pieces);
        let mut client = Prefixed::new(client, Vec::new());
        let receive = async {
            let mut received = Vec::new();
            while let Some(piece) = upload.pieces.recv().await {
                match piece {
                    Ok(piece) => received.extend(piece),
                    Err(error) => received.extend(format!("!{error}").into_bytes()),
                }
            }
            received
        };
        let (result, received) = tokio::join!(pump(&mut client, framing, uploader), receive);
        let left = result.map(|()| client.into_parts().1).map_err(|error| match error {
            UploadError::Malformed(what) => what.to_owned(),
            UploadError::Client(error) => format!("{:?}", error.kind()),
            UploadError::ServerStopped => "server stopped".to_owned(),
        });
        (received, left)
    })
}

/// A reader that returns at most `size` bytes at a time.
fn tokio_pieces(bytes: &[u8], size: usize) -> impl tokio::io::AsyncRead + Unpin {
    bytes.chunks(size.max(1)).map(<[u8]>::to_vec).fold(
        Box::new(tokio::io::empty()) as Box<dyn tokio::io::AsyncRead + Unpin>,
        |before, piece| {
            let piece = std::io::Cursor::new(piece);
            Box::new(tokio::io::AsyncReadExt::chain(before, piece))
        },
    )
}

#[test]
fn a_body_ends_at_its_framing() {
    let chunks = b"4\r\nwiki\r\n00a\r\n0123456789\r\n0\r\n\r\n";
    for pieces in [1, 2, 3, 1000] {
        let (received, left) = pass(Framing::Length(5), b"hello", pieces);
        assert_eq!((received, left), (b"hello".to_vec(), Ok(Vec::new())));
        let (received, left) = pass(Framing::Chunked, chunks, pieces);
        assert_eq!((received, left), (b"wiki0123456789".to_vec(), Ok(Vec::new())));
    }
    // sandbox-C20: further bytes belong to the next request.
    let (received, left) = pass(Framing::Length(2), b"hiGET /", 1000);
    assert_eq!((received, left), (b"hi".to_vec(), Ok(b"GET /".to_vec())));
    let (_, left) = pass(Framing::Chunked, b"0\r\n\r\nGET /", 1000);
    assert_eq!(left, Ok(b"GET /".to_vec()));
    let (received, left) = pass(Framing::None, b"GET /", 1000);
    assert_eq!((received, left), (Vec::new(), Ok(Vec::new())));
}

#[test]
fn an_aborted_body_is_aborted_for_the_server() {
    // sandbox-C20
    let size = "a chunk's size is not a hexadecimal number";
    let end = "a chunk does not end where it should";
    let table: [(&[u8], &str); 12] = [
        (b"5\r\nhel", "UnexpectedEof"),
        (b"5;a=b\r\nhello\r\n0\r\n\r\n", size),
        (b"5\nhello\r\n0\r\n\r\n", size),
        (b" 5\r\nhello\r\n0\r\n\r\n", size),
        (b"0x5\r\nhello\r\n0\r\n\r\n", size),
        (b"-5\r\nhello\r\n0\r\n\r\n", size),
        (b"\r\nhello", size),
        (b"fffffffffffffffff\r\n", size),
        (b"5\rXhello", size),
        (b"5\r\nhelloworld\r\n", end),
        (b"0\r\nTrailer: x\r\n\r\n", end),
        (b"0\r\n\n\n", end),
    ];
    for (bytes, expected) in table {
        for pieces in [1, 1000] {
            let (received, left) = pass(Framing::Chunked, bytes, pieces);
            assert_eq!(left, Err(expected.to_owned()), "{:?}", String::from_utf8_lossy(bytes));
            assert!(received.ends_with(b"!the body was aborted"), "{received:?}");
        }
    }
    let (received, left) = pass(Framing::Length(9), b"hello", 1000);
    assert_eq!(left, Err("UnexpectedEof".to_owned()));
    assert_eq!(received, b"hello!the body was aborted");
}

#[test]
fn the_length_of_a_body_is_forwarded() {
    let hint = |framing| {
        let (_uploader, upload) = channel(framing);
        (upload.is_end_stream(), upload.size_hint().exact())
    };
    assert_eq!(hint(Framing::None), (true, Some(0)));
    assert_eq!(hint(Framing::Length(7)), (false, Some(7)));
    assert_eq!(hint(Framing::Chunked), (false, None));
}

proptest! {
    #[test]
    fn chunk_sizes_make_no_difference(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        size in 1..50_usize,
        pieces in 1..30_usize,
    ) {
        let mut encoded = Vec::new();
        for chunk in bytes.chunks(size) {
            encoded.extend(format!("{:X}\r\n", chunk.len()).into_bytes());
            encoded.extend(chunk);
            encoded.extend(b"\r\n");
        }
        encoded.extend(b"0\r\n\r\nnext");
        let (received, left) = pass(Framing::Chunked, &encoded, pieces);
        prop_assert_eq!(received, bytes);
        prop_assert!(left.is_ok_and(|left| b"next".starts_with(&left[..])));
    }
}
