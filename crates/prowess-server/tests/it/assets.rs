use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::BodyExt as _;
use insta::assert_snapshot;
use prowess_server::assets::Assets;
use prowess_server::assets::rust_embed::{self, RustEmbed};

#[derive(RustEmbed)]
#[crate_path = "rust_embed"]
#[folder = "tests/it/assets"]
struct Folder;

#[derive(RustEmbed)]
#[crate_path = "rust_embed"]
#[folder = "tests/it/missing"]
#[allow_missing = true]
struct Missing;

fn assets() -> Assets {
    Assets::with_hashed_names::<Folder>(|path| path.starts_with("built/"))
}

/// The status, the interesting headers and the body of a response.
async fn response(method: Method, address: &str, headers: &[(&str, &str)]) -> String {
    let mut given = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().expect("a name");
        given.insert(name, HeaderValue::from_str(value).expect("a value"));
    }
    let Some(response) = assets().respond(&method, address, &given) else {
        return "none".to_owned();
    };
    let mut lines = vec![response.status().as_u16().to_string()];
    let sorted: BTreeMap<&str, &str> = response
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().expect("text")))
        .collect();
    lines.extend(sorted.iter().map(|(name, value)| format!("{name}: {value}")));
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    lines.push(String::from_utf8_lossy(&body).trim_end().to_owned());
    lines.join("\n")
}

async fn get(address: &str, headers: &[(&str, &str)]) -> String {
    response(Method::GET, address, headers).await
}

#[tokio::test]
async fn a_file_is_sent_with_its_type() {
    assert_snapshot!(get("site.css", &[]).await, @r#"
    200
    cache-control: public, no-cache
    content-length: 16
    content-type: text/css; charset=utf-8
    etag: "2c7bc03c8b6671cf65e30d74a2c972cfa361f2d16ea041f996cb02b3d59d2881"
    vary: accept-encoding
    a { color: red }
    "#);
}

#[tokio::test]
async fn an_address_with_a_digest_is_kept_for_ever() {
    let assets = assets();
    let address = assets.url("site.css").expect("the file");
    assert_snapshot!(address, @"site.2c7bc03c.css");
    let response = get(address, &[]).await;
    assert!(response.contains("cache-control: public, max-age=31536000, immutable"), "{response}");
    let built = get("built/app-1a2b.js", &[]).await;
    assert!(built.contains("cache-control: public, max-age=31536000, immutable"), "{built}");
    // Somebody else's digest is not ours.
    assert_eq!(get("site.00000000.css", &[]).await, "none");
}

#[tokio::test]
async fn the_smallest_form_that_the_client_understands_is_sent() {
    let coding = async |accepted: &str| {
        let response = get("site.css", &[("accept-encoding", accepted)]).await;
        let line = response.lines().find(|line| line.starts_with("content-encoding"));
        line.map(str::to_owned)
    };
    let brotli = Some("content-encoding: br".to_owned());
    assert_eq!(coding("gzip, deflate, br").await, brotli);
    assert_eq!(coding("BR").await, brotli);
    assert_eq!(coding("gzip").await.as_deref(), Some("content-encoding: gzip"));
    assert_eq!(coding("br;q=0, gzip;q=0.5").await.as_deref(), Some("content-encoding: gzip"));
    assert_eq!(coding("br;q=0.0").await, None);
    assert_eq!(coding("brotli, identity").await, None);
    assert_snapshot!(get("site.css", &[("accept-encoding", "br")]).await, @r#"
    200
    cache-control: public, no-cache
    content-encoding: br
    content-length: 14
    content-type: text/css; charset=utf-8
    etag: "2c7bc03c8b6671cf65e30d74a2c972cfa361f2d16ea041f996cb02b3d59d2881-br"
    vary: accept-encoding
    pretend brotli
    "#);
}

#[tokio::test]
async fn a_client_that_has_the_file_gets_no_body() {
    let tag = |response: &str| {
        let line = response.lines().find(|line| line.starts_with("etag: ")).expect("a tag");
        line["etag: ".len()..].to_owned()
    };
    let plain = tag(&get("site.css", &[]).await);
    let small = tag(&get("site.css", &[("accept-encoding", "br")]).await);
    assert_ne!(plain, small);
    for tags in [plain.clone(), format!("\"x\", W/{plain}"), "*".to_owned()] {
        let response = get("site.css", &[("if-none-match", &tags)]).await;
        assert!(response.starts_with("304\n") && response.ends_with('\n'), "{response}");
    }
    // The tag of another form, and another tag.
    for tags in [small.as_str(), "\"x\"", ""] {
        let response = get("site.css", &[("if-none-match", tags)]).await;
        assert!(response.starts_with("200\n"), "{response}");
    }
}

#[tokio::test]
async fn only_files_of_the_folder_are_sent() {
    for address in [
        "",
        "/",
        "site.css.br",
        "site.css.gz",
        "../assets.rs",
        "built/../site.css",
        "/etc/passwd",
        "built",
    ] {
        assert_eq!(get(address, &[]).await, "none", "{address}");
    }
    assert!(response(Method::POST, "site.css", &[]).await.starts_with("405"));
    let head = response(Method::HEAD, "site.css", &[]).await;
    assert!(head.starts_with("200\n") && head.contains("content-length: 16"), "{head}");
}

#[test]
fn a_folder_may_be_missing() {
    let assets = Assets::of::<Missing>();
    assert!(assets.is_empty());
    assert_eq!(assets.url("site.css"), None);
    assert!(assets.respond(&Method::GET, "site.css", &HeaderMap::new()).is_none());
}
