//! Pages as responses: headers that forbid what no page needs, and pages for errors.

use askama::Template;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use prowess_core::{Problem, ProblemKind};

use super::error_page::ErrorPage;
use super::layout::Layout;
use super::links;
use super::visitor::Visitor;
use crate::app::AppState;
use crate::error::RegistryError;

/// What pages may load and do: our own files and nothing else. Scripts can't make markup out of text.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'",
);

/// For everything that is not a page, such as feeds and badges.
const NOTHING: HeaderValue =
    HeaderValue::from_static("sandbox; default-src 'none'; style-src 'unsafe-inline'");

/// The result of a handler.
pub(crate) type PageResult = Result<Response, PageError>;

/// A page with its headers.
pub(crate) fn page<T: Template>(visitor: &Visitor, template: &T) -> PageResult {
    page_with_status(visitor, StatusCode::OK, template)
}

/// A page with a status.
pub(crate) fn page_with_status<T: Template>(
    visitor: &Visitor,
    status: StatusCode,
    template: &T,
) -> PageResult {
    let text = template.render().map_err(|error| {
        tracing::error!(%error, "a page can't be rendered");
        PageError::internal()
    })?;
    // What depends on who asks is kept by nobody else (attack registry-D18).
    let cache = if visitor.session.is_some() || !visitor.visit.csrf.is_empty() {
        "private, no-store"
    } else {
        "no-cache"
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (CACHE_CONTROL, HeaderValue::from_static(cache)),
        (VARY, HeaderValue::from_static("cookie")),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            HeaderValue::from_static("same-origin"),
        ),
        (
            HeaderName::from_static("permissions-policy"),
            HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=()"),
        ),
    ];
    Ok((status, headers, text).into_response())
}

/// A page with a form for somebody who may not be signed in.
pub(crate) fn form_page<T: Template>(
    visitor: &Visitor,
    cookie: Option<String>,
    status: StatusCode,
    template: &T,
) -> PageResult {
    let mut response = page_with_status(visitor, status, template)?;
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// A text that is not a page: a feed, a sitemap, a badge.
pub(crate) fn document(content_type: &'static str, seconds: u32, text: String) -> Response {
    let cache = format!("public, max-age={seconds}");
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (CONTENT_SECURITY_POLICY, NOTHING),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (
            CACHE_CONTROL,
            HeaderValue::from_str(&cache).unwrap_or(HeaderValue::from_static("no-cache")),
        ),
    ];
    (headers, text).into_response()
}

/// Goes to a page of this site with GET.
pub(crate) fn see_other(path: &str) -> Response {
    let location = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
}

/// Why there is no page. What a visitor may not see gives the same one as what does not exist (attack registry-D19).
#[derive(Clone, Debug)]
pub(crate) struct PageError {
    status: StatusCode,
    title: &'static str,
    text: String,
    /// Whether signing in would help; the page goes there at once.
    needs_sign_in: bool,
    retry_after: Option<u64>,
}

impl PageError {
    fn new(status: StatusCode, title: &'static str, text: impl Into<String>) -> Self {
        PageError { status, title, text: text.into(), needs_sign_in: false, retry_after: None }
    }

    pub(crate) fn not_found() -> Self {
        let text = "It was never there, it was deleted, or you may not see it.";
        PageError::new(StatusCode::NOT_FOUND, "There is no such page", text)
    }

    pub(crate) fn forged() -> Self {
        let text = "The form does not belong to a page that you have open. Nothing was changed. Load the page again and \
                    repeat what you did.";
        PageError::new(StatusCode::FORBIDDEN, "The form was refused", text)
    }

    pub(crate) fn too_large() -> Self {
        PageError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "The form is too large",
            "Shorten the text and send it again.",
        )
    }

    pub(crate) fn internal() -> Self {
        let text = "That is a mistake of the registry, not yours. Try again; if it stays, tell whoever runs it.";
        PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong", text)
    }

    pub(crate) fn unavailable() -> Self {
        let text = "The database does not respond. Nothing was changed; try again in a moment.";
        PageError::new(StatusCode::SERVICE_UNAVAILABLE, "The registry is busy", text)
    }

    pub(crate) fn sign_in() -> Self {
        let mut error = PageError::new(
            StatusCode::UNAUTHORIZED,
            "Sign in first",
            "This page is for signed-in users.",
        );
        error.needs_sign_in = true;
        error
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        PageError::new(StatusCode::BAD_REQUEST, "That can't be done", text)
    }
}

/// A message of a library as a sentence.
pub(crate) fn sentence(problem: &Problem) -> String {
    let mut text = String::new();
    let parts = std::iter::once(problem.message.clone())
        .chain(problem.remedies.iter().map(ToString::to_string));
    for part in parts {
        let mut characters = part.chars();
        let Some(first) = characters.next() else { continue };
        if !text.is_empty() {
            text.push(' ');
        }
        text.extend(first.to_uppercase());
        text.push_str(characters.as_str());
        text.push('.');
    }
    text
}

impl From<Problem> for PageError {
    fn from(problem: Problem) -> Self {
        let text = sentence(&problem);
        match problem.kind {
            ProblemKind::NotFound => PageError::not_found(),
            ProblemKind::InvalidInput => {
                PageError::new(StatusCode::BAD_REQUEST, "That can't be done", text)
            }
            ProblemKind::Refused => {
                PageError::new(StatusCode::FORBIDDEN, "That is not allowed", text)
            }
            ProblemKind::Unauthorized => PageError::sign_in(),
            ProblemKind::Conflict => {
                PageError::new(StatusCode::CONFLICT, "That can't be done now", text)
            }
            ProblemKind::RateLimited { retry_after } => {
                let mut error =
                    PageError::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests", text);
                error.retry_after = Some(retry_after.map_or(60, |after| after.as_secs().max(1)));
                error
            }
            ProblemKind::Unavailable | ProblemKind::TimedOut => PageError::unavailable(),
            ProblemKind::Cancelled
            | ProblemKind::Corrupt
            | ProblemKind::Failed
            | ProblemKind::Internal => {
                tracing::error!(code = problem.code, message = %problem.message, "a page failed");
                PageError::internal()
            }
        }
    }
}

impl From<RegistryError> for PageError {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Problem(problem) => problem.into(),
            RegistryError::Revoked { what, reason } => {
                let text = format!("{what} was revoked: {reason}");
                PageError::new(StatusCode::GONE, "This version was revoked", text)
            }
            RegistryError::Ambiguous { candidates, .. } => {
                let text = format!(
                    "Several publishers have a skill of that name: {}.",
                    candidates.join(", ")
                );
                PageError::new(StatusCode::MULTIPLE_CHOICES, "Which one?", text)
            }
            RegistryError::Scan { .. } => PageError::invalid(format!("{error}.")),
        }
    }
}

impl From<prowess_server::database::DatabaseError> for PageError {
    fn from(error: prowess_server::database::DatabaseError) -> Self {
        Problem::from(error).into()
    }
}

impl IntoResponse for PageError {
    /// The status, with the error for [`error_pages`] to render.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Renders the errors of handlers as pages, for whoever asked.
pub(crate) async fn error_pages(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let asked = Request::from_parts(parts.clone(), Body::empty());
    let response = next.run(Request::from_parts(parts, body)).await;
    match response.extensions().get::<PageError>() {
        Some(error) => error_page(&state, asked, error).await,
        None => response,
    }
}

/// The page for an error.
pub(crate) async fn error_page(state: &AppState, request: Request, error: &PageError) -> Response {
    let (mut parts, _) = request.into_parts();
    if error.needs_sign_in && parts.method == Method::GET {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        return see_other(&format!("/sign-in?next={}", links::encode(path)));
    }
    let Ok(visitor) = Visitor::from_request_parts(&mut parts, state).await else {
        // Without a database there is no knowing who asks; the status has to do.
        return error.status.into_response();
    };
    let link = |words: &str, address: &str| (words.to_owned(), address.to_owned());
    let steps = match error.status {
        StatusCode::NOT_FOUND => {
            vec![link("Search for a skill", "/search"), link("Go to the home page", "/")]
        }
        StatusCode::UNAUTHORIZED => vec![link("Sign in", "/sign-in")],
        StatusCode::GONE => vec![link("Search for another skill", "/search")],
        _ => vec![link("Go to the home page", "/")],
    };
    let template = ErrorPage {
        layout: Layout::new(&visitor.visit, error.title, &error.text),
        status: error.status.as_u16(),
        title: error.title.to_owned(),
        text: error.text.clone(),
        steps,
    };
    let Ok(mut page) = page_with_status(&visitor, error.status, &template) else {
        return error.status.into_response();
    };
    if let Some(seconds) = error.retry_after {
        page.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    page
}
