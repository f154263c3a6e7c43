//! Namespaces: making them, their members, handing them over.

use prowess_server::database::{Connection, Transaction};
use prowess_server::values;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::actor::{Action, Actor};
use crate::audit::record;
use crate::error::{Outcome, RegistryError};
use crate::names::{RESERVED_NAMESPACES, canonical};
use crate::registry::Registry;
use crate::settings::RegistrySettings;
use crate::store::{NamespaceKind, Role, find_namespace, next_number, record_change, role_in};

/// For how long an invitation can be accepted, in seconds.
const INVITATION: i64 = 7 * 86_400;
/// Maximum number of members.
const MAX_MEMBERS: i64 = 200;

impl Registry {
    /// Makes an organisation that belongs to the caller.
    pub async fn add_organisation(&self, actor: &Actor, name: &str) -> Outcome<()> {
        actor.require(Action::Manage, None)?;
        let (actor, name, now) = (actor.clone(), name.to_owned(), self.now());
        let (settings, registry) = (self.settings().clone(), self.clone());
        let added = self.database().write(move |transaction| {
            add_namespace(transaction, &actor, &name, NamespaceKind::Organisation, now, &settings)?;
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                "namespace.add",
                &name,
                json!({}),
            )?)
        });
        added.await
    }

    /// Invites a user to a namespace, or offers it to them as its new owner.
    pub async fn invite(
        &self,
        actor: &Actor,
        namespace: &str,
        username: &str,
        role: Role,
        is_transfer: bool,
    ) -> Outcome<()> {
        actor.require(Action::Manage, None)?;
        let (actor, namespace, username) =
            (actor.clone(), namespace.to_owned(), username.to_owned());
        let (now, registry) = (self.now(), self.clone());
        let invited = self.database().write(move |transaction| {
            require_owner(transaction, &actor, &namespace)?;
            let members = transaction.query_one(
                "SELECT COUNT(*) AS total FROM namespace_members WHERE namespace = ?1",
                &values![&namespace],
            )?;
            if members.get::<i64>("total")? >= MAX_MEMBERS {
                let message = format!("a namespace has at most {MAX_MEMBERS} members");
                return Err(RegistryError::refused("too-many-members", message));
            }
            let kind = if is_transfer { "transfer" } else { "member" };
            transaction.execute(
                "INSERT INTO namespace_invitations (namespace, username, role, kind, invited_by, expires)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (namespace, username) DO UPDATE SET role = excluded.role, kind = excluded.kind,
                 invited_by = excluded.invited_by, expires = excluded.expires",
                &values![&namespace, &username, role.as_str(), kind, &actor.username, now + INVITATION],
            )?;
            let details = json!({ "username": &username, "role": role.as_str(), "transfer": is_transfer });
            Ok::<_, RegistryError>(record(&registry, transaction, &actor, "namespace.invite", &namespace, details)?)
        });
        invited.await
    }

    /// Accepts an invitation. An accepted transfer removes all other members and gives the namespace a new owner identifier,
    /// so that clients notice (attack registry-A5).
    pub async fn accept_invitation(&self, actor: &Actor, namespace: &str) -> Outcome<()> {
        actor.require(Action::Manage, None)?;
        let (actor, namespace, now, registry) =
            (actor.clone(), namespace.to_owned(), self.now(), self.clone());
        let accepted = self.database().write(move |transaction| {
            let invitation = transaction.query_optional(
                "SELECT role, kind FROM namespace_invitations WHERE namespace = ?1 AND username = ?2 AND expires > ?3",
                &values![&namespace, &actor.username, now],
            )?;
            let Some(invitation) = invitation else {
                return Err(RegistryError::of(
                    "no-invitation",
                    prowess_core::ProblemKind::NotFound,
                    "there is no such invitation",
                ));
            };
            let (role, kind): (String, String) = (invitation.get("role")?, invitation.get("kind")?);
            if kind == "transfer" {
                transaction.execute("DELETE FROM namespace_members WHERE namespace = ?1", &values![&namespace])?;
                let owner = new_owner(transaction, &namespace)?;
                transaction.execute("UPDATE namespaces SET owner = ?1 WHERE name = ?2", &values![owner, &namespace])?;
                touch_skills(transaction, &namespace, now)?;
            }
            let role = if kind == "transfer" { Role::Owner.as_str() } else { role.as_str() };
            transaction.execute(
                "INSERT INTO namespace_members (namespace, user_id, username, role, added) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (namespace, user_id) DO UPDATE SET role = excluded.role",
                &values![&namespace, &actor.user_id, &actor.username, role, now],
            )?;
            transaction.execute(
                "DELETE FROM namespace_invitations WHERE namespace = ?1 AND username = ?2",
                &values![&namespace, &actor.username],
            )?;
            Ok::<_, RegistryError>(record(&registry, transaction, &actor, "namespace.join", &namespace, json!({ "kind": kind }))?)
        });
        accepted.await?;
        self.wake_search();
        Ok(())
    }

    /// Removes a member, or leaves a namespace. The last owner stays.
    pub async fn remove_member(
        &self,
        actor: &Actor,
        namespace: &str,
        username: &str,
    ) -> Outcome<()> {
        actor.require(Action::Manage, None)?;
        let (actor, namespace, username) =
            (actor.clone(), namespace.to_owned(), username.to_owned());
        let registry = self.clone();
        let removed = self.database().write(move |transaction| {
            if username != actor.username {
                require_owner(transaction, &actor, &namespace)?;
            }
            let owners = transaction.query_one(
                "SELECT COUNT(*) AS total FROM namespace_members WHERE namespace = ?1 AND role = 'owner' AND username <> ?2",
                &values![&namespace, &username],
            )?;
            if owners.get::<i64>("total")? == 0 {
                return Err(RegistryError::conflict("last-owner", "a namespace needs an owner")
                    .advice("make another member an owner first"));
            }
            transaction.execute(
                "DELETE FROM namespace_members WHERE namespace = ?1 AND username = ?2",
                &values![&namespace, &username],
            )?;
            let details = json!({ "username": &username });
            Ok::<_, RegistryError>(record(&registry, transaction, &actor, "namespace.remove-member", &namespace, details)?)
        });
        removed.await
    }

    /// Makes all skills of a namespace visible to its members only, or to everybody.
    pub async fn set_namespace_private(
        &self,
        actor: &Actor,
        namespace: &str,
        private: bool,
    ) -> Outcome<()> {
        actor.require(Action::Manage, None)?;
        let (actor, namespace, now, registry) =
            (actor.clone(), namespace.to_owned(), self.now(), self.clone());
        let changed = self.database().write(move |transaction| {
            require_owner(transaction, &actor, &namespace)?;
            transaction.execute(
                "UPDATE namespaces SET private = ?1 WHERE name = ?2",
                &values![private, &namespace],
            )?;
            touch_skills(transaction, &namespace, now)?;
            let details = json!({ "private": private });
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                "namespace.visibility",
                &namespace,
                details,
            )?)
        });
        changed.await?;
        self.wake_search();
        Ok(())
    }

    /// Deletes a namespace with all its skills. The name is free again after the cool-down.
    pub async fn delete_namespace(&self, actor: &Actor, namespace: &str) -> Outcome<()> {
        actor.require(Action::Manage, None)?;
        let (actor, namespace, now, registry) =
            (actor.clone(), namespace.to_owned(), self.now(), self.clone());
        let cool_down = self.settings().cool_down_seconds;
        let deleted = self.database().write(move |transaction| {
            require_owner(transaction, &actor, &namespace)?;
            let skills = transaction.query(
                "SELECT id FROM skills WHERE namespace = ?1 AND state <> 'deleted'",
                &values![&namespace],
            )?;
            for skill in skills {
                super::skills::delete_skill(transaction, skill.get("id")?, now, cool_down)?;
            }
            transaction.execute(
                "UPDATE namespaces SET deleted = ?1 WHERE name = ?2",
                &values![now, &namespace],
            )?;
            transaction.execute(
                "DELETE FROM namespace_members WHERE namespace = ?1",
                &values![&namespace],
            )?;
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                "namespace.delete",
                &namespace,
                json!({}),
            )?)
        });
        deleted.await?;
        self.wake_search();
        Ok(())
    }
}

/// Makes the namespace of the user if it is meant and missing.
pub(crate) fn ensure_own_namespace(
    transaction: &mut Transaction<'_>,
    actor: &Actor,
    namespace: &str,
    now: i64,
    settings: &RegistrySettings,
) -> Outcome<()> {
    if namespace != actor.username || find_namespace(transaction, namespace)?.is_some() {
        return Ok(());
    }
    add_namespace(transaction, actor, namespace, NamespaceKind::User, now, settings)
}

fn add_namespace(
    transaction: &mut Transaction<'_>,
    actor: &Actor,
    name: &str,
    kind: NamespaceKind,
    now: i64,
    settings: &RegistrySettings,
) -> Outcome<()> {
    if RESERVED_NAMESPACES.contains(&name) {
        let message =
            format!("`{name}` is a word of this registry's addresses and can't be a namespace");
        return Err(RegistryError::invalid("reserved-namespace", message));
    }
    let name: prowess_package::name::SkillName =
        name.parse().map_err(|error: prowess_package::name::SkillNameError| {
            RegistryError::invalid("invalid-namespace", error.to_string())
        })?;
    let name = name.as_str();
    let known = transaction.query_optional(
        "SELECT name, deleted FROM namespaces WHERE canonical = ?1",
        &values![canonical(name)],
    )?;
    let owner = new_owner(transaction, name)?;
    match known {
        Some(row) => {
            let (taken, deleted): (String, Option<i64>) = (row.get("name")?, row.get("deleted")?);
            let Some(deleted) = deleted.filter(|_| taken == name) else {
                let message = format!("the namespace `{taken}` exists already");
                return Err(RegistryError::conflict("namespace-taken", message)
                    .advice("choose another name"));
            };
            let free = deleted + settings.cool_down_seconds;
            if now < free {
                let message = format!(
                    "`{name}` was deleted; the name is free again on {}",
                    crate::time::date(free)
                );
                return Err(RegistryError::refused("name-cooling-down", message));
            }
            transaction.execute(
                "UPDATE namespaces SET kind = ?1, owner = ?2, created = ?3, deleted = NULL, private = 0 WHERE name = ?4",
                &values![kind.as_str(), owner, now, name],
            )?;
        }
        None => {
            transaction.execute(
                "INSERT INTO namespaces (name, canonical, kind, owner, created) VALUES (?1, ?2, ?3, ?4, ?5)",
                &values![name, canonical(name), kind.as_str(), owner, now],
            )?;
        }
    }
    transaction.execute(
        "INSERT INTO namespace_members (namespace, user_id, username, role, added) VALUES (?1, ?2, ?3, 'owner', ?4)",
        &values![name, &actor.user_id, &actor.username, now],
    )?;
    Ok(())
}

/// An identifier that no other owner had or will have.
fn new_owner(transaction: &mut Transaction<'_>, name: &str) -> Outcome<String> {
    let number = next_number(transaction, "change")?;
    let digest = Sha256::digest(format!("{name} {number}"));
    Ok(digest.iter().take(8).fold("o_".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}

/// The index of every skill changes with the owner or the visibility of its namespace.
fn touch_skills(transaction: &mut Transaction<'_>, namespace: &str, now: i64) -> Outcome<()> {
    let skills = transaction.query(
        "SELECT id FROM skills WHERE namespace = ?1 AND state <> 'deleted'",
        &values![namespace],
    )?;
    for skill in skills {
        record_change(transaction, skill.get("id")?, now)?;
    }
    Ok(())
}

/// Refuses everybody but owners of a namespace. A namespace that does not exist is refused with the same words.
pub(super) fn require_owner(
    connection: &mut Connection<'_>,
    actor: &Actor,
    namespace: &str,
) -> Outcome<()> {
    require_role(connection, actor, namespace, Role::Owner)
}

/// Refuses everybody whose role is lower.
pub(super) fn require_role(
    connection: &mut Connection<'_>,
    actor: &Actor,
    namespace: &str,
    least: Role,
) -> Outcome<()> {
    if role_in(connection, namespace, &actor.user_id)? >= Some(least) {
        return Ok(());
    }
    let message =
        format!("only members of `{namespace}` with the role `{}` can do that", least.as_str());
    Err(RegistryError::refused("not-your-namespace", message))
}
