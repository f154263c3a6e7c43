//! Keys that are sent to one host only (attack sandbox-F06).

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use insta::assert_snapshot;
use prowess_proxy::{HostCredential, ProxyPolicy};
use prowess_secrets::{Placeholder, Secret};

use crate::server::{Answer, usual_answers};
use crate::world::{Seen, Via, World, exchange, tunnel};

const KEY: &str = "key-0123456789-REAL";
const API: Via<'_> = Via::Tls { connect: "api.brave.test:{https}", server_name: "api.brave.test" };
const OTHER: Via<'_> =
    Via::Tls { connect: "other.brave.test:{https}", server_name: "other.brave.test" };
const READ: &[&str] = &["read *.brave.test:{https}", "read *.brave.test:{http}"];
const WRITE: &[&str] = &["write api.brave.test:{https}"];

fn placeholder() -> Placeholder {
    let mut next = 7_u8;
    let random = move || {
        next = next.wrapping_mul(29).wrapping_add(101);
        next
    };
    Placeholder::new(&Secret::new("API_KEY", KEY), random).unwrap()
}

/// Binds a key to a host of the tests.
fn bind(policy: &mut ProxyPolicy) {
    let host = "api.brave.test".parse().unwrap();
    policy.credentials = vec![HostCredential { host, placeholder: placeholder() }];
}

/// What the client, the servers and the report saw. `{key}` stands for the placeholder, in the text and in the result; the real key is `REAL`.
fn check(grants: &[&str], via: Via<'_>, text: &str) -> String {
    check_with(grants, usual_answers(), via, text)
}

fn check_with(grants: &[&str], answer: Answer, via: Via<'_>, text: &str) -> String {
    shown(&exchange(World::with(grants, answer, bind), via, &filled(text)))
}

fn filled(text: &str) -> String {
    text.replace("{key}", placeholder().text())
}

fn shown(seen: &Seen) -> String {
    let mut text = seen.show().replace(placeholder().text(), "{key}").replace(KEY, "REAL");
    for refusal in &seen.report.refusals {
        writeln!(text, "{refusal}").unwrap();
    }
    text
}

fn get(host: &str, path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}:{{https}}\r\n{fields}\r\n")
}

#[test]
fn the_bound_host_gets_the_key_in_header_fields_only() {
    let text = get(
        "api.brave.test",
        "/a?key={key}",
        "Authorization: Bearer {key}\r\nX-Two: {key},{key}\r\n",
    );
    assert_snapshot!(check(READ, API, &text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  api.brave.test
    server  GET /a?key={key} HTTP/1.1 [accept-encoding: identity; authorization: Bearer REAL; host: api.brave.test:{https}; x-two: REAL,REAL] ""
    "#);
}

#[test]
fn a_body_keeps_its_placeholder() {
    // TLS is also terminated if the host is granted for writing: otherwise nothing could be inserted.
    let text = filled("POST /a HTTP/1.1\r\nHost: api.brave.test\r\nX-Key: {key}\r\nContent-Length: {length}\r\n\r\n{key}")
        .replace("{length}", &KEY.len().to_string());
    assert_snapshot!(check(WRITE, API, &text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  api.brave.test
    server  POST /a HTTP/1.1 [accept-encoding: identity; content-length: 19; host: api.brave.test:{https}; x-key: REAL] "{key}"
    "#);
}

#[test]
fn placeholders_in_basic_authentication_are_replaced() {
    let wrap = |text: &str| STANDARD.encode(text);
    let field = format!("Authorization: Basic {}\r\n", wrap(&filled("user:{key}")));
    let shown = check(READ, API, &get("api.brave.test", "/", &field));
    assert!(shown.contains(&wrap(&format!("user:{KEY}"))), "{shown}");
    // Encoding the placeholder does not bypass the check for other hosts.
    let shown = check(READ, OTHER, &get("other.brave.test", "/", &field));
    assert!(!shown.contains("server "), "{shown}");
    assert!(shown.contains("refused Credential"), "{shown}");
}

#[test]
fn other_hosts_get_no_key_and_the_attempt_is_reported() {
    let text = get("other.brave.test", "/a", "Authorization: Bearer {key}\r\n");
    assert_snapshot!(check(READ, OTHER, &text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: the tool tried to send the placeholder of `API_KEY` to `other.brave.test`, but it is for `api.brave.test`
    lookup  other.brave.test
    refused Credential
    refused: the tool tried to send the placeholder of `API_KEY` to `other.brave.test`, but it is for `api.brave.test`
    ");
    // In a URL the placeholder may pass, because it is worthless.
    let text = get("other.brave.test", "/{key}", "");
    assert_snapshot!(check(READ, OTHER, &text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  other.brave.test
    server  GET /{key} HTTP/1.1 [host: other.brave.test:{https}] ""
    "#);
}

#[test]
fn keys_are_not_sent_without_tls() {
    let text = "GET http://api.brave.test:{http}/a HTTP/1.1\r\nHost: api.brave.test:{http}\r\nX-Key: {key}\r\n\r\n";
    assert_snapshot!(check(READ, Via::Proxy, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: the tool tried to send the placeholder of `API_KEY` to `api.brave.test` without TLS
            hint: use `https://api.brave.test`
    refused Credential
    refused: the tool tried to send the placeholder of `API_KEY` to `api.brave.test` without TLS
    hint: use `https://api.brave.test`
    ");
}

#[test]
fn an_echoed_key_is_replaced_in_the_response() {
    // The key is echoed in a body with a length, in header fields, and in base64.
    let answer: Answer = Arc::new(|first, head, _| {
        let wrapped = STANDARD.encode(head);
        assert!(head.contains(KEY), "{head}");
        match first.split(' ').nth(1) {
            Some("/chunked") => {
                let mut response = format!(
                    "HTTP/1.1 200 OK\r\nX-Key: {KEY}\r\nTransfer-Encoding: chunked\r\n\r\n"
                );
                for character in KEY.chars() {
                    write!(response, "1\r\n{character}\r\n").unwrap();
                }
                response.push_str("0\r\n\r\n");
                response.into_bytes()
            }
            _ => {
                let body = format!("you said {KEY} and {wrapped}");
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                    .into_bytes()
            }
        }
    });
    let said = |path: &str| {
        let text = filled(&get("api.brave.test", path, "X-Key: {key}\r\n"));
        exchange(World::with(READ, Arc::clone(&answer), bind), API, &text).client
    };
    let alone = STANDARD_NO_PAD.encode(KEY);
    let plain = said("/plain");
    assert!(plain.contains(&format!("you said {} and ", placeholder().text())), "{plain}");
    assert!(!plain.contains(KEY) && !plain.contains(&alone[4..20]), "{plain}");
    let body = plain.split("\r\n\r\n").nth(1).unwrap();
    let wrapped = body.rsplit(' ').next().unwrap();
    let unwrapped = STANDARD.decode(wrapped).unwrap();
    assert!(!String::from_utf8_lossy(&unwrapped).contains("0123456789"), "{plain}");
    let chunked = said("/chunked");
    assert!(chunked.contains(&format!("x-key: {}\r\n", placeholder().text())), "{chunked}");
    assert!(
        chunked.ends_with(&format!("13\r\n{}\r\n0\r\n\r\n", placeholder().text())),
        "{chunked}"
    );
}

#[test]
fn a_compressed_response_of_the_bound_host_is_refused() {
    let answer: Answer = Arc::new(|_, head, _| {
        assert!(head.to_lowercase().contains("accept-encoding: identity\r\n"), "{head}");
        assert!(!head.to_lowercase().contains("range:"), "{head}");
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nzzzz".to_vec()
    });
    let fields = "Accept-Encoding: gzip\r\nRange: bytes=3-5\r\nX-Key: {key}\r\n";
    assert_snapshot!(check_with(READ, answer, API, &get("api.brave.test", "/", fields)), @r#"
    client  HTTP/1.1 502 Bad Gateway
            content-type: text/plain; charset=utf-8
            content-length: N
            
            failed: `api.brave.test` sent a compressed response that was not requested, and it could contain a credential
    lookup  api.brave.test
    server  GET / HTTP/1.1 [accept-encoding: identity; host: api.brave.test:{https}; x-key: REAL] ""
    note    `api.brave.test` sent a compressed response that was not requested, and it could contain a credential
    "#);
}

#[test]
fn reports_contain_no_keys() {
    let world = World::with(READ, usual_answers(), bind);
    let text = filled(&get("other.brave.test", "/{key}", "X-Key: {key}\r\n"));
    let seen = exchange(world, OTHER, &text);
    let report = format!("{:?}", seen.report);
    assert!(!report.contains(KEY) && !report.contains(placeholder().text()), "{report}");
    let mut policy = crate::world::policy(&[]);
    bind(&mut policy);
    let shown = format!("{policy:?}");
    assert!(!shown.contains(KEY), "{shown}");
}

/// Forwards bytes in both directions, as a process in a sandbox may do for another one (attack sandbox-C25).
fn relay(to: u16) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut inner, _) = listener.accept().unwrap();
        let mut outer = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).unwrap();
        let (mut back_from, mut back_to) = (outer.try_clone().unwrap(), inner.try_clone().unwrap());
        let back = std::thread::spawn(move || {
            let _ = std::io::copy(&mut back_from, &mut back_to);
            let _ = back_to.shutdown(Shutdown::Write);
        });
        let _ = std::io::copy(&mut inner, &mut outer);
        let _ = outer.shutdown(Shutdown::Write);
        back.join().unwrap();
    });
    port
}

#[test]
fn a_relayed_connection_is_checked_the_same() {
    // Attack sandbox-C25: the policy belongs to the listener and not to the client.
    for authority in ["api.brave.test:{https}", "evil.test:443", "api.brave.test:22"] {
        let direct = World::new(READ);
        let told = tunnel(&direct, authority).err();
        let direct = direct.end(String::new());
        let world = World::new(READ);
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, relay(world.proxy))).unwrap();
        let authority = world.fill_in(authority);
        write!(stream, "CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut relayed = String::new();
        stream.read_to_string(&mut relayed).unwrap();
        let expected =
            told.unwrap_or_else(|| "HTTP/1.1 200 Connection established\r\n\r\n".to_owned());
        assert_eq!(relayed, expected, "{authority}");
        let relayed = world.end(String::new());
        assert_eq!(relayed.lookups, direct.lookups, "{authority}");
        assert_eq!(relayed.report.refusals, direct.report.refusals, "{authority}");
    }
}
