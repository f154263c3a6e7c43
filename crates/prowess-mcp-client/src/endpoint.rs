//! Which addresses of servers are connected to.
//!
//! A server on the internet is reached over TLS only. A name must not lead into a private network, because whoever owns
//! the name could point it anywhere; an address that is written out in the settings is the choice of whoever wrote it.

use std::net::IpAddr;
use std::time::Duration;

use prowess_core::{McpError, McpErrorKind};
use prowess_http::{AddressFilter, Authorities, ClientOptions, HttpError, ProxySetting};
use url::{Host, Url};

/// The time limit for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Checks the URL of a server, before anybody is asked about it.
pub fn check_endpoint(url: &str) -> Result<(), McpError> {
    options(url).map(drop)
}

/// A URL as it may be shown: without what could be a secret in it.
pub fn shown_endpoint(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "an invalid URL".to_owned() };
    // These fail only for URLs without a host, which have nothing to hide there.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let has_query = url.query().is_some();
    url.set_query(None);
    if has_query { format!("{url}?…") } else { url.to_string() }
}

/// The client for a server.
pub(crate) fn client(url: &str) -> Result<reqwest::Client, McpError> {
    prowess_http::client(options(url)?).map_err(|error| unreachable(&error))
}

/// The words for a request that failed.
pub(crate) fn unreachable(error: &HttpError) -> McpError {
    McpError::new(McpErrorKind::Unreachable, format!("can't be reached: {error}"))
}

fn options(text: &str) -> Result<ClientOptions, McpError> {
    let refused = |why: String| McpError::new(McpErrorKind::Refused, why);
    let shown = shown_endpoint(text);
    let url = Url::parse(text)
        .map_err(|error| refused(format!("has a URL that is not valid ({error})")))?;
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::from(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::from(address)),
        Some(Host::Domain("localhost")) => Some(std::net::Ipv4Addr::LOCALHOST.into()),
        Some(Host::Domain(_)) => None,
        None => return Err(refused(format!("has the URL `{shown}`, which names no host"))),
    };
    let is_local = address.is_some_and(|address| address.is_loopback());
    match url.scheme() {
        "https" => {}
        "http" if is_local => {}
        "http" => {
            return Err(refused(format!(
                "has the URL `{shown}`, which is not encrypted: use `https`"
            )));
        }
        _ => return Err(refused(format!("has the URL `{shown}`, which is not an HTTP address"))),
    }
    let is_encrypted = url.scheme() == "https";
    Ok(ClientOptions {
        authorities: if is_encrypted { Authorities::System } else { Authorities::None },
        // A proxy would see where it is connected to instead, and resolve the name itself.
        proxy: if address.is_some() { ProxySetting::None } else { ProxySetting::Environment },
        addresses: match address {
            Some(_) => AddressFilter::All,
            None => {
                AddressFilter::Only(|address| prowess_proxy::forbidden_address(address).is_none())
            }
        },
        connect_timeout: CONNECT,
    })
}
