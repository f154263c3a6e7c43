//! Tunnels to hosts that are granted for writing.

use std::io::Write;
use std::net::Shutdown;

use insta::assert_snapshot;
use rustls::pki_types::ServerName;

use crate::world::{Via, World, check, exchange, read_all, send, tls, tunnel};

const WRITE: &[&str] = &["write *.brave.test:{https}"];
const GET: &str = "GET / HTTP/1.1\r\nHost: api.brave.test\r\nConnection: close\r\n\r\n";

const API: Via<'_> = Via::Tls { connect: "api.brave.test:{https}", server_name: "api.brave.test" };

#[test]
fn a_granted_host_gets_a_tunnel() {
    let text = "POST / HTTP/1.1\r\nHost: api.brave.test\r\nContent-Length: 2\r\n\r\nhi";
    assert_snapshot!(check(WRITE, API, text), @r#"
    client  HTTP/1.1 200 OK
            Content-Length: 5
            X-From: server
            
            hello
    lookup  api.brave.test
    server  POST / HTTP/1.1 [Content-Length: 2; Host: api.brave.test] "hi"
    "#);
}

#[test]
fn an_ungranted_host_gets_no_tunnel_and_no_lookup() {
    // sandbox-C08
    let via = Via::Tls { connect: "evil.test:{https}", server_name: "evil.test" };
    assert_snapshot!(check(WRITE, via, GET), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            connection: close
            
            refused: no grant covers the host `evil.test`
            hint: `network:read:evil.test:{https}` would allow reading from it, `network:write:evil.test:{https}` everything
    refused Host
    ");
}

#[test]
fn another_server_name_is_refused_before_the_server_is_contacted() {
    // sandbox-C14
    let via = Via::Tls { connect: "api.brave.test:{https}", server_name: "evil.test" };
    assert_snapshot!(check(WRITE, via, GET), @"
    client  (received fatal alert: AccessDenied)
    lookup  api.brave.test
    refused ServerName
    ");
}

#[test]
fn a_missing_server_name_is_refused() {
    // sandbox-C15
    let via = Via::Tls { connect: "api.brave.test:{https}", server_name: "" };
    assert_snapshot!(check(WRITE, via, GET), @"
    client  (received fatal alert: AccessDenied)
    lookup  api.brave.test
    refused ServerName
    ");
}

#[test]
fn a_tunnel_carries_only_tls() {
    // sandbox-C15
    for text in ["SSH-2.0-OpenSSH_9.6\r\n", GET, "\u{16}\u{3}\u{1}"] {
        let world = World::new(&["write *.brave.test:{http}"]);
        let seen = exchange(world, Via::Tunnel("api.brave.test:{http}"), text);
        assert!(["(tunnel) ", "(tunnel) (broke off)"].contains(&seen.client.as_str()), "{text:?}");
        assert!(seen.servers.is_empty(), "{text:?}: {:?}", seen.servers);
        assert_eq!(seen.report.bytes_up, 0);
    }
}

#[test]
fn a_client_hello_in_single_bytes_is_parsed() {
    // sandbox-C16
    for (server_name, passes) in [("api.brave.test", true), ("evil.test", false)] {
        let world = World::new(WRITE);
        let mut stream = tunnel(&world, "api.brave.test:{https}").unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = tls(stream.try_clone().unwrap(), None, server_name);
        let mut hello = Vec::new();
        client.conn.write_tls(&mut hello).unwrap();
        let sent = hello.iter().try_for_each(|byte| stream.write_all(&[*byte]));
        let answer = if passes {
            sent.unwrap();
            client.write_all(GET.as_bytes()).unwrap();
            client.flush().unwrap();
            read_all(&mut client)
        } else {
            stream.shutdown(Shutdown::Write).unwrap();
            read_all(&mut stream)
        };
        let seen = world.end(answer);
        assert_eq!(seen.client.starts_with("HTTP/1.1 200 OK"), passes, "{}", seen.client);
        assert_eq!(seen.servers.len(), usize::from(passes), "{:?}", seen.servers);
        assert_eq!(seen.report.bytes_up > 0, passes);
    }
}

#[test]
fn a_client_hello_in_many_records_is_parsed() {
    // sandbox-C16
    let world = World::new(WRITE);
    let mut stream = tunnel(&world, "api.brave.test:{https}").unwrap();
    let mut client = tls(stream.try_clone().unwrap(), None, "evil.test");
    let mut hello = Vec::new();
    client.conn.write_tls(&mut hello).unwrap();
    for piece in hello[5..].chunks(7) {
        let length = u8::try_from(piece.len()).unwrap();
        stream.write_all(&[&[22, 3, 1, 0, length], piece].concat()).unwrap();
    }
    stream.shutdown(Shutdown::Write).unwrap();
    let seen = world.end(read_all(&mut stream));
    assert_snapshot!(seen.show().replace(|c: char| !c.is_ascii_graphic() && c != '\n' && c != ' ', "."), @"
    client  ......1
    lookup  api.brave.test
    refused ServerName
    ");
}

#[test]
fn an_address_gets_a_tunnel_only_without_a_server_name() {
    let grants = &["write 127.0.0.1:{https}"];
    let world = World::new(grants);
    let stream = tunnel(&world, "127.0.0.1:{https}").unwrap();
    // A client that connects to an address sends no server name.
    let mut client = tls(stream, None, "127.0.0.1");
    assert!(matches!(ServerName::try_from("127.0.0.1"), Ok(ServerName::IpAddress(_))));
    client.write_all(GET.as_bytes()).unwrap();
    let seen = world.end(read_all(&mut client));
    assert!(seen.client.starts_with("HTTP/1.1 200 OK"), "{}", seen.client);

    let via = Via::Tls { connect: "127.0.0.1:{https}", server_name: "evil.test" };
    assert!(check(grants, via, GET).contains("refused ServerName"));
}

#[test]
fn ports_that_are_not_granted_get_no_tunnel() {
    // sandbox-C24
    for port in [22, 25, 6379, 8080] {
        let authority = format!("api.brave.test:{port}");
        let via = Via::Tunnel(&authority);
        let seen = exchange(World::new(&["write *.brave.test"]), via, "");
        assert!(seen.client.starts_with("HTTP/1.1 403 Forbidden"), "{}", seen.client);
        let hint = format!("`network:write:api.brave.test:{port}` everything");
        assert!(seen.client.contains(&hint), "{}", seen.client);
        assert!(seen.lookups.is_empty());
    }
}

#[test]
fn malformed_connect_requests_are_refused() {
    for (text, status) in [
        ("CONNECT api.brave.test HTTP/1.1\r\nHost: api.brave.test\r\n\r\n", 400),
        ("CONNECT http://api.brave.test:{https} HTTP/1.1\r\nHost: api.brave.test\r\n\r\n", 400),
        ("CONNECT api.brave.test:{https} HTTP/1.1\r\nHost: evil.test\r\n\r\n", 403),
        (
            "CONNECT api.brave.test:{https} HTTP/1.1\r\nHost: api.brave.test:{https}\r\n\
             Content-Length: 1\r\n\r\nx",
            400,
        ),
        ("CONNECT u@api.brave.test:{https} HTTP/1.1\r\nHost: api.brave.test\r\n\r\n", 400),
        ("CONNECT private.brave.test:{https} HTTP/1.1\r\nHost: private.brave.test\r\n\r\n", 403),
        ("CONNECT missing.brave.test:{https} HTTP/1.1\r\nHost: missing.brave.test\r\n\r\n", 502),
    ] {
        // sandbox-C09, sandbox-C10, sandbox-C12
        let seen = exchange(World::new(WRITE), Via::Proxy, text);
        assert!(seen.client.starts_with(&format!("HTTP/1.1 {status} ")), "{text}: {}", seen.client);
        assert!(seen.servers.is_empty(), "{text}");
    }
}

#[test]
fn an_unreachable_server_is_reported() {
    let world = World::new(&["write *.brave.test:1"]);
    let seen = exchange(world, Via::Tunnel("api.brave.test:1"), "");
    assert!(seen.client.starts_with("HTTP/1.1 502 Bad Gateway"), "{}", seen.client);
    assert!(seen.client.contains("can't connect to port 1 of `api.brave.test`"), "{}", seen.client);
}

#[test]
fn early_data_is_forwarded() {
    // A client may send its `ClientHello` before the response to `CONNECT`.
    let world = World::new(WRITE);
    let mut stream = world.connect();
    let mut client = tls(stream.try_clone().unwrap(), None, "api.brave.test");
    let mut bytes = world
        .fill_in("CONNECT api.brave.test:{https} HTTP/1.1\r\nHost: api.brave.test\r\n\r\n")
        .into_bytes();
    client.conn.write_tls(&mut bytes).unwrap();
    stream.write_all(&bytes).unwrap();
    let mut head = [0; 39];
    std::io::Read::read_exact(&mut stream, &mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 Connection established\r\n\r\n");
    client.write_all(GET.as_bytes()).unwrap();
    let seen = world.end(read_all(&mut client));
    assert!(seen.client.starts_with("HTTP/1.1 200 OK"), "{}", seen.client);
}

#[test]
fn two_runs_have_separate_policies() {
    // sandbox-C26
    let narrow = World::new(&["write api.brave.test:{https}"]);
    let wide = World::new(&["write *:{https}"]);
    let request = "CONNECT other.test:{https} HTTP/1.1\r\nHost: other.test\r\n\r\n";
    let allowed = send(wide.connect(), wide.fill_in(request).as_bytes());
    let refused = send(narrow.connect(), narrow.fill_in(request).as_bytes());
    assert!(allowed.starts_with("HTTP/1.1 200 "), "{allowed}");
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    assert_eq!(wide.end(allowed).report.refusals, []);
    assert_eq!(narrow.end(refused).report.refusals.len(), 1);
}
