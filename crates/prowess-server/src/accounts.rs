//! Users, their passwords, and the one-time link that makes the first of them.

mod password;
mod totp;
mod username;

use std::str::FromStr;
use std::time::Duration;

use prowess_core::{Problem, ProblemKind};
use serde::Serialize;

use self::password::{PasswordHashing, PasswordOutcome};
use crate::clock::{SharedClock, Timestamp};
use crate::database::{Connection, Database, DatabaseError, Row, Transaction, values};
use crate::recent::Recent;
use crate::secret::{Secret, new_id, new_token, token_hash};

pub use password::{MOST_PASSWORD_BYTES, SHORTEST_PASSWORD};
pub use totp::{RecoveryCodes, TotpEnrolment};
pub use username::{MOST_USERNAME_BYTES, Username, UsernameError};

/// The prefix of one-time links.
const LINK_PREFIX: &str = "prwl_";

/// How long the link for the first administrator can be used. Every start makes a new one.
const SETUP_LINK_LIFETIME: Duration = Duration::from_hours(24);

/// How long a user's state may be remembered: after this a node notices what another has changed.
pub(crate) const REMEMBERED: Duration = Duration::from_millis(800);

/// Users whose state is remembered.
const MOST_REMEMBERED: usize = 10_000;

/// The longest list of users that is returned at once.
const MOST_LISTED: usize = 200;

const COLUMNS: &str = "id, username, role, disabled, created_at, totp_enabled";

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Uses the server.
    User,
    /// Also administers it.
    Admin,
}

impl Role {
    /// The name in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = DatabaseError;

    fn from_str(text: &str) -> Result<Role, DatabaseError> {
        match text {
            "user" => Ok(Role::User),
            "admin" => Ok(Role::Admin),
            _ => Err(DatabaseError::Type { column: "role".to_owned(), expected: "a role" }),
        }
    }
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The identifier, which never changes: `u_…`.
    pub id: String,
    /// The name to log in with.
    pub username: Username,
    /// What the user may do.
    pub role: Role,
    /// Whether the user may no longer log in. Tokens of disabled users are refused as well.
    pub disabled: bool,
    /// When the account was made.
    pub created_at: Timestamp,
    /// Whether a second factor is asked for.
    pub has_totp: bool,
}

impl User {
    fn from_row(row: &Row) -> Result<User, DatabaseError> {
        let username: String = row.get("username")?;
        Ok(User {
            id: row.get("id")?,
            username: username.parse().map_err(|_| DatabaseError::Type {
                column: "username".to_owned(),
                expected: "a username",
            })?,
            role: row.get::<String>("role")?.parse()?,
            disabled: row.get("disabled")?,
            created_at: row.get("created_at")?,
            has_totp: row.get("totp_enabled")?,
        })
    }
}

/// A user to be added.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// The name to log in with.
    pub username: Username,
    /// What the user may do.
    pub role: Role,
    /// The password; without one the user logs in through the company's identity provider.
    pub password: Option<Secret>,
}

/// The users of a server.
pub struct Accounts {
    database: Database,
    clock: SharedClock,
    hashing: PasswordHashing,
    remembered: Recent<String, Option<User>>,
}

impl Accounts {
    pub(crate) fn new(database: Database, clock: SharedClock) -> Accounts {
        let remembered = Recent::new(clock.clone(), REMEMBERED, MOST_REMEMBERED);
        Accounts { database, clock, hashing: PasswordHashing::new(), remembered }
    }

    /// Adds a user.
    pub async fn add_user(&self, new: NewUser) -> Result<User, Problem> {
        let hash = match &new.password {
            Some(password) => Some(self.hash(password).await?),
            None => None,
        };
        let user = self.new_record(new.username, new.role);
        let added = user.clone();
        self.database
            .write(move |transaction| insert(transaction, &added, hash.as_deref()))
            .await
            .map_err(|error| taken(error, &user.username))?;
        Ok(user)
    }

    /// [`Accounts::add_user`] for commands, on a thread that may block.
    pub fn add_user_blocking(&self, new: NewUser) -> Result<User, Problem> {
        let hash = match &new.password {
            Some(password) => {
                password::check(password)?;
                Some(password::hash(password)?)
            }
            None => None,
        };
        let user = self.new_record(new.username, new.role);
        let added = user.clone();
        self.database
            .write_blocking(move |transaction| insert(transaction, &added, hash.as_deref()))
            .map_err(|error| taken(error, &user.username))?;
        Ok(user)
    }

    /// Adds a user who logs in through an issuer, as one of its subjects.
    pub(crate) async fn add_user_with_identity(
        &self,
        new: NewUser,
        (issuer, subject): (String, String),
    ) -> Result<User, Problem> {
        let user = self.new_record(new.username, new.role);
        let added = user.clone();
        self.database
            .write(move |transaction| {
                insert(transaction, &added, None)?;
                transaction.execute(
                    "INSERT INTO user_identities (issuer, subject, user_id) VALUES (?1, ?2, ?3)",
                    &values![&issuer, &subject, &added.id],
                )?;
                Ok::<_, DatabaseError>(())
            })
            .await
            .map_err(|error| taken(error, &user.username))?;
        Ok(user)
    }

    fn new_record(&self, username: Username, role: Role) -> User {
        User {
            id: new_id("u"),
            username,
            role,
            disabled: false,
            created_at: self.clock.now(),
            has_totp: false,
        }
    }

    /// Whether there is no user yet.
    pub async fn is_empty(&self) -> Result<bool, DatabaseError> {
        self.database.read(has_no_users).await
    }

    /// The user with an identifier.
    pub async fn user(&self, id: &str) -> Result<Option<User>, DatabaseError> {
        let id = id.to_owned();
        self.database.read(move |connection| user_by_id(connection, &id)).await
    }

    /// The user with an identifier, as of less than a second ago. For the identity of each request.
    pub async fn recent_user(&self, id: &str) -> Result<Option<User>, DatabaseError> {
        if let Some(user) = self.remembered.get(id) {
            return Ok(user);
        }
        let user = self.user(id).await?;
        self.remembered.insert(id.to_owned(), user.clone());
        Ok(user)
    }

    /// The user with a name.
    pub async fn user_by_name(&self, username: &Username) -> Result<Option<User>, DatabaseError> {
        let username = username.clone();
        self.database.read(move |connection| user_by_name(connection, &username)).await
    }

    /// Users by name, after one of them; at most 200.
    pub async fn users(
        &self,
        after: Option<&Username>,
        limit: usize,
    ) -> Result<Vec<User>, DatabaseError> {
        let after = after.map(ToString::to_string).unwrap_or_default();
        let limit = limit.min(MOST_LISTED);
        let sql =
            format!("SELECT {COLUMNS} FROM users WHERE username > ?1 ORDER BY username LIMIT ?2");
        self.database
            .read(move |connection| {
                let rows = connection.query(&sql, &values![&after, limit])?;
                rows.iter().map(User::from_row).collect()
            })
            .await
    }

    /// Changes a password, and ends all sessions of the user.
    pub async fn set_password(&self, id: &str, password: &Secret) -> Result<(), Problem> {
        let hash = self.hash(password).await?;
        let (id, now) = (id.to_owned(), self.clock.now());
        self.change(&id.clone(), move |transaction| {
            let changed = transaction
                .execute("UPDATE users SET password = ?2 WHERE id = ?1", &values![&id, &hash])?;
            end_all_sessions(transaction, &id, now)?;
            Ok(changed)
        })
        .await
    }

    /// Changes what a user may do. The last administrator who can log in stays one.
    pub async fn set_role(&self, id: &str, role: Role) -> Result<(), Problem> {
        let owned = id.to_owned();
        self.change(id, move |transaction| {
            let changed = transaction.execute(
                "UPDATE users SET role = ?2 WHERE id = ?1",
                &values![&owned, role.as_str()],
            )?;
            keep_an_administrator(transaction)?;
            Ok(changed)
        })
        .await
    }

    /// Disables a user, which ends all sessions at once, or enables it again.
    pub async fn set_disabled(&self, id: &str, disabled: bool) -> Result<(), Problem> {
        let (owned, now) = (id.to_owned(), self.clock.now());
        self.change(id, move |transaction| {
            let changed = transaction.execute(
                "UPDATE users SET disabled = ?2 WHERE id = ?1",
                &values![&owned, disabled],
            )?;
            if disabled {
                end_all_sessions(transaction, &owned, now)?;
                keep_an_administrator(transaction)?;
            }
            Ok(changed)
        })
        .await
    }

    /// Changes a user and forgets what was remembered of it.
    async fn change(
        &self,
        id: &str,
        change: impl FnMut(&mut Transaction<'_>) -> Result<u64, AccountChangeError> + Send + 'static,
    ) -> Result<(), Problem> {
        let changed = self.database.write(change).await;
        self.remembered.remove(id);
        match changed {
            Ok(0) => Err(no_such_user()),
            Ok(_) => Ok(()),
            Err(AccountChangeError::Database(error)) => Err(error.into()),
            Err(AccountChangeError::LastAdministrator) => Err(Problem::new(
                "last-administrator",
                ProblemKind::Conflict,
                "this is the last administrator",
            )
            .advice("make another user an administrator first")),
        }
    }

    /// Checks a username and a password. The second factor is not asked for here: logging in is
    /// [`crate::log_in::LogIns::authenticate`].
    ///
    /// An unknown name takes as long as a wrong password and has the same answer, `None`.
    pub async fn verify_password(
        &self,
        username: &str,
        password: &Secret,
    ) -> Result<Option<User>, Problem> {
        let (user, hash) = match username.parse::<Username>() {
            Ok(username) => self.password_of(username).await?,
            Err(_) => (None, None),
        };
        let outcome = self.hashing.verify(password, hash).await?;
        Ok(user.filter(|user| outcome == PasswordOutcome::Right && !user.disabled))
    }

    async fn password_of(
        &self,
        username: Username,
    ) -> Result<(Option<User>, Option<String>), DatabaseError> {
        let sql = format!("SELECT {COLUMNS}, password FROM users WHERE username = ?1");
        self.database
            .read(move |connection| {
                let Some(row) = connection.query_optional(&sql, &values![username.as_str()])?
                else {
                    return Ok((None, None));
                };
                Ok((Some(User::from_row(&row)?), row.get("password")?))
            })
            .await
    }

    async fn hash(&self, password: &Secret) -> Result<String, Problem> {
        password::check(password)?;
        self.hashing.hash(password).await
    }

    /// A one-time link for making the first administrator, if there is no user yet. Links made before are void.
    pub async fn create_setup_link(&self) -> Result<Option<SetupToken>, DatabaseError> {
        let (token, hash) = new_token(LINK_PREFIX);
        let expires_at = self.clock.now() + SETUP_LINK_LIFETIME;
        self.database
            .write(move |transaction| {
                if !has_no_users(transaction)? {
                    return Ok(None);
                }
                transaction.execute("DELETE FROM one_time_links WHERE purpose = 'setup'", &[])?;
                transaction.execute(
                    "INSERT INTO one_time_links (hash, purpose, expires_at) VALUES (?1, 'setup', ?2)",
                    &values![hash, expires_at],
                )?;
                Ok(Some(SetupToken(token.clone())))
            })
            .await
    }

    /// Whether a set-up link can be used.
    pub async fn is_setup_link(&self, token: &str) -> Result<bool, DatabaseError> {
        let Some(hash) = token_hash(LINK_PREFIX, token) else {
            return Ok(false);
        };
        let now = self.clock.now();
        self.database
            .read(move |connection| {
                Ok(has_no_users(connection)? && link_is_valid(connection, hash, now)?)
            })
            .await
    }

    /// Makes the first administrator. The link is used up.
    pub async fn use_setup_link(
        &self,
        token: &str,
        username: Username,
        password: &Secret,
    ) -> Result<User, Problem> {
        let hash = token_hash(LINK_PREFIX, token).ok_or_else(invalid_link)?;
        let password = self.hash(password).await?;
        let user = self.new_record(username, Role::Admin);
        let added = user.clone();
        let now = self.clock.now();
        let is_used = self
            .database
            .write(move |transaction| {
                if !has_no_users(transaction)? || !link_is_valid(transaction, hash, now)? {
                    return Ok(false);
                }
                transaction.execute("DELETE FROM one_time_links WHERE purpose = 'setup'", &[])?;
                insert(transaction, &added, Some(&password))?;
                Ok::<_, DatabaseError>(true)
            })
            .await?;
        if is_used { Ok(user) } else { Err(invalid_link()) }
    }
}

/// The secret part of a set-up link.
#[derive(Clone, Debug)]
pub struct SetupToken(Secret);

impl SetupToken {
    /// The token, for the link.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

/// Why a user can't be changed.
enum AccountChangeError {
    Database(DatabaseError),
    LastAdministrator,
}

impl From<DatabaseError> for AccountChangeError {
    fn from(error: DatabaseError) -> AccountChangeError {
        AccountChangeError::Database(error)
    }
}

/// Reads a user inside a transaction.
pub fn user_by_id(
    connection: &mut Connection<'_>,
    id: &str,
) -> Result<Option<User>, DatabaseError> {
    let sql = format!("SELECT {COLUMNS} FROM users WHERE id = ?1");
    connection.query_optional(&sql, &values![id])?.as_ref().map(User::from_row).transpose()
}

/// Reads a user by name inside a transaction.
pub fn user_by_name(
    connection: &mut Connection<'_>,
    username: &Username,
) -> Result<Option<User>, DatabaseError> {
    let sql = format!("SELECT {COLUMNS} FROM users WHERE username = ?1");
    connection
        .query_optional(&sql, &values![username.as_str()])?
        .as_ref()
        .map(User::from_row)
        .transpose()
}

fn insert(
    transaction: &mut Transaction<'_>,
    user: &User,
    password: Option<&str>,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "INSERT INTO users (id, username, role, password, disabled, created_at)
         VALUES (?1, ?2, ?3, ?4, 0, ?5)",
        &values![&user.id, user.username.as_str(), user.role.as_str(), password, user.created_at],
    )?;
    Ok(())
}

fn has_no_users(connection: &mut Connection<'_>) -> Result<bool, DatabaseError> {
    Ok(connection.query_optional("SELECT 1 AS one FROM users LIMIT 1", &[])?.is_none())
}

fn link_is_valid(
    connection: &mut Connection<'_>,
    hash: [u8; 32],
    now: Timestamp,
) -> Result<bool, DatabaseError> {
    let sql = "SELECT 1 AS one FROM one_time_links
               WHERE hash = ?1 AND purpose = 'setup' AND expires_at > ?2";
    Ok(connection.query_optional(sql, &values![hash, now])?.is_some())
}

fn keep_an_administrator(transaction: &mut Transaction<'_>) -> Result<(), AccountChangeError> {
    let sql = "SELECT 1 AS one FROM users WHERE role = 'admin' AND disabled = 0 LIMIT 1";
    match transaction.query_optional(sql, &[])? {
        Some(_) => Ok(()),
        None => Err(AccountChangeError::LastAdministrator),
    }
}

/// Ends everything that a user is logged in with, except for API tokens, which have a life of their own.
fn end_all_sessions(
    transaction: &mut Transaction<'_>,
    user: &str,
    now: Timestamp,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "UPDATE refresh_families SET ended_at = ?2 WHERE user_id = ?1 AND ended_at IS NULL",
        &values![user, now],
    )?;
    transaction.execute("DELETE FROM web_sessions WHERE user_id = ?1", &values![user])?;
    Ok(())
}

fn taken(error: DatabaseError, username: &Username) -> Problem {
    if error.is_unique_violation() {
        return Problem::new(
            "username-taken",
            ProblemKind::Conflict,
            format!("there is already a user `{username}`"),
        );
    }
    error.into()
}

fn no_such_user() -> Problem {
    Problem::new("user-not-found", ProblemKind::NotFound, "there is no such user")
}

fn invalid_link() -> Problem {
    Problem::new(
        "invalid-link",
        ProblemKind::NotFound,
        "the link is not valid: it has been used, or it has expired",
    )
    .advice("start the server again for a new link")
}
