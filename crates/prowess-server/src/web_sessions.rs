//! Sessions of browsers on server-rendered pages: a cookie, and a token against requests forged by other sites.

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use http::header::{COOKIE, HeaderMap, HeaderValue};
use prowess_core::{Problem, ProblemKind};
use ring::hmac;
use subtle::ConstantTimeEq as _;

use crate::accounts::{REMEMBERED, User};
use crate::clock::{SharedClock, Timestamp};
use crate::database::{Database, DatabaseError, values};
use crate::recent::Recent;
use crate::secret::{Secret, TokenHash, new_id, new_token, token_hash};

const PREFIX: &str = "prws_";

/// How long a session lasts at most.
const LIFETIME: Duration = Duration::from_hours(30 * 24);

/// How long an unused session lasts.
const IDLE: Duration = Duration::from_hours(7 * 24);

/// How exactly the time of the last use is known: more would be a write per page.
const SEEN_PRECISION: Duration = Duration::from_mins(10);

/// Sessions whose state is remembered.
const MOST_REMEMBERED: usize = 10_000;

/// A session that a browser has proven to have.
#[derive(Clone, Debug)]
pub struct WebSession {
    /// Its identifier, which may be shown.
    pub id: String,
    /// The identifier of the user.
    pub user_id: String,
    hash: TokenHash,
    csrf: Secret,
}

impl WebSession {
    /// The token for the forms of this session: a hidden field, or the header `X-CSRF-Token`.
    pub fn csrf(&self) -> &str {
        self.csrf.expose()
    }

    /// Refuses a form whose token is not that of this session.
    pub fn check_csrf(&self, token: &str) -> Result<(), Problem> {
        let is_equal: bool = self.csrf.expose().as_bytes().ct_eq(token.as_bytes()).into();
        if is_equal {
            return Ok(());
        }
        Err(Problem::new(
            "forged-request",
            ProblemKind::Refused,
            "the form does not belong to this session",
        )
        .advice("load the page again and repeat what you did"))
    }
}

/// A session that was just started.
#[derive(Debug)]
pub struct NewWebSession {
    /// The value of the `Set-Cookie` header.
    pub set_cookie: HeaderValue,
    /// The session.
    pub session: WebSession,
}

/// The sessions of browsers.
pub struct WebSessions {
    database: Database,
    clock: SharedClock,
    cookie: String,
    is_secure: bool,
    remembered: Recent<TokenHash, Option<StoredSession>>,
}

#[derive(Clone)]
struct StoredSession {
    id: String,
    user_id: String,
    seen_at: Timestamp,
    expires_at: Timestamp,
}

impl WebSessions {
    /// With `is_secure` the cookie is sent over HTTPS only, and no other host of the domain can set it.
    pub(crate) fn new(
        database: Database,
        clock: SharedClock,
        name: &str,
        is_secure: bool,
    ) -> WebSessions {
        let prefix = if is_secure { "__Host-" } else { "" };
        WebSessions {
            remembered: Recent::new(clock.clone(), REMEMBERED, MOST_REMEMBERED),
            database,
            clock,
            cookie: format!("{prefix}{name}"),
            is_secure,
        }
    }

    /// Starts a session for a user who has proven to be one: see [`crate::log_in::LogIns::authenticate`].
    pub async fn start(&self, user: &User) -> Result<NewWebSession, DatabaseError> {
        let (token, hash) = new_token(PREFIX);
        let session = session_of(&token, hash, new_id("w"), user.id.clone());
        let now = self.clock.now();
        let (id, user_id) = (session.id.clone(), session.user_id.clone());
        self.database
            .write(move |transaction| {
                transaction.execute(
                    "INSERT INTO web_sessions (hash, id, user_id, created_at, seen_at, expires_at)
                     VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
                    &values![hash, &id, &user_id, now, now + LIFETIME],
                )?;
                Ok::<_, DatabaseError>(())
            })
            .await?;
        Ok(NewWebSession { set_cookie: self.set_cookie(token.expose(), LIFETIME), session })
    }

    /// The session whose cookie a request has.
    pub async fn verify(&self, headers: &HeaderMap) -> Result<Option<WebSession>, DatabaseError> {
        let Some(token) = cookie(headers, &self.cookie) else {
            return Ok(None);
        };
        let Some(hash) = token_hash(PREFIX, token) else {
            return Ok(None);
        };
        let now = self.clock.now();
        let stored = match self.remembered.get(&hash) {
            Some(stored) => stored,
            None => {
                let stored = self.read(hash).await?;
                self.remembered.insert(hash, stored.clone());
                stored
            }
        };
        let is_alive =
            |stored: &StoredSession| stored.expires_at > now && now.since(stored.seen_at) < IDLE;
        let Some(stored) = stored.filter(is_alive) else {
            return Ok(None);
        };
        if now.since(stored.seen_at) >= SEEN_PRECISION {
            self.remembered.insert(hash, Some(StoredSession { seen_at: now, ..stored.clone() }));
            self.database
                .write(move |transaction| {
                    transaction.execute(
                        "UPDATE web_sessions SET seen_at = ?2 WHERE hash = ?1",
                        &values![hash, now],
                    )?;
                    Ok::<_, DatabaseError>(())
                })
                .await?;
        }
        Ok(Some(session_of(&Secret::new(token), hash, stored.id, stored.user_id)))
    }

    async fn read(&self, hash: TokenHash) -> Result<Option<StoredSession>, DatabaseError> {
        self.database
            .read(move |connection| {
                let row = connection.query_optional(
                    "SELECT id, user_id, seen_at, expires_at FROM web_sessions WHERE hash = ?1",
                    &values![hash],
                )?;
                let stored = |row: crate::database::Row| {
                    Ok(StoredSession {
                        id: row.get("id")?,
                        user_id: row.get("user_id")?,
                        seen_at: row.get("seen_at")?,
                        expires_at: row.get("expires_at")?,
                    })
                };
                row.map(stored).transpose()
            })
            .await
    }

    /// Ends a session. The answer is the `Set-Cookie` header that removes the cookie.
    pub async fn end(&self, session: &WebSession) -> Result<HeaderValue, DatabaseError> {
        let hash = session.hash;
        self.database
            .write(move |transaction| {
                transaction.execute("DELETE FROM web_sessions WHERE hash = ?1", &values![hash])?;
                Ok::<_, DatabaseError>(())
            })
            .await?;
        self.remembered.remove(&hash);
        Ok(self.set_cookie("", Duration::ZERO))
    }

    pub(crate) async fn sweep(&self) -> Result<(), DatabaseError> {
        let now = self.clock.now();
        self.database
            .write(move |transaction| {
                transaction.execute(
                    "DELETE FROM web_sessions WHERE expires_at <= ?1 OR seen_at < ?2",
                    &values![now, now - IDLE],
                )?;
                Ok(())
            })
            .await
    }

    /// Whether a request has a cookie of ours, valid or not: responses to it must not be shared.
    pub(crate) fn has_cookie(&self, headers: &HeaderMap) -> bool {
        cookie(headers, &self.cookie).is_some()
    }

    fn set_cookie(&self, value: &str, lifetime: Duration) -> HeaderValue {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text = format!(
            "{}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
            self.cookie,
            lifetime.as_secs()
        );
        let mut value = HeaderValue::from_str(&text).expect("base32 and fixed words are valid");
        value.set_sensitive(true);
        value
    }
}

fn session_of(token: &Secret, hash: TokenHash, id: String, user_id: String) -> WebSession {
    // It follows from the cookie, which other sites can't read, so that nothing has to be stored.
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.expose().as_bytes());
    let csrf = BASE64URL_NOPAD.encode(hmac::sign(&key, b"csrf").as_ref());
    WebSession { id, user_id, hash, csrf: Secret::new(csrf) }
}

/// The value of a cookie. A cookie that is there twice counts as missing: one of them was planted.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut found = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(cookie, _)| *cookie == name)
        .map(|(_, value)| value);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
