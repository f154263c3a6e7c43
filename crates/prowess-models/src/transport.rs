//! The HTTP client: TLS, proxies, headers, and bodies of limited size.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_core::{ModelError, ModelErrorKind};
use prowess_http::{Authorities, TlsError};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, NoProxy, Proxy, Response, redirect};
use rustls::ClientConfig;
use serde_json::Value;
use url::Url;

use crate::failure;
use crate::key::Key;
use crate::provider::{Provider, ProviderKind, is_loopback};
use prowess_settings::variable;

/// The version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Maximum size of an error response, in bytes.
pub(crate) const LONGEST_ERROR: usize = 64 * 1024;
/// Maximum size of a list of models, in bytes. The longest public list has some hundred entries of one or two kilobytes.
const LONGEST_LIST: usize = 8 << 20;
/// Maximum number of cached clients. Settings differ by provider and not by model or user, so there are few.
const MOST_CLIENTS: usize = 32;

/// The client for a provider. Providers with the same settings share one, with its connections and certificates.
pub(crate) fn client(
    provider: &Provider,
    variables: &[(String, String)],
) -> Result<Client, ModelError> {
    static CLIENTS: Mutex<Clients> = Mutex::new(Clients(Vec::new()));
    let proxy = proxy(provider, variables)?;
    let needs_roots = provider.base_url.scheme() == "https"
        || proxy.as_ref().is_some_and(|proxy| proxy.scheme() == "https");
    let except = variable(variables, "NO_PROXY").or_else(|| variable(variables, "no_proxy"));
    let key = ClientKey {
        connect: provider.timeouts.connect,
        no_proxy: except.filter(|_| proxy.is_some()).map(str::to_owned),
        proxy,
        needs_roots,
    };
    CLIENTS.lock().unwrap_or_else(PoisonError::into_inner).get(key, ClientKey::build)
}

/// The settings of a client. It may contain the password of a proxy, so it does not implement `Debug`.
#[derive(Clone, PartialEq, Eq)]
struct ClientKey {
    connect: Duration,
    proxy: Option<Url>,
    /// Hosts that bypass the proxy.
    no_proxy: Option<String>,
    /// Whether the certificate authorities of the system are needed: reading them takes longer than a local request.
    needs_roots: bool,
}

/// The clients of this process, the most recently used last.
struct Clients(Vec<(ClientKey, Client)>);

impl Clients {
    fn get(
        &mut self,
        key: ClientKey,
        build: impl FnOnce(&ClientKey) -> Result<Client, ModelError>,
    ) -> Result<Client, ModelError> {
        let client = match self.0.iter().position(|(known, _)| *known == key) {
            Some(at) => self.0.remove(at).1,
            None => build(&key)?,
        };
        if self.0.len() >= MOST_CLIENTS {
            self.0.remove(0);
        }
        self.0.push((key, client.clone()));
        Ok(client)
    }
}

impl ClientKey {
    fn build(&self) -> Result<Client, ModelError> {
        let mut builder = Client::builder()
            // The variables are passed in; the library would read those of the process.
            .no_proxy()
            // A redirect could disclose the key.
            .redirect(redirect::Policy::none())
            .connect_timeout(self.connect)
            .user_agent(concat!("prowess/", env!("CARGO_PKG_VERSION")));
        if let Some(url) = &self.proxy {
            let proxy = Proxy::all(url.clone()).map_err(|_| not_usable("the proxy"))?;
            let except = self.no_proxy.as_deref().and_then(NoProxy::from_string);
            builder = builder.proxy(proxy.no_proxy(except));
        }
        let tls = tls(self.needs_roots)?;
        builder.tls_backend_preconfigured(tls).build().map_err(|_| not_usable("the client"))
    }
}

fn not_usable(what: &str) -> ModelError {
    // The library's message is omitted: it may quote a URL with a password.
    ModelError::new(ModelErrorKind::NotConfigured, format!("{what} can't be set up"))
        .advice("check `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`")
}

/// The proxy for a provider, if any. A server on this machine is never reached through one.
fn proxy(provider: &Provider, variables: &[(String, String)]) -> Result<Option<Url>, ModelError> {
    if is_loopback(&provider.base_url) {
        return Ok(None);
    }
    let names = match provider.base_url.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    };
    let Some((name, text)) =
        names.into_iter().find_map(|name| Some((name, variable(variables, name)?)))
    else {
        return Ok(None);
    };
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    // The value is not quoted: it may contain a password.
    url.map(Some).ok_or_else(|| {
        ModelError::new(ModelErrorKind::NotConfigured, format!("`{name}` is not a valid proxy"))
            .advice("write it as `http://HOST:PORT`")
    })
}

/// The TLS configuration.
fn tls(needs_roots: bool) -> Result<ClientConfig, ModelError> {
    let authorities = if needs_roots { Authorities::System } else { Authorities::None };
    prowess_http::tls(authorities).map_err(|error| {
        let failed = ModelError::new(ModelErrorKind::NotConfigured, error.to_string());
        match error {
            TlsError::NoAuthorities => {
                failed.advice("install `ca-certificates`, or name a file with `SSL_CERT_FILE`")
            }
            TlsError::Setup => failed,
        }
    })
}

/// The headers of every request. The header with the key is marked as sensitive, so that no library logs it.
pub(crate) fn headers(kind: ProviderKind, key: &Key) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let secret = |value: &str| {
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            ModelError::new(ModelErrorKind::Unauthorized, "the key can't be sent in a header")
        })?;
        value.set_sensitive(true);
        Ok::<HeaderValue, ModelError>(value)
    };
    match kind {
        ProviderKind::OpenAi => {
            if let Some(key) = key.reveal() {
                let value = secret(&format!("Bearer {key}"))?;
                headers.insert(reqwest::header::AUTHORIZATION, value);
            }
        }
        ProviderKind::Anthropic => {
            if let Some(key) = key.reveal() {
                headers.insert(HeaderName::from_static("x-api-key"), secret(key)?);
            }
            let version = HeaderValue::from_static(ANTHROPIC_VERSION);
            headers.insert(HeaderName::from_static("anthropic-version"), version);
        }
    }
    Ok(headers)
}

/// The content type of a response.
pub(crate) fn content_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().chars().take(100).collect()
}

/// Reads the beginning of a body.
pub(crate) async fn bounded(
    mut response: Response,
    most: usize,
) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk[..chunk.len().min(most - body.len())]);
        if body.len() >= most {
            break;
        }
    }
    Ok(body)
}

/// Requests a JSON document about models; `None` if it does not exist or is not JSON.
pub(crate) async fn page(
    client: &Client,
    provider: &Provider,
    request: reqwest::RequestBuilder,
    limit: Duration,
) -> Result<Option<Value>, ModelError> {
    let asked = async {
        let request = request.build()?;
        let response = client.execute(request).await?;
        if !response.status().is_success() {
            return Ok(None);
        }
        let body = bounded(response, LONGEST_LIST).await?;
        Ok(serde_json::from_slice(&body).ok())
    };
    match tokio::time::timeout(limit, asked).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(failure::of_transport(provider, &error)),
        Err(_) => Err(failure::timed_out(&provider.name, "page", limit)),
    }
}

#[cfg(test)]
mod tests;
