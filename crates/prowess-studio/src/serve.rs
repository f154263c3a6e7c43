//! The studio as a server: its routes with what surrounds every request.

use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use prowess_server::health::{get_health, get_ready};
use prowess_server::http::{LayerOptions, ServeOptions, ServeReport, Shutdown, with_layers};
use prowess_server::problem::PROBLEM_JSON;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::problem::ApiProblem;
use crate::routes;
use crate::studio::Studio;

/// Maximum size of an error that a layer below has made.
const MAX_PROBLEM_BYTES: usize = 64 << 10;
/// The time between leaving runs to other servers and cancelling them here.
const HAND_OVER: Duration = Duration::from_millis(50);
const EVENT_STREAM: &str = "text/event-stream";

impl Studio {
    /// All routes of the studio.
    pub fn router(&self) -> Router {
        let server = self.server().clone();
        let metrics = server.clone();
        let common = Router::new()
            .route("/health", axum::routing::get(get_health))
            .route("/ready", axum::routing::get(get_ready))
            .route(
                "/metrics",
                axum::routing::get(move || async move {
                    let kind = prowess_server::metrics::METRICS_TEXT;
                    ([(header::CONTENT_TYPE, kind)], metrics.metrics().to_text())
                }),
            )
            .with_state(server.clone());
        let all = common.merge(routes::router(self.clone()));
        with_layers(all, &server, LayerOptions::default()).layer(from_fn(specified))
    }

    /// Serves until a shutdown is requested; then requests and runs may end.
    pub async fn serve(
        &self,
        listener: TcpListener,
        options: ServeOptions,
        shutdown: Shutdown,
    ) -> io::Result<ServeReport> {
        let maintenance = {
            let server = self.server().clone();
            tokio::spawn(async move { server.maintain_forever().await })
        };
        let keeping = tokio::spawn(crate::cluster::keep(self.clone()));
        let draining = {
            let (studio, shutdown) = (self.clone(), shutdown.clone());
            tokio::spawn(async move {
                shutdown.requested().await;
                // New runs are refused, and those that go on may end while their readers still listen. Other servers
                // continue what is left.
                let hand_over = async {
                    tokio::time::sleep(options.grace).await;
                    studio.hand_over();
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    _ = studio.shutdown(options.grace + HAND_OVER) => {}
                    () = hand_over => {}
                }
            })
        };
        let router = self.router();
        let report =
            prowess_server::http::serve(listener, router, self.server(), options, shutdown).await;
        maintenance.abort();
        if report.is_ok() {
            let _ = draining.await;
        }
        keeping.abort();
        crate::cluster::leave(self).await;
        report
    }
}

/// What the specification says about every response: errors in its shape, and no caching of event streams.
async fn specified(request: axum::extract::Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    if content_type.starts_with(EVENT_STREAM) {
        let no_cache = HeaderValue::from_static("no-cache");
        response.headers_mut().insert(header::CACHE_CONTROL, no_cache);
        return response;
    }
    if !content_type.starts_with(PROBLEM_JSON) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX_PROBLEM_BYTES).await.unwrap_or_default();
    let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let word = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
    let message = [word("detail"), word("title")].into_iter().find(|text| !text.is_empty());
    let problem = ApiProblem::new(parts.status, "problem", "", message.unwrap_or_default());
    let mut response = problem.into_response();
    for (name, value) in &parts.headers {
        // Among them the request's id and when to try again.
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            response.headers_mut().insert(name, value.clone());
        }
    }
    let (parts, body) = response.into_parts();
    Response::from_parts(parts, Body::new(body))
}
