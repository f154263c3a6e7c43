//! One client, over standard input and output.

use prowess_core::{Problem, ProblemKind};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio_util::sync::CancellationToken;

use crate::handler::Handler;
use crate::lines;
use crate::server::SkillServer;

/// Serves one client until it closes its end or `stop` is cancelled. Everything that still runs then is ended.
pub async fn serve(server: SkillServer, stop: CancellationToken) -> Result<(), Problem> {
    let _watcher = crate::watch::start(&server);
    let handler = Handler::new(server.clone(), "stdio", "stdio");
    let (input, output) = rmcp::transport::stdio_pipes();
    let started = handler.serve_with_ct((lines::checked(input), output), stop.clone());
    let ended = tokio::select! {
        started = started => match started {
            Ok(running) => {
                let _ = running.waiting().await;
                Ok(())
            }
            // A client that goes away before it has said anything is no failure.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(_) if stop.is_cancelled() => Ok(()),
            Err(error) => {
                let message = format!("the client did not initialize the connection: {error}");
                Err(Problem::new("protocol-error", ProblemKind::InvalidInput, message))
            }
        },
        () = stop.cancelled() => Ok(()),
    };
    server.shutdown().await;
    ended
}
