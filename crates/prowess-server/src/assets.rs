//! Files that are part of the program: scripts, styles, images.

use std::borrow::Cow;
use std::collections::HashMap;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

pub use rust_embed;
use rust_embed::{EmbeddedFile, RustEmbed};

/// For addresses that name the content: whoever has it never has to ask again.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// For addresses whose content may change with the next version of the program.
const ASK_AGAIN: &str = "public, no-cache";

/// Compressed forms, the smallest first: the coding and the ending of the file.
const CODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// Characters of a digest in an address.
const DIGEST_CHARACTERS: usize = 8;

/// A folder that is part of the program.
///
/// ```ignore
/// use prowess_server::assets::rust_embed;
/// #[derive(rust_embed::RustEmbed)]
/// #[crate_path = "prowess_server::assets::rust_embed"]
/// #[folder = "static"]
/// #[allow_missing = true]
/// struct Static;
///
/// let assets = Assets::of::<Static>();
/// let style = assets.url("site.css");          // `site.1f0c9a2b.css`
/// let response = assets.respond(&method, &style.unwrap(), &headers);
/// ```
pub struct Assets {
    get: fn(&str) -> Option<EmbeddedFile>,
    /// Files by the address that has their digest.
    hashed: HashMap<String, String>,
    /// Addresses with a digest by file.
    urls: HashMap<String, String>,
    is_hashed_by_name: fn(&str) -> bool,
}

impl Assets {
    /// The files of a folder. Their addresses get a digest from [`Assets::url`].
    pub fn of<F: RustEmbed>() -> Assets {
        let mut hashed = HashMap::new();
        let mut urls = HashMap::new();
        for path in F::iter() {
            if CODINGS.iter().any(|(_, ending)| path.ends_with(ending)) {
                continue;
            }
            if let Some(file) = F::get(&path) {
                let url = with_digest(&path, &file);
                hashed.insert(url.clone(), path.clone().into_owned());
                urls.insert(path.into_owned(), url);
            }
        }
        Assets { get: F::get, hashed, urls, is_hashed_by_name: |_| false }
    }

    /// The files of a folder in which some already have a digest in their names, such as all below `assets/`.
    pub fn with_hashed_names<F: RustEmbed>(is_hashed: fn(&str) -> bool) -> Assets {
        Assets { is_hashed_by_name: is_hashed, ..Assets::of::<F>() }
    }

    /// Whether the folder was missing when the program was built.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }

    /// The address of a file with its digest: `site.css` gives `site.1f0c9a2b.css`.
    pub fn url(&self, path: &str) -> Option<&str> {
        self.urls.get(path).map(String::as_str)
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &str) -> Option<Cow<'static, [u8]>> {
        (self.get)(path).map(|file| file.data)
    }

    /// The response for an address: a file's path, or its address with a digest. `None` if there is no such file.
    ///
    /// The smallest form that the client understands is sent, and 304 if the client has it.
    pub fn respond(&self, method: &Method, address: &str, headers: &HeaderMap) -> Option<Response> {
        if method != Method::GET && method != Method::HEAD {
            return Some(StatusCode::METHOD_NOT_ALLOWED.into_response());
        }
        let (path, is_hashed) = match self.hashed.get(address) {
            Some(path) => (path.as_str(), true),
            None => (address, (self.is_hashed_by_name)(address)),
        };
        // Debug builds read the folder, from which no address may lead out.
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return None;
        }
        // A compressed form has no address of its own.
        if CODINGS.iter().any(|(_, ending)| path.ends_with(ending)) {
            return None;
        }
        let plain = (self.get)(path)?;
        let smaller = CODINGS.iter().filter(|(coding, _)| accepts(headers, coding)).find_map(
            |(coding, ending)| (self.get)(&format!("{path}{ending}")).map(|file| (*coding, file)),
        );
        let kind = plain.metadata.mimetype();
        let mut etag = digest(&plain);
        let (coding, file) = match &smaller {
            Some((coding, file)) => {
                // Each form has a tag of its own (RFC 9110 §8.8.3.3).
                etag.push('-');
                etag.push_str(coding);
                (Some(*coding), file)
            }
            None => (None, &plain),
        };
        let etag = format!("\"{etag}\"");
        let is_known = headers
            .get(IF_NONE_MATCH)
            .and_then(|tags| tags.to_str().ok())
            .is_some_and(|tags| matches_tag(tags, &etag));
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let length = HeaderValue::from(file.data.len());
            let body = match &file.data {
                _ if method == Method::HEAD => Body::empty(),
                Cow::Borrowed(bytes) => Body::from(*bytes),
                Cow::Owned(bytes) => Body::from(bytes.clone()),
            };
            let mut response = body.into_response();
            response.headers_mut().insert(CONTENT_LENGTH, length);
            response
        };
        let out = response.headers_mut();
        let cache = if is_hashed { FOR_EVER } else { ASK_AGAIN };
        out.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        out.insert(VARY, HeaderValue::from_static("accept-encoding"));
        let mut insert = |name, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                out.insert(name, value);
            }
        };
        insert(ETAG, &etag);
        if !is_known {
            insert(CONTENT_TYPE, &with_charset(kind));
            if let Some(coding) = coding {
                insert(CONTENT_ENCODING, coding);
            }
        }
        Some(response)
    }
}

/// Text is UTF-8.
fn with_charset(kind: &str) -> Cow<'_, str> {
    if kind.starts_with("text/") && !kind.contains("charset") {
        Cow::Owned(format!("{kind}; charset=utf-8"))
    } else {
        Cow::Borrowed(kind)
    }
}

fn digest(file: &EmbeddedFile) -> String {
    data_encoding::HEXLOWER.encode(&file.metadata.sha256_hash())
}

/// The digest comes before the last ending, so that the type can still be told by it.
fn with_digest(path: &str, file: &EmbeddedFile) -> String {
    let digest = &digest(file)[..DIGEST_CHARACTERS];
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), path),
    };
    match name.rsplit_once('.') {
        Some((stem, ending)) => format!("{folder}{stem}.{digest}.{ending}"),
        None => format!("{folder}{name}.{digest}"),
    }
}

/// Whether a client accepts a coding (RFC 9110 §12.5.3); a quality of zero means that it does not.
fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|item| {
            let mut parts = item.split(';').map(str::trim);
            let is_it = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding));
            let is_refused = parts.any(|parameter| {
                let quality =
                    parameter.strip_prefix("q=").and_then(|text| text.parse::<f32>().ok());
                quality.is_some_and(|quality| quality <= 0.0)
            });
            is_it && !is_refused
        })
}

fn matches_tag(tags: &str, etag: &str) -> bool {
    tags.trim() == "*"
        || tags.split(',').map(str::trim).any(|tag| tag.strip_prefix("W/").unwrap_or(tag) == etag)
}
