//! The web app, which is part of the program, and a page instead of it where it was not built.

use std::sync::LazyLock;

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use prowess_server::assets::{Assets, rust_embed};
use prowess_server::security::{ContentSecurityPolicy, Nonce};

use crate::problem::ApiProblem;

/// The built app. Build data of its toolchain is left out.
#[derive(rust_embed::RustEmbed)]
#[crate_path = "prowess_server::assets::rust_embed"]
#[folder = "../../web/studio/dist"]
#[exclude = ".vite/*"]
#[exclude = ".gitkeep"]
#[allow_missing = true]
struct Built;

static ASSETS: LazyLock<Assets> =
    LazyLock::new(|| Assets::with_hashed_names::<Built>(|path| path.starts_with("assets/")));

/// The page that loads the app.
const INDEX: &str = "index.html";
/// What stands in the page where the nonce belongs.
const NONCE: &str = "PROWESS-CSP-NONCE";
/// The only inline style that the app needs: `display: contents` of Svelte's wrappers.
const INLINE_STYLE: &str = "'unsafe-hashes' 'sha256-tcbDxjMo+xKqM21aCGYbs/QAJqB7yUXC06oPWDapBgc='";

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<title>Prowess studio</title><h1>The web app is not part of this program</h1>\
<p>The API works: see <a href=\"/api/v1/openapi.json\">its description</a>. To have the app, run \
<code>cargo xtask web</code> and build Prowess again.</p></html>\n";

/// Answers what no route does: files of the app, its page for its own paths, or 404.
pub(crate) async fn fallback(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let missing = || ApiProblem::not_found("not-found", "path", "Resource", uri.path());
    if path.starts_with("api/") || !matches!(method, Method::GET | Method::HEAD) {
        return missing().into_response();
    }
    if !path.is_empty()
        && path != INDEX
        && let Some(response) = ASSETS.respond(&method, path, &headers)
    {
        return response;
    }
    // A file of another version of the app must not come as a page.
    let wants_page = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    if path.starts_with("assets/") || !(wants_page || path.is_empty()) {
        return missing().into_response();
    }
    page()
}

fn page() -> Response {
    let nonce = Nonce::new();
    let bytes = ASSETS.bytes(INDEX);
    let text = bytes.as_deref().map(String::from_utf8_lossy);
    let (status, text) = match text {
        Some(text) => (StatusCode::OK, text.replace(NONCE, nonce.as_str())),
        None => (StatusCode::OK, NOT_BUILT.to_owned()),
    };
    let policy = ContentSecurityPolicy::page()
        .allow("style-src", &nonce.source())
        .allow("style-src", INLINE_STYLE)
        .set("trusted-types", "svelte-trusted-html");
    let mut response = (status, text).into_response();
    let headers = response.headers_mut();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, html);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy.header());
    // It holds a nonce.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
