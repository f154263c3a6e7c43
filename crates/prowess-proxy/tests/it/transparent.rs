//! Clients that are not configured to use a proxy.

use insta::assert_snapshot;

use crate::world::{Via, check};

const BOTH: &[&str] = &[
    "read read.brave.test:{http}",
    "read read.brave.test:{https}",
    "write write.brave.test:{http}",
    "write write.brave.test:{https}",
];

fn get(host: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

#[test]
fn transparent_http_goes_to_its_host_field() {
    // sandbox-C32
    assert_snapshot!(check(BOTH, Via::Transparent("{http}"), &get("read.brave.test")), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  read.brave.test
    server  GET / HTTP/1.1 [host: read.brave.test:{http}] ""
    "#);
    assert_snapshot!(check(BOTH, Via::Transparent("{http}"), &get("evil.test")), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: no grant covers the host `evil.test`
            hint: `network:read:evil.test:{http}` would allow reading from it, `network:write:evil.test:{http}` everything
    refused Host
    ");
}

#[test]
fn transparent_connections_are_checked_too() {
    for (text, status) in [
        ("POST / HTTP/1.1\r\nHost: read.brave.test\r\n\r\n", 403),
        ("POST / HTTP/1.1\r\nHost: write.brave.test\r\nContent-Length: 0\r\n\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: read.brave.test:22\r\n\r\n", 403),
        ("GET / HTTP/1.0\r\n\r\n", 400),
        ("GET http://read.brave.test/ HTTP/1.1\r\nHost: read.brave.test\r\n\r\n", 400),
        ("CONNECT read.brave.test:{https} HTTP/1.1\r\nHost: read.brave.test\r\n\r\n", 403),
        ("OPTIONS * HTTP/1.1\r\nHost: read.brave.test\r\n\r\n", 200),
    ] {
        let seen = check(BOTH, Via::Transparent("{http}"), text);
        assert!(seen.starts_with(&format!("client  HTTP/1.1 {status} ")), "{text}: {seen}");
    }
}

#[test]
fn transparent_tls_goes_to_its_server_name() {
    // sandbox-C32
    let via = |name| Via::TransparentTls { port: "{https}", server_name: name };
    let read = check(BOTH, via("read.brave.test"), &get("read.brave.test"));
    assert_snapshot!(read, @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  read.brave.test
    server  GET / HTTP/1.1 [host: read.brave.test:{https}] ""
    "#);
    let evil = check(BOTH, via("evil.test"), &get("evil.test"));
    assert_snapshot!(evil, @"
    client  (received fatal alert: AccessDenied)
    refused Host
    ");
    let fronted = check(BOTH, via("read.brave.test"), &get("evil.test"));
    assert!(fronted.starts_with("client  HTTP/1.1 403 "), "{fronted}");
    let nameless = check(BOTH, via(""), &get("read.brave.test"));
    assert!(nameless.contains("refused NotTls") && !nameless.contains("lookup"), "{nameless}");
}

#[test]
fn transparent_tls_to_a_writable_host_is_tunnelled() {
    let grants = &["write write.brave.test:{https}"];
    let via = Via::TransparentTls { port: "{https}", server_name: "write.brave.test" };
    assert_snapshot!(check(grants, via, &get("write.brave.test")), @r#"
    client  HTTP/1.1 200 OK
            Content-Length: 5
            X-From: server
            
            hello
    lookup  write.brave.test
    server  GET / HTTP/1.1 [Host: write.brave.test] ""
    "#);
}
