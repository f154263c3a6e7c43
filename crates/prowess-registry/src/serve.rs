//! Runs a registry until it is asked to stop.

use std::net::SocketAddr;

use prowess_server::database::DatabaseError;
use prowess_server::http::{ServeOptions, Shutdown, serve};
use tokio::net::TcpListener;

use crate::app::router;
use crate::host::{HostError, HostOptions};

/// What a started registry tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The address that it listens on.
    pub address: SocketAddr,
    /// The one-time link with which the administrator makes their account, if there are no users.
    pub setup_link: Option<String>,
}

/// Why a registry does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It can't be opened.
    #[error(transparent)]
    Host(#[from] HostError),
    /// It can't listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error.
        source: std::io::Error,
    },
    /// The runtime or the listener failed.
    #[error("the server failed: {0}")]
    Io(#[from] std::io::Error),
}

/// Serves until SIGINT or SIGTERM. `started` is called once the registry answers.
pub fn run(
    options: &HostOptions,
    listen: SocketAddr,
    started: impl FnOnce(&Started),
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let shutdown = Shutdown::on_signals()?;
        run_until(options, listen, shutdown, started).await
    })
}

/// Serves until the stop is requested.
pub async fn run_until(
    options: &HostOptions,
    listen: SocketAddr,
    shutdown: Shutdown,
    started: impl FnOnce(&Started),
) -> Result<(), ServeError> {
    // A port that is taken is found out before anything is opened.
    let listener = TcpListener::bind(listen).await;
    let listener = listener.map_err(|source| ServeError::Listen { address: listen, source })?;
    let address = listener.local_addr()?;
    let registry = options.registry().await?;
    registry.start();
    let server = registry.server().clone();
    let maintained = server.clone();
    let maintenance = tokio::spawn(async move { maintained.maintain_forever().await });
    let base = match server.public_url() {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("http://{address}"),
    };
    let link = server.accounts().create_setup_link().await;
    let link = link.map_err(|error: DatabaseError| HostError::from(error))?;
    let setup_link = link.map(|token| format!("{base}/set-up?token={}", token.expose()));
    started(&Started { address, setup_link });
    let ended =
        serve(listener, router(&registry), &server, ServeOptions::default(), shutdown).await;
    registry.stop();
    maintenance.abort();
    // What was downloaded in the last second counts too.
    if let Err(error) = registry.flush_downloads().await {
        tracing::warn!(%error, "downloads could not be counted");
    }
    ended?;
    Ok(())
}
