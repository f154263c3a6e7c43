//! Requests that read access allows.

use super::{check, overrides_in_query};
use crate::head::{Head, parse};
use crate::policy::HostAccess;
use crate::refusal::RefusalKind;

fn request(first: &str, fields: &str) -> Head {
    parse(format!("{first} HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n").as_bytes()).unwrap()
}

fn decide(head: &Head, access: HostAccess) -> Result<(), RefusalKind> {
    check(head, access, &"a.test".parse().unwrap(), 443).map_err(|refusal| refusal.kind)
}

const METHOD: Result<(), RefusalKind> = Err(RefusalKind::Method);
const SMUGGLING: Result<(), RefusalKind> = Err(RefusalKind::Smuggling);
const FETCH: &str = "Content-Type: application/x-git-upload-pack-request\r\n";

#[test]
fn read_access_allows_safe_requests_only() {
    // GAIA-3.2-5, sandbox-C18, sandbox-C20 to sandbox-C23
    let fetch_with_body = format!("{FETCH}Content-Length: 9\r\n");
    let fetch_upgrading = format!("{FETCH}Upgrade: websocket\r\n");
    let table: [(&str, &str, Result<(), RefusalKind>); 34] = [
        ("GET /", "", Ok(())),
        ("HEAD /", "", Ok(())),
        ("OPTIONS *", "", Ok(())),
        ("GET /", "Content-Length: 0\r\n", Ok(())),
        ("POST /", "", METHOD),
        ("PUT /", "", METHOD),
        ("DELETE /", "", METHOD),
        ("PATCH /", "", METHOD),
        ("TRACE /", "", METHOD),
        ("PROPFIND /", "", METHOD),
        ("get /", "", METHOD),
        ("CONNECT a.test:443", "", SMUGGLING),
        ("GET /", "Content-Length: 1\r\n", SMUGGLING),
        ("GET /", "Transfer-Encoding: chunked\r\n", SMUGGLING),
        ("HEAD /", "Content-Length: 1\r\n", SMUGGLING),
        ("GET /", "Upgrade: websocket\r\nConnection: Upgrade\r\n", SMUGGLING),
        ("GET /", "Upgrade: h2c\r\n", SMUGGLING),
        ("GET /", "Connection: keep-alive, UPGRADE\r\n", SMUGGLING),
        ("GET /", "HTTP2-Settings: AAMAAABk\r\n", SMUGGLING),
        ("GET /", "X-HTTP-Method-Override: DELETE\r\n", SMUGGLING),
        ("GET /", "x-method-override: PUT\r\n", SMUGGLING),
        ("GET /", "X-HTTP-Method: MERGE\r\n", SMUGGLING),
        ("GET /", "X_HTTP_METHOD_OVERRIDE: DELETE\r\n", SMUGGLING),
        ("GET /", "X-Http_Method-Override: DELETE\r\n", SMUGGLING),
        ("POST /r.git/git-upload-pack", &fetch_with_body, Ok(())),
        ("POST /r.git/git-upload-pack", &fetch_upgrading, SMUGGLING),
        ("POST /r.git/git-upload-pack", "Content-Type: application/json\r\n", METHOD),
        ("POST /r.git/git-upload-pack", "", METHOD),
        ("POST /r.git/git-upload-pack?x", FETCH, METHOD),
        ("POST /delete?/git-upload-pack", FETCH, METHOD),
        ("POST /r.git/git-receive-pack", "", METHOD),
        ("GET /r.git/info/refs?service=git-upload-pack", "", Ok(())),
        ("GET /r.git/info/refs?service=git-receive-pack", "", METHOD),
        ("GET /r.git/info/refs?a=b&service=git-receive-pack", "", METHOD),
    ];
    for (first, fields, expected) in table {
        assert_eq!(decide(&request(first, fields), HostAccess::Read), expected, "{first} {fields}");
    }
}

#[test]
fn write_access_allows_everything_except_nested_connect() {
    for first in ["GET /", "POST /", "DELETE /", "PROPFIND /", "POST /r/git-receive-pack"] {
        assert_eq!(decide(&request(first, ""), HostAccess::Write), Ok(()), "{first}");
    }
    // sandbox-C22
    assert_eq!(decide(&request("CONNECT a.test:443", ""), HostAccess::Write), SMUGGLING);
}

#[test]
fn a_method_override_in_the_query_is_detected() {
    // sandbox-C21
    for (first, expected) in [
        ("GET /?_method=DELETE", true),
        ("GET /?a=b&_method=PUT", true),
        ("GET /_method=DELETE", false),
        ("GET /?a_method=x", false),
    ] {
        assert_eq!(overrides_in_query(&request(first, "")), expected, "{first}");
    }
}
