//! Requests to the upstream registry.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, StatusCode};
use prowess_http::{AddressFilter, Authorities, ClientOptions, HttpError, ProxySetting};
use prowess_package::limits::PackageLimits;
use prowess_registry_protocol::SkillInfo;
use reqwest::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use semver::Version;
use tokio::sync::Semaphore;
use url::{Host, Url};

use crate::names::SkillId;

/// The mirrors that a request has passed.
pub(crate) const VIA: &str = "prowess-mirrors";
/// How long it may take to connect, and how long a whole exchange may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(15);
const PACKAGE_TIMEOUT: Duration = Duration::from_mins(2);
/// The largest index (`docs/design/registry-protocol.md`).
const MAX_INDEX: u64 = 16 << 20;
/// The largest description of a skill.
const MAX_OVERVIEW: u64 = 512 << 10;
/// Exchanges at once.
const MAX_EXCHANGES: usize = 32;

/// A registry that is mirrored.
pub(super) struct Upstream {
    base: Url,
    client: reqwest::Client,
    exchanges: Semaphore,
}

/// The answer to a conditional request.
pub(super) enum Fetched {
    /// What is known is still right.
    Same,
    /// There is no such thing, or not for everybody.
    Nothing,
    /// It has changed.
    Body { bytes: Bytes, etag: Option<String> },
}

/// Why the upstream registry can't be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// Its address is not valid.
    #[error(
        "`{0}` is not the address of a registry to mirror, expected one such as `https://skills.example`"
    )]
    Address(String),
    /// A registry on another machine without TLS.
    #[error("`{0}` has no TLS; only a registry on this machine can be mirrored without")]
    Unencrypted(String),
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    Random,
    /// The exchange failed.
    #[error("{0}")]
    Http(HttpError),
    /// It answers with something else.
    #[error("it answers with status {0}")]
    Status(u16),
    /// The answer is too large.
    #[error("its answer has more than {0} bytes")]
    TooLarge(u64),
    /// The answer is not what was asked for.
    #[error("its description of a skill is not valid")]
    Overview,
}

impl Upstream {
    pub(super) fn new(url: &str) -> Result<Self, UpstreamError> {
        let invalid = || UpstreamError::Address(url.chars().take(200).collect());
        let mut base: Url = url.parse().map_err(|_| invalid())?;
        let is_local = match base.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => return Err(invalid()),
        };
        let has_more = base.query().is_some() || base.fragment().is_some();
        if has_more || !base.username().is_empty() || base.password().is_some() {
            return Err(invalid());
        }
        match base.scheme() {
            "https" => {}
            "http" if is_local => {}
            "http" => return Err(UpstreamError::Unencrypted(base.to_string())),
            _ => return Err(invalid()),
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let client = prowess_http::client(ClientOptions {
            authorities: Authorities::System,
            proxy: ProxySetting::Environment,
            // The administrator names it; it is usually in their own network.
            addresses: AddressFilter::All,
            connect_timeout: CONNECT_TIMEOUT,
        });
        let client = client.map_err(UpstreamError::Http)?;
        Ok(Self { base, client, exchanges: Semaphore::new(MAX_EXCHANGES) })
    }

    /// The index of a skill, unless it still has this entity tag.
    pub(super) async fn index(
        &self,
        skill: &SkillId,
        etag: Option<&str>,
        via: &str,
    ) -> Result<Fetched, UpstreamError> {
        let path = format!("api/v1/index/{skill}");
        self.get(&path, etag, via, MAX_INDEX, TIMEOUT).await
    }

    /// What is said of a skill, as the text of a JSON object; `None` if there is nothing.
    pub(super) async fn overview(
        &self,
        skill: &SkillId,
        via: &str,
    ) -> Result<Option<String>, UpstreamError> {
        let path = format!("api/v1/skills/{skill}");
        let Fetched::Body { bytes, .. } = self.get(&path, None, via, MAX_OVERVIEW, TIMEOUT).await?
        else {
            return Ok(None);
        };
        let info = SkillInfo::read(&bytes).ok_or(UpstreamError::Overview)?;
        if (&info.namespace, &info.name) != (&skill.namespace, &skill.name) {
            return Err(UpstreamError::Overview);
        }
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| UpstreamError::Overview)?;
        Ok(Some(text))
    }

    /// The archive of a version; `None` if there is none for everybody.
    pub(super) async fn package(
        &self,
        skill: &SkillId,
        version: &Version,
        via: &str,
    ) -> Result<Option<Bytes>, UpstreamError> {
        let path = format!("api/v1/skills/{skill}/{version}/download");
        let limit = PackageLimits::PACKAGE.archive_bytes;
        match self.get(&path, None, via, limit, PACKAGE_TIMEOUT).await? {
            Fetched::Body { bytes, .. } => Ok(Some(bytes)),
            Fetched::Same | Fetched::Nothing => Ok(None),
        }
    }

    async fn get(
        &self,
        path: &str,
        etag: Option<&str>,
        via: &str,
        limit: u64,
        timeout: Duration,
    ) -> Result<Fetched, UpstreamError> {
        // The names in a path are checked, so this is an address.
        let url = self.base.join(path).map_err(|_| UpstreamError::Address(path.to_owned()))?;
        // The semaphore is never closed.
        let _place = self.exchanges.acquire().await.ok();
        let mut request = self.client.get(url).timeout(timeout);
        request = request.header(VIA, via);
        if let Some(etag) = etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
            request = request.header(IF_NONE_MATCH, etag);
        }
        let failed = |error: reqwest::Error| UpstreamError::Http(HttpError::of(&error));
        let mut response = request.send().await.map_err(failed)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED => return Ok(Fetched::Same),
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(Fetched::Nothing),
            status => return Err(UpstreamError::Status(status.as_u16())),
        }
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        // We send no credentials; a server that answers by address could still mean us alone.
        if header(CACHE_CONTROL).is_some_and(|value| value.contains("private")) {
            return Ok(Fetched::Nothing);
        }
        let etag = header(ETAG).map(str::to_owned);
        let mut bytes = BytesMut::new();
        while let Some(part) = response.chunk().await.map_err(failed)? {
            if bytes.len() as u64 + part.len() as u64 > limit {
                return Err(UpstreamError::TooLarge(limit));
            }
            bytes.extend_from_slice(&part);
        }
        Ok(Fetched::Body { bytes: bytes.freeze(), etag })
    }
}
