//! What publishers do with their skills: yank, deprecate, hide from the public, delete.

use prowess_server::database::Transaction;
use prowess_server::values;
use semver::Version;
use serde_json::json;

use super::namespaces::{require_owner, require_role};
use crate::actor::{Action, Actor};
use crate::audit::record;
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::publish::refresh_skill;
use crate::registry::Registry;
use crate::store::{Role, SkillRow, VersionRow, VersionState, find_version, record_change};

/// Maximum length of a reason, in characters.
const MAX_REASON_CHARACTERS: usize = 300;

impl Registry {
    /// Yanks a version, or takes that back: new installations don't choose it any more, lock files still do.
    pub async fn yank(
        &self,
        actor: &Actor,
        skill: &SkillId,
        version: &Version,
        yanked: bool,
        reason: Option<&str>,
    ) -> Outcome<()> {
        actor.require(Action::Yank, Some(skill))?;
        let (actor, skill, version) = (actor.clone(), skill.clone(), version.clone());
        let (reason, now, registry) = (reason.map(cut), self.now(), self.clone());
        let done = self.database().write(move |transaction| {
            let (row, found) = find_own(transaction, &actor, &skill, &version)?;
            transaction.execute(
                "UPDATE versions SET yanked = ?1, yank_reason = ?2 WHERE id = ?3",
                &values![yanked, reason.as_ref().filter(|_| yanked), found.id],
            )?;
            refresh_skill(transaction, row.id, now)?;
            record_change(transaction, row.id, now)?;
            let action = if yanked { "version.yank" } else { "version.unyank" };
            let subject = format!("{skill} {version}");
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                action,
                &subject,
                json!({ "reason": &reason }),
            )?)
        });
        done.await?;
        self.wake_search();
        Ok(())
    }

    /// Marks a skill as one that should not be used any more, with what to use instead; `None` takes that back.
    pub async fn deprecate(
        &self,
        actor: &Actor,
        skill: &SkillId,
        message: Option<&str>,
    ) -> Outcome<()> {
        actor.require(Action::Yank, Some(skill))?;
        let (actor, skill, message) = (actor.clone(), skill.clone(), message.map(cut));
        let (now, registry) = (self.now(), self.clone());
        let done = self.database().write(move |transaction| {
            let row = find_managed(transaction, &actor, &skill, Role::Publisher)?;
            transaction.execute(
                "UPDATE skills SET deprecated = ?1 WHERE id = ?2",
                &values![message.as_ref(), row.id],
            )?;
            record_change(transaction, row.id, now)?;
            let details = json!({ "message": &message });
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                "skill.deprecate",
                &skill.to_string(),
                details,
            )?)
        });
        done.await?;
        self.wake_search();
        Ok(())
    }

    /// Makes a skill visible to members of its namespace only, or to everybody.
    pub async fn set_private(&self, actor: &Actor, skill: &SkillId, private: bool) -> Outcome<()> {
        actor.require(Action::Manage, Some(skill))?;
        let (actor, skill, now, registry) =
            (actor.clone(), skill.clone(), self.now(), self.clone());
        let done = self.database().write(move |transaction| {
            let row = find_managed(transaction, &actor, &skill, Role::Owner)?;
            transaction.execute(
                "UPDATE skills SET private = ?1 WHERE id = ?2",
                &values![private, row.id],
            )?;
            record_change(transaction, row.id, now)?;
            let details = json!({ "private": private });
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                "skill.visibility",
                &skill.to_string(),
                details,
            )?)
        });
        done.await?;
        self.wake_search();
        Ok(())
    }

    /// Deletes a skill. Its versions are never published again, and its name is the publisher's for a while (attack
    /// registry-A5).
    pub async fn delete(&self, actor: &Actor, skill: &SkillId) -> Outcome<()> {
        actor.require(Action::Manage, Some(skill))?;
        let (actor, skill, now, registry) =
            (actor.clone(), skill.clone(), self.now(), self.clone());
        let cool_down = self.settings().cool_down_seconds;
        let done = self.database().write(move |transaction| {
            let row = match find_managed(transaction, &actor, &skill, Role::Owner) {
                Err(_) if actor.is_administrator => crate::store::find_skill(transaction, &skill)?
                    .ok_or_else(RegistryError::no_skill)?,
                found => found?,
            };
            delete_skill(transaction, row.id, now, cool_down)?;
            Ok::<_, RegistryError>(record(
                &registry,
                transaction,
                &actor,
                "skill.delete",
                &skill.to_string(),
                json!({}),
            )?)
        });
        done.await?;
        self.wake_search();
        Ok(())
    }
}

/// Deletes a skill and retires its name and versions.
pub(super) fn delete_skill(
    transaction: &mut Transaction<'_>,
    skill: i64,
    now: i64,
    cool_down: i64,
) -> Outcome<()> {
    transaction.execute(
        "INSERT INTO retired_versions (namespace, name, comparable)
         SELECT s.namespace, s.name, v.comparable FROM versions v JOIN skills s ON s.id = v.skill_id
         WHERE s.id = ?1 AND v.state <> 'refused' ON CONFLICT (namespace, name, comparable) DO NOTHING",
        &values![skill],
    )?;
    transaction.execute(
        "INSERT INTO retired_names (namespace, name, owner, available)
         SELECT s.namespace, s.name, n.owner, ?2 FROM skills s JOIN namespaces n ON n.name = s.namespace WHERE s.id = ?1
         ON CONFLICT (namespace, name) DO UPDATE SET owner = excluded.owner, available = excluded.available",
        &values![skill, now + cool_down],
    )?;
    // A dot is in no name, so the row stays for its versions and nobody can ask for it.
    transaction.execute(
        "UPDATE skills SET state = 'deleted', listed = 0, name = name || '.' || CAST(id AS TEXT) WHERE id = ?1",
        &values![skill],
    )?;
    record_change(transaction, skill, now)?;
    Ok(())
}

/// A version that the caller may manage.
fn find_own(
    transaction: &mut Transaction<'_>,
    actor: &Actor,
    skill: &SkillId,
    version: &Version,
) -> Outcome<(SkillRow, VersionRow)> {
    let row = find_managed(transaction, actor, skill, Role::Publisher)?;
    let found = find_version(transaction, row.id, version)?;
    let found = found.filter(|it| it.state == VersionState::Visible);
    Ok((row, found.ok_or_else(RegistryError::no_version)?))
}

/// A skill of a namespace in which the caller has a role. What they may not even see does not exist.
pub(super) fn find_managed(
    transaction: &mut Transaction<'_>,
    actor: &Actor,
    skill: &SkillId,
    least: Role,
) -> Outcome<SkillRow> {
    let row = actor.viewer().find(transaction, skill)?.ok_or_else(RegistryError::no_skill)?;
    match least {
        Role::Owner => require_owner(transaction, actor, skill.namespace.as_str())?,
        other => require_role(transaction, actor, skill.namespace.as_str(), other)?,
    }
    Ok(row)
}

/// A reason of bounded length, on one line.
pub(super) fn cut(text: &str) -> String {
    let text: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    text.trim().chars().take(MAX_REASON_CHARACTERS).collect()
}
