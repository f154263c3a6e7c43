//! Who asks for a page or sends a form, and the checks that every form passes before its handler sees it.

use std::fmt::Write as _;
use std::net::IpAddr;

use axum::body::Bytes;
use axum::extract::{FromRef, FromRequest, FromRequestParts, OptionalFromRequestParts, Request};
use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, HeaderMap, ORIGIN};
use axum::http::request::Parts;
use prowess_server::Server;
use prowess_server::accounts::{Role, User};
use prowess_server::identity::{ClientAddress, FormUser};
use prowess_server::web_sessions::WebSession;
use sha2::{Digest as _, Sha256};

use super::layout::{Notice, SignedIn, Visit};
use super::response::PageError;
use crate::actor::Actor;
use crate::app::AppState;
use crate::viewer::Viewer;

/// The cookie of forms that are sent before somebody is signed in.
const FORM_COOKIE: &str = "prowess_form";
/// The length of its value in hexadecimal digits.
const FORM_COOKIE_DIGITS: usize = 32;

/// Who asks for a page.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) visit: Visit,
    pub(crate) user: Option<User>,
    pub(crate) session: Option<WebSession>,
    pub(crate) address: IpAddr,
    /// The value of the cookie for forms; new if the browser has none.
    form_cookie: Option<String>,
}

impl Visitor {
    /// What they may see.
    pub(crate) fn viewer(&self) -> Viewer {
        match &self.user {
            Some(user) => Viewer::user(&user.id, user.role == Role::Admin),
            None => Viewer::ANONYMOUS,
        }
    }

    /// The user, who has to be signed in.
    pub(crate) fn actor(&self) -> Result<Actor, PageError> {
        self.user.as_ref().map(actor_of).ok_or_else(PageError::sign_in)
    }

    /// Prepares the forms of a page for somebody who is not signed in: the `Set-Cookie` header that has to go with it.
    pub(crate) fn prepare_form(&mut self, is_secure: bool) -> Option<String> {
        if self.session.is_some() || self.form_cookie.is_some() {
            return None;
        }
        let mut bytes = [0; FORM_COOKIE_DIGITS / 2];
        // Without randomness the form has no token, and sending it is refused.
        getrandom::fill(&mut bytes).ok()?;
        let value = hexadecimal(&bytes);
        self.visit.csrf = form_token(&value);
        let secure = if is_secure { "; Secure" } else { "" };
        let header = format!(
            "{FORM_COOKIE}={value}; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict{secure}"
        );
        self.form_cookie = Some(value);
        Some(header)
    }

    fn check_token(&self, token: &str) -> Result<(), PageError> {
        if let Some(session) = &self.session {
            return session.check_csrf(token).map_err(PageError::from);
        }
        let expected = self.form_cookie.as_deref().map(form_token);
        if expected.as_deref() == Some(token) { Ok(()) } else { Err(PageError::forged()) }
    }
}

/// A person in front of a browser, who may do all that the user may.
pub(crate) fn actor_of(user: &User) -> Actor {
    Actor {
        user_id: user.id.clone(),
        username: user.username.to_string(),
        created: user.created_at.seconds(),
        is_administrator: user.role == Role::Admin,
        scopes: None,
        provenance: None,
    }
}

/// Whether browsers reach the registry over HTTPS, so that cookies can insist on it.
pub(crate) fn is_secure(server: &Server) -> bool {
    server.public_url().is_some_and(|url| url.scheme() == "https")
}

/// The token for a form follows from the cookie, which other sites can neither read nor set.
fn form_token(cookie: &str) -> String {
    let digest = Sha256::new().chain_update("prowess form ").chain_update(cookie).finalize();
    hexadecimal(&digest)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a `String` does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn form_cookie(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let mut found = cookies
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == FORM_COOKIE)
        .map(|(_, value)| value)
        .filter(|value| {
            value.len() == FORM_COOKIE_DIGITS && value.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
    let first = found.next()?;
    // A cookie that is there twice was planted.
    found.next().is_none().then(|| first.to_owned())
}

impl FromRequestParts<AppState> for Visitor {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, PageError> {
        let server = Server::from_ref(state);
        let ClientAddress(address) = match ClientAddress::from_request_parts(parts, state).await {
            Ok(address) => address,
            Err(never) => match never {},
        };
        let known =
            <FormUser as OptionalFromRequestParts<AppState>>::from_request_parts(parts, state)
                .await
                .map_err(|_| PageError::unavailable())?;
        let (user, session) = match known {
            Some(FormUser { user, session }) => (Some(user), Some(session)),
            None => (None, None),
        };
        let form_cookie = form_cookie(&parts.headers);
        let csrf = match (&session, &form_cookie) {
            (Some(session), _) => session.csrf().to_owned(),
            (None, Some(cookie)) => form_token(cookie),
            (None, None) => String::new(),
        };
        let visit = Visit {
            public_url: public_url(state, &server, &parts.headers),
            viewer: user.as_ref().map(|user| SignedIn {
                username: user.username.to_string(),
                is_administrator: user.role == Role::Admin,
            }),
            csrf,
            notice: parts.uri.query().and_then(notice),
            now: state.registry.now(),
        };
        Ok(Visitor { visit, user, session, address, form_cookie })
    }
}

/// The address of the registry in links for elsewhere: the configured one, or else the one that the browser used.
fn public_url(state: &AppState, server: &Server, headers: &HeaderMap) -> String {
    let configured = state.registry.settings().public_url.clone();
    let configured = configured.or_else(|| server.public_url().map(ToString::to_string));
    if let Some(configured) = configured {
        return configured.trim_end_matches('/').to_owned();
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let is_host =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']');
    let host = if host.bytes().all(is_host) { host } else { "localhost" };
    format!("http://{host}")
}

/// What a page says after a form: `?done=CODE`. The words are ours, so that no link can put words on a page.
fn notice(query: &str) -> Option<Notice> {
    let (_, code) =
        url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "done")?;
    let text = match &*code {
        "review" => "Your review was saved.",
        "review-deleted" => "Your rating and review were deleted.",
        "report" => "Your report was sent to the moderators.",
        "yank" => "The version was yanked.",
        "unyank" => "The version can be chosen again.",
        "deprecate" => "The deprecation was saved.",
        "revoke" => "The version was revoked.",
        "approve" => "The skill is visible now.",
        "hide" => "The skill was hidden.",
        "dismiss" => "The reports were dismissed.",
        "token-revoked" => "The token was revoked.",
        "password" => "The password was changed. Other sessions have ended.",
        "invited" => "The invitation was sent.",
        "member-removed" => "The member was removed.",
        "joined" => "You are a member now.",
        "organisation" => "The organisation was made.",
        "publisher-added" => "The workflow may publish now.",
        "publisher-removed" => "The workflow may not publish any more.",
        "two-factor-off" => "Two-factor sign-in is off.",
        "signed-out" => "You are signed out.",
        _ => return None,
    };
    Some(Notice { class: "ok", text: text.to_owned() })
}

/// The fields of a form.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// The value of a field; empty if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// The value of a field as it was typed, for passwords.
    pub(crate) fn exact(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }

    /// The value of a field; none if it is empty.
    pub(crate) fn optional(&self, name: &str) -> Option<&str> {
        Some(self.get(name)).filter(|value| !value.is_empty())
    }
}

/// A form that came from one of our own pages: its origin and its token are right. There is no other way to read a form.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) visitor: Visitor,
    pub(crate) fields: Fields,
}

impl FromRequest<AppState> for Posted {
    type Rejection = PageError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, PageError> {
        let (mut parts, body) = request.into_parts();
        let visitor = Visitor::from_request_parts(&mut parts, state).await?;
        if !is_same_origin(&parts.headers) {
            return Err(PageError::forged());
        }
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
            return Err(PageError::forged());
        }
        let body = Bytes::from_request(Request::from_parts(parts, body), state)
            .await
            .map_err(|_| PageError::too_large())?;
        let fields = url::form_urlencoded::parse(&body).into_owned().collect();
        let fields = Fields(fields);
        visitor.check_token(fields.get("csrf"))?;
        Ok(Posted { visitor, fields })
    }
}

/// Whether a form comes from our own pages. Browsers say so; what says nothing is not a browser and has no cookies to abuse,
/// but it has no token either.
fn is_same_origin(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin";
    }
    let Some(origin) = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()) else {
        return true;
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = url::Url::parse(origin).ok();
    let authority = origin.as_ref().map(url::Url::authority);
    authority.is_some() && authority == host
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn forms_of_other_sites_are_refused() {
        let host = ("host", "skills.example:8788");
        assert!(is_same_origin(&headers(&[host, ("origin", "http://skills.example:8788")])));
        assert!(is_same_origin(&headers(&[host, ("sec-fetch-site", "same-origin")])));
        for (name, value) in [
            ("origin", "http://evil.example"),
            ("origin", "http://skills.example"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert!(!is_same_origin(&headers(&[host, (name, value)])), "{name}: {value}");
        }
    }

    #[test]
    fn a_cookie_for_forms_counts_once_and_in_its_own_form() {
        let good = "0123456789abcdef0123456789abcdef";
        let cookie = |text: String| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, text.parse().unwrap());
            form_cookie(&headers)
        };
        assert_eq!(cookie(format!("a=b; {FORM_COOKIE}={good}")).as_deref(), Some(good));
        assert_eq!(cookie(format!("{FORM_COOKIE}={good}; {FORM_COOKIE}={good}")), None);
        assert_eq!(cookie(format!("{FORM_COOKIE}=short")), None);
    }

    #[test]
    fn notices_have_no_words_of_visitors() {
        assert_eq!(notice("done=%3Cscript%3E"), None);
        assert_eq!(notice("x=1&done=yank").unwrap().text, "The version was yanked.");
    }
}
