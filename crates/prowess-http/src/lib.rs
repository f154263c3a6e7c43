//! The HTTP client of Prowess: TLS with the authorities of the system, and requests for callers that are not async.
//!
//! Nothing is implicit: redirects are not followed, bodies are not decoded, cookies are not kept, and every read has a
//! limit. Clients of language models are async and use `reqwest` directly, with [`tls`] of this crate.

mod client;
mod error;
mod tls;

pub use client::{
    AddressFilter, ClientOptions, HttpClient, HttpRequest, HttpResponse, ProxySetting, client,
};
pub use error::HttpError;
pub use tls::{Authorities, TlsError, tls};
