//! The subset of HTTP/1.1 that a test server needs.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

/// Maximum size of a request body; more than any test sends.
const LONGEST_BODY: usize = 64 << 20;

/// A recorded request.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The method, such as `POST`.
    pub method: String,
    /// The request target: a path, or a whole URL if the client uses the server as a proxy.
    pub target: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Recorded {
    /// The path without a query.
    pub fn path(&self) -> &str {
        let target = match self.target.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
            None => &self.target,
        };
        target.split('?').next().unwrap_or(target)
    }

    /// The value of a header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is empty.
    pub fn json(&self) -> Value {
        if self.body.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&self.body).expect("the body of the request is JSON")
    }
}

/// Reads a request; `None` if the client disconnects before it is complete.
pub(super) fn read_request(connection: &TcpStream) -> Option<Recorded> {
    let mut reader = BufReader::new(connection);
    let mut line = || {
        let mut line = String::new();
        let read = reader.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let header = line()?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().expect("a length is a number"));
    assert!(length <= LONGEST_BODY, "a request of {length} bytes");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Recorded { method, target, headers, body })
}

pub(super) fn write_head(
    mut connection: &TcpStream,
    status: u16,
    headers: &[(String, String)],
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
    connection.write_all(head.as_bytes())
}

pub(super) fn write_chunk(mut connection: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    // An empty chunk would end the body.
    if bytes.is_empty() {
        return Ok(());
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    connection.write_all(&chunk)
}

pub(super) fn write_end(mut connection: &TcpStream) -> io::Result<()> {
    connection.write_all(b"0\r\n\r\n")
}
