//! Asks the upstream registry when this one has no answer.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};
use prowess_server::problem::ProblemDocument;

use super::{Content, respond};
use crate::mirror::{MirrorRequest, VIA};
use crate::registry::Registry;

/// Runs a request; if it is for something that is not here, it is answered from the mirror.
pub(crate) async fn answer_from_mirror(
    State(registry): State<Registry>,
    request: Request,
    next: Next,
) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let asked = is_read.then(|| MirrorRequest::parse(request.uri().path())).flatten();
    let Some(asked) = asked else { return next.run(request).await };
    let headers = request.headers().clone();
    let response = next.run(request).await;
    if response.status() != StatusCode::NOT_FOUND {
        return response;
    }
    let via = headers.get(VIA).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match registry.mirrored(&asked, via).await {
        Ok(None) => response,
        Ok(Some(found)) => respond(
            &headers,
            Content {
                bytes: found.bytes,
                content_type: found.content_type,
                tag: found.tag,
                is_public: true,
                file_name: found.file_name,
            },
        ),
        Err(error) => ProblemDocument::from(error).into_response(),
    }
}
