//! Strict parser for the head of an HTTP/1 request.
//!
//! If two parsers disagree about where a request ends, a second request can hide in the first
//! (attack sandbox-C20). So nothing is repaired here: a line ends in CR LF, a length is given once,
//! and everything else is an error. hyper's parser is not used for requests because it accepts lone
//! line feeds and resolves contradicting lengths.

use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use hyper::header::{HOST, TRANSFER_ENCODING};
use hyper::http::Method;

pub(crate) const MAX_HEAD: usize = 64 * 1024; // attack sandbox-C29
const MAX_FIELDS: usize = 128;

/// One request without its body.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: Method,
    /// The target as sent: graphic ASCII without `#`.
    pub(crate) target: String,
    pub(crate) version: Version,
    pub(crate) fields: HeaderMap,
    pub(crate) framing: Framing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Http10,
    Http11,
}

/// The length of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    None,
    Length(u64),
    Chunked,
}

impl Head {
    /// Whether the client wants to send another request on this connection.
    pub(crate) fn keeps_alive(&self) -> bool {
        let proxy_connection = HeaderName::from_static("proxy-connection");
        let closes = [CONNECTION, proxy_connection].iter().any(|name| {
            self.fields.get_all(name).iter().any(|value| {
                value
                    .as_bytes()
                    .split(|&byte| byte == b',')
                    .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"close"))
            })
        });
        self.version == Version::Http11 && !closes
    }

    /// The `Host` field, of which there is at most one.
    pub(crate) fn host(&self) -> Option<&HeaderValue> {
        self.fields.get(HOST)
    }

    pub(crate) fn has_body(&self) -> bool {
        match self.framing {
            Framing::None | Framing::Length(0) => false,
            Framing::Length(_) | Framing::Chunked => true,
        }
    }
}

/// Finds the end of a head in a stream, looking at each byte once.
#[derive(Debug, Default)]
pub(crate) struct HeadScanner {
    at: usize,
    line_start: usize,
}

impl HeadScanner {
    /// The length of the head with its empty line, once it is complete.
    pub(crate) fn find_end(&mut self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\r' => match bytes.get(self.at + 1) {
                    Some(b'\n') if self.at > self.line_start => {
                        self.at += 2;
                        self.line_start = self.at;
                    }
                    Some(b'\n') if self.at == 0 => return Err("an empty line before the request"),
                    Some(b'\n') => return Ok(Some(self.at + 2)),
                    Some(_) => return Err("a carriage return without a line feed"),
                    None => break,
                },
                b'\n' => return Err("a line feed without a carriage return"),
                b' ' | b'\t' if self.at == self.line_start => return Err("a folded line"),
                0 => return Err("a zero byte in the request's head"),
                _ => self.at += 1,
            }
        }
        if bytes.len() > MAX_HEAD {
            return Err("the request's head is longer than 64 KiB");
        }
        Ok(None)
    }
}

/// Parses a complete head, as delimited by the scanner.
pub(crate) fn parse(bytes: &[u8]) -> Result<Head, &'static str> {
    if bytes.len() > MAX_HEAD {
        return Err("the request's head is longer than 64 KiB");
    }
    let mut slots = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut slots);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return Err("the request's head does not end where it should"),
        Err(httparse::Error::TooManyHeaders) => return Err("the request has too many fields"),
        Err(_) => return Err("the request is not HTTP/1.1"),
    }
    let (Some(method), Some(target), Some(version)) =
        (request.method, request.path, request.version)
    else {
        return Err("the request is not HTTP/1.1");
    };
    if !target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        return Err("the request's target has an invalid character");
    }
    let version = if version == 0 { Version::Http10 } else { Version::Http11 };
    let mut fields = HeaderMap::with_capacity(request.headers.len());
    for field in request.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes())
            .map_err(|_| "a field's name is not valid")?;
        let value =
            HeaderValue::from_bytes(field.value).map_err(|_| "a field's value is not valid")?;
        fields.append(name, value);
    }
    if fields.get_all(HOST).iter().count() > 1 {
        return Err("more than one `Host` field");
    }
    if version == Version::Http11 && !fields.contains_key(HOST) {
        return Err("no `Host` field");
    }
    Ok(Head {
        method: Method::from_bytes(method.as_bytes()).map_err(|_| "the method is not valid")?,
        target: target.to_owned(),
        version,
        framing: framing(&fields, version)?,
        fields,
    })
}

fn framing(fields: &HeaderMap, version: Version) -> Result<Framing, &'static str> {
    let mut lengths = fields.get_all(CONTENT_LENGTH).iter();
    let mut encodings = fields.get_all(TRANSFER_ENCODING).iter();
    match (lengths.next(), encodings.next()) {
        (None, None) => Ok(Framing::None),
        (Some(_), Some(_)) => Err("both `Content-Length` and `Transfer-Encoding`"),
        (Some(length), None) => {
            let digits = length.as_bytes();
            if lengths.next().is_some() {
                return Err("more than one `Content-Length`");
            }
            // 18 digits fit a u64; a sign or a list (`5, 5`) is not all digits.
            if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
                return Err("`Content-Length` is not a number");
            }
            let digits = digits.iter();
            Ok(Framing::Length(digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))))
        }
        (None, Some(encoding)) => {
            if encodings.next().is_some()
                || !encoding.as_bytes().eq_ignore_ascii_case(b"chunked")
                || version == Version::Http10
            {
                return Err("a `Transfer-Encoding` other than `chunked`");
            }
            Ok(Framing::Chunked)
        }
    }
}

#[cfg(test)]
mod tests;
