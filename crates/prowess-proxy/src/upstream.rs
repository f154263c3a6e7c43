//! Connects to a server: resolve, check, connect, and TLS if requested.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::address;
use crate::ca::CertificateAuthority;
use crate::credentials::Credentials;
use crate::host::Host;
use crate::meter::{Meter, Metered};
use crate::policy::{HostAccess, ProxyPolicy, UpstreamRoots};
use crate::refusal::NetworkRefusal;
use crate::report::Ledger;
use crate::resolver::Resolver;
use crate::tasks::Tasks;

/// Maximum number of simultaneous DNS lookups of one run, so that slow ones don't delay other runs.
const MAX_LOOKUPS: usize = 8;
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(15);
const DIAL_TIMEOUT: Duration = Duration::from_secs(10);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_ADDRESSES: usize = 6;

/// Everything the connections of one run share.
pub(crate) struct Run {
    pub(crate) policy: ProxyPolicy,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) ca: Option<CertificateAuthority>,
    pub(crate) credentials: Credentials,
    pub(crate) meter: Arc<Meter>,
    pub(crate) ledger: Ledger,
    /// Loaded for the first TLS connection to a server: most runs don't need them.
    tls: OnceLock<Arc<ClientConfig>>,
    lookups: Arc<Semaphore>,
    pub(crate) tasks: Tasks,
    /// The tracing span of the run, which its connections belong to.
    pub(crate) span: tracing::Span,
}

/// The destination of a connection: a granted host and its addresses, which were checked and are
/// not resolved again (attack sandbox-C13).
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) access: HostAccess,
    addresses: Vec<IpAddr>,
}

/// Why there is no connection to the server.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// It is not allowed.
    Refused(NetworkRefusal),
    /// It is unreachable.
    Failed(String),
}

impl From<NetworkRefusal> for ConnectError {
    fn from(refusal: NetworkRefusal) -> Self {
        ConnectError::Refused(refusal)
    }
}

impl Destination {
    /// Host and port as text, without a default port.
    pub(crate) fn authority(&self, usual_port: u16) -> String {
        if self.port == usual_port {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// The system's certificate authorities, parsed once per process. TLS sessions are not shared.
static SYSTEM_ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();

impl Run {
    pub(crate) fn new(
        policy: ProxyPolicy,
        resolver: Arc<dyn Resolver>,
        ca: Option<CertificateAuthority>,
        credentials: Credentials,
        meter: Arc<Meter>,
    ) -> Self {
        Self {
            policy,
            resolver,
            ca,
            credentials,
            meter,
            ledger: Ledger::default(),
            tls: OnceLock::new(),
            lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)),
            tasks: Tasks::default(),
            span: tracing::Span::current(),
        }
    }

    /// Decides on host and port, and checks the traffic limit. Nothing has been resolved yet
    /// (attack sandbox-C08).
    pub(crate) fn decide(&self, host: &Host, port: u16) -> Result<HostAccess, NetworkRefusal> {
        let access = self
            .policy
            .decide(host, port)
            .map_err(|reason| NetworkRefusal::ungranted(reason, host, port))?;
        match self.meter.exhausted() {
            Some(cap) => Err(NetworkRefusal::byte_cap(host, port, cap)),
            None => Ok(access),
        }
    }

    /// Resolves a granted host once and keeps the allowed addresses.
    pub(crate) async fn locate(
        &self,
        host: &Host,
        port: u16,
        access: HostAccess,
    ) -> Result<Destination, ConnectError> {
        let found = match host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.look_up(name.as_str()).await?,
        };
        let mut what = None;
        let addresses: Vec<IpAddr> = found
            .into_iter()
            .filter(|address| match address::forbidden(*address) {
                Some(_) if self.policy.private_hosts.contains(host) => true,
                Some(_) if self.policy.permit_addresses.contains(address) => true,
                Some(kind) => {
                    what = Some(kind);
                    false
                }
                None => true,
            })
            .take(MAX_ADDRESSES)
            .collect();
        match what {
            Some(what) if addresses.is_empty() => {
                Err(NetworkRefusal::address(host, port, what).into())
            }
            None if addresses.is_empty() => {
                Err(ConnectError::Failed(format!("`{host}` has no addresses")))
            }
            _ => Ok(Destination { host: host.clone(), port, access, addresses }),
        }
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, ConnectError> {
        let resolver = Arc::clone(&self.resolver);
        let (asked, lookups) = (name.to_owned(), Arc::clone(&self.lookups));
        let lookup = async {
            let permit = lookups.acquire_owned().await.expect("it is never closed");
            tokio::task::spawn_blocking(move || {
                // Held by the thread: a caller that stops waiting does not free the slot.
                let _permit = permit;
                resolver.resolve(&asked)
            })
            .await
        };
        let failed =
            |why: String| ConnectError::Failed(format!("could not resolve host `{name}`: {why}"));
        timeout(LOOKUP_TIMEOUT, lookup)
            .await
            .map_err(|_| failed("timed out".to_owned()))?
            .map_err(|_| failed("the lookup was aborted".to_owned()))?
            .map_err(|error| failed(error.to_string()))
    }

    /// Connects to one of the checked addresses.
    pub(crate) async fn dial(&self, to: &Destination) -> Result<Metered<TcpStream>, ConnectError> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in &to.addresses {
            match timeout(DIAL_TIMEOUT, TcpStream::connect((*address, to.port))).await {
                Ok(Ok(stream)) => {
                    // A failure only affects performance.
                    let _ = stream.set_nodelay(true);
                    return Ok(Metered::new(stream, Arc::clone(&self.meter)));
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        let (host, port) = (&to.host, to.port);
        Err(ConnectError::Failed(format!("can't connect to port {port} of `{host}`: {last}")))
    }

    /// Connects with TLS and verifies the certificate of the host.
    pub(crate) async fn dial_tls(
        &self,
        to: &Destination,
    ) -> Result<TlsStream<Metered<TcpStream>>, ConnectError> {
        let host = &to.host;
        let failed =
            |why: String| ConnectError::Failed(format!("TLS connection to `{host}` failed: {why}"));
        let name = match host {
            Host::Name(name) => ServerName::try_from(name.as_str().to_owned())
                .map_err(|error| failed(error.to_string()))?,
            Host::Address(address) => ServerName::from(*address),
        };
        let connector = TlsConnector::from(self.tls_config().map_err(failed)?);
        let stream = self.dial(to).await?;
        match timeout(HANDSHAKE_TIMEOUT, connector.connect(name, stream)).await {
            Ok(result) => result.map_err(|error| failed(error.to_string())),
            Err(_) => Err(failed("timed out".to_owned())),
        }
    }

    fn tls_config(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(config) = self.tls.get() {
            return Ok(Arc::clone(config));
        }
        let roots = match &self.policy.upstream_roots {
            UpstreamRoots::System => Arc::clone(SYSTEM_ROOTS.get_or_init(|| {
                // A few unreadable certificates are normal; only having none is a problem.
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                Arc::new(roots)
            })),
            UpstreamRoots::Only(certificates) => {
                let certificates = certificates.iter().map(|der| CertificateDer::from(der.clone()));
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(certificates);
                Arc::new(roots)
            }
        };
        if roots.is_empty() {
            return Err("this machine has no trusted certificate authorities".to_owned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::clone(self.tls.get_or_init(|| Arc::new(config))))
    }
}
