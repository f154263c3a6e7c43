//! Extracts the server name from a TLS `ClientHello`, independent of fragmentation.
//!
//! An unreadable `ClientHello` is refused and never forwarded (attacks sandbox-C14 to sandbox-C16):
//! splitting it into one-byte segments or several records must not bypass the check.

use thiserror::Error;

/// Maximum size of a `ClientHello`, in bytes. One with post-quantum key shares has less than 2 KiB.
pub(crate) const MAX_HELLO: usize = 16 * 1024;

const RECORD_HEADER: usize = 5; // RFC 8446 §5.1
const MAX_RECORD: usize = 1 << 14; // RFC 8446 §5.1
const HANDSHAKE_RECORD: u8 = 22; // RFC 8446 §5.1
const HANDSHAKE_HEADER: usize = 4; // RFC 8446 §4
const CLIENT_HELLO: u8 = 1; // RFC 8446 §4
const SERVER_NAME: u16 = 0; // RFC 6066 §3
const HOST_NAME: u8 = 0; // RFC 6066 §3

/// The state of the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hello {
    /// An incomplete `ClientHello`.
    Incomplete,
    /// A complete `ClientHello` with its server name. With encrypted `ClientHello` (ECH) this is
    /// the outer name, the only one that can be checked.
    Complete { server_name: Option<String> },
}

/// Why the bytes are not a `ClientHello`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum HelloError {
    #[error("the client did not send TLS")]
    NotTls,
    #[error("the TLS ClientHello is longer than {MAX_HELLO} bytes")]
    TooLong,
    #[error("the TLS ClientHello can't be parsed")]
    Malformed,
}

/// Parses a `ClientHello` from everything a client has sent so far.
pub(crate) fn read(bytes: &[u8]) -> Result<Hello, HelloError> {
    let mut message = Vec::new();
    let mut rest = bytes;
    loop {
        match rest.first() {
            Some(&HANDSHAKE_RECORD) => {}
            Some(_) => return Err(HelloError::NotTls),
            None => return incomplete(bytes),
        }
        if rest.get(1).is_some_and(|&major| major != 3) {
            return Err(HelloError::NotTls);
        }
        let Some((header, behind)) = rest.split_at_checked(RECORD_HEADER) else {
            return incomplete(bytes);
        };
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if length == 0 || length > MAX_RECORD {
            return Err(HelloError::Malformed);
        }
        let available = length.min(behind.len());
        message.extend_from_slice(&behind[..available]);
        match client_hello(&message)? {
            Some(hello) if hello.len() + HANDSHAKE_HEADER == message.len() => {
                if available < length {
                    return Err(HelloError::Malformed);
                }
                return Ok(Hello::Complete { server_name: server_name(hello)? });
            }
            // Nothing may follow a `ClientHello` in its own record (RFC 8446 §5.1).
            Some(_) => return Err(HelloError::Malformed),
            None if available < length => return incomplete(bytes),
            None => rest = &behind[length..],
        }
    }
}

fn incomplete(bytes: &[u8]) -> Result<Hello, HelloError> {
    if bytes.len() >= MAX_HELLO {
        return Err(HelloError::TooLong);
    }
    Ok(Hello::Incomplete)
}

/// The body of the message, once it is complete.
fn client_hello(message: &[u8]) -> Result<Option<&[u8]>, HelloError> {
    if message.first().is_some_and(|&kind| kind != CLIENT_HELLO) {
        return Err(HelloError::NotTls);
    }
    let Some((header, body)) = message.split_at_checked(HANDSHAKE_HEADER) else {
        return Ok(None);
    };
    let length =
        usize::from(header[1]) << 16 | usize::from(header[2]) << 8 | usize::from(header[3]);
    if length > MAX_HELLO {
        return Err(HelloError::TooLong);
    }
    Ok(body.get(..length))
}

fn server_name(hello: &[u8]) -> Result<Option<String>, HelloError> {
    let mut fields = Fields(hello);
    fields.take(2 + 32)?; // legacy_version, random
    fields.vector_u8()?; // legacy_session_id
    fields.vector_u16()?; // cipher_suites
    fields.vector_u8()?; // legacy_compression_methods
    if fields.0.is_empty() {
        return Ok(None);
    }
    let mut extensions = Fields(fields.vector_u16()?);
    fields.end()?;
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.u16()?;
        let content = extensions.vector_u16()?;
        if kind != SERVER_NAME {
            continue;
        }
        // The server could use a second one.
        if found.is_some() {
            return Err(HelloError::Malformed);
        }
        found = Some(one_host_name(content)?);
    }
    Ok(found)
}

fn one_host_name(content: &[u8]) -> Result<String, HelloError> {
    let mut content = Fields(content);
    let mut list = Fields(content.vector_u16()?);
    content.end()?;
    if list.take(1)? != [HOST_NAME] {
        return Err(HelloError::Malformed);
    }
    let name = list.vector_u16()?;
    list.end()?;
    if name.is_empty() || !name.iter().all(u8::is_ascii_graphic) {
        return Err(HelloError::Malformed);
    }
    Ok(name.iter().copied().map(char::from).collect())
}

/// The rest of a structure.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], HelloError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(HelloError::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, HelloError> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn vector_u8(&mut self) -> Result<&'a [u8], HelloError> {
        let length = self.take(1)?[0];
        self.take(length.into())
    }

    fn vector_u16(&mut self) -> Result<&'a [u8], HelloError> {
        let length = self.u16()?;
        self.take(length.into())
    }

    fn end(&self) -> Result<(), HelloError> {
        if self.0.is_empty() { Ok(()) } else { Err(HelloError::Malformed) }
    }
}

#[cfg(test)]
mod tests;
