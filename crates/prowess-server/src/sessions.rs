//! Sessions of programs: short access tokens (JWT), and refresh tokens that are replaced at each use.
//!
//! A refresh token that is used twice was stolen, from the user or by the user's thief; which of the two is asking can't be
//! known, so the whole family of tokens ends (RFC 9700 §4.14.2).

mod keys;

use std::time::Duration;

use jsonwebtoken::{Algorithm, Header, Validation};
use prowess_core::{Problem, ProblemKind};
use serde::{Deserialize, Serialize};

use self::keys::SigningKeys;
use crate::accounts::{REMEMBERED, User, user_by_id};
use crate::clock::{SharedClock, Timestamp};
use crate::database::{Database, DatabaseError, Transaction, values};
use crate::recent::Recent;
use crate::secret::{Secret, TokenHash, new_id, new_token, token_hash};

/// How long an access token is valid.
pub const ACCESS_LIFETIME: Duration = Duration::from_mins(15);

/// How long a session lasts at most, however often it is refreshed.
pub const SESSION_LIFETIME: Duration = Duration::from_hours(30 * 24);

/// The longest access token that is looked at.
const MOST_TOKEN_BYTES: usize = 2048;

const REFRESH_PREFIX: &str = "prwr_";

/// The type of access tokens (RFC 9068 §2.1), so that no other token of ours is taken for one.
const ACCESS_TYPE: &str = "at+jwt";

/// Sessions whose state is remembered.
const MOST_REMEMBERED: usize = 10_000;

/// The answer to a log-in.
#[derive(Clone, Debug)]
pub struct TokenPair {
    /// For the `Authorization` header.
    pub access_token: Secret,
    /// For the next pair.
    pub refresh_token: Secret,
    /// How long the access token is valid.
    pub expires_in: Duration,
}

impl TokenPair {
    /// The response to the client: `access_token`, `refresh_token`, `token_type`, `expires_in`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "access_token": self.access_token.expose(),
            "refresh_token": self.refresh_token.expose(),
            "token_type": "Bearer",
            "expires_in": self.expires_in.as_secs(),
        })
    }
}

/// The claims of an access token. The role is not among them: it is asked for at each request.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    sid: String,
    iat: i64,
    exp: i64,
}

/// The identity that an access token proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessIdentity {
    /// The identifier of the user.
    pub user_id: String,
    /// The identifier of the session.
    pub session_id: String,
}

/// The sessions of a server.
pub struct Sessions {
    database: Database,
    clock: SharedClock,
    issuer: String,
    keys: SigningKeys,
    alive: Recent<String, bool>,
}

impl Sessions {
    pub(crate) fn new(database: Database, clock: SharedClock, issuer: &str) -> Sessions {
        Sessions {
            keys: SigningKeys::new(database.clone(), clock.clone()),
            alive: Recent::new(clock.clone(), REMEMBERED, MOST_REMEMBERED),
            database,
            clock,
            issuer: issuer.to_owned(),
        }
    }

    /// Starts a session for a user who has proven to be one: see [`crate::log_in::LogIns::authenticate`].
    pub async fn start(&self, user: &User) -> Result<TokenPair, Problem> {
        let session = new_id("s");
        let (refresh, hash) = new_token(REFRESH_PREFIX);
        let now = self.clock.now();
        let (id, user_id) = (session.clone(), user.id.clone());
        self.database
            .write(move |transaction| {
                transaction.execute(
                    "INSERT INTO refresh_families (id, user_id, created_at, expires_at)
                     VALUES (?1, ?2, ?3, ?4)",
                    &values![&id, &user_id, now, now + SESSION_LIFETIME],
                )?;
                insert_refresh_token(transaction, hash, &id)
            })
            .await?;
        self.pair(&user.id, &session, refresh, now).await
    }

    /// Replaces a refresh token by a new pair. A token that was replaced before ends its session.
    pub async fn refresh(&self, refresh_token: &str) -> Result<TokenPair, Problem> {
        let hash = token_hash(REFRESH_PREFIX, refresh_token).ok_or_else(invalid_refresh_token)?;
        let (next, next_hash) = new_token(REFRESH_PREFIX);
        let now = self.clock.now();
        let outcome = self
            .database
            .write(move |transaction| replace(transaction, hash, next_hash, now))
            .await?;
        match outcome {
            Replaced::Yes { user_id, session } => self.pair(&user_id, &session, next, now).await,
            Replaced::Reused { session } => {
                self.alive.remove(&session);
                tracing::warn!(%session, "a refresh token was used twice, its session has ended");
                Err(invalid_refresh_token())
            }
            Replaced::No => Err(invalid_refresh_token()),
        }
    }

    /// Ends the session of a refresh token. Its access tokens are void as well. An unknown token is no error.
    pub async fn log_out(&self, refresh_token: &str) -> Result<(), DatabaseError> {
        let Some(hash) = token_hash(REFRESH_PREFIX, refresh_token) else {
            return Ok(());
        };
        let now = self.clock.now();
        let session = self
            .database
            .write(move |transaction| {
                let row = transaction.query_optional(
                    "SELECT family FROM refresh_tokens WHERE hash = ?1",
                    &values![hash],
                )?;
                let session = row.map(|row| row.get::<String>("family")).transpose()?;
                if let Some(session) = &session {
                    end(transaction, session, now)?;
                }
                Ok::<_, DatabaseError>(session)
            })
            .await?;
        if let Some(session) = session {
            self.alive.remove(&session);
        }
        Ok(())
    }

    /// Checks an access token: its signature, its times, and that its session has not ended. `None` if it is not valid.
    pub async fn verify(
        &self,
        access_token: &str,
    ) -> Result<Option<AccessIdentity>, DatabaseError> {
        if access_token.len() > MOST_TOKEN_BYTES {
            return Ok(None);
        }
        let Ok(header) = jsonwebtoken::decode_header(access_token) else {
            return Ok(None);
        };
        let (Some(kid), true) = (header.kid, header.typ.as_deref() == Some(ACCESS_TYPE)) else {
            return Ok(None);
        };
        let Some(key) = self.keys.verifying(&kid).await? else {
            return Ok(None);
        };
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[&self.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "sub"]);
        // The library only knows the clock of the system.
        validation.validate_exp = false;
        validation.validate_aud = false;
        let Ok(token) = jsonwebtoken::decode::<Claims>(access_token, &key, &validation) else {
            return Ok(None);
        };
        let Claims { sub, sid, iat, exp, .. } = token.claims;
        let now = self.clock.now().seconds();
        // A token from the future was made by a node whose clock is wrong; a minute is tolerated.
        if now >= exp || iat > now + 60 {
            return Ok(None);
        }
        let is_alive = match self.alive.get(&sid) {
            Some(is_alive) => is_alive,
            None => self.read_alive(&sid).await?,
        };
        Ok(is_alive.then_some(AccessIdentity { user_id: sub, session_id: sid }))
    }

    /// Makes a new signing key. Tokens of the old one stay valid until they expire.
    pub async fn rotate_key(&self) -> Result<(), DatabaseError> {
        self.keys.rotate().await
    }

    /// Makes a new signing key if the newest is old, and removes those that no valid token has.
    pub(crate) async fn maintain(&self) -> Result<(), DatabaseError> {
        self.keys.maintain().await?;
        let now = self.clock.now();
        self.database
            .write(move |transaction| {
                transaction.execute(
                    "DELETE FROM refresh_families WHERE expires_at <= ?1",
                    &values![now],
                )?;
                Ok(())
            })
            .await
    }

    async fn read_alive(&self, session: &str) -> Result<bool, DatabaseError> {
        let (id, now) = (session.to_owned(), self.clock.now());
        let is_alive = self
            .database
            .read(move |connection| {
                let row = connection.query_optional(
                    "SELECT 1 AS one FROM refresh_families
                     WHERE id = ?1 AND ended_at IS NULL AND expires_at > ?2",
                    &values![&id, now],
                )?;
                Ok::<_, DatabaseError>(row.is_some())
            })
            .await?;
        self.alive.insert(session.to_owned(), is_alive);
        Ok(is_alive)
    }

    async fn pair(
        &self,
        user_id: &str,
        session: &str,
        refresh_token: Secret,
        now: Timestamp,
    ) -> Result<TokenPair, Problem> {
        let (kid, key) = self.keys.signing().await?;
        let claims = Claims {
            iss: self.issuer.clone(),
            sub: user_id.to_owned(),
            sid: session.to_owned(),
            iat: now.seconds(),
            exp: (now + ACCESS_LIFETIME).seconds(),
        };
        let mut header = Header::new(Algorithm::HS256);
        header.typ = Some(ACCESS_TYPE.to_owned());
        header.kid = Some(kid);
        let access_token = jsonwebtoken::encode(&header, &claims, &key).map_err(|_| {
            Problem::new("token-failed", ProblemKind::Internal, "cannot sign an access token")
        })?;
        Ok(TokenPair {
            access_token: Secret::new(access_token),
            refresh_token,
            expires_in: ACCESS_LIFETIME,
        })
    }
}

/// What became of a refresh token.
enum Replaced {
    Yes { user_id: String, session: String },
    Reused { session: String },
    No,
}

fn replace(
    transaction: &mut Transaction<'_>,
    hash: TokenHash,
    next: TokenHash,
    now: Timestamp,
) -> Result<Replaced, DatabaseError> {
    let row = transaction.query_optional(
        "SELECT t.used_at, f.id, f.user_id, f.expires_at, f.ended_at
         FROM refresh_tokens t JOIN refresh_families f ON f.id = t.family WHERE t.hash = ?1",
        &values![hash],
    )?;
    let Some(row) = row else {
        return Ok(Replaced::No);
    };
    let session: String = row.get("id")?;
    let user_id: String = row.get("user_id")?;
    let has_ended = row.get::<Option<Timestamp>>("ended_at")?.is_some();
    if has_ended || row.get::<Timestamp>("expires_at")? <= now {
        return Ok(Replaced::No);
    }
    if row.get::<Option<Timestamp>>("used_at")?.is_some() {
        end(transaction, &session, now)?;
        return Ok(Replaced::Reused { session });
    }
    if user_by_id(transaction, &user_id)?.is_none_or(|user| user.disabled) {
        return Ok(Replaced::No);
    }
    transaction
        .execute("UPDATE refresh_tokens SET used_at = ?2 WHERE hash = ?1", &values![hash, now])?;
    insert_refresh_token(transaction, next, &session)?;
    Ok(Replaced::Yes { user_id, session })
}

fn insert_refresh_token(
    transaction: &mut Transaction<'_>,
    hash: TokenHash,
    session: &str,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "INSERT INTO refresh_tokens (hash, family) VALUES (?1, ?2)",
        &values![hash, session],
    )?;
    Ok(())
}

fn end(
    transaction: &mut Transaction<'_>,
    session: &str,
    now: Timestamp,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "UPDATE refresh_families SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL",
        &values![session, now],
    )?;
    Ok(())
}

fn invalid_refresh_token() -> Problem {
    Problem::new(
        "invalid-refresh-token",
        ProblemKind::Unauthorized,
        "the refresh token is not valid: it has expired, or it was used before",
    )
    .advice("log in again")
}
