//! TLS to hosts that are granted for reading only.

use insta::assert_snapshot;

use crate::server::usual_answers;
use crate::world::{Via, World, check, exchange};

const READ: &[&str] = &["read *.brave.test:{https}"];
const API: Via<'_> = Via::Tls { connect: "api.brave.test:{https}", server_name: "api.brave.test" };

#[test]
fn a_granted_host_can_be_read() {
    let text = "GET /1 HTTP/1.1\r\nHost: api.brave.test:{https}\r\n\r\n\
                GET /2 HTTP/1.1\r\nHost: api.brave.test\r\n\r\n";
    // GAIA-3.2-5
    assert_snapshot!(check(READ, API, text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            helloHTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  api.brave.test
    server  GET /1 HTTP/1.1 [host: api.brave.test:{https}] ""
    server  GET /2 HTTP/1.1 [host: api.brave.test:{https}] ""
    "#);
}

#[test]
fn write_requests_are_refused() {
    for request in ["POST / ", "PUT / ", "DELETE / ", "PATCH / ", "POST /r/git-receive-pack "] {
        let text = format!("{request}HTTP/1.1\r\nHost: api.brave.test\r\n\r\n");
        // GAIA-3.2-5, sandbox-C19, sandbox-C23
        let seen = exchange(World::new(READ), API, &text);
        assert!(seen.client.starts_with("HTTP/1.1 403 Forbidden"), "{request}: {}", seen.client);
        assert!(seen.client.contains("`network:write:api.brave.test:"), "{}", seen.client);
        assert!(seen.servers.is_empty(), "{request}: {:?}", seen.servers);
        assert_eq!(seen.report.bytes_up, 0);
    }
}

#[test]
fn another_host_inside_tls_is_refused() {
    let text = "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    // sandbox-C17
    assert_snapshot!(check(READ, API, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: the `Host` field does not name `api.brave.test`, the target of the request
    lookup  api.brave.test
    refused HostMismatch
    ");
}

#[test]
fn connect_inside_tls_is_refused() {
    let text = "CONNECT api.brave.test:{https} HTTP/1.1\r\nHost: api.brave.test:{https}\r\n\r\n";
    // sandbox-C22
    assert_snapshot!(check(READ, API, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            connection: close
            
            refused: `CONNECT` inside a connection that already has a destination
    lookup  api.brave.test
    refused Smuggling
    ");
}

#[test]
fn another_server_name_is_cut_off() {
    // sandbox-C14
    let via = Via::Tls { connect: "api.brave.test:{https}", server_name: "evil.brave.test" };
    assert_snapshot!(check(READ, via, "GET / HTTP/1.1\r\nHost: evil.brave.test\r\n\r\n"), @"
    client  (received fatal alert: AccessDenied)
    lookup  api.brave.test
    refused ServerName
    ");
}

#[test]
fn git_fetch_is_allowed() {
    let text = "POST /r.git/git-upload-pack HTTP/1.1\r\nHost: api.brave.test:{https}\r\n\
                Content-Type: application/x-git-upload-pack-request\r\n\
                Content-Length: 4\r\n\r\n0000";
    // sandbox-C23
    assert_snapshot!(check(READ, API, text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  api.brave.test
    server  POST /r.git/git-upload-pack HTTP/1.1 [content-length: 4; content-type: application/x-git-upload-pack-request; host: api.brave.test:{https}] "0000"
    "#);
}

#[test]
fn a_client_with_another_runs_certificate_is_refused() {
    // sandbox-C19, sandbox-C35
    let mut world = World::new(READ);
    let other = World::new(READ);
    world.ca.clone_from(&other.ca);
    let seen = exchange(world, API, "GET / HTTP/1.1\r\nHost: api.brave.test\r\n\r\n");
    assert_snapshot!(seen.show(), @"
    client  (invalid peer certificate: BadSignature)
    lookup  api.brave.test
    refused Certificate
    ");
    assert_eq!(seen.report.bytes_up, 0);
}

#[test]
fn a_server_with_an_invalid_certificate_is_refused() {
    let text = "GET / HTTP/1.1\r\nHost: deep.api.brave.test\r\n\r\n";
    // The certificate of the test server covers only one level of subdomains.
    let via =
        Via::Tls { connect: "deep.api.brave.test:{https}", server_name: "deep.api.brave.test" };
    let seen = exchange(World::new(READ), via, text);
    assert!(seen.client.starts_with("HTTP/1.1 502 Bad Gateway"), "{}", seen.client);
    assert!(
        seen.client.contains("TLS connection to `deep.api.brave.test` failed"),
        "{}",
        seen.client
    );
}

#[test]
fn system_roots_do_not_trust_the_test_server() {
    let world = World::with(READ, usual_answers(), |policy| {
        policy.upstream_roots = prowess_proxy::UpstreamRoots::System;
    });
    let seen = exchange(world, API, "GET / HTTP/1.1\r\nHost: api.brave.test\r\n\r\n");
    assert!(seen.client.starts_with("HTTP/1.1 502 Bad Gateway"), "{}", seen.client);
}

#[test]
fn tls_is_not_terminated_if_writing_is_granted() {
    // Grants are cumulative: the client connects to the server itself, whose certificate was not signed
    // by this run's authority.
    let grants = &["read *.brave.test:{https}", "write api.brave.test:{https}"];
    let mut world = World::new(grants);
    assert!(world.ca.is_some());
    world.ca = None;
    let text = "POST / HTTP/1.1\r\nHost: api.brave.test\r\nContent-Length: 0\r\n\r\n";
    let seen = exchange(world, API, text);
    assert!(seen.client.starts_with("HTTP/1.1 200 OK"), "{}", seen.client);
}

#[test]
fn without_a_read_grant_there_is_no_certificate() {
    let world = World::new(&["write *.brave.test:{https}"]);
    assert_eq!(world.ca, None);
    drop(world.end(String::new()));
}
