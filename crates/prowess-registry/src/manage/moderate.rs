//! What moderators do: revoke, hide, approve, and allow reserved prefixes.

use prowess_server::values;
use semver::Version;
use serde_json::json;

use super::skills::cut;
use crate::actor::Actor;
use crate::audit::record;
use crate::error::{Outcome, RegistryError};
use crate::names::{RESERVED_PREFIXES, SkillId};
use crate::publish::refresh_skill;
use crate::query::require_moderator;
use crate::registry::Registry;
use crate::store::{find_skill, find_version, record_change};

/// What a moderator decides about a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It becomes visible, and open reports are closed.
    Approve,
    /// Only its publisher and moderators see it.
    Hide,
}

impl Registry {
    /// Revokes a version: it can't be had any more, and its index says why (attack registry-D20). This is never taken back,
    /// because clients refuse an index that forgets it.
    pub async fn revoke(
        &self,
        actor: &Actor,
        skill: &SkillId,
        version: &Version,
        reason: &str,
    ) -> Outcome<()> {
        require_moderator(actor)?;
        let reason = cut(reason);
        if reason.is_empty() {
            return Err(RegistryError::invalid(
                "no-reason",
                "a revocation needs a `reason`, which every client shows",
            ));
        }
        let (actor, skill, version, now, registry) =
            (actor.clone(), skill.clone(), version.clone(), self.now(), self.clone());
        let done = self.database().write(move |transaction| {
            let row = find_skill(transaction, &skill)?.ok_or_else(RegistryError::no_skill)?;
            let found = find_version(transaction, row.id, &version)?
                .ok_or_else(RegistryError::no_version)?;
            if found.revoked.is_none() {
                transaction.execute(
                    "UPDATE versions SET revoked = ?1, revoked_at = ?2 WHERE id = ?3",
                    &values![&reason, now, found.id],
                )?;
                refresh_skill(transaction, row.id, now)?;
                record_change(transaction, row.id, now)?;
            }
            let subject = format!("{skill} {version}");
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                "version.revoke",
                &subject,
                json!({ "reason": &reason }),
            )?)
        });
        done.await?;
        self.wake_search();
        Ok(())
    }

    /// Approves a skill that is held, or hides one.
    pub async fn moderate(
        &self,
        actor: &Actor,
        skill: &SkillId,
        decision: Decision,
        reason: &str,
    ) -> Outcome<()> {
        require_moderator(actor)?;
        let (actor, skill, now, registry) =
            (actor.clone(), skill.clone(), self.now(), self.clone());
        let reason = cut(reason);
        let done = self.database().write(move |transaction| {
            let row = find_skill(transaction, &skill)?.ok_or_else(RegistryError::no_skill)?;
            let (state, why, action) = match decision {
                Decision::Approve => ("visible", None, "skill.approve"),
                Decision::Hide => ("hidden", Some(&reason), "skill.hide"),
            };
            transaction.execute(
                "UPDATE skills SET state = ?1, state_reason = ?2 WHERE id = ?3",
                &values![state, why, row.id],
            )?;
            if decision == Decision::Approve {
                transaction.execute(
                    "UPDATE versions SET state = 'visible', state_reason = NULL WHERE skill_id = ?1 AND state = 'held'",
                    &values![row.id],
                )?;
            }
            transaction.execute("UPDATE reports SET state = 'closed' WHERE skill_id = ?1", &values![row.id])?;
            refresh_skill(transaction, row.id, now)?;
            record_change(transaction, row.id, now)?;
            let details = json!({ "reason": &reason });
            Ok::<_, RegistryError>(record(&registry, transaction, &actor, action, &skill.to_string(), details)?)
        });
        done.await?;
        self.wake_search();
        Ok(())
    }

    /// Gives a skill the registry's badge: `verified` or `official`; `None` takes it away (R19).
    pub async fn set_badge(
        &self,
        actor: &Actor,
        skill: &SkillId,
        badge: Option<&str>,
    ) -> Outcome<()> {
        require_moderator(actor)?;
        if badge.is_some_and(|badge| !matches!(badge, "community" | "verified" | "official")) {
            return Err(RegistryError::invalid(
                "invalid-badge",
                "a badge is `community`, `verified` or `official`",
            ));
        }
        let (actor, skill, badge) = (actor.clone(), skill.clone(), badge.map(str::to_owned));
        let (now, registry) = (self.now(), self.clone());
        let done = self.database().write(move |transaction| {
            let row = find_skill(transaction, &skill)?.ok_or_else(RegistryError::no_skill)?;
            transaction.execute(
                "UPDATE skills SET badge = ?1 WHERE id = ?2",
                &values![badge.as_ref(), row.id],
            )?;
            record_change(transaction, row.id, now)?;
            let details = json!({ "badge": &badge });
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                "skill.badge",
                &skill.to_string(),
                details,
            )?)
        });
        done.await?;
        self.wake_search();
        Ok(())
    }

    /// Allows a namespace to use a reserved prefix (GAIA §2.3).
    pub async fn allow_prefix(&self, actor: &Actor, prefix: &str, namespace: &str) -> Outcome<()> {
        require_moderator(actor)?;
        if !RESERVED_PREFIXES.contains(&prefix) {
            let message = format!("the reserved prefixes are {}", RESERVED_PREFIXES.join(", "));
            return Err(RegistryError::invalid("not-reserved", message));
        }
        let (actor, prefix, namespace) = (actor.clone(), prefix.to_owned(), namespace.to_owned());
        let registry = self.clone();
        let done = self.database().write(move |transaction| {
            transaction.execute(
                "INSERT INTO reserved_prefixes (prefix, namespace) VALUES (?1, ?2)
                 ON CONFLICT (prefix, namespace) DO NOTHING",
                &values![&prefix, &namespace],
            )?;
            let details = json!({ "namespace": &namespace });
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                "prefix.allow",
                &prefix,
                details,
            )?)
        });
        done.await
    }
}
