//! The HTTP client of Prowess: TLS with the authorities of the system, and requests for callers that are not async.
//!
//! Nothing happens by itself: redirects are not followed, bodies are not decoded, no cookie is kept, and every read has a
//! bound. Clients of language models are async and use `reqwest` directly, with [`tls`] of this crate.

mod client;
mod error;
mod tls;

pub use client::{Addresses, Client, ClientOptions, Proxy, Request, Response};
pub use error::HttpError;
pub use tls::{Authorities, TlsError, tls};
