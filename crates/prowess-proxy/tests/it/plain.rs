//! Plain HTTP from clients that are configured to use a proxy.

use insta::assert_snapshot;

use crate::world::{Via, check};

const READ: &[&str] = &["read *.brave.test:{http}"];
const WRITE: &[&str] = &["write *.brave.test:{http}"];

#[test]
fn a_granted_host_can_be_accessed() {
    let text = "GET http://api.brave.test:{http}/x?y HTTP/1.1\r\n\
                Host: api.brave.test:{http}\r\nAccept: */*\r\n\
                Proxy-Authorization: Basic secret\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n";
    // GAIA §3.2
    assert_snapshot!(check(READ, Via::Proxy, text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  api.brave.test
    server  GET /x?y HTTP/1.1 [accept: */*; host: api.brave.test:{http}] ""
    "#);
}

#[test]
fn an_ungranted_host_is_refused_before_the_lookup() {
    let text = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    // GAIA §3.2, sandbox-C08
    assert_snapshot!(check(READ, Via::Proxy, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: no grant covers the host `evil.test`
            hint: `network:read:evil.test` would allow reading from it, `network:write:evil.test` everything
    refused Host
    ");
}

#[test]
fn without_grants_every_host_is_refused() {
    let text = "GET http://api.brave.test:{http}/ HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\r\n";
    // SRT §4.7, sandbox-C27
    assert_snapshot!(check(&[], Via::Proxy, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: no grant covers the host `api.brave.test`
            hint: `network:read:api.brave.test:{http}` would allow reading from it, `network:write:api.brave.test:{http}` everything
    refused Host
    ");
}

#[test]
fn a_star_allows_every_name() {
    let text = "GET http://anybody.test:{http}/ HTTP/1.1\r\nHost: anybody.test:{http}\r\n\r\n";
    // SRT §4.7
    assert_snapshot!(check(&["read *:{http}"], Via::Proxy, text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  anybody.test
    server  GET / HTTP/1.1 [host: anybody.test:{http}] ""
    "#);
}

#[test]
fn an_ungranted_port_is_refused() {
    let text = "GET http://api.brave.test:6379/ HTTP/1.1\r\nHost: api.brave.test:6379\r\n\r\n";
    // sandbox-C24
    assert_snapshot!(check(&["read *.brave.test"], Via::Proxy, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: no grant covers port 6379 of `api.brave.test`
            hint: `network:read:api.brave.test:6379` would allow reading from it, `network:write:api.brave.test:6379` everything
    refused Port
    ");
}

#[test]
fn contradicting_hosts_in_one_request_are_refused() {
    let text = "GET http://api.brave.test:{http}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    // sandbox-C09
    assert_snapshot!(check(READ, Via::Proxy, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: the `Host` field does not name `api.brave.test`, the target of the request
    refused HostMismatch
    ");
}

#[test]
fn read_access_refuses_post() {
    let text = "POST http://api.brave.test:{http}/ HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\
                Content-Length: 3\r\n\r\nabc";
    // GAIA-3.2-5, sandbox-C18
    assert_snapshot!(check(READ, Via::Proxy, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            connection: close
            
            refused: `POST` needs write access to `api.brave.test`
            hint: `network:write:api.brave.test:{http}` would allow it
    refused Method
    ");
}

#[test]
fn write_access_allows_post_put_and_delete() {
    let text = "POST http://api.brave.test:{http}/echo HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\
                Content-Length: 3\r\n\r\nabc\
                PUT http://api.brave.test:{http}/ HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\
                Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
                DELETE http://api.brave.test:{http}/ HTTP/1.1\r\n\
                Host: api.brave.test:{http}\r\nConnection: close\r\n\r\n";
    assert_snapshot!(check(WRITE, Via::Proxy, text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 3
            
            abcHTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            helloHTTP/1.1 200 OK
            x-from: server
            content-length: 5
            connection: close
            
            hello
    lookup  api.brave.test
    server  POST /echo HTTP/1.1 [content-length: 3; host: api.brave.test:{http}] "abc"
    server  PUT / HTTP/1.1 [host: api.brave.test:{http}; transfer-encoding: chunked] "3\r\nabc\r\n0\r\n\r\n"
    server  DELETE / HTTP/1.1 [host: api.brave.test:{http}] ""
    "#);
}

#[test]
fn each_request_on_a_connection_is_checked() {
    let text = "GET http://api.brave.test:{http}/1 HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\r\n\
                DELETE http://api.brave.test:{http}/2 HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\r\n\
                GET http://evil.test/3 HTTP/1.1\r\nHost: evil.test\r\n\r\n\
                GET http://api.brave.test:{http}/4 HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\r\n";
    // sandbox-C20
    assert_snapshot!(check(READ, Via::Proxy, text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            helloHTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: `DELETE` needs write access to `api.brave.test`
            hint: `network:write:api.brave.test:{http}` would allow it
            HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: no grant covers the host `evil.test`
            hint: `network:read:evil.test` would allow reading from it, `network:write:evil.test` everything
            HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  api.brave.test
    server  GET /1 HTTP/1.1 [host: api.brave.test:{http}] ""
    server  GET /4 HTTP/1.1 [host: api.brave.test:{http}] ""
    refused Method
    refused Host
    "#);
}

#[test]
fn a_request_hidden_in_a_body_is_not_sent() {
    let text = "GET http://api.brave.test:{http}/1 HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\
                Content-Length: 60\r\n\r\n\
                POST http://api.brave.test:{http}/2 HTTP/1.1\r\nHost: api.brave.test\r\n\r\n";
    // sandbox-C20
    assert_snapshot!(check(READ, Via::Proxy, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            connection: close
            
            refused: a body on `GET` needs write access to `api.brave.test`
            hint: `network:write:api.brave.test:{http}` would allow it
    refused Smuggling
    ");
}

#[test]
fn contradicting_lengths_are_refused() {
    let text = "POST http://api.brave.test:{http}/ HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\
                Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\
                GET http://api.brave.test:{http}/hidden HTTP/1.1\r\n\r\n";
    // sandbox-C20
    assert_snapshot!(check(WRITE, Via::Proxy, text), @"
    client  HTTP/1.1 400 Bad Request
            content-type: text/plain; charset=utf-8
            content-length: N
            connection: close
            
            refused: both `Content-Length` and `Transfer-Encoding`
    refused Malformed
    ");
}

#[test]
fn a_malformed_chunked_body_is_refused() {
    let text = "POST http://api.brave.test:{http}/ HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\
                Transfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n0\r\n\r\n";
    // sandbox-C20
    assert_snapshot!(check(WRITE, Via::Proxy, text), @"
    client  HTTP/1.1 400 Bad Request
            content-type: text/plain; charset=utf-8
            content-length: N
            connection: close
            
            refused: a chunk's size is not a hexadecimal number
    lookup  api.brave.test
    refused Malformed
    ");
}

#[test]
fn read_access_refuses_upgrades_and_method_overrides() {
    for fields in [
        "Upgrade: websocket\r\nConnection: Upgrade\r\n",
        "X-HTTP-Method-Override: DELETE\r\n",
        "Transfer-Encoding: chunked\r\n",
    ] {
        let text = format!(
            "GET http://api.brave.test:{{http}}/ HTTP/1.1\r\nHost: api.brave.test:{{http}}\r\n\
             {fields}\r\n"
        );
        // sandbox-C20, sandbox-C21, sandbox-C22
        let seen = check(READ, Via::Proxy, &text);
        assert!(seen.starts_with("client  HTTP/1.1 403 Forbidden\n"), "{fields}: {seen}");
        assert!(!seen.contains("server") && !seen.contains("lookup"), "{fields}: {seen}");
    }
}

#[test]
fn a_method_override_in_the_query_is_noted() {
    let text = "GET http://api.brave.test:{http}/?_method=DELETE HTTP/1.1\r\n\
                Host: api.brave.test:{http}\r\n\r\n";
    // sandbox-C21
    assert_snapshot!(check(READ, Via::Proxy, text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  api.brave.test
    server  GET /?_method=DELETE HTTP/1.1 [host: api.brave.test:{http}] ""
    note    a query to `api.brave.test` asked for another method (`_method=`)
    "#);
}

#[test]
fn names_that_resolve_to_forbidden_addresses_are_refused() {
    // sandbox-C12
    for (host, what) in [
        ("loopback.brave.test", "resolves to a loopback address"),
        ("metadata.brave.test", "resolves to a cloud metadata address"),
        ("private.brave.test", "resolves to a private address"),
        ("mapped.brave.test", "resolves to an IPv4 address inside an IPv6 one"),
        ("unique-local.brave.test", "resolves to a cloud metadata address"),
    ] {
        let text = format!("GET http://{host}:{{http}}/ HTTP/1.1\r\nHost: {host}:{{http}}\r\n\r\n");
        let seen = check(READ, Via::Proxy, &text);
        assert!(seen.starts_with("client  HTTP/1.1 403 Forbidden\n"), "{seen}");
        assert!(seen.contains(&format!("refused: `{host}` {what}\n")), "{seen}");
        assert!(!seen.contains("server"), "{seen}");
    }
}

#[test]
fn no_grant_is_suggested_for_forbidden_addresses() {
    for (host, what) in [
        ("169.254.169.254", "is a cloud metadata address"),
        ("127.0.0.1", "is a loopback address"),
        ("10.0.0.1", "is a private address"),
        ("192.168.1.1", "is a private address"),
        ("[fd12:3456::1]", "is a private address"),
        ("localhost", "resolves to a loopback address"),
        ("api.localhost", "resolves to a loopback address"),
    ] {
        let text = format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let seen = check(READ, Via::Proxy, &text);
        let name = host.trim_matches(['[', ']']);
        assert!(seen.contains(what) && seen.contains(name), "{host}: {seen}");
        assert!(seen.contains("hint: it can't be granted: "), "{host}: {seen}");
        assert!(!seen.contains("would allow"), "{host}: {seen}");
    }
}

#[test]
fn unusual_spellings_of_a_host_are_refused() {
    // sandbox-C10, sandbox-C11
    for authority in [
        "api.brave.test@evil.test",
        "user:word@api.brave.test",
        "evil.test\\.brave.test",
        "evil.test%2e.brave.test",
        "evil.test#.brave.test",
        "brave.test.evil.test",
        "xbrave.test",
        "2130706433",
        "0x7f.1",
        "017700000001",
        "127.1",
        "127.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:1.2.3.4%x.brave.test]",
        "",
    ] {
        let text = format!("GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        let seen = check(&["read *.brave.test"], Via::Proxy, &text);
        assert!(seen.starts_with("client  HTTP/1.1 40"), "{authority}: {seen}");
        assert!(!seen.contains("server") && !seen.contains("lookup"), "{authority}: {seen}");
    }
}

#[test]
fn an_address_must_be_granted_as_an_address() {
    let text = "GET http://127.0.0.1:{http}/ HTTP/1.1\r\nHost: 127.0.0.1:{http}\r\n\r\n";
    // sandbox-C11
    assert_snapshot!(check(&["write *:{http}"], Via::Proxy, text), @"
    client  HTTP/1.1 403 Forbidden
            content-type: text/plain; charset=utf-8
            content-length: N
            
            refused: `127.0.0.1` is a loopback address
            hint: it can't be granted: such addresses belong to this machine, its network or its cloud, and only public ones can be granted
    refused Address
    ");
    assert_snapshot!(check(&["read 127.0.0.1:{http}"], Via::Proxy, text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    server  GET / HTTP/1.1 [host: 127.0.0.1:{http}] ""
    "#);
}

#[test]
fn upper_case_and_a_trailing_dot_are_normalised() {
    let text = "GET http://API.Brave.TEST.:{http}/ HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\r\n";
    // sandbox-C10
    assert_snapshot!(check(READ, Via::Proxy, text), @r#"
    client  HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  api.brave.test
    server  GET / HTTP/1.1 [host: api.brave.test:{http}] ""
    "#);
}

#[test]
fn other_requests_than_proxy_requests_are_refused() {
    for (text, what) in [
        ("GET / HTTP/1.1\r\nHost: api.brave.test\r\n\r\n", "a proxy only accepts"),
        (
            "GET https://api.brave.test/ HTTP/1.1\r\nHost: api.brave.test\r\n\r\n",
            "a proxy only accepts",
        ),
        (
            "GET ftp://api.brave.test/ HTTP/1.1\r\nHost: api.brave.test\r\n\r\n",
            "a proxy only accepts",
        ),
        ("GET http:///etc HTTP/1.1\r\nHost: x\r\n\r\n", "the host is empty"),
        ("nonsense\r\n\r\n", "the request is not HTTP/1.1"),
        ("GET / HTTP/1.1\nHost: x\n\n", "a line feed without"),
        ("\u{16}\u{3}\u{1}\r\n\r\n", "the request is not HTTP/1.1"),
    ] {
        let seen = check(READ, Via::Proxy, text);
        assert!(seen.starts_with("client  HTTP/1.1 400 Bad Request\n"), "{text:?}: {seen}");
        assert!(seen.contains(&format!("refused: {what}")), "{text:?}: {seen}");
    }
}

#[test]
fn responses_keep_their_framing() {
    let get = |path: &str, last: &str| {
        format!(
            "GET http://api.brave.test:{{http}}/{path} HTTP/1.1\r\n\
             Host: api.brave.test:{{http}}\r\n{last}\r\n"
        )
    };
    let head = get("x", "").replacen("GET", "HEAD", 1);
    let text =
        [&get("chunked", ""), &get("until-close", ""), &get("nothing", ""), &head, &get("y", "")]
            .map(String::as_str)
            .concat();
    // sandbox-C31
    assert_snapshot!(check(READ, Via::Proxy, &text), @r#"
    client  HTTP/1.1 200 OK
            transfer-encoding: chunked
            
            3
            hel
            2
            lo
            0
            
            HTTP/1.1 200 OK
            transfer-encoding: chunked
            
            5
            hello
            0
            
            HTTP/1.1 204 No Content
            
            HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            HTTP/1.1 200 OK
            x-from: server
            content-length: 5
            
            hello
    lookup  api.brave.test
    server  GET /chunked HTTP/1.1 [host: api.brave.test:{http}] ""
    server  GET /until-close HTTP/1.1 [host: api.brave.test:{http}] ""
    server  GET /nothing HTTP/1.1 [host: api.brave.test:{http}] ""
    server  HEAD /x HTTP/1.1 [host: api.brave.test:{http}] ""
    server  GET /y HTTP/1.1 [host: api.brave.test:{http}] ""
    "#);
}

#[test]
fn an_injected_second_response_is_not_forwarded() {
    let text = "GET http://api.brave.test:{http}/inject HTTP/1.1\r\n\
                Host: api.brave.test:{http}\r\n\r\n\
                GET http://api.brave.test:{http}/y HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\r\n";
    // sandbox-C31
    let seen = check(READ, Via::Proxy, text);
    assert!(!seen.contains("injected"), "{seen}");
    assert_eq!(seen.matches("HTTP/1.1 200 OK").count(), 2, "{seen}");
}

#[test]
fn an_aborted_response_does_not_look_complete() {
    let text = "GET http://api.brave.test:{http}/broken HTTP/1.1\r\n\
                Host: api.brave.test:{http}\r\n\r\n";
    let seen = check(READ, Via::Proxy, text);
    assert!(
        seen.contains("transfer-encoding: chunked") && !seen.contains("\n        0\n"),
        "{seen}"
    );
}

#[test]
fn an_unrequested_protocol_switch_is_refused() {
    let text = "GET http://api.brave.test:{http}/switch HTTP/1.1\r\n\
                Host: api.brave.test:{http}\r\n\r\n";
    // sandbox-C22
    assert_snapshot!(check(WRITE, Via::Proxy, text), @r#"
    client  HTTP/1.1 502 Bad Gateway
            content-type: text/plain; charset=utf-8
            content-length: N
            
            failed: `api.brave.test` switched protocols without a request
    lookup  api.brave.test
    server  GET /switch HTTP/1.1 [host: api.brave.test:{http}] ""
    note    `api.brave.test` switched protocols without a request
    "#);
}

#[test]
fn an_http_1_0_client_gets_a_suitable_response() {
    let text = "GET http://api.brave.test:{http}/chunked HTTP/1.0\r\n\r\n";
    assert_snapshot!(check(READ, Via::Proxy, text), @r#"
    client  HTTP/1.1 200 OK
            connection: close
            
            hello
    lookup  api.brave.test
    server  GET /chunked HTTP/1.1 [host: api.brave.test:{http}] ""
    "#);
}

#[test]
fn a_client_that_expects_100_continue_gets_it() {
    let text = "POST http://api.brave.test:{http}/echo HTTP/1.1\r\nHost: api.brave.test:{http}\r\n\
                Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc";
    assert_snapshot!(check(WRITE, Via::Proxy, text), @r#"
    client  HTTP/1.1 100 Continue
            
            HTTP/1.1 200 OK
            x-from: server
            content-length: 3
            
            abc
    lookup  api.brave.test
    server  POST /echo HTTP/1.1 [content-length: 3; host: api.brave.test:{http}] "abc"
    "#);
}

#[test]
fn an_unknown_name_is_reported() {
    let text = "GET http://missing.brave.test:{http}/ HTTP/1.1\r\n\
                Host: missing.brave.test:{http}\r\n\r\n";
    assert_snapshot!(check(READ, Via::Proxy, text), @"
    client  HTTP/1.1 502 Bad Gateway
            content-type: text/plain; charset=utf-8
            content-length: N
            
            failed: could not resolve host `missing.brave.test`: no such name
    lookup  missing.brave.test
    note    could not resolve host `missing.brave.test`: no such name
    ");
}
