//! What a signed-in user has: namespaces and invitations.

use prowess_server::database::DatabaseError;
use prowess_server::values;

use crate::actor::Actor;
use crate::error::Outcome;
use crate::registry::Registry;
use crate::store::{NamespaceKind, Role};

/// The namespaces of a user, and where they are invited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountView {
    /// The namespaces that they belong to.
    pub memberships: Vec<Membership>,
    /// Open invitations and offered transfers.
    pub invitations: Vec<Invitation>,
}

/// A namespace and the role in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The namespace.
    pub namespace: String,
    /// Whether it is an organisation.
    pub kind: NamespaceKind,
    /// The role.
    pub role: Role,
}

/// An invitation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// The namespace.
    pub namespace: String,
    /// The role that is offered.
    pub role: Role,
    /// Who invited.
    pub invited_by: String,
    /// Whether it hands the whole namespace over.
    pub is_transfer: bool,
    /// When it expires.
    pub expires: i64,
}

impl Registry {
    /// The namespaces and invitations of a user.
    pub async fn account(&self, actor: &Actor) -> Outcome<AccountView> {
        let (actor, now) = (actor.clone(), self.now());
        let found = self.database().read(move |connection| {
            let rows = connection.query(
                "SELECT m.namespace, n.kind, m.role FROM namespace_members m JOIN namespaces n ON n.name = m.namespace
                 WHERE m.user_id = ?1 AND n.deleted IS NULL ORDER BY m.namespace LIMIT 200",
                &values![&actor.user_id],
            )?;
            let mut view = AccountView::default();
            for row in rows {
                let (kind, role): (String, String) = (row.get("kind")?, row.get("role")?);
                view.memberships.push(Membership {
                    namespace: row.get("namespace")?,
                    kind: if kind == "user" { NamespaceKind::User } else { NamespaceKind::Organisation },
                    role: role.parse().unwrap_or(Role::Reader),
                });
            }
            let rows = connection.query(
                "SELECT namespace, role, kind, invited_by, expires FROM namespace_invitations
                 WHERE username = ?1 AND expires > ?2 ORDER BY namespace LIMIT 200",
                &values![&actor.username, now],
            )?;
            for row in rows {
                let (role, kind): (String, String) = (row.get("role")?, row.get("kind")?);
                view.invitations.push(Invitation {
                    namespace: row.get("namespace")?,
                    role: role.parse().unwrap_or(Role::Reader),
                    invited_by: row.get("invited_by")?,
                    is_transfer: kind == "transfer",
                    expires: row.get("expires")?,
                });
            }
            Ok::<_, DatabaseError>(view)
        });
        Ok(found.await?)
    }
}
