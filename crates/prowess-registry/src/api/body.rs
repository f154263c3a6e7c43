//! Bodies of responses with `ETag`, conditional requests and ranges.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

/// How long a shared cache may keep what everybody may see. A revocation must not be hidden for long, and a check with an
/// `ETag` costs little.
const PUBLIC: HeaderValue = HeaderValue::from_static("public, max-age=60");
/// What depends on a token is never kept (attack registry-D18).
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-store");

/// What a response consists of.
pub(crate) struct Content {
    /// The bytes.
    pub(crate) bytes: Bytes,
    /// Their type.
    pub(crate) content_type: &'static str,
    /// What changes whenever the bytes do; `None` hashes them.
    pub(crate) tag: Option<String>,
    /// Whether everybody may see them.
    pub(crate) is_public: bool,
    /// The name under which a browser saves them.
    pub(crate) file_name: Option<String>,
}

/// The response to a request for a content.
pub(crate) fn respond(headers: &HeaderMap, content: Content) -> Response {
    let Content { bytes, content_type, tag, is_public, file_name } = content;
    let tag = tag.unwrap_or_else(|| short_hash(&bytes));
    let tag = format!("\"{tag}\"");
    let mut response = Response::new(Body::empty());
    let set = response.headers_mut();
    set.insert(CACHE_CONTROL, if is_public { PUBLIC } else { PRIVATE });
    if let Ok(value) = HeaderValue::from_str(&tag) {
        set.insert(ETAG, value);
    }
    if matches(headers, &tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    set.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    set.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(name) = file_name
        && let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""))
    {
        set.insert(CONTENT_DISPOSITION, value);
    }
    let length = bytes.len();
    match range(headers, &tag, length) {
        RequestedRange::Whole => {
            set.insert(CONTENT_LENGTH, HeaderValue::from(length));
            *response.body_mut() = Body::from(bytes);
        }
        RequestedRange::Part(start, end) => {
            let value = format!("bytes {start}-{end}/{length}");
            if let Ok(value) = HeaderValue::from_str(&value) {
                set.insert(CONTENT_RANGE, value);
            }
            set.insert(CONTENT_LENGTH, HeaderValue::from(end - start + 1));
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            *response.body_mut() = Body::from(bytes.slice(start..=end));
        }
        RequestedRange::Impossible => {
            if let Ok(value) = HeaderValue::from_str(&format!("bytes */{length}")) {
                set.insert(CONTENT_RANGE, value);
            }
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
        }
    }
    response
}

/// The first half of a hash, which is enough to tell two versions of a text apart.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .take(16)
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// Whether the client has these bytes already.
fn matches(headers: &HeaderMap, tag: &str) -> bool {
    headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        value
            .split(',')
            .map(str::trim)
            .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
    })
}

#[derive(Debug, PartialEq, Eq)]
enum RequestedRange {
    Whole,
    Part(usize, usize),
    Impossible,
}

/// One range of bytes. Several at once, other units and invalid ones are answered with the whole, as RFC 9110 allows.
fn range(headers: &HeaderMap, tag: &str, length: usize) -> RequestedRange {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let Some(range) = text(RANGE).and_then(|range| range.trim().strip_prefix("bytes=")) else {
        return RequestedRange::Whole;
    };
    // A range of other bytes than the client has would give a mixture.
    if text(IF_RANGE).is_some_and(|known| known.trim() != tag) {
        return RequestedRange::Whole;
    }
    let Some((start, end)) = range.split_once('-').filter(|_| !range.contains(',')) else {
        return RequestedRange::Whole;
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(start.trim()) || !is_number(end.trim()) {
        return RequestedRange::Whole;
    }
    match (start.trim().parse::<usize>(), end.trim().parse::<usize>()) {
        (Ok(start), Ok(end)) if start > end => RequestedRange::Whole,
        (Ok(start), _) if start >= length => RequestedRange::Impossible,
        (Ok(start), Ok(end)) => RequestedRange::Part(start, end.min(length - 1)),
        (Ok(start), Err(_)) if end.trim().is_empty() => RequestedRange::Part(start, length - 1),
        (Err(_), Ok(0)) => RequestedRange::Impossible,
        (Err(_), Ok(last)) if length > 0 => {
            RequestedRange::Part(length.saturating_sub(last), length - 1)
        }
        _ => RequestedRange::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &RequestedRange) {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_str(text).expect("a header"));
        assert_eq!(range(&headers, "\"t\"", 10), *expected, "{text}");
    }

    #[test]
    fn ranges_of_bytes() {
        check("bytes=0-3", &RequestedRange::Part(0, 3));
        check("bytes=4-", &RequestedRange::Part(4, 9));
        check("bytes=-2", &RequestedRange::Part(8, 9));
        check("bytes=-20", &RequestedRange::Part(0, 9));
        check("bytes=8-100", &RequestedRange::Part(8, 9));
        check("bytes=10-", &RequestedRange::Impossible);
        check("bytes=-0", &RequestedRange::Impossible);
        for odd in ["bytes=3-1", "bytes=0-1,4-5", "pages=0-1", "bytes=a-b", "bytes=", "bytes=+1-2"]
        {
            check(odd, &RequestedRange::Whole);
        }
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_static("bytes=0-3"));
        headers.insert(IF_RANGE, HeaderValue::from_static("\"older\""));
        assert_eq!(range(&headers, "\"t\"", 10), RequestedRange::Whole);
    }
}
