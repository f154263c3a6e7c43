//! Starts and stops the proxy of one run.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use thiserror::Error;
use time::OffsetDateTime;
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use crate::ca::CertificateAuthority;
use crate::connection::{self, ConnectionKind};
use crate::credentials::Credentials;
use crate::meter::Meter;
use crate::policy::ProxyPolicy;
use crate::report::NetworkReport;
use crate::resolver::Resolver;
use crate::runtime;
use crate::upstream::Run;

/// Delay after a failed accept: without file descriptors an immediate retry would only waste CPU
/// time.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// A proxy that is not running yet.
pub struct Proxy {
    run: Arc<Run>,
}

/// A listening socket of the sandbox.
#[derive(Debug)]
pub enum ProxyListener {
    /// For clients that are configured to use a proxy.
    Proxy(TcpListener),
    /// For clients that think they are connected to a server.
    Transparent {
        /// The socket they connect to.
        listener: TcpListener,
        /// The port of the intended server.
        port: u16,
    },
}

/// A running proxy. Dropping it stops it.
#[derive(Debug)]
pub struct RunningProxy {
    run: Arc<Run>,
    runtime: tokio::runtime::Handle,
    is_ended: bool,
}

/// Why the proxy could not be started.
#[derive(Debug, Error)]
pub enum ProxyError {
    /// The policy is invalid.
    #[error("the network policy can't be applied: {0}")]
    Policy(&'static str),
    /// The run's certificate authority could not be created.
    #[error("can't create a certificate authority for this run")]
    Certificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A listening socket could not be used.
    #[error("can't accept connections from the sandbox")]
    Listener(#[source] io::Error),
    /// The runtime that all proxies share could not be started.
    #[error("can't start the network proxy")]
    Start(#[source] io::Error),
}

impl Proxy {
    /// Prepares a proxy: checks the policy and creates the run's certificate authority, if one is
    /// needed. Starts nothing.
    pub fn new(mut policy: ProxyPolicy, resolver: Arc<dyn Resolver>) -> Result<Self, ProxyError> {
        if policy.connections == 0 || policy.connections > Semaphore::MAX_PERMITS {
            return Err(ProxyError::Policy("the number of connections is out of range"));
        }
        if policy.bytes_per_second == Some(0) {
            return Err(ProxyError::Policy("the bandwidth is 0 bytes per second"));
        }
        if policy.head_timeout.is_zero() {
            return Err(ProxyError::Policy("the head timeout is 0"));
        }
        if policy.hosts.iter().any(|grant| grant.port == Some(0)) {
            return Err(ProxyError::Policy("port 0 can't be granted"));
        }
        let credentials = std::mem::take(&mut policy.credentials);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let now = OffsetDateTime::now_utc();
        let ca = CertificateAuthority::new(&policy.hosts, &credentials, provider, now)
            .map_err(ProxyError::Certificate)?;
        let meter = Arc::new(Meter::new(policy.byte_cap, policy.bytes_per_second));
        let credentials = Credentials::new(credentials);
        Ok(Proxy { run: Arc::new(Run::new(policy, resolver, ca, credentials, meter)) })
    }

    /// The certificate that clients in the sandbox have to trust, if any host is granted for reading
    /// only or has a credential. Its private key never leaves this process.
    pub fn ca_certificate_pem(&self) -> Option<&str> {
        self.run.ca.as_ref().map(CertificateAuthority::pem)
    }

    /// Begins to accept connections, on the runtime that all proxies of this process share.
    pub fn start(self, listeners: Vec<ProxyListener>) -> Result<RunningProxy, ProxyError> {
        let runtime = runtime::shared().map_err(ProxyError::Start)?;
        let inside = runtime.enter();
        // Connections beyond the limit wait in the kernel's queue, except for one per listener
        // (attack sandbox-C29).
        let permits = Arc::new(Semaphore::new(self.run.policy.connections));
        // If anything below fails, dropping `running` stops what was started.
        let running = RunningProxy { run: self.run, runtime: runtime.clone(), is_ended: false };
        for listener in listeners {
            let (listener, entry) = match listener {
                ProxyListener::Proxy(listener) => (listener, ConnectionKind::Proxy),
                ProxyListener::Transparent { listener, port } => {
                    (listener, ConnectionKind::Transparent { port })
                }
            };
            listener.set_nonblocking(true).map_err(ProxyError::Listener)?;
            let listener =
                tokio::net::TcpListener::from_std(listener).map_err(ProxyError::Listener)?;
            let run = Arc::clone(&running.run);
            running.run.tasks.spawn(accept(run, listener, entry, Arc::clone(&permits)));
        }
        drop(inside);
        Ok(running)
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.run.fmt(f)
    }
}

impl std::fmt::Debug for Run {
    /// Shows the policy only: the rest contains keys or changes constantly.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl RunningProxy {
    /// Closes every connection and returns the report.
    pub fn stop(mut self) -> NetworkReport {
        self.end();
        self.report()
    }

    /// The report so far.
    pub fn report(&self) -> NetworkReport {
        NetworkReport {
            bytes_up: self.run.meter.bytes_up(),
            bytes_down: self.run.meter.bytes_down(),
            byte_cap_reached: self.run.meter.cap_reached(),
            ..self.run.ledger.snapshot()
        }
    }

    /// Ends every task of the run and with them its connections. Pending DNS lookups are abandoned.
    fn end(&mut self) {
        if std::mem::replace(&mut self.is_ended, true) {
            return;
        }
        let (ended, wait) = mpsc::channel();
        let run = Arc::clone(&self.run);
        self.runtime.spawn(async move {
            run.tasks.end().await;
            // The receiver may be gone already.
            let _ = ended.send(());
        });
        // An error means that the task panicked, and the other end with it.
        let _ = wait.recv();
    }
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        self.end();
    }
}

async fn accept(
    run: Arc<Run>,
    listener: tokio::net::TcpListener,
    entry: ConnectionKind,
    permits: Arc<Semaphore>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Acquired after accepting, or each idle listener would occupy a slot.
                let permit = Arc::clone(&permits).acquire_owned().await;
                let permit = permit.expect("it is never closed");
                let served = Arc::clone(&run);
                // Log neither host nor path: a tool may put a key into either.
                let span = tracing::info_span!(parent: &run.span, "proxy_connection");
                let serving = async move {
                    let _open = served.ledger.opened();
                    connection::serve(&served, stream, entry).await;
                    drop(permit);
                };
                run.tasks.spawn(serving.instrument(span));
            }
            Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}
