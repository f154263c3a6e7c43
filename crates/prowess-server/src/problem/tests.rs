use std::time::Duration;

use axum::response::IntoResponse as _;
use insta::assert_snapshot;
use prowess_core::{Problem, ProblemKind, Remedy};

use super::{ProblemDocument, gone};

#[test]
fn a_problem_is_a_document_of_rfc_9457() {
    let problem = Problem::new("skill-not-found", ProblemKind::NotFound, "no skill `logs`")
        .remedy(Remedy::Install("logs".to_owned()));
    let document = ProblemDocument::new(problem).with_member("name", "logs").to_json();
    assert_snapshot!(format!("{document:#}"), @r#"
    {
      "name": "logs",
      "type": "urn:prowess:problem:skill-not-found",
      "title": "Not Found",
      "status": 404,
      "detail": "no skill `logs`",
      "code": "skill-not-found",
      "remedies": [
        {
          "action": "install",
          "target": "logs",
          "text": "install `logs`"
        }
      ]
    }
    "#);
}

#[test]
fn a_limit_says_when_to_try_again() {
    let kind = ProblemKind::RateLimited { retry_after: Some(Duration::from_millis(1200)) };
    let response = ProblemDocument::new(Problem::new("too-many", kind, "too many")).into_response();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "2");
    assert_eq!(response.headers()["ratelimit-remaining"], "0");
    assert_eq!(response.headers()["ratelimit-reset"], "2");
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.headers()["cache-control"], "no-store");
}

#[test]
fn a_zero_wait_is_a_second() {
    let kind = ProblemKind::RateLimited { retry_after: Some(Duration::ZERO) };
    let response = ProblemDocument::new(Problem::new("too-many", kind, "too many")).into_response();
    assert_eq!(response.headers()["retry-after"], "1");
}

#[test]
fn standard_members_can_not_be_replaced() {
    let document = gone("revoked", "the version was revoked").with_member("status", 200);
    assert_eq!(document.to_json()["status"], 410);
}

#[test]
fn a_missing_credential_names_the_scheme() {
    let response = super::unauthorized("a token is needed").into_response();
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
}

#[test]
fn every_problem_names_a_next_step() {
    let kinds = [
        ProblemKind::InvalidInput,
        ProblemKind::NotFound,
        ProblemKind::Refused,
        ProblemKind::Unauthorized,
        ProblemKind::Conflict,
        ProblemKind::RateLimited { retry_after: None },
        ProblemKind::Unavailable,
        ProblemKind::TimedOut,
        ProblemKind::Cancelled,
        ProblemKind::Corrupt,
        ProblemKind::Failed,
        ProblemKind::Internal,
    ];
    for kind in kinds {
        let document = ProblemDocument::new(Problem::new("code", kind, "it failed")).to_json();
        let remedies = document["remedies"].as_array().expect("remedies");
        assert_eq!(remedies.len(), 1, "{kind:?}");
        assert!(!remedies[0]["text"].as_str().expect("a text").is_empty(), "{kind:?}");
    }
    // What the problem itself names comes alone.
    let named = Problem::new("code", ProblemKind::NotFound, "it failed").advice("look elsewhere");
    let document = ProblemDocument::new(named).to_json();
    assert_eq!(document["remedies"][0]["text"], "look elsewhere");
    assert_eq!(document["remedies"].as_array().map(Vec::len), Some(1));
}
