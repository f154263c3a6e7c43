//! Metrics as Prometheus reads them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

pub use prometheus_client;

/// The content type of the text.
pub const METRICS_TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets for durations, in seconds: a few handlers take longer than all of them together.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The metrics of a server.
pub struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram>,
    in_flight: Gauge,
    connections: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: String,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let requests = Family::<RequestLabels, Counter>::default();
        let durations =
            Family::<RouteLabels, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        let in_flight = Gauge::default();
        let connections = Gauge::default();
        let metrics = Metrics {
            registry: Mutex::new(Registry::with_prefix("prowess")),
            requests: requests.clone(),
            durations: durations.clone(),
            in_flight: in_flight.clone(),
            connections: connections.clone(),
        };
        metrics.register("http_requests", "Requests that were answered", requests);
        metrics.register(
            "http_request_duration_seconds",
            "Time until the headers of the response",
            durations,
        );
        metrics.register("http_requests_in_flight", "Requests without a response yet", in_flight);
        metrics.register("http_connections", "Open connections", connections);
        metrics
    }

    /// Adds a metric. Its name gets the prefix `prowess_`; labels must have few values.
    pub fn register(&self, name: &str, help: &str, metric: impl Metric) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.register(name, help, metric);
    }

    /// All metrics as text.
    pub fn to_text(&self) -> String {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        // Writing to a text can't fail.
        let _ = text::encode(&mut text, &registry);
        text
    }

    pub(crate) fn started(&self) {
        self.in_flight.inc();
    }

    pub(crate) fn finished(
        &self,
        method: &http::Method,
        route: Option<&str>,
        status: u16,
        duration: Duration,
    ) {
        self.in_flight.dec();
        // Neither is what the client wrote, which could be anything.
        let route = route.unwrap_or("none").to_owned();
        let method = known_method(method);
        self.requests.get_or_create(&RequestLabels { method, route: route.clone(), status }).inc();
        self.durations
            .get_or_create(&RouteLabels { method, route })
            .observe(duration.as_secs_f64());
    }

    pub(crate) fn abandoned(&self) {
        self.in_flight.dec();
    }

    pub(crate) fn connections(&self) -> &Gauge {
        &self.connections
    }
}

fn known_method(method: &http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "PATCH" => "PATCH",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
