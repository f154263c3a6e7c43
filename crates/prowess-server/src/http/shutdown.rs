//! The request to stop, which everything that runs for long listens to.

use std::io;

use tokio_util::sync::CancellationToken;

/// A request to stop. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    token: CancellationToken,
}

impl Shutdown {
    /// Nothing is requested yet.
    pub fn new() -> Shutdown {
        Shutdown::default()
    }

    /// Requested by the first Ctrl-C or `SIGTERM`. It has to be called inside an async runtime.
    pub fn on_signals() -> io::Result<Shutdown> {
        let shutdown = Shutdown::new();
        let requested = shutdown.clone();
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            tokio::spawn(async move {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                requested.request();
            });
        }
        #[cfg(not(unix))]
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                requested.request();
            }
        });
        Ok(shutdown)
    }

    /// Requests the stop.
    pub fn request(&self) {
        self.token.cancel();
    }

    /// Resolves when it is requested. Streams that never end by themselves have to end then.
    pub async fn requested(&self) {
        self.token.cancelled().await;
    }
}
