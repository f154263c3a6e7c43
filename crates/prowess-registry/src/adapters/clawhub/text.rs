//! Errors as ClawHub's clients expect them: plain text.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use prowess_server::problem::ProblemDocument;

use crate::error::RegistryError;

/// An error.
pub(super) struct TextProblem(ProblemDocument);

impl<E: Into<ProblemDocument>> From<E> for TextProblem {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl TextProblem {
    /// There is no such skill.
    pub(super) fn not_found() -> Self {
        Self(RegistryError::no_skill().into())
    }
}

impl IntoResponse for TextProblem {
    fn into_response(self) -> Response {
        let problem = self.0.problem();
        // Clients look for these words to tell a missing skill from a failure.
        let text = match problem.code {
            "skill-not-found" => format!("Skill not found: {}", problem.message),
            _ => problem.message.clone(),
        };
        let original = self.0.into_response();
        let status = original.status();
        let mut response = (status, text).into_response();
        response
            .headers_mut()
            .insert(CONTENT_TYPE, http::HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Some(wait) = original.headers().get(RETRY_AFTER) {
            response.headers_mut().insert(RETRY_AFTER, wait.clone());
        }
        response
    }
}
