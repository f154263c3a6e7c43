//! Starting and ending the proxy of one run.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use thiserror::Error;
use time::OffsetDateTime;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

use crate::ca::CertificateAuthority;
use crate::connection::{self, Entry};
use crate::credentials::Credentials;
use crate::meter::Meter;
use crate::policy::ProxyPolicy;
use crate::report::{Ledger, Report};
use crate::resolver::Resolver;
use crate::upstream::Run;

/// Lookups wait in threads of their own, since the system's resolver blocks.
const MOST_LOOKUPS: usize = 8;
/// When a machine is out of descriptors, trying again at once would only keep it busy.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// A proxy that has a policy and does nothing yet.
pub struct Proxy {
    run: Arc<Run>,
}

/// Where connections come from.
#[derive(Debug)]
pub enum Listener {
    /// Clients that know they speak to a proxy.
    Proxy(TcpListener),
    /// Clients that believe they speak to a server.
    Transparent {
        /// The socket they connect to.
        listener: TcpListener,
        /// The port they believe to speak to; servers are dialled on it.
        port: u16,
    },
}

/// A proxy at work. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    run: Arc<Run>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why there is no proxy.
#[derive(Debug, Error)]
pub enum ProxyError {
    /// The policy makes no sense.
    #[error("the network policy can't be applied: {0}")]
    Policy(&'static str),
    /// The run's certificate authority could not be made.
    #[error("can't make a certificate authority for this run")]
    Certificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A listening socket could not be used.
    #[error("can't accept connections from the sandbox")]
    Listener(#[source] io::Error),
    /// The proxy's thread could not be started.
    #[error("can't start the network proxy")]
    Start(#[source] io::Error),
}

impl Proxy {
    /// Prepares a proxy: checks the policy and makes the run's certificate authority, if one is
    /// needed. Nothing is started.
    pub fn new(mut policy: ProxyPolicy, resolver: Arc<dyn Resolver>) -> Result<Self, ProxyError> {
        if policy.connections == 0 || policy.connections > Semaphore::MAX_PERMITS {
            return Err(ProxyError::Policy("the number of connections is out of range"));
        }
        if policy.bytes_per_second == Some(0) {
            return Err(ProxyError::Policy("at 0 bytes per second nothing ever arrives"));
        }
        if policy.head_timeout.is_zero() {
            return Err(ProxyError::Policy("a head timeout of 0 lets no request arrive"));
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
        let (ledger, tls) = (Ledger::default(), OnceLock::new());
        let credentials = Credentials::new(credentials);
        let run = Run { policy, resolver, ca, credentials, meter, ledger, tls };
        Ok(Proxy { run: Arc::new(run) })
    }

    /// The certificate that clients in the sandbox have to trust. There is one if any host is
    /// granted for reading only or has a credential; the key to it never leaves this process.
    pub fn ca_certificate_pem(&self) -> Option<&str> {
        self.run.ca.as_ref().map(CertificateAuthority::pem)
    }

    /// Begins to accept connections, in a thread of its own.
    pub fn start(self, listeners: Vec<Listener>) -> Result<Running, ProxyError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(MOST_LOOKUPS)
            .thread_name("prowess-lookup")
            .build()
            .map_err(ProxyError::Start)?;
        let mut entries = Vec::with_capacity(listeners.len());
        {
            let _inside = runtime.enter();
            for listener in listeners {
                let (listener, entry) = match listener {
                    Listener::Proxy(listener) => (listener, Entry::Proxy),
                    Listener::Transparent { listener, port } => {
                        (listener, Entry::Transparent { port })
                    }
                };
                listener.set_nonblocking(true).map_err(ProxyError::Listener)?;
                let listener =
                    tokio::net::TcpListener::from_std(listener).map_err(ProxyError::Listener)?;
                entries.push((listener, entry));
            }
        }
        let (stop, stopped) = oneshot::channel();
        let run = Arc::clone(&self.run);
        let thread = std::thread::Builder::new()
            .name("prowess-proxy".to_owned())
            .spawn(move || accept_until(runtime, &run, entries, stopped))
            .map_err(ProxyError::Start)?;
        Ok(Running { run: self.run, stop: Some(stop), thread: Some(thread) })
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.run.fmt(f)
    }
}

impl std::fmt::Debug for Run {
    /// The policy only: the rest holds keys or changes all the time.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Running {
    /// Cuts every connection and says what happened.
    pub fn stop(mut self) -> Report {
        self.end();
        self.report()
    }

    /// What has happened so far.
    pub fn report(&self) -> Report {
        Report {
            bytes_up: self.run.meter.bytes_up(),
            bytes_down: self.run.meter.bytes_down(),
            byte_cap_reached: self.run.meter.cap_reached(),
            ..self.run.ledger.snapshot()
        }
    }

    fn end(&mut self) {
        // The receiver is gone if the thread has ended by itself.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            // A panic in there has ended the proxy, which is what is wanted here.
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept_until(
    runtime: Runtime,
    run: &Arc<Run>,
    entries: Vec<(tokio::net::TcpListener, Entry)>,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        // Connections beyond the cap wait in the kernel, all but one per listener (attack C29).
        let permits = Arc::new(Semaphore::new(run.policy.connections));
        let mut accepting = JoinSet::new();
        for (listener, entry) in entries {
            accepting.spawn(accept(Arc::clone(run), listener, entry, Arc::clone(&permits)));
        }
        // An error means that the other end was dropped, which also asks to stop.
        let _ = stopped.await;
    });
    // A lookup that hangs must not hold up the end of the run.
    runtime.shutdown_background();
}

async fn accept(
    run: Arc<Run>,
    listener: tokio::net::TcpListener,
    entry: Entry,
    permits: Arc<Semaphore>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Taken after accepting, or each listener would hold a place while nobody comes.
                let permit = Arc::clone(&permits).acquire_owned().await;
                let permit = permit.expect("it is never closed");
                let run = Arc::clone(&run);
                tokio::spawn(async move {
                    let _open = run.ledger.opened();
                    connection::serve(&run, stream, entry).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
        }
    }
}
