//! API tokens: scoped, expiring, revocable, and stored as their hash only.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use prowess_core::{Problem, ProblemKind};
use serde::{Serialize, Serializer};

use crate::accounts::REMEMBERED;
use crate::clock::{SharedClock, Timestamp};
use crate::database::{Database, DatabaseError, Row, Transaction, values};
use crate::recent::Recent;
use crate::secret::{Secret, TokenHash, new_id, new_token, token_hash};

/// The prefix of API tokens, by which scanners for secrets find them.
pub const TOKEN_PREFIX: &str = "prw_";

/// The longest name of a token, in characters.
pub const MOST_NAME_CHARACTERS: usize = 100;

/// Scopes of one token.
pub const MOST_SCOPES: usize = 32;

/// The longest scope, in bytes.
const MOST_SCOPE_BYTES: usize = 200;

/// Tokens of one user that are neither revoked nor expired.
const MOST_TOKENS: u64 = 100;

/// Tokens whose state is remembered.
const MOST_REMEMBERED: usize = 10_000;

/// How exactly the time of the last use is known: more would be a write per request.
const USE_PRECISION: Duration = Duration::from_hours(1);

/// What a token may do, and to what: `publish`, `publish:acme/*`, `yank:acme/weather`, or `*` for everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    action: String,
    resource: Option<String>,
}

/// An invalid scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a scope is an action in lower case, `*`, or an action with a resource such as `publish:acme/*`"
)]
pub struct ScopeError;

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Scope, ScopeError> {
        if text.len() > MOST_SCOPE_BYTES {
            return Err(ScopeError);
        }
        let (action, resource) = match text.split_once(':') {
            Some((action, resource)) => (action, Some(resource)),
            None => (text, None),
        };
        let is_word =
            !action.is_empty() && action.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'-'));
        let is_resource = |resource: &str| {
            let (name, is_pattern) = match resource.strip_suffix('*') {
                Some(name) => (name, true),
                None => (resource, false),
            };
            // A star stands for whole parts only: `acme*` would also be a stranger's `acme-evil`.
            let is_whole = !is_pattern || name.is_empty() || name.ends_with('/');
            let is_safe = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'/');
            !resource.is_empty() && is_whole && name.bytes().all(is_safe)
        };
        let is_everything = action == "*" && resource.is_none();
        if !(is_everything || is_word && resource.is_none_or(is_resource)) {
            return Err(ScopeError);
        }
        Ok(Scope { action: action.to_owned(), resource: resource.map(str::to_owned) })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.action)?;
        match &self.resource {
            Some(resource) => write!(formatter, ":{resource}"),
            None => Ok(()),
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Scope {
    /// Everything that the user may do.
    pub fn everything() -> Scope {
        Scope { action: "*".to_owned(), resource: None }
    }

    /// The action, or `*`.
    pub fn action(&self) -> &str {
        &self.action
    }

    /// Whether it covers an action on a resource. An empty resource is one that has no name, such as a list.
    pub fn allows(&self, action: &str, resource: &str) -> bool {
        if self.action == "*" {
            return true;
        }
        self.action == action
            && match self.resource.as_deref() {
                None => true,
                Some(pattern) => match pattern.strip_suffix('*') {
                    Some(start) => resource.starts_with(start),
                    None => resource == pattern,
                },
            }
    }
}

/// A token to be made.
#[derive(Clone, Debug)]
pub struct NewApiToken {
    /// The identifier of its user.
    pub user_id: String,
    /// What it is for, in the user's words.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// How long it is valid; `None` for as long as nobody revokes it.
    pub lifetime: Option<Duration>,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApiToken {
    /// Its identifier: `t_…`.
    pub id: String,
    /// The identifier of its user.
    pub user_id: String,
    /// What it is for.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// When it was used last, to the hour.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl ApiToken {
    fn from_row(row: &Row) -> Result<ApiToken, DatabaseError> {
        let scopes: String = row.get("scopes")?;
        let scopes = scopes.split_whitespace().map(str::parse).collect::<Result<_, _>>();
        Ok(ApiToken {
            id: row.get("id")?,
            user_id: row.get("user_id")?,
            name: row.get("name")?,
            scopes: scopes.map_err(|_| DatabaseError::Type {
                column: "scopes".to_owned(),
                expected: "scopes",
            })?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            last_used_at: row.get("last_used_at")?,
            revoked_at: row.get("revoked_at")?,
        })
    }

    /// Whether it is neither expired nor revoked.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| end > now)
    }

    /// Whether one of its scopes covers an action on a resource.
    pub fn allows(&self, action: &str, resource: &str) -> bool {
        self.scopes.iter().any(|scope| scope.allows(action, resource))
    }
}

const COLUMNS: &str = "id, user_id, name, scopes, created_at, expires_at, last_used_at, revoked_at";

/// The API tokens of a server.
pub struct ApiTokens {
    database: Database,
    clock: SharedClock,
    remembered: Recent<TokenHash, Option<ApiToken>>,
}

impl ApiTokens {
    pub(crate) fn new(database: Database, clock: SharedClock) -> ApiTokens {
        let remembered = Recent::new(clock.clone(), REMEMBERED, MOST_REMEMBERED);
        ApiTokens { database, clock, remembered }
    }

    /// Makes a token. Its secret is shown this once.
    pub async fn create(&self, new: NewApiToken) -> Result<(ApiToken, Secret), Problem> {
        let token = self.new_record(new)?;
        let (secret, hash) = new_token(TOKEN_PREFIX);
        let added = token.clone();
        self.database.write(move |transaction| insert(transaction, &added, hash)).await?;
        Ok((token, secret))
    }

    fn new_record(&self, new: NewApiToken) -> Result<ApiToken, Problem> {
        let NewApiToken { user_id, name, scopes, lifetime } = new;
        let name = name.trim().to_owned();
        let invalid = |message: String| {
            Problem::new("invalid-token-request", ProblemKind::InvalidInput, message)
        };
        let is_name = |name: &str| {
            (1..=MOST_NAME_CHARACTERS).contains(&name.chars().count())
                && !name.chars().any(char::is_control)
        };
        if !is_name(&name) {
            return Err(invalid(format!(
                "the name of a token has 1 to {MOST_NAME_CHARACTERS} characters"
            )));
        }
        if scopes.is_empty() || scopes.len() > MOST_SCOPES {
            return Err(invalid(format!("a token has 1 to {MOST_SCOPES} scopes")));
        }
        if lifetime.is_some_and(|lifetime| lifetime.is_zero()) {
            return Err(invalid("a token is valid for at least a second".to_owned()));
        }
        let now = self.clock.now();
        Ok(ApiToken {
            id: new_id("t"),
            user_id,
            name,
            scopes,
            created_at: now,
            expires_at: lifetime.map(|lifetime| now + lifetime),
            last_used_at: None,
            revoked_at: None,
        })
    }

    /// The token with a secret, if it is neither expired nor revoked, as of less than a second ago.
    pub async fn verify(&self, secret: &str) -> Result<Option<ApiToken>, DatabaseError> {
        let Some(hash) = token_hash(TOKEN_PREFIX, secret) else {
            return Ok(None);
        };
        let now = self.clock.now();
        let token = match self.remembered.get(&hash) {
            Some(token) => token,
            None => {
                let token = self.read(hash).await?;
                self.remembered.insert(hash, token.clone());
                token
            }
        };
        let Some(token) = token.filter(|token| token.is_valid_at(now)) else {
            return Ok(None);
        };
        if token.last_used_at.is_none_or(|used| now.since(used) >= USE_PRECISION) {
            self.note_use(hash, &token, now).await?;
        }
        Ok(Some(token))
    }

    async fn read(&self, hash: TokenHash) -> Result<Option<ApiToken>, DatabaseError> {
        let sql = format!("SELECT {COLUMNS} FROM api_tokens WHERE hash = ?1");
        self.database
            .read(move |connection| {
                connection
                    .query_optional(&sql, &values![hash])?
                    .as_ref()
                    .map(ApiToken::from_row)
                    .transpose()
            })
            .await
    }

    async fn note_use(
        &self,
        hash: TokenHash,
        token: &ApiToken,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        let used = ApiToken { last_used_at: Some(now), ..token.clone() };
        self.remembered.insert(hash, Some(used));
        let id = token.id.clone();
        self.database
            .write(move |transaction| {
                transaction.execute(
                    "UPDATE api_tokens SET last_used_at = ?2 WHERE id = ?1",
                    &values![&id, now],
                )?;
                Ok(())
            })
            .await
    }

    /// The tokens of a user that are not revoked, the newest first.
    pub async fn of_user(&self, user_id: &str) -> Result<Vec<ApiToken>, DatabaseError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM api_tokens WHERE user_id = ?1 AND revoked_at IS NULL
             ORDER BY created_at DESC, id LIMIT 500"
        );
        let user_id = user_id.to_owned();
        self.database
            .read(move |connection| {
                connection.query(&sql, &values![&user_id])?.iter().map(ApiToken::from_row).collect()
            })
            .await
    }

    /// Revokes a token of a user. On other nodes it ends within a second.
    pub async fn revoke(&self, user_id: &str, id: &str) -> Result<(), Problem> {
        let (user_id, id, now) = (user_id.to_owned(), id.to_owned(), self.clock.now());
        let hash = self
            .database
            .write(move |transaction| {
                let row = transaction.query_optional(
                    "UPDATE api_tokens SET revoked_at = ?3
                     WHERE id = ?1 AND user_id = ?2 AND revoked_at IS NULL RETURNING hash",
                    &values![&id, &user_id, now],
                )?;
                row.map(|row| row.get::<TokenHash>("hash")).transpose()
            })
            .await?;
        let Some(hash) = hash else {
            return Err(Problem::new(
                "token-not-found",
                ProblemKind::NotFound,
                "there is no such token, or it is revoked already",
            ));
        };
        self.remembered.remove(&hash);
        Ok(())
    }
}

fn insert(
    transaction: &mut Transaction<'_>,
    token: &ApiToken,
    hash: TokenHash,
) -> Result<(), TokenInsertError> {
    let row = transaction.query_one(
        "SELECT COUNT(*) AS count FROM api_tokens
         WHERE user_id = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)",
        &values![&token.user_id, token.created_at],
    )?;
    if row.get::<u64>("count")? >= MOST_TOKENS {
        return Err(TokenInsertError::TooMany);
    }
    let scopes: Vec<String> = token.scopes.iter().map(ToString::to_string).collect();
    transaction.execute(
        "INSERT INTO api_tokens (id, user_id, name, hash, scopes, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        &values![
            &token.id,
            &token.user_id,
            &token.name,
            hash,
            scopes.join(" "),
            token.created_at,
            token.expires_at
        ],
    )?;
    Ok(())
}

enum TokenInsertError {
    Database(DatabaseError),
    TooMany,
}

impl From<DatabaseError> for TokenInsertError {
    fn from(error: DatabaseError) -> TokenInsertError {
        TokenInsertError::Database(error)
    }
}

impl From<TokenInsertError> for Problem {
    fn from(error: TokenInsertError) -> Problem {
        match error {
            TokenInsertError::Database(error) => error.into(),
            TokenInsertError::TooMany => Problem::new(
                "too-many-tokens",
                ProblemKind::Conflict,
                format!("a user has at most {MOST_TOKENS} tokens"),
            )
            .advice("revoke one that you no longer need"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    fn allows(scope: &str, action: &str, resource: &str) -> bool {
        scope.parse::<Scope>().expect("a scope").allows(action, resource)
    }

    #[test]
    fn a_scope_covers_its_action_and_resource_only() {
        assert!(allows("publish:acme/weather", "publish", "acme/weather"));
        assert!(!allows("publish:acme/weather", "publish", "acme/weather-evil"));
        assert!(!allows("publish:acme/weather", "yank", "acme/weather"));
        assert!(allows("publish:acme/*", "publish", "acme/weather"));
        assert!(!allows("publish:acme/*", "publish", "acme-evil/weather"));
        assert!(allows("publish", "publish", "acme/weather"));
        assert!(!allows("publish", "publish-all", ""));
        assert!(allows("publish:*", "publish", "acme/weather"));
        assert!(allows("*", "yank", "acme/weather"));
    }

    #[test]
    fn what_is_no_scope_is_refused() {
        for text in [
            "",
            ":",
            "publish:",
            "publish:acme*",
            "Publish",
            "*:acme",
            "a b",
            "publish:a b",
            "publish:*/x",
        ] {
            assert!(text.parse::<Scope>().is_err(), "{text}");
        }
    }
}
