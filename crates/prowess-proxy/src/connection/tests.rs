//! Slow clients, with a paused clock.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use super::{RequestScope, serve_requests};
use crate::credentials::Credentials;
use crate::meter::Meter;
use crate::policy::{ProxyPolicy, UpstreamRoots};
use crate::prefixed::Prefixed;
use crate::refusal::RefusalKind;
use crate::resolver::Resolver;
use crate::upstream::Run;

struct Nobody;

impl Resolver for Nobody {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

fn run() -> Run {
    let policy = ProxyPolicy {
        hosts: Vec::new(),
        credentials: Vec::new(),
        byte_cap: None,
        bytes_per_second: None,
        connections: 1,
        head_timeout: Duration::from_secs(30),
        upstream_roots: UpstreamRoots::Only(Vec::new()),
        private_hosts: Vec::new(),
        permit_addresses: Vec::new(),
    };
    let meter = Arc::new(Meter::new(None, None));
    Run::new(policy, Arc::new(Nobody), None, Credentials::new(Vec::new()), meter)
}

/// Sends a text with one byte per second, and returns the response, the elapsed seconds and the
/// recorded refusals.
async fn slowly(text: &str) -> (String, u64, Vec<RefusalKind>) {
    let run = run();
    let (client, server) = tokio::io::duplex(1024);
    let (mut reader, mut writer) = tokio::io::split(client);
    let start = Instant::now();
    let sending = async {
        for byte in text.as_bytes() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if writer.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
    };
    let receiving = async {
        let mut answer = String::new();
        reader.read_to_string(&mut answer).await.unwrap();
        (answer, start.elapsed().as_secs())
    };
    let serving = async {
        let end =
            serve_requests(&run, Prefixed::new(server, Vec::new()), &RequestScope::Proxy).await;
        assert!(end.unwrap().is_none());
    };
    let ((answer, seconds), (), ()) = tokio::join!(receiving, sending, serving);
    let report = run.ledger.snapshot();
    (answer, seconds, report.refusals.into_iter().map(|refusal| refusal.kind).collect())
}

#[tokio::test(start_paused = true)]
async fn a_head_that_takes_too_long_is_refused() {
    // sandbox-C29
    let (answer, seconds, refusals) = slowly(&"GET http://a.test/ HTTP/1.1\r\n".repeat(4)).await;
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    assert!(answer.contains("refused: the request's head took too long to arrive\n"), "{answer}");
    assert_eq!((seconds, refusals), (30, vec![RefusalKind::Slow]));
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_disconnected_without_a_response() {
    // sandbox-C29
    assert_eq!(slowly("").await, (String::new(), 30, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_slow_head_within_the_timeout_is_answered() {
    let (answer, _, refusals) = slowly("GET http://a.b HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    assert_eq!(refusals, [RefusalKind::Host]);
}
