//! Package indexes: the user's indexes are the only network of an installer's sandbox.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prowess_files::atomic;
use prowess_proxy::{
    Host, HostAccess, HostCredential, HostGrant, HostMatcher, ProxyPolicy, SystemResolver,
    UpstreamRoots,
};
use prowess_sandbox::{FileAccess, FileGrant, Spec, SyntheticFile};
use prowess_secrets::{Placeholder, Secret};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use url::Url;

use super::index_settings::{self, Settings, is_on, variable};
use crate::network::{self, RunNetwork};
use crate::world::World;

/// The default index of pip and uv.
const DEFAULT_INDEX: &str = "https://pypi.org/simple";
/// Hosts that serve the files of an index on another host.
const FILE_HOSTS: &[(&str, &str)] = &[
    ("pypi.org", "files.pythonhosted.org"),
    ("test.pypi.org", "test-files.pythonhosted.org"),
    ("download.pytorch.org", "download-r2.pytorch.org"),
];
/// The variable with further hosts that an index refers to.
pub(super) const MORE_HOSTS: &str = "PROWESS_PACKAGE_HOSTS";
/// Maximum download size: twice the largest set of wheels in use today.
const MAX_BYTES: u64 = 16 << 30;
const MAX_CONNECTIONS: usize = 64;
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a certificate file. The root of a sandbox holds 16 MiB.
const MAX_CERTIFICATES: u64 = 4 << 20;
/// The path of the certificates inside the sandbox.
const BUNDLE: &str = "/run/prowess/index-ca.crt";
const CLIENT: &str = "/run/prowess/index-client.pem";

/// The error for an invalid setting.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct IndexError(String);

impl IndexError {
    pub(super) fn new(message: String) -> Self {
        Self(message)
    }
}

/// The installer program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Installer {
    Pip,
    Uv,
}

/// The location of packages.
#[derive(Debug)]
enum IndexLocation {
    Path(PathBuf),
    Server { url: Url, login: Option<(String, String)> },
}

/// All settings about the origin of packages.
#[derive(Debug)]
pub(super) struct Index {
    tool: Installer,
    settings: Settings,
    /// `None` for the installer's own default.
    main: Option<IndexLocation>,
    extra: Vec<IndexLocation>,
    links: Vec<IndexLocation>,
    has_index: bool,
    /// The user's certificates, if they are not the system's.
    bundle: Option<Vec<u8>>,
    client: Option<Vec<u8>>,
    constraints: Vec<PathBuf>,
    more_hosts: Vec<(Host, u16)>,
}

impl Index {
    /// Reads the indexes from the user's settings.
    pub(super) fn of(
        tool: Installer,
        world: &World,
        interpreter: &Path,
    ) -> Result<Self, IndexError> {
        let settings = match tool {
            Installer::Pip => index_settings::of_pip(world, interpreter)?,
            Installer::Uv => index_settings::of_uv(world, interpreter)?,
        };
        let places = |option: &str| {
            let values = settings.get(option).into_iter().flatten();
            values.map(|value| place(value, option, world)).collect::<Result<Vec<_>, _>>()
        };
        let has_index = !is_on(&settings, "no-index");
        let (main, extra) = if has_index {
            (places("index-url")?.into_iter().next(), places("extra-index-url")?)
        } else {
            (None, Vec::new())
        };
        let option = |option: &str| settings.get(option)?.first().map(String::as_str);
        let variables = |names: &[&str]| names.iter().find_map(|name| variable(world, name));
        let (bundle, client) = match tool {
            Installer::Pip => (
                option("cert").or_else(|| {
                    variables(&["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
                }),
                option("client-cert"),
            ),
            Installer::Uv => (variables(&["SSL_CERT_FILE"]), variables(&["SSL_CLIENT_CERT"])),
        };
        let file = |path: Option<&str>| path.map(|path| certificates(path, world)).transpose();
        let mut bundle = file(bundle)?;
        if bundle.is_none() && is_on(&settings, "system-certs") {
            bundle = network::system_certificates();
        }
        let constraints = settings.get("constraint").into_iter().flatten();
        Ok(Self {
            tool,
            main,
            extra,
            links: places("find-links")?,
            has_index,
            bundle,
            client: file(client)?,
            constraints: constraints
                .filter_map(|it| local(it, world).canonicalize().ok())
                .collect(),
            more_hosts: more_hosts(world)?,
            settings,
        })
    }

    /// Configures the sandbox and the installer for the indexes. Returns the proxy and further arguments.
    pub(super) fn open(&self, spec: &mut Spec) -> Result<(RunNetwork, Vec<String>), IndexError> {
        let mut credentials = Vec::new();
        let main = self.main.as_ref().map(|place| self.shown(place, &mut credentials));
        let extra: Vec<String> =
            self.extra.iter().map(|place| self.shown(place, &mut credentials)).collect();
        let links: Vec<String> =
            self.links.iter().map(|place| self.shown(place, &mut credentials)).collect();
        let places = self.main.iter().chain(&self.extra).chain(&self.links);
        for path in places.filter_map(IndexLocation::path) {
            // The installer reports missing files.
            if let Ok(path) = path.canonicalize() {
                spec.files.push(readable(path));
            }
        }
        spec.files.extend(self.constraints.iter().cloned().map(readable));
        let mut set = |name: &str, value: String| {
            if !value.is_empty() {
                spec.environment.push((name.into(), value.into()));
            }
        };
        let values =
            |option: &str| self.settings.get(option).map_or(String::new(), |it| it.join(" "));
        let constraints: Vec<String> =
            self.constraints.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let mut arguments = Vec::new();
        match self.tool {
            Installer::Pip => {
                set("PIP_INDEX_URL", main.unwrap_or_default());
                set("PIP_EXTRA_INDEX_URL", extra.join(" "));
                set("PIP_FIND_LINKS", links.join(" "));
                set("PIP_TRUSTED_HOST", values("trusted-host"));
                set("PIP_CONSTRAINT", constraints.join(" "));
                for option in [
                    "timeout",
                    "default-timeout",
                    "retries",
                    "pre",
                    "use-feature",
                    "use-deprecated",
                ] {
                    let name = format!("PIP_{}", option.to_ascii_uppercase().replace('-', "_"));
                    set(&name, values(option));
                }
            }
            Installer::Uv => {
                set("UV_INDEX_URL", main.unwrap_or_default());
                set("UV_EXTRA_INDEX_URL", extra.join(" "));
                set("UV_FIND_LINKS", links.join(","));
                set("UV_INSECURE_HOST", values("trusted-host"));
                set("UV_CONSTRAINT", constraints.join(" "));
                for (name, option) in [
                    ("UV_INDEX_STRATEGY", "index-strategy"),
                    ("UV_PRERELEASE", "prerelease"),
                    ("UV_RESOLUTION", "resolution"),
                    ("UV_EXCLUDE_NEWER", "exclude-newer"),
                    ("UV_HTTP_TIMEOUT", "http-timeout"),
                    ("UV_HTTP_RETRIES", "http-retries"),
                ] {
                    set(name, values(option));
                }
            }
        }
        if !self.has_index {
            arguments.push("--no-index".to_owned());
        }
        let (hosts, private_hosts) = self.hosts(&credentials)?;
        if hosts.is_empty() {
            return Ok((RunNetwork::Closed, arguments));
        }
        let has_credentials = !credentials.is_empty();
        let policy = ProxyPolicy {
            hosts,
            credentials,
            byte_cap: Some(MAX_BYTES),
            bytes_per_second: None,
            connections: MAX_CONNECTIONS,
            head_timeout: HEAD_TIMEOUT,
            upstream_roots: self.roots(),
            private_hosts,
            permit_addresses: Vec::new(),
        };
        let (door, own) = network::for_installer(policy, Arc::new(SystemResolver), spec)
            .map_err(|error| IndexError(error.to_string()))?;
        self.show_certificates(spec, own.filter(|_| has_credentials));
        Ok((door, arguments))
    }

    /// A URL for the installer. If the proxy can insert the password, the installer gets a placeholder.
    fn shown(&self, place: &IndexLocation, credentials: &mut Vec<HostCredential>) -> String {
        let (url, login) = match place {
            IndexLocation::Path(path) => {
                let real = path.canonicalize().unwrap_or_else(|_| path.clone());
                return Url::from_file_path(&real)
                    .map_or_else(|()| shown_path(&real), String::from);
            }
            IndexLocation::Server { url, login: None } => return url.to_string(),
            IndexLocation::Server { url, login: Some(login) } => (url, login),
        };
        let (mut user, mut password) = login.clone();
        if let Some(host) = host_of(url)
            && url.scheme() == "https"
            && self.client.is_none()
            && !self.is_insecure(url)
        {
            // A token may be the user name or the password.
            let secret = if password.is_empty() { &mut user } else { &mut password };
            if let Some(placeholder) = placeholder(secret) {
                placeholder.text().clone_into(secret);
                credentials.push(HostCredential { host, placeholder });
            }
        }
        let mut url = url.clone();
        // Server URLs always accept both.
        let _ = url.set_username(&user);
        let _ = url.set_password(Some(password.as_str()).filter(|it| !it.is_empty()));
        url.into()
    }

    /// Whether the user has disabled certificate verification for a server.
    fn is_insecure(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let with_port = url.port_or_known_default().map(|port| format!("{host}:{port}"));
        let mut named = self.settings.get("trusted-host").into_iter().flatten();
        named.any(|named| *named == host || Some(named) == with_port.as_ref())
    }

    /// The hosts that may be reached, and which of them the user has named.
    fn hosts(
        &self,
        credentials: &[HostCredential],
    ) -> Result<(Vec<HostGrant>, Vec<Host>), IndexError> {
        let usual =
            Url::parse(DEFAULT_INDEX).ok().filter(|_| self.has_index && self.main.is_none());
        let named: Vec<&Url> = self
            .main
            .iter()
            .chain(&self.extra)
            .chain(&self.links)
            .filter_map(IndexLocation::url)
            .collect();
        let mut grants = Vec::new();
        let mut private = Vec::new();
        for url in usual.iter().chain(named.iter().copied()) {
            let unreadable = || IndexError(format!("`{}` has no valid host", without_login(url)));
            let host = host_of(url).ok_or_else(unreadable)?;
            // Requests inside TLS are only decrypted if a credential has to be inserted.
            let is_read = url.scheme() == "http" || credentials.iter().any(|it| it.host == host);
            let access = if is_read { HostAccess::Read } else { HostAccess::Write };
            let port = url.port_or_known_default();
            for (_, other) in FILE_HOSTS.iter().filter(|(index, _)| url.host_str() == Some(index)) {
                let other: Host = other.parse().map_err(|_| unreadable())?;
                let host = HostMatcher::Exact(other);
                grants.push(HostGrant { host, port: Some(443), access: HostAccess::Write });
            }
            grants.push(HostGrant { host: HostMatcher::Exact(host), port, access });
        }
        private.extend(named.iter().filter_map(|url| host_of(url)));
        if !grants.is_empty() {
            for (host, port) in &self.more_hosts {
                private.push(host.clone());
                let host = HostMatcher::Exact(host.clone());
                grants.push(HostGrant { host, port: Some(*port), access: HostAccess::Write });
            }
        }
        Ok((grants, private))
    }

    /// The certificates that the proxy trusts for its own TLS connections.
    fn roots(&self) -> UpstreamRoots {
        let Some(bundle) = &self.bundle else { return UpstreamRoots::System };
        let all = CertificateDer::pem_slice_iter(bundle).flatten();
        UpstreamRoots::Only(all.map(|certificate| certificate.to_vec()).collect())
    }

    /// Makes the certificates visible to the installer. By default it uses its own.
    fn show_certificates(&self, spec: &mut Spec, own: Option<String>) {
        if self.bundle.is_some() || own.is_some() {
            let system = || network::system_certificates().unwrap_or_default();
            let mut bytes = self.bundle.clone().unwrap_or_else(system);
            bytes.push(b'\n');
            bytes.extend(own.unwrap_or_default().into_bytes());
            spec.synthetic.push(SyntheticFile { path: PathBuf::from(BUNDLE), bytes });
            for name in ["PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"] {
                spec.environment.push((name.into(), BUNDLE.into()));
            }
        }
        if let Some(bytes) = &self.client {
            let bytes = bytes.clone();
            spec.synthetic.push(SyntheticFile { path: PathBuf::from(CLIENT), bytes });
            for name in ["PIP_CLIENT_CERT", "SSL_CLIENT_CERT"] {
                spec.environment.push((name.into(), CLIENT.into()));
            }
        }
    }
}

impl IndexLocation {
    fn path(&self) -> Option<&Path> {
        match self {
            IndexLocation::Path(path) => Some(path),
            IndexLocation::Server { .. } => None,
        }
    }

    fn url(&self) -> Option<&Url> {
        match self {
            IndexLocation::Path(_) => None,
            IndexLocation::Server { url, .. } => Some(url),
        }
    }
}

fn shown_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn readable(path: PathBuf) -> FileGrant {
    FileGrant { path, access: FileAccess::Read, pattern: None, create: false }
}

/// The host of a URL, in the normalized form of the proxy.
fn host_of(url: &Url) -> Option<Host> {
    url.host_str()?.parse().ok()
}

/// A URL without user name and password, for display.
fn without_login(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// Expands a path like a shell.
fn local(text: &str, world: &World) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => world.home.join(rest),
        None => world.current.join(text),
    }
}

/// Parses a setting: a server or a folder. uv allows a prefix `name=`.
fn place(text: &str, option: &str, world: &World) -> Result<IndexLocation, IndexError> {
    let (name, text) = match text.split_once('=') {
        Some((name, rest)) if !name.contains([':', '/', '.']) => (Some(name), rest),
        _ => (None, text),
    };
    if !text.contains("://") {
        return Ok(IndexLocation::Path(local(text, world)));
    }
    // The text may contain a password.
    let unusable = |reason: &str| IndexError(format!("the setting `{option}` {reason}"));
    let mut url =
        Url::parse(text).map_err(|error| unusable(&format!("is not a valid URL: {error}")))?;
    if url.scheme() == "file" {
        return url
            .to_file_path()
            .map(IndexLocation::Path)
            .map_err(|()| unusable("is not a local path"));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable("begins with none of `https://`, `http://` and `file://`"));
    }
    let host = url.host_str().unwrap_or_default().to_owned();
    let login = login(&url, name, world).or_else(|| index_settings::netrc(world, &host));
    // Both remove what was in the text.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Ok(IndexLocation::Server { url, login })
}

/// The user name and password in a URL, or in the variables of a named index.
fn login(url: &Url, name: Option<&str>, world: &World) -> Option<(String, String)> {
    if !url.username().is_empty() || url.password().is_some() {
        return Some((decoded(url.username()), decoded(url.password().unwrap_or_default())));
    }
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    let name: String = name?.to_ascii_uppercase().chars().map(plain).collect();
    let of = |what: &str| variable(world, &format!("UV_INDEX_{name}_{what}")).map(str::to_owned);
    match (of("USERNAME"), of("PASSWORD")) {
        (None, None) => None,
        (user, password) => Some((user.unwrap_or_default(), password.unwrap_or_default())),
    }
}

/// Decodes percent-encoding such as `%40` (RFC 3986 §2.1).
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A placeholder for a password, if one is possible.
fn placeholder(secret: &str) -> Option<Placeholder> {
    let mut random = vec![0; secret.len()];
    getrandom::fill(&mut random).ok()?;
    let mut random = random.into_iter();
    let secret = Secret::new("the password of a package index", secret);
    Placeholder::new(&secret, || random.next().unwrap_or_default()).ok()
}

/// Reads a certificate file, or all certificate files in a folder.
fn certificates(path: &str, world: &World) -> Result<Vec<u8>, IndexError> {
    let path = local(path, world);
    let failed = |error: &dyn std::fmt::Display| {
        IndexError(format!("cannot read the certificates in `{}`: {error}", path.display()))
    };
    if !path.is_dir() {
        let bytes = atomic::read(&path, MAX_CERTIFICATES).map_err(|error| failed(&error))?;
        return bytes.ok_or_else(|| failed(&"there is no such file"));
    }
    let mut all = Vec::new();
    for entry in path.read_dir().map_err(|error| failed(&error))?.flatten() {
        let is_one = entry.path().extension().is_some_and(|it| it == "pem" || it == "crt");
        if !is_one || !entry.path().is_file() {
            continue;
        }
        let room = MAX_CERTIFICATES.saturating_sub(all.len() as u64);
        let bytes = atomic::read(&entry.path(), room).map_err(|error| failed(&error))?;
        all.extend(bytes.unwrap_or_default());
        all.push(b'\n');
    }
    Ok(all)
}

fn more_hosts(world: &World) -> Result<Vec<(Host, u16)>, IndexError> {
    let text = variable(world, MORE_HOSTS).unwrap_or_default();
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    let parsed = words.map(|word| {
        let wrong = || IndexError(format!("`{MORE_HOSTS}`: `{word}` is not a host or `host:port`"));
        let url = Url::parse(&format!("https://{word}")).map_err(|_| wrong())?;
        let is_plain = url.path() == "/" && url.username().is_empty() && url.query().is_none();
        let host = host_of(&url).filter(|_| is_plain).ok_or_else(wrong)?;
        Ok((host, url.port_or_known_default().unwrap_or(443)))
    });
    parsed.collect()
}

#[cfg(test)]
mod tests;
