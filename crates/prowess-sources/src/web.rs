//! HTTP for sources: where a request may go, how far it is sent on, and how much may come back.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use prowess_core::Remedy;
use prowess_http::{
    AddressFilter, Authorities, ClientOptions, HttpClient, HttpError, HttpRequest, ProxySetting,
};

use prowess_store::source::{SourceError, SourceErrorKind};
use url::{Host, Url};

use crate::{Pause, Progress};
use prowess_settings::variable;

/// How often a request is sent on.
const MOST_REDIRECTS: usize = 5;
/// How often a server is asked that wants us to wait.
const MOST_ATTEMPTS: u32 = 3;
/// A server that wants a longer pause is not waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Until a connection stands.
const CONNECT: Duration = Duration::from_secs(10);
/// The most bytes of an error that are read.
const MOST_ERROR_BYTES: u64 = 64 << 10;

/// One request.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) url: &'a Url,
    pub(crate) accept: &'static str,
    /// The most bytes of the answer.
    pub(crate) most: u64,
    /// For everything: redirects, pauses, the body.
    pub(crate) limit: Duration,
    pub(crate) chosen_by: ChosenBy,
    /// The answer that is known already.
    pub(crate) etag: Option<&'a str>,
    /// Sent to the origin of the URL and to nobody else.
    pub(crate) token: Option<&'a str>,
}

/// Who named the host. It decides which addresses may be meant (attack registry-D12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    /// The user, who may well mean a server in the house.
    User,
    /// A list that the user has not written: only the public internet.
    List,
}

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Where it came from in the end.
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
    /// Whether a proxy is named that can't be used. To go past it would be to tell others what the user hides.
    has_bad_proxy: bool,
    except: Vec<String>,
    proxy: Option<String>,
    clients: Clients,
}

/// Clients, each made when it is first needed: only encrypted connections need the system's certificates.
#[derive(Default)]
struct Clients {
    /// To servers on this machine, without encryption.
    plain: OnceLock<HttpClient>,
    /// To any address.
    free: OnceLock<HttpClient>,
    /// To public addresses only.
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
        // Only https goes through it: what is not encrypted never leaves this machine.
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

    /// Whether nobody may be asked.
    pub(crate) fn is_offline(&self) -> bool {
        self.offline
    }

    /// Sends a request and waits for the whole answer. A status is the caller's to judge, except those that ask to come
    /// back later.
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
                    "`{host}` is busy (status {}) and wants to be asked again {when}",
                    reply.status
                ))
                .advice(format!("try again {when}")));
            }
            (self.pause)(pause);
            attempt += 1;
        }
    }

    fn follow(
        &self,
        ask: &Ask<'_>,
        deadline: Instant,
    ) -> Result<(Reply, Option<Duration>), SourceError> {
        let mut url = ask.url.clone();
        // The user may name a server in the house. Where that one points is not the user's choice any more, unless it is
        // in the house as well.
        let mut public_only = ask.chosen_by == ChosenBy::List && !is_loopback(&url);
        for _ in 0..=MOST_REDIRECTS {
            permitted(&url)?;
            let (mut reply, redirect, retry_after) = self.one(ask, &url, public_only, deadline)?;
            let Some(target) = redirect else { return Ok((reply, retry_after)) };
            let next = url.join(&target).map_err(|_| {
                unusable(format!("`{}` points to something that is no address", shown(&url)))
            })?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(unusable(format!(
                    "`{}` points to `{}`, which is not encrypted",
                    shown(&url),
                    shown(&next)
                )));
            }
            if !public_only && !is_in_the_house(ask.url) {
                public_only = true;
            }
            reply.body.clear();
            url = next;
        }
        Err(unusable(format!("`{}` points on more than {MOST_REDIRECTS} times", shown(ask.url))))
    }

    /// One exchange: the answer, where it points, and how long the server wants us to wait.
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
        // A total that is a lie is never more than a wrong number on a screen.
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
            // Nobody needs the rest of an error.
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

    /// The client for an address.
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

    /// Whether a host is behind the proxy, if there is one.
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

/// A number of bytes for people.
fn size(bytes: u64) -> String {
    if bytes < 10 << 20 {
        format!("{} KiB", bytes.div_ceil(1024))
    } else {
        format!("{} MiB", bytes >> 20)
    }
}

/// Reads an address that somebody wrote, and refuses what is not encrypted unless it stays on this machine.
pub(crate) fn parse(text: &str) -> Result<Url, SourceError> {
    let url = Url::parse(text)
        .ok()
        .filter(Url::has_host)
        .ok_or_else(|| unusable(format!("`{}` is no address", super::short(text))))?;
    permitted(&url)?;
    Ok(url)
}

fn permitted(url: &Url) -> Result<(), SourceError> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unusable(format!("`{}` holds a name or a password", shown(url)))
            .advice("give the address without them"));
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(url) => Ok(()),
        _ => Err(unusable(format!("`{}` is not encrypted", shown(url)))
            .advice("use `https://`; only servers on this machine are asked without it")),
    }
}

/// Whether an address names this machine, by a literal or the one reserved name.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// An address without anything that may be secret.
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

/// Whether the host is not on the public internet.
fn is_in_the_house(url: &Url) -> bool {
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

/// Whether an address is on the public internet. It is asked where the connection is made, so that a name can't mean
/// another address by then (attack registry-D12).
fn is_public(address: IpAddr) -> bool {
    prowess_proxy::forbidden_address(address).is_none()
}

/// The address of a proxy, as the variables give it: the scheme may be missing.
fn proxy_url(text: &str) -> Option<String> {
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(text)
}

fn bad_proxy() -> SourceError {
    unusable("`HTTPS_PROXY` is no proxy that can be used")
        .advice("it has to look like `http://HOST:PORT`")
}

fn failed(url: &Url, error: &HttpError, limit: Duration) -> SourceError {
    let host = shown_host(url);
    match error {
        HttpError::TimedOut => took_too_long(url, limit),
        HttpError::HostNotFound => unreachable(format!("there is no host `{host}`"))
            .advice("look at the spelling, and at the connection to the internet"),
        HttpError::Io(error) => {
            let why = prowess_core::system_reason(error);
            unreachable(format!("cannot reach `{host}`: {why}"))
                .advice("look at the address, and at the connection to the internet")
        }
        other => unreachable(format!("cannot reach `{host}`: {other}")),
    }
}

fn took_too_long(url: &Url, limit: Duration) -> SourceError {
    unreachable(format!("`{}` took longer than {} seconds", shown(url), limit.as_secs()))
        .advice("try again later")
}

/// Nothing may be asked.
pub(crate) fn offline(place: &str) -> SourceError {
    unreachable(format!("`{}` can't be asked while offline", super::short(place)))
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
        // Attack registry-D12: nothing is sent to any of these.
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
        // A name that leads to this machine is not connected to.
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
        assert_eq!(said, "`HTTPS_PROXY` is no proxy that can be used");
    }
}
