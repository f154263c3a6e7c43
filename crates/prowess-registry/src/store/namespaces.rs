//! Namespaces and their members.

use std::str::FromStr;

use prowess_server::database::{Connection, DatabaseError, Row};
use prowess_server::values;
use serde::{Deserialize, Serialize};

/// Whom a namespace belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NamespaceKind {
    /// A user of the same name.
    User,
    /// Several users.
    Organisation,
}

/// What a member may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees private skills.
    Reader,
    /// Publishes, yanks and deprecates.
    Publisher,
    /// Also invites and removes members, and transfers skills.
    Owner,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceRow {
    /// The name.
    pub name: String,
    /// Whom it belongs to.
    pub kind: NamespaceKind,
    /// The stable identifier of its owner.
    pub owner: String,
    /// The name that pages show.
    pub display_name: Option<String>,
    /// Whether only members see it.
    pub private: bool,
    /// When it was made.
    pub created: i64,
    /// When it was deleted.
    pub deleted: Option<i64>,
}

/// A word that is not a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `owner`, `publisher` or `reader`")]
pub struct RoleError;

impl Role {
    /// The name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Publisher => "publisher",
            Self::Owner => "owner",
        }
    }
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        [Self::Reader, Self::Publisher, Self::Owner]
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or(RoleError)
    }
}

impl NamespaceKind {
    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Organisation => "organisation",
        }
    }
}

impl NamespaceRow {
    fn read(row: &Row) -> Result<Self, DatabaseError> {
        let kind: String = row.get("kind")?;
        Ok(Self {
            name: row.get("name")?,
            kind: if kind == "organisation" {
                NamespaceKind::Organisation
            } else {
                NamespaceKind::User
            },
            owner: row.get("owner")?,
            display_name: row.get("display_name")?,
            private: row.get("private")?,
            created: row.get("created")?,
            deleted: row.get("deleted")?,
        })
    }
}

/// A namespace by its name, unless it was deleted.
pub fn find_namespace(
    connection: &mut Connection<'_>,
    name: &str,
) -> Result<Option<NamespaceRow>, DatabaseError> {
    let row = connection.query_optional(
        "SELECT name, kind, owner, display_name, private, created, deleted FROM namespaces
         WHERE name = ?1 AND deleted IS NULL",
        &values![name],
    )?;
    row.as_ref().map(NamespaceRow::read).transpose()
}

/// The role of a user in a namespace.
pub fn role_in(
    connection: &mut Connection<'_>,
    namespace: &str,
    user: &str,
) -> Result<Option<Role>, DatabaseError> {
    let row = connection.query_optional(
        "SELECT role FROM namespace_members WHERE namespace = ?1 AND user_id = ?2",
        &values![namespace, user],
    )?;
    let Some(row) = row else { return Ok(None) };
    let role: String = row.get("role")?;
    Ok(role.parse().ok())
}
