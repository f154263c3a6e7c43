//! Who sends a request, as arguments of handlers.
//!
//! The state of a router has to give a [`Server`]: `impl FromRef<MyState> for Server`.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;

use axum::extract::{ConnectInfo, FromRef, FromRequestParts, OptionalFromRequestParts};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, Method};
use ipnet::IpNet;
use prowess_core::{Problem, ProblemKind};

use crate::Server;
use crate::accounts::{Role, User};
use crate::problem::{ProblemDocument, unauthorized};
use crate::tokens::ApiToken;
use crate::web_sessions::WebSession;

/// The header that carries the token against forged requests, for scripts of our pages.
pub const CSRF_HEADER: &str = "x-csrf-token";

/// The header in which proxies note the addresses before them.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Addresses in that header that are looked at, from the end.
const MOST_FORWARDED: usize = 16;

/// The identity of a request.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The user.
    pub user: User,
    /// How the user has proven it.
    pub credential: Credential,
}

/// What proves an identity.
#[derive(Clone, Debug)]
pub enum Credential {
    /// An access token.
    Session {
        /// The identifier of the session.
        session_id: String,
    },
    /// An API token, which may do less than its user.
    ApiToken(ApiToken),
    /// The cookie of a browser.
    WebSession(WebSession),
}

impl Identity {
    /// Refuses what the scopes of an API token do not cover. A person who is logged in may do everything that the user may.
    pub fn require_scope(&self, action: &str, resource: &str) -> Result<(), Problem> {
        match &self.credential {
            Credential::ApiToken(token) if !token.allows(action, resource) => Err(Problem::new(
                "out-of-scope",
                ProblemKind::Refused,
                format!("the token `{}` does not have the scope for `{action}`", token.id),
            )
            .advice(format!("create a token with the scope `{}`", scope(action, resource)))),
            Credential::ApiToken(_) | Credential::Session { .. } | Credential::WebSession(_) => {
                Ok(())
            }
        }
    }

    /// Refuses everything but a person who is logged in: tokens can't make tokens.
    pub fn require_person(&self) -> Result<(), Problem> {
        match &self.credential {
            Credential::ApiToken(_) => Err(Problem::new(
                "person-required",
                ProblemKind::Refused,
                "an API token can't be used for this",
            )
            .advice("log in")),
            Credential::Session { .. } | Credential::WebSession(_) => Ok(()),
        }
    }

    /// Refuses users who are no administrators.
    pub fn require_administrator(&self) -> Result<(), Problem> {
        match self.user.role {
            Role::Admin => Ok(()),
            Role::User => Err(Problem::new(
                "administrator-required",
                ProblemKind::Refused,
                "only an administrator may do this",
            )),
        }
    }
}

fn scope(action: &str, resource: &str) -> String {
    if resource.is_empty() { action.to_owned() } else { format!("{action}:{resource}") }
}

/// The identity of a request, which must have one: 401 otherwise.
///
/// It is an access token or an API token in the `Authorization` header, or the cookie of a browser. With a cookie, requests
/// that change something also need the header `X-CSRF-Token`; forms use [`FormUser`] instead.
#[derive(Clone, Debug)]
pub struct CurrentUser(pub Identity);

/// The identity of a request, which may have none. A credential that is not valid is refused all the same.
#[derive(Clone, Debug)]
pub struct OptionalUser(pub Option<Identity>);

/// The identity of an administrator: 403 for other users.
#[derive(Clone, Debug)]
pub struct Administrator(pub Identity);

/// The identity of a browser that sends a form. The handler has to call [`WebSession::check_csrf`] with the form's token.
#[derive(Clone, Debug)]
pub struct FormUser {
    /// The user.
    pub user: User,
    /// The session.
    pub session: WebSession,
}

impl Deref for CurrentUser {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.0
    }
}

impl Deref for Administrator {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.0
    }
}

impl<S> FromRequestParts<S> for CurrentUser
where
    S: Send + Sync,
    Server: FromRef<S>,
{
    type Rejection = ProblemDocument;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemDocument> {
        let server = Server::from_ref(state);
        match identify(&server, &parts.method, &parts.headers).await? {
            Some(identity) => Ok(CurrentUser(identity)),
            None => Err(unauthorized("a token is needed")),
        }
    }
}

impl<S> FromRequestParts<S> for OptionalUser
where
    S: Send + Sync,
    Server: FromRef<S>,
{
    type Rejection = ProblemDocument;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemDocument> {
        let server = Server::from_ref(state);
        Ok(OptionalUser(identify(&server, &parts.method, &parts.headers).await?))
    }
}

impl<S> FromRequestParts<S> for Administrator
where
    S: Send + Sync,
    Server: FromRef<S>,
{
    type Rejection = ProblemDocument;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemDocument> {
        let CurrentUser(identity) = CurrentUser::from_request_parts(parts, state).await?;
        identity.require_administrator()?;
        Ok(Administrator(identity))
    }
}

impl<S> FromRequestParts<S> for FormUser
where
    S: Send + Sync,
    Server: FromRef<S>,
{
    type Rejection = ProblemDocument;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemDocument> {
        let server = Server::from_ref(state);
        match by_cookie(&server, &parts.headers).await? {
            Some((user, session)) => Ok(FormUser { user, session }),
            None => Err(unauthorized("you are not signed in")),
        }
    }
}

impl<S> OptionalFromRequestParts<S> for FormUser
where
    S: Send + Sync,
    Server: FromRef<S>,
{
    type Rejection = ProblemDocument;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &S,
    ) -> Result<Option<Self>, ProblemDocument> {
        let server = Server::from_ref(state);
        let found = by_cookie(&server, &parts.headers).await?;
        Ok(found.map(|(user, session)| FormUser { user, session }))
    }
}

/// Finds out who sends a request.
pub async fn identify(
    server: &Server,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Option<Identity>, ProblemDocument> {
    if let Some(authorization) = headers.get(AUTHORIZATION) {
        let token = authorization.to_str().ok().and_then(bearer);
        let token = token.ok_or_else(|| unauthorized("the `Authorization` header has no token"))?;
        let identity = by_token(server, token).await?;
        return identity.map(Some).ok_or_else(|| {
            unauthorized("the token is not valid: it has expired, or it was revoked")
        });
    }
    let Some((user, session)) = by_cookie(server, headers).await? else {
        return Ok(None);
    };
    if !method.is_safe() {
        let token = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
        session.check_csrf(token.unwrap_or_default())?;
    }
    Ok(Some(Identity { user, credential: Credential::WebSession(session) }))
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}

async fn by_token(server: &Server, token: &str) -> Result<Option<Identity>, Problem> {
    let (user_id, credential) = if token.starts_with(crate::tokens::TOKEN_PREFIX) {
        let Some(token) = server.tokens().verify(token).await? else {
            return Ok(None);
        };
        (token.user_id.clone(), Credential::ApiToken(token))
    } else {
        let Some(access) = server.sessions().verify(token).await? else {
            return Ok(None);
        };
        (access.user_id, Credential::Session { session_id: access.session_id })
    };
    let user = enabled_user(server, &user_id).await?;
    Ok(user.map(|user| Identity { user, credential }))
}

async fn by_cookie(
    server: &Server,
    headers: &HeaderMap,
) -> Result<Option<(User, WebSession)>, Problem> {
    let Some(session) = server.web_sessions().verify(headers).await? else {
        return Ok(None);
    };
    let user = enabled_user(server, &session.user_id).await?;
    Ok(user.map(|user| (user, session)))
}

async fn enabled_user(server: &Server, id: &str) -> Result<Option<User>, Problem> {
    Ok(server.accounts().recent_user(id).await?.filter(|user| !user.disabled))
}

/// The address of the client.
///
/// It is that of the connection, unless a trusted proxy made it: then it is the last address in `X-Forwarded-For` that is
/// not itself a trusted proxy. What comes before that anybody could have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl<S> FromRequestParts<S> for ClientAddress
where
    S: Send + Sync,
    Server: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let server = Server::from_ref(state);
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        // Without a connection there is no client: a test that calls the router directly.
        let peer = peer.map_or(IpAddr::from([127, 0, 0, 1]), |info| info.0.ip());
        Ok(ClientAddress(client_address(peer, &parts.headers, server.trusted_proxies())))
    }
}

/// The address of the client behind trusted proxies.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    let mut client = peer.to_canonical();
    if !is_trusted(client) {
        return client;
    }
    let lines: Vec<&str> =
        headers.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok()).collect();
    let addresses = lines.iter().rev().flat_map(|line| line.rsplit(','));
    for text in addresses.take(MOST_FORWARDED) {
        let Some(address) = forwarded(text.trim()) else {
            // A trusted proxy would not have written this, so the one before is the last known address.
            return client;
        };
        client = address;
        if !is_trusted(client) {
            return client;
        }
    }
    client
}

/// An address, perhaps with a port: some proxies add it.
fn forwarded(text: &str) -> Option<IpAddr> {
    let address =
        text.parse().ok().or_else(|| text.parse::<SocketAddr>().map(|address| address.ip()).ok());
    address
        .or_else(|| text.strip_prefix('[')?.strip_suffix(']')?.parse().ok())
        .map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use http::HeaderMap;

    use super::client_address;

    fn seen(peer: &str, forwarded: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append("x-forwarded-for", line.parse().expect("a header"));
        }
        let trusted = ["10.0.0.0/8".parse().expect("a network"), "::1/128".parse().expect("one")];
        let peer: IpAddr = peer.parse().expect("an address");
        client_address(peer, &headers, &trusted).to_string()
    }

    /// Attack registry-D6.
    #[test]
    fn the_header_of_a_stranger_is_ignored() {
        assert_eq!(seen("203.0.113.7", &["198.51.100.1"]), "203.0.113.7");
        assert_eq!(seen("203.0.113.7", &[]), "203.0.113.7");
    }

    #[test]
    fn the_last_address_before_the_proxies_is_the_client() {
        assert_eq!(seen("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1, 198.51.100.1, 10.0.0.2"]), "198.51.100.1");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1", "198.51.100.1", "10.0.0.2"]), "198.51.100.1");
        assert_eq!(seen("::ffff:10.0.0.1", &["198.51.100.1:4711"]), "198.51.100.1");
        assert_eq!(seen("::1", &["[2001:db8::1]:80"]), "2001:db8::1");
    }

    #[test]
    fn what_is_no_address_ends_the_search() {
        assert_eq!(seen("10.0.0.1", &["198.51.100.1, unknown"]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1", &[""]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1", &["10.0.0.3, 10.0.0.2"]), "10.0.0.3");
    }
}
