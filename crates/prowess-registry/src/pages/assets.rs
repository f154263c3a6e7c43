//! The style sheet, the scripts and the icons, embedded and served below names that hold their digest.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, VARY,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

/// A file that never changes below its name may be kept for a year.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// How many bytes of the digest are in a name.
const DIGEST_BYTES: usize = 4;

/// The values of the design, the shared components, and what only these pages need, in this order.
const STYLE: [&str; 3] = [
    include_str!("../../../../web/shared/tokens.css"),
    include_str!("../../../../web/shared/base.css"),
    include_str!("../../static/site.css"),
];

/// A file as it is served.
struct Asset {
    content_type: HeaderValue,
    bytes: Bytes,
    gzip: Option<Bytes>,
}

/// All files, by the name that templates use and by the name in the URL.
struct Assets {
    paths: HashMap<&'static str, String>,
    files: HashMap<String, Asset>,
}

static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    let mut assets = Assets { paths: HashMap::new(), files: HashMap::new() };
    let script = "text/javascript; charset=utf-8";
    assets.add("site.css", "text/css; charset=utf-8", STYLE.concat().into_bytes());
    assets.add("theme.js", script, include_bytes!("../../static/theme.js").to_vec());
    assets.add("search.js", script, include_bytes!("../../static/search.js").to_vec());
    assets.add("copy.js", script, include_bytes!("../../static/copy.js").to_vec());
    assets.add("tabs.js", script, include_bytes!("../../static/tabs.js").to_vec());
    assets.add(
        "icons.svg",
        "image/svg+xml",
        include_bytes!("../../../../web/shared/icons.svg").to_vec(),
    );
    assets.add("mark.svg", "image/svg+xml", include_bytes!("../../static/mark.svg").to_vec());
    assets.add("card.png", "image/png", include_bytes!("../../static/card.png").to_vec());
    assets
});

impl Assets {
    fn add(&mut self, name: &'static str, content_type: &'static str, bytes: Vec<u8>) {
        let mut digest = String::new();
        for byte in &Sha256::digest(&bytes)[..DIGEST_BYTES] {
            // Writing to a `String` does not fail.
            let _ = write!(digest, "{byte:02x}");
        }
        let (stem, extension) = name.rsplit_once('.').expect("names of assets have an extension");
        let served = format!("{stem}.{digest}.{extension}");
        self.paths.insert(name, format!("/static/{served}"));
        let gzip = (content_type != "image/png").then(|| compress(&bytes)).flatten();
        let content_type = HeaderValue::from_static(content_type);
        self.files.insert(served, Asset { content_type, bytes: bytes.into(), gzip });
    }
}

/// The path of a file, by its name in `static/`.
///
/// # Panics
///
/// If there is no such file. Every template is rendered by a test, so that a wrong name does not get further.
pub(crate) fn path(name: &str) -> &'static str {
    ASSETS.paths.get(name).unwrap_or_else(|| panic!("`{name}` is not a file of static/"))
}

/// Serves a file by its name with the digest.
pub(crate) async fn get_asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(asset) = ASSETS.files.get(&name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let common = [
        (CONTENT_TYPE, asset.content_type.clone()),
        (CACHE_CONTROL, IMMUTABLE),
        (VARY, HeaderValue::from_static("accept-encoding")),
    ];
    match &asset.gzip {
        Some(gzip) if accepts_gzip(&headers) => {
            let encoding = [(CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
            (common, encoding, gzip.clone()).into_response()
        }
        _ => (common, asset.bytes.clone()).into_response(),
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.unwrap_or_default().split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|part| matches!(part, "q=0" | "q=0.0"))
    })
}

fn compress(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_stay_small() {
        for (name, asset) in &ASSETS.files {
            let is_script = asset.content_type == "text/javascript; charset=utf-8";
            let limit = if is_script { 2 << 10 } else { 64 << 10 };
            assert!(asset.bytes.len() < limit, "{name} has {} bytes", asset.bytes.len());
        }
    }

    #[tokio::test]
    async fn a_file_is_kept_for_a_year_below_its_digest() {
        let name = path("site.css").strip_prefix("/static/").unwrap().to_owned();
        let plain = get_asset(Path(name.clone()), HeaderMap::new()).await;
        assert_eq!(plain.headers()[CACHE_CONTROL], IMMUTABLE);
        assert!(!plain.headers().contains_key(CONTENT_ENCODING));
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("br, gzip;q=0.8"));
        let small = get_asset(Path(name), headers.clone()).await;
        assert_eq!(small.headers()[CONTENT_ENCODING], "gzip");
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip;q=0"));
        assert!(!accepts_gzip(&headers));
        let missing = get_asset(Path("site.00000000.css".to_owned()), headers).await;
        assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    }
}
