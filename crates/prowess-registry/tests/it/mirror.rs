//! A mirror of another registry, with two real servers.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::json;

use crate::scene::{Scene, skill};

/// Everything is asked for again at once, so that a test need not wait.
const AT_ONCE: &str = "upstream_seconds = 0\n";
const INDEX: &str = "/api/v1/index/acme/weather";
const OVERVIEW: &str = "/api/v1/skills/acme/weather";
const VERSION: &str = "/api/v1/skills/acme/weather/1.0.0";
const DOWNLOAD: &str = "/api/v1/skills/acme/weather/1.0.0/download";

async fn pair() -> (Scene, String, Scene) {
    let upstream = Scene::start().await;
    let token = upstream.user("acme").await;
    upstream.publish_ok(&token, "acme", &skill("weather", "1.0.0")).await;
    let mirror = Scene::mirror_of(&format!("http://{}", upstream.address), AT_ONCE).await;
    (upstream, token, mirror)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_is_fetched_and_kept_while_the_upstream_registry_is_down() {
    let (upstream, token, mirror) = pair().await;
    assert!(mirror.packages().await.is_empty());
    assert_eq!(mirror.get(INDEX).await.text(), upstream.get(INDEX).await.text());
    assert_eq!(mirror.get(DOWNLOAD).await.body, skill("weather", "1.0.0"));
    assert_eq!(mirror.packages().await, [skill("weather", "1.0.0")]);
    let overview = mirror.get(OVERVIEW).await.json();
    assert_eq!((&overview["latest"], &overview["versions"]), (&json!("1.0.0"), &json!(["1.0.0"])));
    assert_eq!(mirror.get(VERSION).await.json()["tier"], "experimental");
    let newest = mirror.get("/api/v1/skills/acme/weather/download").await;
    assert_eq!(newest.body, skill("weather", "1.0.0"));
    // A new version is seen at once.
    upstream.publish_ok(&token, "acme", &skill("weather", "1.1.0")).await;
    assert_eq!(mirror.get(OVERVIEW).await.json()["latest"], "1.1.0");
    // Conditions and ranges work as they do for what is here.
    let tag = mirror.get(DOWNLOAD).await.header("etag").to_owned();
    let again = mirror.request(Method::GET, DOWNLOAD, None).header("if-none-match", tag);
    assert_eq!(mirror.send(again).await.status, 304);
    assert_eq!(mirror.get("/api/v1/index/acme/nothing").await.status, 404);
    // What is kept is not swept.
    let swept = mirror.registry.sweep(std::time::Duration::ZERO).await;
    assert_eq!(swept.expect("a sweep"), 0);

    let address = upstream.address;
    drop(upstream);
    gone(address);
    for path in [INDEX, OVERVIEW, VERSION, DOWNLOAD] {
        assert_eq!(mirror.get(path).await.status, 200, "{path}");
    }
    assert_eq!(mirror.get(DOWNLOAD).await.body, skill("weather", "1.0.0"));
    // What was never asked for can't be had, and that is said.
    let never = mirror.get("/api/v1/skills/acme/weather/1.1.0/download").await;
    assert_eq!((never.status, never.code().as_str()), (503, "upstream-unavailable"));
}

/// Waits until nobody listens on an address.
fn gone(address: std::net::SocketAddr) {
    let started = std::time::Instant::now();
    while std::net::TcpStream::connect(address).is_ok() {
        assert!(started.elapsed().as_secs() < 20, "it goes on");
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revocations_are_followed() {
    let (upstream, token, mirror) = pair().await;
    let root = upstream.administrator("root").await;
    upstream.publish_ok(&token, "acme", &skill("weather", "1.1.0")).await;
    assert_eq!(mirror.get(DOWNLOAD).await.status, 200);
    let revoke = |version: &str| format!("/api/v1/skills/acme/weather/{version}/revoke");
    let reason = json!({ "reason": "malware" });
    assert_eq!(upstream.call(Method::POST, &revoke("1.0.0"), &root, &reason).await.status, 204);
    let refused = mirror.get(DOWNLOAD).await;
    assert_eq!((refused.status, refused.code().as_str()), (410, "revoked"));
    assert!(mirror.get(INDEX).await.text().contains("malware"));
    assert_eq!(mirror.get(OVERVIEW).await.json()["versions"], json!(["1.1.0"]));
    // Its package is not kept any longer.
    assert_eq!(mirror.registry.sweep(std::time::Duration::ZERO).await.expect("a sweep"), 1);
    assert_eq!(upstream.call(Method::POST, &revoke("1.1.0"), &root, &reason).await.status, 204);
    assert_eq!(mirror.get(OVERVIEW).await.status, 410);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_private_is_mirrored() {
    let (upstream, token, mirror) = pair().await;
    let visibility = "/api/v1/skills/acme/weather/visibility";
    assert_eq!(mirror.get(DOWNLOAD).await.status, 200);
    let hidden = upstream.call(Method::PUT, visibility, &token, &json!({ "private": true })).await;
    assert!(hidden.status < 300, "{}", hidden.text());
    // Also what was public before, and also for somebody who may see it upstream.
    for path in [INDEX, OVERVIEW, VERSION, DOWNLOAD] {
        assert_eq!(mirror.get(path).await.status, 404, "{path}");
        let asked = mirror.request(Method::GET, path, None).header("cookie", "x=y");
        assert_eq!(mirror.send(asked).await.status, 404, "{path}");
    }
}

// Attack registry-A10: nobody upstream can answer for a namespace that is here.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_here_is_not_asked_for_elsewhere() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let upstream = scripted(Arc::clone(&requests), |_| None);
    let mirror = Scene::mirror_of(&upstream, AT_ONCE).await;
    mirror.user("acme").await;
    assert_eq!(mirror.get(DOWNLOAD).await.status, 404);
    assert_eq!(mirror.get("/api/v1/index/anon/weather").await.status, 404);
    assert!(requests.lock().expect("the list").is_empty());
    assert_eq!(mirror.get("/api/v1/index/other/weather").await.status, 404);
    let seen = requests.lock().expect("the list").clone();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let head = seen[0].to_ascii_lowercase();
    assert!(!head.contains("authorization") && !head.contains("cookie"), "{head}");
    assert!(head.contains("prowess-mirrors: "), "{head}");
}

// Attack registry-C17: an upstream registry, or somebody between, that shows an old index.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_goes_backwards_and_a_package_of_other_bytes_are_refused() {
    let package = skill("weather", "1.0.0");
    let line = |digest: &str, more: &str| {
        format!(
            r#"{{"version":"1.0.0","sha256":"{digest}","dependencies":{{}},"yanked":false{more}}}"#
        )
    };
    let head = |number: u64| format!(r#"{{"index":"acme/weather","sequence":{number}}}"#);
    let digest = crate::scene::sha256(&package);
    let shown = Arc::new(Mutex::new(format!("{}\n{}\n", head(7), line(&digest, ""))));
    let (bodies, bytes) = (Arc::clone(&shown), package.clone());
    let upstream = scripted(Arc::default(), move |path| {
        let index = bodies.lock().expect("the body").clone().into_bytes();
        match path {
            INDEX => Some(index),
            DOWNLOAD => Some(bytes.clone()),
            _ => None,
        }
    });
    let mirror = Scene::mirror_of(&upstream, AT_ONCE).await;
    let accepted = mirror.get(INDEX).await.text();
    assert!(accepted.contains(r#""sequence":7"#), "{accepted}");
    let other = "0".repeat(64);
    for (name, body) in [
        ("a lower number", format!("{}\n{}\n", head(6), line(&digest, ""))),
        ("the same number", format!("{}\n{}\n", head(7), line(&digest, r#","tier":"verified""#))),
        ("no number", format!("{}\n", line(&digest, ""))),
        ("no version", format!("{}\n", head(8))),
        ("other bytes", format!("{}\n{}\n", head(8), line(&other, ""))),
        (
            "another skill",
            format!("{{\"index\":\"acme/other\",\"sequence\":8}}\n{}\n", line(&digest, "")),
        ),
        (
            "expired",
            format!(
                "{{\"index\":\"acme/weather\",\"sequence\":8,\"expires\":1}}\n{}\n",
                line(&digest, "")
            ),
        ),
        ("nonsense", "<html>".to_owned()),
    ] {
        *shown.lock().expect("the body") = body;
        assert_eq!(mirror.get(INDEX).await.text(), accepted, "{name}");
    }
    let revoked = line(&digest, r#","revoked":"malware""#);
    *shown.lock().expect("the body") = format!("{}\n{revoked}\n", head(9));
    assert_eq!(mirror.get(DOWNLOAD).await.status, 410);
    *shown.lock().expect("the body") = format!("{}\n{}\n", head(10), line(&digest, ""));
    assert_eq!(mirror.get(DOWNLOAD).await.status, 410, "a revocation is not taken back");

    // A package whose bytes are not those of the index, at another mirror.
    *shown.lock().expect("the body") = format!("{}\n{}\n", head(7), line(&other, ""));
    let second = Scene::mirror_of(&upstream, AT_ONCE).await;
    let refused = second.get(DOWNLOAD).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "upstream-refused"));
    assert!(second.packages().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn mirrors_of_each_other_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let second = Scene::mirror_of(&format!("http://{address}"), AT_ONCE).await;
    let target = second.address;
    // The first mirror of the circle, as a relay that keeps the header.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let head = read_head(&mut stream);
            std::thread::spawn(move || {
                let mut onward = std::net::TcpStream::connect(target).expect("the mirror");
                let head = head.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
                onward.write_all(head.as_bytes()).expect("it is sent");
                let _ = std::io::copy(&mut onward, &mut stream);
            });
        }
    });
    assert_eq!(second.get(INDEX).await.status, 404);
}

#[test]
fn only_a_registry_of_this_machine_is_mirrored_without_tls() {
    for url in [
        "http://skills.example",
        "ftp://skills.example",
        "skills.example",
        "https://a:b@skills.example",
    ] {
        let mirror = prowess_registry::mirror::check_url(url);
        assert!(mirror.is_err(), "{url}");
    }
    assert!(prowess_registry::mirror::check_url("https://skills.example/registry").is_ok());
}

/// A server that answers paths with bytes, 404 otherwise, and notes the heads of requests.
fn scripted(
    requests: Arc<Mutex<Vec<String>>>,
    answer: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let head = read_head(&mut stream);
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            requests.lock().expect("the list").push(head);
            let (status, body) = match answer(&path) {
                Some(body) => ("200 OK", body),
                None => ("404 Not Found", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body);
        }
    });
    format!("http://{address}")
}

fn read_head(stream: &mut std::net::TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}
