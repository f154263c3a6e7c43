//! Problems as responses: documents of RFC 9457.

use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::{
    BytesRejection, FormRejection, JsonRejection, PathRejection, QueryRejection,
};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use prowess_core::{Problem, ProblemKind, Remedy};
use serde_json::{Map, Value, json};

use crate::database::DatabaseError;

/// The content type of problem documents.
pub const PROBLEM_JSON: &str = "application/problem+json";

const RATE_LIMIT_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// When to try again if the problem does not say it.
const RETRY_UNAVAILABLE: Duration = Duration::from_secs(2);

/// A problem as the body of a response: `type`, `title`, `status`, `detail`, and besides them `code` and `remedies`.
///
/// Handlers return `Result<_, ProblemDocument>` and apply `?` to anything that returns a [`Problem`] or a
/// [`DatabaseError`].
#[derive(Clone, Debug)]
pub struct ProblemDocument {
    status: StatusCode,
    problem: Box<Problem>,
    members: Map<String, Value>,
}

/// The result of a handler.
pub type HandlerResult<T> = Result<T, ProblemDocument>;

impl ProblemDocument {
    /// A problem with the status of its kind.
    pub fn new(problem: Problem) -> ProblemDocument {
        ProblemDocument {
            status: status_of(problem.kind),
            problem: Box::new(problem),
            members: Map::new(),
        }
    }

    /// Replaces the status, for those that no kind has, such as 410 or 413.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> ProblemDocument {
        self.status = status;
        self
    }

    /// Adds a member to the document. The standard members can't be replaced.
    #[must_use]
    pub fn with_member(mut self, name: &str, value: impl Into<Value>) -> ProblemDocument {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The document.
    pub fn to_json(&self) -> Value {
        let mut document = self.members.clone();
        let problem = &self.problem;
        document.insert("type".to_owned(), format!("urn:prowess:problem:{}", problem.code).into());
        let title = self.status.canonical_reason().unwrap_or("Problem");
        document.insert("title".to_owned(), title.into());
        document.insert("status".to_owned(), self.status.as_u16().into());
        document.insert("detail".to_owned(), problem.message.clone().into());
        document.insert("code".to_owned(), problem.code.into());
        let mut remedies: Vec<Value> = problem.remedies.iter().map(shown_remedy).collect();
        if remedies.is_empty() {
            remedies.push(shown_remedy(&Remedy::Advice(usual_step(self.status).to_owned())));
        }
        document.insert("remedies".to_owned(), remedies.into());
        if let Some(after) = retry_after(problem.kind) {
            document.insert("retry_after_secs".to_owned(), seconds(after).into());
        }
        Value::Object(document)
    }
}

/// The next step after a problem that names none.
fn usual_step(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "send a valid token as `Authorization: Bearer TOKEN`",
        StatusCode::FORBIDDEN => {
            "ask an owner or an administrator for the permission, or use another account"
        }
        StatusCode::NOT_FOUND => "check the spelling; what is private needs a token",
        StatusCode::METHOD_NOT_ALLOWED => "use a method that the `Allow` header lists",
        StatusCode::CONFLICT => "read the current state, then decide again",
        StatusCode::GONE => "choose another version",
        StatusCode::PAYLOAD_TOO_LARGE => "send less in one request",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "send JSON with `Content-Type: application/json`",
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            "wait for the seconds in `Retry-After`, then try again"
        }
        status if status.is_server_error() => {
            "try again later; if it happens again, report the `X-Request-Id` of the response"
        }
        _ => "correct the request; `/api/v1/openapi.json` describes it",
    }
}

/// A remedy with the sentence that a page can show.
fn shown_remedy(remedy: &Remedy) -> Value {
    let mut shown = remedy.to_json();
    shown["text"] = json!(remedy.to_string());
    shown
}

/// The status of a kind of problem.
pub fn status_of(kind: ProblemKind) -> StatusCode {
    match kind {
        ProblemKind::InvalidInput => StatusCode::BAD_REQUEST,
        ProblemKind::NotFound => StatusCode::NOT_FOUND,
        ProblemKind::Refused => StatusCode::FORBIDDEN,
        ProblemKind::Unauthorized => StatusCode::UNAUTHORIZED,
        ProblemKind::Conflict => StatusCode::CONFLICT,
        ProblemKind::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        ProblemKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ProblemKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        // Whoever cancelled it does not read this.
        ProblemKind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        ProblemKind::Corrupt | ProblemKind::Failed | ProblemKind::Internal => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

fn retry_after(kind: ProblemKind) -> Option<Duration> {
    match kind {
        ProblemKind::RateLimited { retry_after } => {
            Some(retry_after.unwrap_or(Duration::from_secs(1)))
        }
        ProblemKind::Unavailable => Some(RETRY_UNAVAILABLE),
        _ => None,
    }
}

/// Whole seconds, at least one: a client that waits for zero seconds does not wait.
fn seconds(duration: Duration) -> u64 {
    let whole = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    whole.max(1)
}

impl From<Problem> for ProblemDocument {
    fn from(problem: Problem) -> ProblemDocument {
        ProblemDocument::new(problem)
    }
}

impl From<DatabaseError> for ProblemDocument {
    fn from(error: DatabaseError) -> ProblemDocument {
        ProblemDocument::new(error.into())
    }
}

impl IntoResponse for ProblemDocument {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.to_json().to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(after) = retry_after(self.problem.kind) {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds(after)));
            if self.status == StatusCode::TOO_MANY_REQUESTS {
                headers.insert(RATE_LIMIT_REMAINING, HeaderValue::from(0));
                headers.insert(RATE_LIMIT_RESET, HeaderValue::from(seconds(after)));
            }
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// A value of the request is invalid: 400.
pub fn invalid_input(code: &'static str, message: impl Into<String>) -> ProblemDocument {
    Problem::new(code, ProblemKind::InvalidInput, message).into()
}

/// The object does not exist: 404.
pub fn not_found(code: &'static str, message: impl Into<String>) -> ProblemDocument {
    Problem::new(code, ProblemKind::NotFound, message).into()
}

/// The request conflicts with the current state: 409.
pub fn conflict(code: &'static str, message: impl Into<String>) -> ProblemDocument {
    Problem::new(code, ProblemKind::Conflict, message).into()
}

/// The caller may not do this: 403.
pub fn forbidden(code: &'static str, message: impl Into<String>) -> ProblemDocument {
    Problem::new(code, ProblemKind::Refused, message).into()
}

/// The caller has to identify itself: 401.
pub fn unauthorized(message: impl Into<String>) -> ProblemDocument {
    Problem::new("unauthorized", ProblemKind::Unauthorized, message).into()
}

/// The object existed, and is gone for good: 410.
pub fn gone(code: &'static str, message: impl Into<String>) -> ProblemDocument {
    not_found(code, message).with_status(StatusCode::GONE)
}

/// The body is too large: 413.
pub fn too_large(message: impl Into<String>) -> ProblemDocument {
    invalid_input("too-large", message).with_status(StatusCode::PAYLOAD_TOO_LARGE)
}

macro_rules! from_rejections {
    ($($rejection:ty => $code:literal;)+) => {
        $(impl From<$rejection> for ProblemDocument {
            fn from(rejection: $rejection) -> ProblemDocument {
                invalid_input($code, rejection.body_text()).with_status(rejection.status())
            }
        })+
    };
}

from_rejections! {
    JsonRejection => "invalid-json";
    FormRejection => "invalid-form";
    QueryRejection => "invalid-query";
    PathRejection => "invalid-path";
    BytesRejection => "invalid-body";
}

#[cfg(test)]
mod tests;
