//! Nodes that send an HTTP request, to public addresses only (`prowess_proxy::Fetcher`).

use prowess_proxy::{FetchError, FetchRequest};
use serde_json::{Map, Value};

use super::super::graph::{HttpBody, HttpNode, JsonTemplate};
use super::super::template::{Lookup, part_of};
use super::{Failure, MAX_OUTPUT, NodeContext};

/// Sends the request and returns the response: JSON as a value, everything else as text.
pub(super) async fn send(
    scene: &NodeContext<'_, '_, '_>,
    http: &HttpNode,
) -> Result<Value, Failure> {
    let lookup = &scene.scope;
    let mut headers: Vec<(String, String)> = http
        .headers
        .iter()
        .map(|(name, _, template)| (name.clone(), template.render(lookup)))
        .collect();
    let has_type = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let body = http.body.as_ref().map(|(_, body)| match body {
        HttpBody::Text(template) => template.render(lookup),
        HttpBody::Json(template) => filled(template, lookup).to_string(),
    });
    if matches!(&http.body, Some((_, HttpBody::Json(_)))) && !has_type {
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    }
    let request = FetchRequest {
        method: http.method.clone(),
        url: address(&http.url.1.render_with(lookup, part_of_address)),
        headers,
        body: body.map(String::into_bytes),
        timeout: http.timeout,
        max_bytes: MAX_OUTPUT,
    };
    let fetched = tokio::select! {
        biased;
        () = scene.context.cancel.cancelled() => return Err(Failure::new("it was cancelled")),
        fetched = scene.context.fetcher.fetch(&request) => fetched.map_err(|error| failed(&error))?,
    };
    if !(200..300).contains(&fetched.status) {
        return Err(Failure::new(format!("the server responded with status {}", fetched.status)));
    }
    let is_json = fetched.content_type.as_deref().is_some_and(is_json);
    let text = || String::from_utf8_lossy(&fetched.body).into_owned();
    let Some((_, path)) = &http.response_path else {
        let value = if is_json { serde_json::from_slice(&fetched.body).ok() } else { None };
        return Ok(value.unwrap_or_else(|| text().into()));
    };
    let value: Value = serde_json::from_slice(&fetched.body).map_err(|_| {
        let kind = fetched.content_type.as_deref().unwrap_or("no content type");
        Failure::new(format!(
            "the response is not JSON ({kind}), so `responsePath` can't be applied"
        ))
        .advice("remove `responsePath`, or request JSON with an `Accept` header")
    })?;
    part_of(&value, path).cloned().ok_or_else(|| {
        Failure::new(format!("the response has no `{}`", path.join(".")))
            .advice("check a response of the server and correct `responsePath`")
    })
}

/// Encodes a value for a URL. In a query it can't start another field, in a path no query; slashes in a path are kept,
/// because values often are paths. Before the path, where the host is, the author is responsible.
fn part_of_address(before: &str, value: String) -> String {
    let Some((_, rest)) = before.split_once("://") else { return value };
    let keeps: &[u8] = match (rest.contains(['?', '#']), rest.contains('/')) {
        (true, _) => b"-._~",
        (false, true) => b"-._~/",
        (false, false) => return value,
    };
    encoded(&value, |byte| byte.is_ascii_alphanumeric() || keeps.contains(&byte))
}

/// A URL with spaces and other invalid characters encoded.
fn address(url: &str) -> String {
    encoded(url.trim(), |byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
}

/// Percent-encoding (RFC 3986 §2.1).
fn encoded(text: &str, keeps: impl Fn(u8) -> bool) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.bytes().fold(String::new(), |mut all, byte| {
        if keeps(byte) {
            all.push(char::from(byte));
        } else {
            all.push('%');
            all.push(char::from(DIGITS[usize::from(byte >> 4)]));
            all.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        all
    })
}

fn failed(error: &FetchError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        FetchError::Refused(_) => failure.advice(
            "`http` nodes can only access public addresses: not this machine, its network or its cloud",
        ),
        FetchError::Invalid(_) => failure.advice("correct the node's `url` and `headers`"),
        FetchError::Failed(_) | FetchError::TimedOut(_) => failure,
    }
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

fn filled(template: &JsonTemplate, lookup: &dyn Lookup) -> Value {
    match template {
        JsonTemplate::Value(value) => value.clone(),
        JsonTemplate::Text(text) => match text.lone_reference() {
            Some(reference) => lookup.value(reference).cloned().unwrap_or_default(),
            None => text.render(lookup).into(),
        },
        JsonTemplate::List(items) => items.iter().map(|item| filled(item, lookup)).collect(),
        JsonTemplate::Object(pairs) => {
            let pairs = pairs.iter().map(|(key, item)| (key.clone(), filled(item, lookup)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
    }
}
