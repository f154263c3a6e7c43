//! Signing in, with a second step for accounts that have one, and making the first account.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, RETRY_AFTER, SET_COOKIE};
use prowess_core::ProblemKind;
use prowess_server::Secret;
use prowess_server::accounts::{User, Username};
use prowess_server::log_in::LogIn;
use serde::Deserialize;

use super::layout::{Layout, Section};
use super::response::{PageError, PageResult, form_page, see_other, sentence};
use super::visitor::{self, Posted, Visitor};
use crate::app::AppState;
use crate::host::add_own_namespace;

/// The form for signing in.
#[derive(Debug, Template)]
#[template(path = "page/sign_in.html")]
pub(crate) struct SignInPage {
    pub(crate) layout: Layout,
    /// Where to go afterwards: a path of this site.
    pub(crate) next: String,
    pub(crate) username: String,
    /// Why the last attempt failed.
    pub(crate) error: Option<String>,
    /// Whether the account wants a code as well.
    pub(crate) wants_code: bool,
}

/// The form for the first administrator.
#[derive(Debug, Template)]
#[template(path = "page/set_up.html")]
pub(crate) struct SetUpPage {
    pub(crate) layout: Layout,
    pub(crate) token: String,
    pub(crate) error: Option<String>,
}

/// A path of this site to go on to, or the account page. Anything else could lead elsewhere.
pub(crate) fn safe_next(path: &str) -> String {
    const LONGEST: usize = 500;
    let is_path = path.starts_with('/')
        && !path.starts_with("//")
        && path.len() <= LONGEST
        && !path.contains(['\\', '\n', '\r', '\t'])
        && path.is_ascii();
    if is_path { path.to_owned() } else { "/account".to_owned() }
}

/// What the page can be asked for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SignInQuery {
    /// Where to go afterwards.
    #[serde(default)]
    next: String,
}

/// The form for signing in.
pub(super) async fn get_sign_in(
    State(state): State<AppState>,
    mut visitor: Visitor,
    Query(query): Query<SignInQuery>,
) -> PageResult {
    let next = safe_next(&query.next);
    if visitor.user.is_some() {
        return Ok(see_other(&next));
    }
    let cookie = visitor.prepare_form(visitor::is_secure(&state.server));
    let template = SignInPage::new(&visitor, next, String::new());
    form_page(&visitor, cookie, StatusCode::OK, &template)
}

impl SignInPage {
    fn new(visitor: &Visitor, next: String, username: String) -> Self {
        SignInPage {
            layout: Layout::new(&visitor.visit, "Sign in", "Sign in to publish and review skills.")
                .in_section(Section::Account),
            next,
            username,
            error: None,
            wants_code: false,
        }
    }
}

/// Signs in.
pub(super) async fn post_sign_in(
    State(state): State<AppState>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let next = safe_next(fields.get("next"));
    let log_in = LogIn {
        username: fields.get("username").to_owned(),
        password: Secret::new(fields.exact("password")),
        code: fields.optional("code").map(Secret::new),
        address: visitor.address,
    };
    let user = match state.server.log_ins().authenticate(log_in).await {
        Ok(user) => user,
        Err(problem) => {
            let status = match problem.kind {
                ProblemKind::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
                ProblemKind::Unauthorized => StatusCode::UNAUTHORIZED,
                _ => return Err(problem.into()),
            };
            let mut template = SignInPage::new(&visitor, next, fields.get("username").to_owned());
            template.wants_code = matches!(problem.code, "code-required" | "wrong-code");
            template.error = Some(sentence(&problem));
            let mut response = form_page(&visitor, None, status, &template)?;
            if let ProblemKind::RateLimited { retry_after: Some(after) } = problem.kind {
                response
                    .headers_mut()
                    .insert(RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
            }
            return Ok(response);
        }
    };
    start_session(&state, &user, &next).await
}

/// Starts a session and goes on. The old session, if there is one, is not used further.
async fn start_session(state: &AppState, user: &User, next: &str) -> PageResult {
    let new = state.server.web_sessions().start(user).await?;
    let mut response = see_other(next);
    response.headers_mut().append(SET_COOKIE, new.set_cookie);
    Ok(response)
}

/// Signs out.
pub(super) async fn post_sign_out(
    State(state): State<AppState>,
    Posted { visitor, .. }: Posted,
) -> PageResult {
    let mut response = see_other("/?done=signed-out");
    if let Some(session) = &visitor.session {
        let cookie = state.server.web_sessions().end(session).await?;
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// What the page for the first account can be asked for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SetUpQuery {
    /// The secret of the link.
    #[serde(default)]
    token: String,
}

/// The form for the first administrator, for whoever has the link.
pub(super) async fn get_set_up(
    State(state): State<AppState>,
    mut visitor: Visitor,
    Query(query): Query<SetUpQuery>,
) -> PageResult {
    if !state.server.accounts().is_setup_link(&query.token).await? {
        return Err(PageError::not_found());
    }
    let cookie = visitor.prepare_form(visitor::is_secure(&state.server));
    let template = SetUpPage::new(&visitor, query.token, None);
    form_page(&visitor, cookie, StatusCode::OK, &template)
}

impl SetUpPage {
    fn new(visitor: &Visitor, token: String, error: Option<String>) -> Self {
        let layout = Layout::new(&visitor.visit, "Make the administrator", "The first account.");
        SetUpPage { layout: layout.in_section(Section::Account), token, error }
    }
}

/// Makes the first administrator, and signs in.
pub(super) async fn post_set_up(
    State(state): State<AppState>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let token = fields.get("token").to_owned();
    let again = |error: String| {
        let template = SetUpPage::new(&visitor, token.clone(), Some(error));
        form_page(&visitor, None, StatusCode::BAD_REQUEST, &template)
    };
    let Ok(username) = fields.get("username").parse::<Username>() else {
        return again("The username has lower-case letters, digits and dashes, and begins with a letter or a digit.".to_owned());
    };
    let password = Secret::new(fields.exact("password"));
    match state.server.accounts().use_setup_link(&token, username, &password).await {
        Ok(user) => {
            add_own_namespace(&state.server, state.registry.settings(), &user).await?;
            start_session(&state, &user, "/account").await
        }
        Err(problem) if problem.kind == ProblemKind::InvalidInput => again(sentence(&problem)),
        Err(problem) => Err(problem.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::safe_next;

    #[test]
    fn signing_in_leads_to_this_site_only() {
        assert_eq!(safe_next("/acme/pdf-forms?x=1#y"), "/acme/pdf-forms?x=1#y");
        for path in [
            "//evil.example",
            "https://evil.example",
            "/\\evil",
            "/\t/evil",
            "",
            "javascript:x",
            "/é",
        ] {
            assert_eq!(safe_next(path), "/account", "{path:?}");
        }
    }
}
