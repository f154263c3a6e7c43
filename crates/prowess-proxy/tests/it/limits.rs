//! Limits of connections, bytes and lists.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prowess_proxy::{Proxy, ProxyError, ProxyListener, RefusalKind, Resolver};

use crate::server::{Server, usual_answers};
use crate::world::{Names, Via, World, policy, read_all, send, speak};

const READ: &[&str] = &["read *.brave.test:{http}"];
const GET: &str =
    "GET http://api.brave.test:{http}/ HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\r\n";

#[test]
fn connections_beyond_the_limit_wait() {
    // sandbox-C29
    let world = World::with(READ, usual_answers(), |policy| policy.connections = 3);
    let idle: Vec<_> = (0..60)
        .map(|_| {
            let mut stream = world.connect();
            stream.write_all(b"GET http://api.").unwrap();
            stream
        })
        .collect();
    let mut last = world.connect();
    last.write_all(world.fill_in(GET).as_bytes()).unwrap();
    while world.report().connections < 3 {
        std::thread::yield_now();
    }
    drop(idle);
    last.shutdown(std::net::Shutdown::Write).unwrap();
    let answer = read_all(&mut last);
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let seen = world.end(answer);
    assert_eq!((seen.report.connections, seen.report.peak_connections), (61, 3));
}

#[test]
fn a_download_is_aborted_at_the_cap_and_later_requests_are_refused() {
    // sandbox-C30
    let world = World::with(READ, usual_answers(), |policy| policy.byte_cap = Some(20_000));
    let big = world.fill_in(&GET.replace("/ HTTP", "/big HTTP"));
    let first = speak(&world, Via::Proxy, &big);
    assert!(first.starts_with("HTTP/1.1 200 OK"), "{}", &first[..100]);
    assert!(first.len() < 21_000, "{} bytes arrived", first.len());
    let second = speak(&world, Via::Proxy, &world.fill_in(GET));
    assert!(second.starts_with("HTTP/1.1 403 Forbidden"), "{second}");
    assert!(
        second.contains("this run reached its limit of 20000 bytes of network traffic"),
        "{second}"
    );
    let report = world.end(second).report;
    assert!(report.byte_cap_reached);
    assert_eq!(report.bytes_up + report.bytes_down, 20_000);
    assert_eq!(report.refusals.last().unwrap().kind, RefusalKind::ByteCap);
}

#[test]
fn a_tunnel_is_aborted_at_the_cap() {
    // sandbox-C30
    let grants = &["write *.brave.test:{https}"];
    let world = World::with(grants, usual_answers(), |policy| policy.byte_cap = Some(20_000));
    let via = Via::Tls { connect: "api.brave.test:{https}", server_name: "api.brave.test" };
    let answer = speak(&world, via, "GET /big HTTP/1.1\r\nHost: api.brave.test\r\n\r\n");
    assert!(answer.len() < 20_000, "{} bytes arrived", answer.len());
    let report = world.end(answer).report;
    assert!(report.byte_cap_reached);
    assert_eq!(report.bytes_up + report.bytes_down, 20_000);
}

#[test]
fn bytes_are_counted_in_both_directions() {
    let world = World::new(&["write *.brave.test:{http}"]);
    let body = "x".repeat(50_000);
    let text = format!(
        "POST http://api.brave.test:{{http}}/echo HTTP/1.1\r\nHost: api.brave.test:{{http}}\r\n\
         Content-Length: 50000\r\n\r\n{body}"
    );
    let answer = speak(&world, Via::Proxy, &world.fill_in(&text));
    assert!(answer.ends_with(&body));
    let report = world.end(answer).report;
    for bytes in [report.bytes_up, report.bytes_down] {
        assert!((50_000..50_500).contains(&bytes), "{report:?}");
    }
    assert!(!report.byte_cap_reached);
}

#[test]
fn the_list_of_refusals_is_bounded() {
    let world = World::new(&[]);
    let request = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    let answer = speak(&world, Via::Proxy, &request.repeat(100));
    assert_eq!(answer.matches("403 Forbidden").count(), 100);
    let report = world.end(answer).report;
    assert_eq!((report.refusals.len(), report.refusals_not_listed), (64, 36));
}

#[test]
fn an_endless_head_is_refused() {
    // sandbox-C29
    let world = World::new(READ);
    let endless = format!("GET http://api.brave.test/ HTTP/1.1\r\nX: {}", "y".repeat(1 << 20));
    let answer = speak(&world, Via::Proxy, &endless);
    assert!(answer.contains("the request's head is longer than 64 KiB"), "{answer}");
    drop(world.end(answer));
}

#[test]
fn stopping_the_proxy_closes_its_connections() {
    let world = World::new(READ);
    let mut idle = world.connect();
    idle.write_all(world.fill_in(GET).as_bytes()).unwrap();
    let mut received = Vec::new();
    while !received.ends_with(b"hello") {
        let mut byte = [0];
        idle.read_exact(&mut byte).unwrap();
        received.push(byte[0]);
    }
    assert_eq!(world.report().connections, 1);
    drop(world.end(String::new()));
    // The client kept the connection open, but the proxy is gone.
    assert!(["", "(broke off)"].contains(&read_all(&mut idle).as_str()));
}

/// Resolves a name to a test server and, every other time, to a private address.
struct Rebinding(AtomicUsize);

impl Resolver for Rebinding {
    fn resolve(&self, _: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        let here = self.0.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
        let address = if here { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(127, 0, 0, 66) };
        Ok(vec![address.into()])
    }
}

#[test]
fn dns_rebinding_cannot_bypass_the_address_check() {
    // sandbox-C13
    let good = Server::http(usual_answers());
    let port = good.port;
    let bad = Server::start(Ipv4Addr::new(127, 0, 0, 66).into(), port, None, usual_answers());
    let policy = policy(&[format!("read *.brave.test:{port}")]);
    let rebinding = Arc::new(Rebinding(AtomicUsize::new(0)));
    let proxy = Proxy::new(policy, Arc::clone(&rebinding) as Arc<dyn Resolver>).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let running = proxy.start(vec![ProxyListener::Proxy(listener)]).unwrap();
    let request = format!(
        "GET http://api.brave.test:{port}/ HTTP/1.1\r\nHost: api.brave.test:{port}\r\n\r\n"
    );
    let answers: Vec<bool> = (0..200)
        .map(|_| {
            let stream = std::net::TcpStream::connect(address).unwrap();
            send(stream, request.as_bytes()).starts_with("HTTP/1.1 200 OK")
        })
        .collect();
    drop(running.stop());
    assert_eq!(answers.iter().filter(|&&reached| reached).count(), 100);
    assert_eq!(rebinding.0.load(Ordering::SeqCst), 200, "each request is looked up once");
    assert_eq!(good.stop().len(), 100);
    assert_eq!(bad.stop(), Vec::<String>::new());
}

#[test]
fn an_invalid_policy_is_an_error() {
    let names: Arc<dyn Resolver> = Arc::new(Names::default());
    let refused = |adjust: fn(&mut prowess_proxy::ProxyPolicy)| {
        let mut policy = policy(&["read api.test".to_owned()]);
        adjust(&mut policy);
        matches!(Proxy::new(policy, Arc::clone(&names)), Err(ProxyError::Policy(_)))
    };
    assert!(!refused(|_| {}));
    assert!(refused(|policy| policy.connections = 0));
    assert!(refused(|policy| policy.bytes_per_second = Some(0)));
    assert!(refused(|policy| policy.head_timeout = Duration::ZERO));
    assert!(refused(|policy| policy.hosts[0].port = Some(0)));
}
