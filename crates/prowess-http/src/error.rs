//! Errors of requests.

use std::error::Error;
use std::io;

use crate::tls::TlsError;

/// A failed request.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The time limit of the request was exceeded.
    #[error("the request timed out")]
    TimedOut,
    /// The host has no address, or none that may be connected to.
    #[error("could not resolve the host")]
    HostNotFound,
    /// The body has more bytes than allowed.
    #[error("the response is larger than {0} bytes")]
    TooLarge(u64),
    /// The connection failed.
    #[error(transparent)]
    Io(io::Error),
    /// TLS can't be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The proxy's address is not valid. It is not repeated: it may contain a password.
    #[error("the proxy can't be used")]
    Proxy,
    /// Any other error, in the library's words.
    #[error("{0}")]
    Other(String),
}

/// The resolver's error for a host without a usable address.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("could not resolve the host")]
pub(crate) struct NoAddress;

impl HttpError {
    /// Finds the cause that matters in the library's chain of errors.
    pub fn of(error: &reqwest::Error) -> HttpError {
        if error.is_timeout() {
            return HttpError::TimedOut;
        }
        let mut deepest: &(dyn Error + 'static) = error;
        let mut io = None;
        while let Some(source) = deepest.source() {
            deepest = source;
            if deepest.is::<NoAddress>() {
                return HttpError::HostNotFound;
            }
            if let Some(error) = deepest.downcast_ref::<io::Error>() {
                io = Some(error);
            }
        }
        match io {
            Some(error) => HttpError::Io(match error.raw_os_error() {
                Some(number) => io::Error::from_raw_os_error(number),
                None => io::Error::new(error.kind(), error.to_string()),
            }),
            // The error itself would repeat the address, which may have a secret in its query.
            None => HttpError::Other(deepest.to_string()),
        }
    }
}
