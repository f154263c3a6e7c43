//! What a request brings: bodies, queries and parts of the path, with problems in the specification's shape.

use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::Bytes;
use http::request::Parts;
use http::{StatusCode, header};
use serde::de::DeserializeOwned;

use crate::problem::ApiProblem;

/// Maximum length of an ordinary line of text, in characters.
pub(crate) const MAX_LINE: usize = 200;

/// A JSON body.
#[derive(Clone, Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiProblem> {
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence =
            content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        // A form of another origin can't send JSON without asking first; anything else it could.
        if essence != "application/json" && !essence.ends_with("+json") {
            return Err(ApiProblem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "content-type",
                "Expected a body of type application/json",
            ));
        }
        let bytes =
            Bytes::from_request(request, state).await.map_err(|rejection| too_large(&rejection))?;
        parse(&bytes).map(Body)
    }
}

/// Parses JSON; the problem names the member.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiProblem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        // Text that is not JSON has no members.
        let is_whole = path == "." || !error.inner().is_data();
        let field = if is_whole { "body".to_owned() } else { path };
        ApiProblem::invalid(prowess_format::text::shorten(&field, 100), error.inner().to_string())
    })?;
    deserializer
        .end()
        .map_err(|error| ApiProblem::invalid("body", error.to_string()))
        .map(|()| value)
}

/// The problem of a body that was not read.
pub(crate) fn too_large(rejection: &BytesRejection) -> ApiProblem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return ApiProblem::too_large("body", "The body is too large");
    }
    ApiProblem::invalid("body", "The body could not be read")
}

/// The query of a URL.
#[derive(Clone, Debug)]
pub(crate) struct UrlQuery<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for UrlQuery<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(query)| Self(query)).map_err(|rejection| {
            // "Failed to deserialize query string: limit: invalid digit found in string"
            let text = rejection.body_text();
            let reason = text.split_once(": ").map_or(text.as_str(), |(_, reason)| reason);
            let (field, message) = reason.split_once(": ").unwrap_or(("query", reason));
            ApiProblem::invalid(prowess_format::text::shorten(field, 100), message)
        })
    }
}

/// Parts of the path.
#[derive(Clone, Debug)]
pub(crate) struct UrlPath<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for UrlPath<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        // A part of the wrong form names nothing.
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(path)| Self(path)).map_err(|_| {
            ApiProblem::new(StatusCode::NOT_FOUND, "not-found", "path", "There is no such resource")
        })
    }
}

/// A required line of text: not empty, bounded, without control characters.
pub(crate) fn line(field: &str, text: &str) -> Result<String, ApiProblem> {
    let text = text.trim();
    if text.is_empty() || text.chars().nth(MAX_LINE).is_some() {
        let message = format!("Expected 1 to {MAX_LINE} characters");
        return Err(ApiProblem::invalid(field, message));
    }
    if text.chars().any(char::is_control) {
        return Err(ApiProblem::invalid(field, "Control characters are not allowed"));
    }
    Ok(text.to_owned())
}

/// A bounded text, which may be empty and have several lines.
pub(crate) fn text(field: &str, text: &str, most: usize) -> Result<(), ApiProblem> {
    if text.len() > most {
        return Err(ApiProblem::invalid(field, format!("Expected at most {most} bytes")));
    }
    if text.contains('\0') {
        return Err(ApiProblem::invalid(field, "The character U+0000 is not allowed"));
    }
    Ok(())
}

/// A page's size.
pub(crate) fn limit(wanted: Option<i64>) -> Result<i64, ApiProblem> {
    const MOST: i64 = 200;
    match wanted {
        None => Ok(50),
        Some(limit) if (1..=MOST).contains(&limit) => Ok(limit),
        Some(_) => Err(ApiProblem::invalid("limit", format!("Expected a number from 1 to {MOST}"))),
    }
}

/// The revision in `If-Match: "7"`, if there is one.
pub(crate) fn revision(parts: &http::HeaderMap) -> Result<Option<i64>, ApiProblem> {
    let Some(value) = parts.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let number = text.strip_prefix("W/").unwrap_or(text).trim_matches('"');
    number.parse().map(Some).map_err(|_| {
        ApiProblem::invalid("if-match", "Expected the revision in quotes, such as \"7\"")
    })
}

/// A random id with a prefix.
pub(crate) fn new_id(prefix: &str) -> Result<String, ApiProblem> {
    use std::fmt::Write as _;
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).map_err(|error| ApiProblem::internal("making an id", &error))?;
    Ok(bytes.iter().fold(prefix.to_owned(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    }))
}
