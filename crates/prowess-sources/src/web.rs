//! HTTP client for sources: allowed hosts, redirects, and size limits.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use prowess_core::Remedy;
use prowess_http::{
    AddressFilter, Authorities, ClientOptions, HttpClient, HttpError, HttpRequest, ProxySetting,
};

use prowess_store::source::{SourceError, SourceErrorKind};
use url::{Host, Url};

use crate::registry::AccountReply;
use crate::{Pause, Progress};
use prowess_settings::variable;

/// Maximum number of redirects.
const MOST_REDIRECTS: usize = 5;
/// Maximum number of attempts if a server asks us to wait.
const MOST_ATTEMPTS: u32 = 3;
/// Maximum pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Time limit for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Maximum size of an error response.
const MOST_ERROR_BYTES: u64 = 64 << 10;

/// A request.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) url: &'a Url,
    pub(crate) accept: &'static str,
    /// Maximum size of the response.
    pub(crate) most: u64,
    /// Time limit for the whole request: redirects, pauses and the body.
    pub(crate) limit: Duration,
    pub(crate) chosen_by: ChosenBy,
    /// The entity tag of the cached response.
    pub(crate) etag: Option<&'a str>,
    /// A bearer token, sent only to the origin of the URL.
    pub(crate) token: Option<&'a str>,
}

/// A request that may change something. It is sent once and follows no redirect.
pub(crate) struct Post<'a> {
    pub(crate) url: &'a Url,
    /// The content type and the body; without one the request is a `GET`.
    pub(crate) body: Option<(&'a str, Vec<u8>)>,
    /// Maximum size of the response.
    pub(crate) most: u64,
    /// Time limit for the whole exchange.
    pub(crate) limit: Duration,
    /// A bearer token.
    pub(crate) token: Option<&'a str>,
}

/// Who chose the host, which decides the allowed addresses (attack registry-D12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    /// The user, who may use a server in a private network.
    User,
    /// A list that the user did not write: public addresses only.
    List,
}

/// A response.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The URL after redirects.
    pub(crate) url: Url,
    pub(crate) content_type: String,
    pub(crate) etag: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Sends requests.
pub(crate) struct Web {
    offline: bool,
    pause: Pause,
    progress: Progress,
    /// Whether an invalid proxy is configured. Bypassing it would reveal requests that the user wants to hide.
    has_bad_proxy: bool,
    except: Vec<String>,
    proxy: Option<String>,
    clients: Clients,
}

/// HTTP clients, created on first use: only encrypted connections need the system's certificates.
#[derive(Default)]
struct Clients {
    /// For servers on this machine, without encryption.
    plain: OnceLock<HttpClient>,
    /// For any address.
    free: OnceLock<HttpClient>,
    /// For public addresses only.
    public: OnceLock<HttpClient>,
    /// Through the proxy.
    proxied: OnceLock<HttpClient>,
}

impl Web {
    pub(crate) fn new(
        variables: &[(String, String)],
        offline: bool,
        pause: Pause,
        progress: Progress,
    ) -> Self {
        let find = |names: [&str; 4]| names.into_iter().find_map(|name| variable(variables, name));
        // The proxy is used for https only: unencrypted requests never leave this machine.
        let proxy = find(["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]);
        let proxy = proxy.map(proxy_url);
        let has_bad_proxy = matches!(proxy, Some(None));
        let except = variable(variables, "NO_PROXY").or_else(|| variable(variables, "no_proxy"));
        let except = except.unwrap_or_default().split(',').map(|entry| {
            entry.trim().trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase()
        });
        Self {
            offline,
            pause,
            progress,
            except: except.filter(|entry| !entry.is_empty()).collect(),
            proxy: proxy.flatten(),
            clients: Clients::default(),
            has_bad_proxy,
        }
    }

    /// Whether network access is forbidden.
    pub(crate) fn is_offline(&self) -> bool {
        self.offline
    }

    /// Sends a request and reads the whole response. The caller interprets the status, except for those that ask to
    /// retry later.
    pub(crate) fn get(&self, ask: &Ask<'_>) -> Result<Reply, SourceError> {
        if self.offline {
            return Err(offline(ask.url.as_str()));
        }
        let deadline = Instant::now() + ask.limit;
        let mut attempt = 1;
        loop {
            let (reply, retry_after) = self.follow(ask, deadline)?;
            if !matches!(reply.status, 429 | 503) {
                return Ok(reply);
            }
            let host = shown_host(ask.url);
            let pause = retry_after.unwrap_or(Duration::from_secs(1) * attempt);
            let left = deadline.saturating_duration_since(Instant::now());
            if attempt == MOST_ATTEMPTS || pause > LONGEST_PAUSE || pause > left {
                let when = match retry_after {
                    Some(pause) => format!("in {} seconds", pause.as_secs()),
                    None => "later".to_owned(),
                };
                return Err(unreachable(format!(
                    "`{host}` is busy (status {}) and asks to retry {when}",
                    reply.status
                ))
                .advice(format!("try again {when}")));
            }
            (self.pause)(pause);
            attempt += 1;
        }
    }

    /// Sends a request of an account.
    pub(crate) fn post(&self, post: &Post<'_>) -> Result<AccountReply, SourceError> {
        if self.offline {
            return Err(offline(post.url.as_str()));
        }
        permitted(post.url)?;
        let client = self.client(post.url, false)?;
        let authorization = post.token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("accept", "application/json")];
        headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
        let body = post.body.as_ref().map(|(kind, bytes)| {
            headers.push(("content-type", kind));
            bytes.clone()
        });
        let request =
            HttpRequest { url: post.url.as_str(), headers: &headers, body, timeout: post.limit };
        let failed = |error: &HttpError| failed(post.url, error, post.limit);
        let response = client.send(request).map_err(|error| failed(&error))?;
        let status = response.status();
        let retry_after = response.header("retry-after").and_then(|text| text.trim().parse().ok());
        let body = response.read(post.most, &mut |_, _| ()).map_err(|error| failed(&error))?;
        Ok(AccountReply { status, body, retry_after })
    }

    fn follow(
        &self,
        ask: &Ask<'_>,
        deadline: Instant,
    ) -> Result<(Reply, Option<Duration>), SourceError> {
        let mut url = ask.url.clone();
        // The user may name a private server. A redirect is the server's choice, so it may lead to a private address
        // only if the server is private itself.
        let mut public_only = ask.chosen_by == ChosenBy::List && !is_loopback(&url);
        for _ in 0..=MOST_REDIRECTS {
            permitted(&url)?;
            let (mut reply, redirect, retry_after) = self.one(ask, &url, public_only, deadline)?;
            let Some(target) = redirect else { return Ok((reply, retry_after)) };
            let next = url
                .join(&target)
                .map_err(|_| unusable(format!("`{}` redirects to an invalid URL", shown(&url))))?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(unusable(format!(
                    "`{}` redirects to `{}`, which is not encrypted",
                    shown(&url),
                    shown(&next)
                )));
            }
            if !public_only && !is_private_host(ask.url) {
                public_only = true;
            }
            reply.body.clear();
            url = next;
        }
        Err(unusable(format!("`{}` redirects more than {MOST_REDIRECTS} times", shown(ask.url))))
    }

    /// One request and response: the response, its redirect target, and the pause that the server asks for.
    fn one(
        &self,
        ask: &Ask<'_>,
        url: &Url,
        public_only: bool,
        deadline: Instant,
    ) -> Result<(Reply, Option<String>, Option<Duration>), SourceError> {
        if public_only {
            refuse_private_literal(url)?;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(took_too_long(url, ask.limit));
        }
        let client = self.client(url, public_only)?;
        let authorization = ask.token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("accept", ask.accept)];
        if url.origin() == ask.url.origin() {
            headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
            headers.extend(ask.etag.map(|etag| ("if-none-match", etag)));
        }
        let request =
            HttpRequest { url: url.as_str(), headers: &headers, body: None, timeout: left };
        let response = client.send(request).map_err(|error| failed(url, &error, ask.limit))?;
        let status = response.status();
        let header = |name: &str| response.header(name).map(str::to_owned);
        let redirect =
            matches!(status, 301 | 302 | 303 | 307 | 308).then(|| header("location")).flatten();
        let retry_after = header("retry-after").and_then(|text| text.trim().parse().ok());
        let content_type = header("content-type").unwrap_or_default().to_ascii_lowercase();
        let etag = header("etag").filter(|etag| etag.len() <= 256);
        let most = if status == 200 { ask.most } else { MOST_ERROR_BYTES.min(ask.most) };
        let host = shown_host(url);
        // A wrong total only affects the displayed progress.
        let body = response.read(most, &mut |done, total| {
            let done = size(done);
            self.progress.tell(&match total {
                Some(total) => format!("{host}: {done} of {}", size(total)),
                None => format!("{host}: {done}"),
            });
        });
        self.progress.over();
        let body = match body {
            Ok(body) => body,
            // The rest of an error response is not needed.
            Err(HttpError::TooLarge(_)) if status != 200 => Vec::new(),
            Err(HttpError::TooLarge(_)) => {
                return Err(unusable(format!(
                    "`{}` has more than {} KiB",
                    shown(url),
                    most.div_ceil(1024)
                )));
            }
            Err(error) => return Err(failed(url, &error, ask.limit)),
        };
        let reply = Reply { status, url: url.clone(), content_type, etag, body };
        Ok((reply, redirect, retry_after.map(Duration::from_secs)))
    }

    /// The client for a URL.
    fn client(&self, url: &Url, public_only: bool) -> Result<&HttpClient, SourceError> {
        let (place, authorities, proxy, addresses) = match &self.proxy {
            Some(proxy) if self.needs_proxy(url) => {
                let proxy = ProxySetting::Via(proxy.clone());
                (&self.clients.proxied, Authorities::System, proxy, AddressFilter::All)
            }
            None if self.has_bad_proxy && self.needs_proxy(url) => return Err(bad_proxy()),
            _ if public_only => {
                let addresses = AddressFilter::Only(is_public);
                (&self.clients.public, Authorities::System, ProxySetting::None, addresses)
            }
            _ if url.scheme() == "http" => {
                (&self.clients.plain, Authorities::None, ProxySetting::None, AddressFilter::All)
            }
            _ => (&self.clients.free, Authorities::System, ProxySetting::None, AddressFilter::All),
        };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let options = ClientOptions { authorities, proxy, addresses, connect_timeout: CONNECT };
        let client = HttpClient::new(options).map_err(|error| match error {
            HttpError::Proxy => bad_proxy(),
            HttpError::Tls(error) => unreachable(error.to_string())
                .advice("install `ca-certificates`, or name a file with `SSL_CERT_FILE`"),
            other => unreachable(other.to_string()),
        })?;
        Ok(place.get_or_init(|| client))
    }

    /// Whether requests to a host go through the proxy.
    fn needs_proxy(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let is_excepted = |entry: &String| {
            entry == "*"
                || host == entry
                || host.strip_suffix(entry.as_str()).is_some_and(|rest| rest.ends_with('.'))
        };
        !is_loopback(url) && !self.except.iter().any(is_excepted)
    }
}

/// A human-readable number of bytes.
fn size(bytes: u64) -> String {
    if bytes < 10 << 20 {
        format!("{} KiB", bytes.div_ceil(1024))
    } else {
        format!("{} MiB", bytes >> 20)
    }
}

/// Parses a URL, and rejects unencrypted ones unless they stay on this machine.
pub(crate) fn parse(text: &str) -> Result<Url, SourceError> {
    let url = Url::parse(text)
        .ok()
        .filter(Url::has_host)
        .ok_or_else(|| unusable(format!("`{}` is not a valid URL", super::short(text))))?;
    permitted(&url)?;
    Ok(url)
}

fn permitted(url: &Url) -> Result<(), SourceError> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unusable(format!("`{}` contains a user name or a password", shown(url)))
            .advice("give the address without them"));
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(url) => Ok(()),
        _ => Err(unusable(format!("`{}` is not encrypted", shown(url)))
            .advice("use `https://`; only servers on this machine may be unencrypted")),
    }
}

/// Whether a URL refers to this machine, by an IP address or by `localhost`.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// A URL without secrets, for display.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    if url.query().is_some() {
        url.set_query(Some("…"));
    }
    super::short(url.as_str())
}

fn shown_host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Whether the host is in a private network.
fn is_private_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => prowess_proxy::forbidden_address(address.into()).is_some(),
        Some(Host::Ipv6(address)) => prowess_proxy::forbidden_address(address.into()).is_some(),
        Some(Host::Domain(name)) => {
            let port = url.port_or_known_default().unwrap_or(443);
            let addresses = (name, port).to_socket_addrs();
            addresses.is_ok_and(|mut all| {
                all.any(|address| prowess_proxy::forbidden_address(address.ip()).is_some())
            })
        }
        None => false,
    }
}

fn refuse_private_literal(url: &Url) -> Result<(), SourceError> {
    let address: IpAddr = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain("localhost")) => std::net::Ipv4Addr::LOCALHOST.into(),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    match prowess_proxy::forbidden_address(address) {
        None => Ok(()),
        Some(why) => Err(unusable(format!(
            "`{}` is {why}; refusing an address that the server chose",
            shown(url)
        ))),
    }
}

/// Whether an address is on the public internet. This is checked when connecting, so that DNS can't return another
/// address afterwards (attack registry-D12).
fn is_public(address: IpAddr) -> bool {
    prowess_proxy::forbidden_address(address).is_none()
}

/// Parses a proxy variable, whose scheme may be missing.
fn proxy_url(text: &str) -> Option<String> {
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(text)
}

fn bad_proxy() -> SourceError {
    unusable("`HTTPS_PROXY` is not a valid proxy URL").advice("expected `http://HOST:PORT`")
}

fn failed(url: &Url, error: &HttpError, limit: Duration) -> SourceError {
    let host = shown_host(url);
    match error {
        HttpError::TimedOut => took_too_long(url, limit),
        HttpError::HostNotFound => unreachable(format!("could not resolve host `{host}`"))
            .advice("check the spelling and the internet connection"),
        HttpError::Io(error) => {
            let why = prowess_core::system_reason(error);
            unreachable(format!("cannot reach `{host}`: {why}"))
                .advice("check the address and the internet connection")
        }
        other => unreachable(format!("cannot reach `{host}`: {other}")),
    }
}

fn took_too_long(url: &Url, limit: Duration) -> SourceError {
    unreachable(format!("`{}` took longer than {} seconds", shown(url), limit.as_secs()))
        .advice("try again later")
}

/// The error for a request while offline.
pub(crate) fn offline(place: &str) -> SourceError {
    unreachable(format!("can't fetch `{}` while offline", super::short(place)))
        .remedy(Remedy::GoOnline)
}

pub(crate) fn unreachable(what: impl Into<String>) -> SourceError {
    SourceError::new(SourceErrorKind::Unreachable, what)
}

pub(crate) fn unusable(what: impl Into<String>) -> SourceError {
    SourceError::new(SourceErrorKind::Unusable, what)
}

pub(crate) fn not_found(what: impl Into<String>) -> SourceError {
    SourceError::new(SourceErrorKind::NotFound, what)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn web(variables: &[(&str, &str)]) -> Web {
        let variables: Vec<(String, String)> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Web::new(&variables, false, Arc::new(|_| ()), Progress::silent())
    }

    fn get(web: &Web, url: &str, chosen_by: ChosenBy) -> String {
        let reply = web.get(&Ask {
            url: &Url::parse(url).expect("an address"),
            accept: "*/*",
            most: 100,
            limit: Duration::from_secs(5),
            chosen_by,
            etag: None,
            token: None,
        });
        reply.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn lists_of_others_lead_to_public_addresses_only() {
        // Attack registry-D12: no request is sent to any of these.
        for (url, expected) in [
            ("https://169.254.169.254/x", "a cloud metadata address"),
            ("https://10.0.0.1/x", "a private address"),
            ("https://[fd00::1]/x", "a private address"),
            ("https://[::ffff:127.0.0.1]/x", "an IPv4 address inside an IPv6 one"),
        ] {
            let said = get(&web(&[]), url, ChosenBy::List);
            assert!(
                said.contains(expected)
                    && said.contains("refusing an address that the server chose"),
                "{url}: {said}"
            );
        }
        // A name that resolves to this machine is not connected to.
        let web = web(&[]);
        let url = Url::parse("https://localhost:9/").expect("an address");
        let client = web.client(&url, true).expect("a client");
        let timeout = Duration::from_secs(5);
        let request = HttpRequest { url: url.as_str(), headers: &[], body: None, timeout };
        let error = client.send(request);
        assert!(matches!(error, Err(HttpError::HostNotFound)), "{error:?}");
    }

    #[test]
    fn a_proxy_is_used_except_where_it_is_not_wanted() {
        let web = web(&[
            ("HTTPS_PROXY", "http://127.0.0.1:9"),
            ("NO_PROXY", "a.example, .b.example,*.c.example"),
        ]);
        for (url, expected) in [
            ("https://host.example/", true),
            ("https://a.example/", false),
            ("https://x.a.example/", false),
            ("https://xa.example/", true),
            ("https://x.b.example/", false),
            ("https://x.c.example/", false),
            ("http://127.0.0.1/", false),
        ] {
            assert_eq!(web.needs_proxy(&Url::parse(url).expect("an address")), expected, "{url}");
        }
    }

    #[test]
    fn a_proxy_that_is_none_is_not_passed_by() {
        let web = web(&[("HTTPS_PROXY", "no://proxy at all")]);
        let said = get(&web, "https://host.example/", ChosenBy::User);
        assert_eq!(said, "`HTTPS_PROXY` is not a valid proxy URL");
    }
}
