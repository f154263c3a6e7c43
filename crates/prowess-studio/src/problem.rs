//! Problems as the specification's error body: `{"detail": {"field", "message"}}`.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use prowess_core::{Problem, ProblemKind};
use serde_json::{Map, Value, json};

/// The response header with the stable code of a problem.
pub const PROBLEM_CODE: &str = "x-problem-code";

/// A problem that a route answers with.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiProblem {
    /// The status.
    pub status: StatusCode,
    /// The stable code, sent as a header.
    pub code: &'static str,
    /// The member, path part or header that is wrong; empty for none.
    pub field: String,
    /// The message.
    pub message: String,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// Further members beside `detail`.
    pub members: Option<Box<Map<String, Value>>>,
}

impl ApiProblem {
    /// Creates a problem.
    pub fn new(
        status: StatusCode,
        code: &'static str,
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            code,
            field: field.into(),
            message: message.into(),
            retry_after: None,
            members: None,
        }
    }

    /// 400: a field is invalid.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-input", field, message)
    }

    /// 404. The message is the same for a thing of somebody else, so that nobody learns of its existence.
    pub fn not_found(code: &'static str, field: &str, what: &str, name: &str) -> Self {
        // What a client sent comes back as text in JSON; only its length is bounded.
        let name = prowess_format::text::shorten(name, 100);
        Self::new(StatusCode::NOT_FOUND, code, field, format!("{what} '{name}' not found"))
    }

    /// 409.
    pub fn conflict(
        code: &'static str,
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(StatusCode::CONFLICT, code, field, message)
    }

    /// 403: the route is for administrators.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "", message)
    }

    /// 413.
    pub fn too_large(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", field, message)
    }

    /// 429.
    pub fn rate_limited(message: impl Into<String>, retry_after: Duration) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", "", message)
        }
    }

    /// 500. The cause is logged, and not told.
    pub fn internal(doing: &str, cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(%cause, "{doing} failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "", "Internal server error")
    }

    /// Names the field.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }

    /// Adds a member beside `detail`.
    #[must_use]
    pub fn member(mut self, key: &str, value: Value) -> Self {
        self.members.get_or_insert_default().insert(key.to_owned(), value);
        self
    }
}

impl From<Problem> for ApiProblem {
    fn from(problem: Problem) -> Self {
        let (status, retry_after) = match problem.kind {
            ProblemKind::InvalidInput => (StatusCode::BAD_REQUEST, None),
            ProblemKind::NotFound => (StatusCode::NOT_FOUND, None),
            ProblemKind::Conflict => (StatusCode::CONFLICT, None),
            ProblemKind::Unauthorized => (StatusCode::UNAUTHORIZED, None),
            ProblemKind::Refused => (StatusCode::FORBIDDEN, None),
            ProblemKind::RateLimited { retry_after } => {
                (StatusCode::TOO_MANY_REQUESTS, Some(retry_after.unwrap_or(Duration::from_secs(1))))
            }
            ProblemKind::Unavailable | ProblemKind::TimedOut | ProblemKind::Cancelled => {
                (StatusCode::SERVICE_UNAVAILABLE, Some(Duration::from_secs(1)))
            }
            ProblemKind::Corrupt | ProblemKind::Failed | ProblemKind::Internal => {
                return Self::internal(problem.code, &problem.message);
            }
        };
        Self { retry_after, ..Self::new(status, problem.code, "", problem.message) }
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let mut body = Map::new();
        body.insert("detail".to_owned(), json!({ "field": self.field, "message": self.message }));
        body.extend(self.members.map(|members| *members).unwrap_or_default());
        let mut response = (self.status, axum::Json(Value::Object(body))).into_response();
        let headers = response.headers_mut();
        headers.insert(PROBLEM_CODE, HeaderValue::from_static(self.code));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(after) = self.retry_after {
            // Whole seconds, rounded up: a client that waits as told must not come too early.
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, seconds.max(1).into());
        }
        response
    }
}
