//! The network of a run with a network grant: an empty network namespace with our proxy as the only way out.

use std::net::{IpAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prowess_policy::SandboxSpec;
use prowess_policy::scope::{HostName, HostScope};
use prowess_policy::spec::{Access, NetworkRule};
use prowess_proxy::{
    HostGrant, HostMatcher, NetworkReport, Proxy, ProxyListener, ProxyPolicy, RefusalKind,
    Resolver, RunningProxy, SystemResolver, UpstreamRoots,
};
use prowess_sandbox::{Network, Spec, SyntheticFile};

use crate::credentials::Credential;
use crate::error::RunError;

/// The port of the proxy.
const PROXY_PORT: u16 = 3128;
/// Ports for clients that ignore proxy settings; they find the hosts in `/etc/hosts`.
const TRANSPARENT_PORTS: [u16; 2] = [80, 443];
/// Maximum number of concurrent connections; further ones wait.
const MAX_CONNECTIONS: usize = 128;
/// Time limit for a client to send its request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of refusals that are reported individually.
const MAX_TOLD: usize = 10;
/// The path of the certificates inside the sandbox.
const BUNDLE_INSIDE: &str = "/run/prowess/ca-certificates.crt";
/// The system's certificate bundles: Debian, Fedora, SUSE, Alpine.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Variables with the path of the certificates: OpenSSL, curl, Python, Node, git.
const BUNDLE_VARIABLES: &[&str] = &[
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
];
/// Variables with the URL of the proxy. Some programs read only one spelling.
const PROXY_VARIABLES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// The differences between a real run and a test with its own servers.
#[derive(Clone)]
pub(crate) struct NetworkEnvironment {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) roots: UpstreamRoots,
    pub(crate) permit_addresses: Vec<IpAddr>,
    /// A lower byte limit than that of the tier.
    pub(crate) byte_cap: Option<u64>,
}

impl NetworkEnvironment {
    /// The environment of a real run.
    pub(crate) fn real() -> Self {
        Self {
            resolver: Arc::new(SystemResolver),
            roots: UpstreamRoots::System,
            permit_addresses: Vec::new(),
            byte_cap: None,
        }
    }
}

impl std::fmt::Debug for NetworkEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outside")
            .field("permit_addresses", &self.permit_addresses)
            .finish_non_exhaustive()
    }
}

/// The proxy of a run.
#[derive(Debug)]
pub(crate) enum RunNetwork {
    /// There is no network.
    Closed,
    /// The proxy waits for the sandbox's listeners.
    Waiting(Proxy),
    /// The proxy is running.
    Open(RunningProxy),
}

/// Prepares the proxy, and configures the sandbox and the program for it. Without a grant there is neither a proxy nor
/// a variable that refers to one (attack sandbox-C27).
pub(crate) fn prepare(
    allowed: &SandboxSpec,
    spec: &mut Spec,
    outside: &NetworkEnvironment,
    credentials: &[Credential],
) -> Result<RunNetwork, RunError> {
    for credential in credentials {
        if !allowed.network.iter().any(|rule| credential.is_within(&rule.hosts)) {
            return Err(credential.not_granted().into());
        }
    }
    if allowed.network.is_empty() {
        return Ok(RunNetwork::Closed);
    }
    let mut hosts = Vec::new();
    for rule in &allowed.network {
        hosts.push(grant(rule)?);
    }
    let policy = ProxyPolicy {
        hosts,
        credentials: credentials.iter().map(bound).collect::<Result<_, _>>()?,
        byte_cap: outside.byte_cap.or(allowed.limits.network_bytes),
        bytes_per_second: allowed.limits.network_bytes_per_sec,
        connections: MAX_CONNECTIONS,
        head_timeout: HEAD_TIMEOUT,
        upstream_roots: outside.roots.clone(),
        private_hosts: Vec::new(),
        permit_addresses: outside.permit_addresses.clone(),
    };
    let proxy = Proxy::new(policy, Arc::clone(&outside.resolver))
        .map_err(|error| RunError::Network(error.to_string()))?;
    let ports = std::iter::once(PROXY_PORT).chain(TRANSPARENT_PORTS);
    spec.network = Network::Listeners(ports.collect());
    spec.synthetic.push(hosts_file(&allowed.network));
    certificates(spec, proxy.ca_certificate_pem());
    let address = format!("http://127.0.0.1:{PROXY_PORT}");
    for name in PROXY_VARIABLES {
        set(spec, name, &address);
    }
    Ok(RunNetwork::Waiting(proxy))
}

/// Prepares the proxy of an installer. Also returns the certificate of the proxy, which its client has to trust if a
/// credential is inserted.
pub(crate) fn for_installer(
    policy: ProxyPolicy,
    resolver: Arc<dyn Resolver>,
    spec: &mut Spec,
) -> Result<(RunNetwork, Option<String>), RunError> {
    let proxy =
        Proxy::new(policy, resolver).map_err(|error| RunError::Network(error.to_string()))?;
    spec.network = Network::Listeners(vec![PROXY_PORT]);
    for name in PROXY_VARIABLES {
        set(spec, name, &format!("http://127.0.0.1:{PROXY_PORT}"));
    }
    let own = proxy.ca_certificate_pem().map(str::to_owned);
    Ok((RunNetwork::Waiting(proxy), own))
}

/// The certificates of this machine.
pub(crate) fn system_certificates() -> Option<Vec<u8>> {
    BUNDLES.iter().find_map(|path| std::fs::read(path).ok())
}

fn grant(rule: &NetworkRule) -> Result<HostGrant, RunError> {
    let pattern = match &rule.hosts.host {
        HostScope::Any => Ok(HostMatcher::Any),
        HostScope::Below(domain) => domain.parse().map(HostMatcher::Suffix),
        HostScope::Exact(HostName::Domain(name)) => name.parse().map(HostMatcher::Exact),
        HostScope::Exact(HostName::Address(address)) => {
            Ok(HostMatcher::Exact(prowess_proxy::Host::Address(*address)))
        }
    };
    let host = pattern.map_err(|error| RunError::Network(format!("`{}`: {error}", rule.hosts)))?;
    let access = match rule.access {
        Access::Read => prowess_proxy::HostAccess::Read,
        Access::Write => prowess_proxy::HostAccess::Write,
    };
    Ok(HostGrant { host, port: rule.hosts.port, access })
}

fn bound(credential: &Credential) -> Result<prowess_proxy::HostCredential, RunError> {
    let host = match &credential.host {
        HostName::Domain(name) => name.parse(),
        HostName::Address(address) => Ok(prowess_proxy::Host::Address(*address)),
    };
    let host =
        host.map_err(|error| RunError::Network(format!("`{}`: {error}", credential.host)))?;
    Ok(prowess_proxy::HostCredential { host, placeholder: credential.placeholder.clone() })
}

/// Resolves hosts that are granted by name to the proxy, for programs that ignore proxy settings.
fn hosts_file(rules: &[NetworkRule]) -> SyntheticFile {
    let mut text = "127.0.0.1 localhost skill\n".to_owned();
    for rule in rules {
        if let HostScope::Exact(HostName::Domain(name)) = &rule.hosts.host
            && rule.hosts.port.is_none_or(|port| TRANSPARENT_PORTS.contains(&port))
        {
            text.push_str("127.0.0.1 ");
            text.push_str(name);
            text.push('\n');
        }
    }
    SyntheticFile { path: PathBuf::from("/etc/hosts"), bytes: text.into_bytes() }
}

/// Puts the machine's certificates and the one of this run where programs look for them.
fn certificates(spec: &mut Spec, own: Option<&str>) {
    let found = BUNDLES.iter().copied().filter(|path| Path::new(path).is_file());
    let system: Vec<&str> = found.collect();
    let mut bytes = system.first().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    if let Some(own) = own {
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(own.as_bytes());
    }
    for path in system {
        // A visible folder of the host keeps its file; the variables refer to ours.
        let covered = spec.files.iter().any(|grant| Path::new(path).starts_with(&grant.path));
        if !covered {
            let path = PathBuf::from(path);
            spec.synthetic.push(SyntheticFile { path, bytes: bytes.clone() });
        }
    }
    spec.synthetic.push(SyntheticFile { path: PathBuf::from(BUNDLE_INSIDE), bytes });
    for name in BUNDLE_VARIABLES {
        set(spec, name, BUNDLE_INSIDE);
    }
}

fn set(spec: &mut Spec, name: &str, value: &str) {
    spec.environment.retain(|(known, _)| known != name);
    spec.environment.push((name.into(), value.into()));
}

impl RunNetwork {
    /// Starts the proxy. On any error, no connection is allowed.
    pub(crate) fn open(&mut self, listeners: Vec<TcpListener>) -> Result<(), String> {
        let RunNetwork::Waiting(proxy) = std::mem::replace(self, RunNetwork::Closed) else {
            return Ok(());
        };
        let mut listeners = listeners.into_iter();
        let mut entries: Vec<ProxyListener> =
            listeners.next().map(ProxyListener::Proxy).into_iter().collect();
        let transparent = listeners.zip(TRANSPARENT_PORTS);
        entries.extend(
            transparent.map(|(listener, port)| ProxyListener::Transparent { listener, port }),
        );
        *self = RunNetwork::Open(proxy.start(entries).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Stops the proxy and returns the refusals.
    pub(crate) fn close(self) -> Vec<String> {
        self.report().map_or_else(Vec::new, |report| told(&report))
    }

    /// Stops the proxy; returns a report if there was a network.
    pub(crate) fn report(self) -> Option<NetworkReport> {
        match self {
            RunNetwork::Closed | RunNetwork::Waiting(_) => None,
            RunNetwork::Open(running) => Some(running.stop()),
        }
    }
}

fn told(report: &NetworkReport) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for refusal in &report.refusals {
        let hint = refusal.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
        // The other messages say that something is not granted; this one would read as if it had been sent.
        let refused = if refusal.kind == RefusalKind::Credential { ": refused" } else { "" };
        let message = format!("{}{refused}{hint}", refusal.message);
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    let more = messages.len().saturating_sub(MAX_TOLD);
    messages.truncate(MAX_TOLD);
    if more > 0 {
        messages.push(format!("{more} more requests were refused"));
    }
    if report.byte_cap_reached {
        messages.push("the limit of bytes sent and received was reached".to_owned());
    }
    messages
}
