//! Requests that block the calling thread, also where that thread belongs to an async runtime.
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

/// What a client may connect to, and how.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Whose certificates are accepted.
    pub authorities: Authorities,
    /// How the server is reached.
    pub proxy: Proxy,
    /// Which addresses of a host may be connected to.
    pub addresses: Addresses,
    /// Until a connection is established.
    pub connect_timeout: Duration,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Proxy {
    /// Directly.
    None,
    /// Through this proxy, always.
    Via(String),
    /// As the variables of the process say: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    Environment,
}

/// Which addresses of a host may be connected to.
///
/// The decision is made where the connection is: a name that is resolved again later can't lead elsewhere. A host that is
/// an address itself is not resolved and has to be checked by the caller.
#[derive(Clone, Copy, Debug)]
pub enum Addresses {
    /// Every address.
    All,
    /// Those for which the function returns true.
    Only(fn(IpAddr) -> bool),
}

impl Addresses {
    fn allow(self, address: IpAddr) -> bool {
        match self {
            Addresses::All => true,
            Addresses::Only(allowed) => allowed(address),
        }
    }
}

/// One request.
pub struct Request<'a> {
    /// The whole address.
    pub url: &'a str,
    /// The headers beside the usual ones.
    pub headers: &'a [(&'static str, &'a str)],
    /// `POST` with this body; `GET` without one.
    pub body: Option<Vec<u8>>,
    /// For everything: connecting, the response, its whole body.
    pub timeout: Duration,
}

/// Sends requests.
#[derive(Clone, Debug)]
pub struct Client {
    inner: reqwest::Client,
}

impl Client {
    /// Sets up a client. Nothing is connected yet.
    pub fn new(options: ClientOptions) -> Result<Client, HttpError> {
        let ClientOptions { authorities, proxy, addresses, connect_timeout } = options;
        let builder = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(connect_timeout)
            .dns_resolver(SystemResolver { addresses })
            .user_agent(USER_AGENT)
            .tls_backend_preconfigured(tls(authorities)?);
        let builder = match proxy {
            Proxy::None => builder.no_proxy(),
            Proxy::Via(url) => {
                let proxy = reqwest::Proxy::all(url).map_err(|_| HttpError::Proxy)?;
                builder.no_proxy().proxy(proxy.no_proxy(None::<NoProxy>))
            }
            Proxy::Environment => builder,
        };
        let inner = builder.build().map_err(|error| HttpError::of(&error))?;
        Ok(Client { inner })
    }

    /// Sends a request and waits for the status and the headers of its response.
    pub fn send(&self, request: Request<'_>) -> Result<Response, HttpError> {
        let Request { url, headers, body, timeout } = request;
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut builder = self.inner.request(method, url).timeout(timeout);
        for (name, value) in headers {
            let name = HeaderName::from_static(name);
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| HttpError::Other(format!("the value of `{name}` is not valid")))?;
            // No library shows what may be a key.
            value.set_sensitive(name == reqwest::header::AUTHORIZATION);
            builder = builder.header(name, value);
        }
        if let Some(body) = body {
            builder = builder.body(body);
        }
        let inner =
            wait(async move { builder.send().await })?.map_err(|error| HttpError::of(&error))?;
        Ok(Response { inner })
    }
}

/// A response whose body has not been read yet.
#[derive(Debug)]
pub struct Response {
    inner: reqwest::Response,
}

impl Response {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// A header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// Reads the whole body, at most so many bytes. After each piece, `progress` gets how many bytes have been read and how
    /// many there are, if the server says so.
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
    addresses: Addresses,
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.addresses;
        let host = name.as_str().to_owned();
        Box::pin(async move {
            // The port is the library's business.
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
