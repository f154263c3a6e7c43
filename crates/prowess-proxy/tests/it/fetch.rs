//! Requests by the host: which addresses they may connect to.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use prowess_proxy::{FetchRequest, Fetcher, UpstreamRoots};

use crate::server::{Answer, Authority, Server};
use crate::world::Names;

/// `/to?URL` redirects; every other path is returned as the body.
fn answers() -> Answer {
    Arc::new(|first, _, body| {
        let path = first.split(' ').nth(1).unwrap_or("");
        if let Some(location) = path.strip_prefix("/to?") {
            let code = if first.starts_with("PUT") { 307 } else { 302 };
            return format!(
                "HTTP/1.1 {code} Go\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
            )
            .into_bytes();
        }
        let text = match path {
            "/big" => "x".repeat(2_000),
            _ => format!("{path} {}", String::from_utf8_lossy(body)),
        };
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        )
        .into_bytes()
    })
}

/// Sends requests (`METHOD URL`) and returns the results and what the servers saw.
fn check(requests: &[&str]) -> String {
    let authority = Authority::new(&["secure.brave.test"]);
    let (http, https) = (Server::http(answers()), Server::https(&authority, answers()));
    let ports = [("{http}", http.port.to_string()), ("{https}", https.port.to_string())];
    let named =
        |text: &str| ports.iter().fold(text.to_owned(), |it, (name, port)| it.replace(name, port));
    let shown =
        |text: &str| ports.iter().fold(text.to_owned(), |it, (name, port)| it.replace(port, name));
    let roots = UpstreamRoots::Only(vec![authority.der.clone()]);
    let resolver = Arc::new(Names::default());
    let fetcher = Fetcher::new(resolver, roots, vec![Ipv4Addr::LOCALHOST.into()]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut told = String::new();
    for request in requests {
        let (method, url) = request.split_once(' ').expect("a method and an address");
        let request = FetchRequest {
            method: method.to_owned(),
            url: named(url),
            headers: [("X-Key", "secret"), ("Accept", "text/plain"), ("Connection", "close, x")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            body: matches!(method, "POST" | "PUT").then(|| b"sent".to_vec()),
            timeout: Duration::from_mins(1),
            max_bytes: 1_000,
        };
        let came = match runtime.block_on(fetcher.fetch(&request)) {
            Ok(it) => format!(
                "{} {:?} {:?}",
                it.status,
                it.content_type,
                String::from_utf8_lossy(&it.body)
            ),
            Err(error) => format!("{error:?}"),
        };
        let _ = writeln!(told, "{method} {url}\n  {}", shown(&came));
    }
    drop((fetcher, runtime));
    for (name, server) in [("http", http), ("https", https)] {
        for seen in server.stop() {
            let _ = writeln!(told, "{name} saw {}", shown(&seen));
        }
    }
    told
}

#[test]
fn requests_to_public_hosts_succeed() {
    assert_snapshot!(check(&[
        "GET http://api.brave.test:{http}/a?b=c#d",
        "POST http://api.brave.test:{http}/echo",
        "GET https://secure.brave.test:{https}/tls",
        "GET http://api.brave.test:{http}/big",
    ]));
}

#[test]
fn no_spelling_of_a_private_address_is_accepted() {
    let told = check(&[
        "GET http://loopback.brave.test:{http}/",
        "GET http://metadata.brave.test/latest/meta-data",
        "GET http://169.254.169.254/latest/meta-data",
        "GET http://private.brave.test/",
        "GET http://mapped.brave.test/",
        "GET http://unique-local.brave.test/",
        "GET http://[::1]/",
        "GET http://[::ffff:127.0.0.1]/",
        "GET http://0.0.0.0/",
        "GET http://127.1/",
        "GET http://2130706433/",
        "GET http://0x7f000001/",
        "GET http://api.brave.test@127.0.0.9/",
        "GET file:///etc/passwd",
        "GET ftp://api.brave.test/",
        "GET api.brave.test",
        "GET http://missing.brave.test/",
        "GET https://wrong-name.brave.test:{https}/",
    ]);
    assert!(!told.contains("200"), "{told}");
    assert_snapshot!(told);
}

#[test]
fn a_redirect_is_checked_like_the_first_request() {
    assert_snapshot!(check(&[
        "GET http://api.brave.test:{http}/to?/relative",
        "POST http://api.brave.test:{http}/to?http://other.brave.test:{http}/landed",
        "PUT http://api.brave.test:{http}/to?http://other.brave.test:{http}/landed",
        "GET http://api.brave.test:{http}/to?http://metadata.brave.test/latest",
        "GET http://api.brave.test:{http}/to?http://10.0.0.1/",
        "GET http://api.brave.test:{http}/to?file:///etc/passwd",
        "GET https://secure.brave.test:{https}/to?http://api.brave.test:{http}/down",
        "GET http://api.brave.test:{http}/to?/to?/to?/to?/to?/to?/to?/end",
    ]));
}
