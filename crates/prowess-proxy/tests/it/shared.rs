//! Many proxies that share one runtime.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_proxy::{Proxy, ProxyListener, Resolver, RunningProxy};

use crate::server::{Server, usual_answers};
use crate::world::{Names, Via, World, policy, speak};

/// The number of the proxy's threads in this process. Other tests use the same ones.
#[cfg(target_os = "linux")]
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.starts_with("prowess-proxy"))
        .count()
}

fn start(grant: &str) -> (RunningProxy, u16) {
    let policy = policy(&[grant.to_owned()]);
    let proxy = Proxy::new(policy, Arc::new(Names::default()) as Arc<dyn Resolver>).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (proxy.start(vec![ProxyListener::Proxy(listener)]).unwrap(), port)
}

#[cfg(target_os = "linux")]
#[test]
fn a_hundred_proxies_share_their_threads() {
    let server = Server::http(usual_answers());
    let grant = format!("write api.brave.test:{}", server.port);
    let request = format!(
        "GET http://api.brave.test:{0}/ HTTP/1.1\r\nHost: api.brave.test:{0}\r\nConnection: close\r\n\r\n",
        server.port
    );
    let proxies: Vec<_> = (0..100).map(|_| start(&grant)).collect();
    for (_, port) in &proxies {
        let mut stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    }
    // At most four workers, and one lookup at a time, which may briefly find the previous thread busy.
    let threads = threads();
    assert!((1..=4 + 8).contains(&threads), "{threads} threads for 100 proxies");
    for (running, _) in proxies {
        assert_eq!(running.stop().connections, 1);
    }
    server.stop();
}

#[test]
fn stopping_one_proxy_closes_only_its_connections() {
    let open = |world: &World| {
        let mut stream = world.connect();
        stream
            .write_all(world.fill_in("CONNECT api.brave.test:{https} HTTP/1.1\r\nHost: api.brave.test:{https}\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        stream
    };
    let grants = &["write *.brave.test:{https}", "write *.brave.test:{http}"];
    let (ending, lasting) = (World::new(grants), World::new(grants));
    let (mut cut, _kept) = (open(&ending), open(&lasting));
    let started = Instant::now();
    let report = ending.end(String::new()).report;
    // It waits for a `ClientHello`, for which the timeout is a minute.
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(report.connections, 1);
    let mut rest = Vec::new();
    // Closed or reset.
    let _ = cut.read_to_end(&mut rest);
    let request = lasting.fill_in(
        "GET http://api.brave.test:{http}/ HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\r\n",
    );
    let answer = speak(&lasting, Via::Proxy, &request);
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert_eq!(lasting.report().connections, 2);
}

#[test]
fn a_pending_request_ends_with_the_run() {
    // The connection to the server has its own task.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (running, proxy) = start(&format!("write api.brave.test:{port}"));
    let mut client = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, proxy)).unwrap();
    write!(
        client,
        "GET http://api.brave.test:{port}/ HTTP/1.1\r\nHost: api.brave.test:{port}\r\n\r\n"
    )
    .unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut head = [0; 1024];
    assert!(server.read(&mut head).unwrap() > 0);
    running.stop();
    let mut rest = Vec::new();
    match server.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
}
