//! Requests that block the calling thread, even if that thread belongs to an async runtime.
//!
//! One background thread drives the connections of all clients of the process.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, NoProxy, redirect};
use tokio::runtime::Handle;

use crate::error::{HttpError, NoAddress};
use crate::tls::{Authorities, tls};

/// The user agent of every request.
const USER_AGENT: &str = concat!("prowess/", env!("CARGO_PKG_VERSION"));

/// Options of a client: what it may connect to, and how.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The trusted certificate authorities.
    pub authorities: Authorities,
    /// The proxy.
    pub proxy: ProxySetting,
    /// The IP addresses that a host may resolve to.
    pub addresses: AddressFilter,
    /// Timeout for establishing a connection.
    pub connect_timeout: Duration,
}

/// The proxy of a client.
#[derive(Clone, Debug)]
pub enum ProxySetting {
    /// No proxy.
    None,
    /// This proxy, for every request.
    Via(String),
    /// The proxy of the environment variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    Environment,
}

/// The IP addresses that a host may resolve to.
///
/// It is applied to the address that is connected to, so that resolving the name again later can't bypass it. A host that is
/// an IP address itself is not resolved and has to be checked by the caller.
#[derive(Clone, Copy, Debug)]
pub enum AddressFilter {
    /// Every address.
    All,
    /// Addresses for which the function returns true.
    Only(fn(IpAddr) -> bool),
}

impl AddressFilter {
    fn allow(self, address: IpAddr) -> bool {
        match self {
            AddressFilter::All => true,
            AddressFilter::Only(allowed) => allowed(address),
        }
    }
}

/// An HTTP request.
pub struct HttpRequest<'a> {
    /// The URL.
    pub url: &'a str,
    /// Additional headers.
    pub headers: &'a [(&'static str, &'a str)],
    /// The body of a `POST`; `None` for a `GET`.
    pub body: Option<Vec<u8>>,
    /// Timeout for the whole exchange: connecting, the response and its body.
    pub timeout: Duration,
}

/// Creates a client for callers that are async. Nothing is connected yet; redirects are not followed.
pub fn client(options: ClientOptions) -> Result<reqwest::Client, HttpError> {
    let ClientOptions { authorities, proxy, addresses, connect_timeout } = options;
    let builder = reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        .connect_timeout(connect_timeout)
        .dns_resolver(SystemResolver { addresses })
        .user_agent(USER_AGENT)
        .tls_backend_preconfigured(tls(authorities)?);
    let builder = match proxy {
        ProxySetting::None => builder.no_proxy(),
        ProxySetting::Via(url) => {
            let proxy = reqwest::Proxy::all(url).map_err(|_| HttpError::Proxy)?;
            builder.no_proxy().proxy(proxy.no_proxy(None::<NoProxy>))
        }
        ProxySetting::Environment => builder,
    };
    builder.build().map_err(|error| HttpError::of(&error))
}

/// A blocking HTTP client.
#[derive(Clone, Debug)]
pub struct HttpClient {
    inner: reqwest::Client,
}

impl HttpClient {
    /// Creates a client without connecting to anything.
    pub fn new(options: ClientOptions) -> Result<HttpClient, HttpError> {
        Ok(HttpClient { inner: client(options)? })
    }

    /// Sends a request and waits for the status and the headers of its response.
    pub fn send(&self, request: HttpRequest<'_>) -> Result<HttpResponse, HttpError> {
        let HttpRequest { url, headers, body, timeout } = request;
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut builder = self.inner.request(method, url).timeout(timeout);
        for (name, value) in headers {
            let name = HeaderName::from_static(name);
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| HttpError::Other(format!("the value of `{name}` is not valid")))?;
            // Libraries must not log a header that may contain a key.
            value.set_sensitive(name == reqwest::header::AUTHORIZATION);
            builder = builder.header(name, value);
        }
        if let Some(body) = body {
            builder = builder.body(body);
        }
        let inner =
            wait(async move { builder.send().await })?.map_err(|error| HttpError::of(&error))?;
        Ok(HttpResponse { inner })
    }
}

/// A response whose body has not been read yet.
#[derive(Debug)]
pub struct HttpResponse {
    inner: reqwest::Response,
}

impl HttpResponse {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// The value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// Reads the body, up to a maximum size. After each chunk, `progress` receives the number of bytes read and the total
    /// size, if the server declares it.
    pub fn read(
        self,
        most: u64,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<Vec<u8>, HttpError> {
        let total = self.inner.content_length();
        let mut body = Vec::new();
        let mut inner = self.inner;
        loop {
            let (response, piece) = wait(async move {
                let piece = inner.chunk().await;
                (inner, piece)
            })?;
            inner = response;
            let Some(piece) = piece.map_err(|error| HttpError::of(&error))? else {
                return Ok(body);
            };
            if (body.len() + piece.len()) as u64 > most {
                return Err(HttpError::TooLarge(most));
            }
            body.extend_from_slice(&piece);
            progress(body.len() as u64, total);
        }
    }
}

/// Resolves names with the system's resolver and drops addresses that may not be connected to.
#[derive(Clone, Copy, Debug)]
struct SystemResolver {
    addresses: AddressFilter,
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.addresses;
        let host = name.as_str().to_owned();
        Box::pin(async move {
            // The library sets the port.
            let lookup = move || (host.as_str(), 0).to_socket_addrs();
            let found = tokio::task::spawn_blocking(lookup).await.map_err(|_| NoAddress)?;
            let mut allowed: Vec<_> = found.map_err(|_| NoAddress)?.collect();
            allowed.retain(|address| addresses.allow(address.ip()));
            if allowed.is_empty() {
                return Err(NoAddress.into());
            }
            let allowed: Addrs = Box::new(allowed.into_iter());
            Ok(allowed)
        })
    }
}

/// Runs a future on the background thread and blocks until it is done.
fn wait<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T, HttpError> {
    let (sender, receiver) = mpsc::sync_channel(1);
    handle()?.spawn(async move {
        // The receiver is gone only if its thread panicked.
        let _ = sender.send(future.await);
    });
    receiver.recv().map_err(|_| HttpError::Other("the HTTP client panicked".to_owned()))
}

/// The runtime of the background thread, which is started by the first request.
fn handle() -> Result<&'static Handle, HttpError> {
    static HANDLE: OnceLock<Option<Handle>> = OnceLock::new();
    let handle = HANDLE.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let handle = runtime.handle().clone();
        let drive = move || runtime.block_on(std::future::pending::<()>());
        std::thread::Builder::new().name("http".to_owned()).spawn(drive).ok()?;
        Some(handle)
    });
    handle.as_ref().ok_or_else(|| HttpError::Other("no thread can be started".to_owned()))
}

#[cfg(test)]
mod tests;
