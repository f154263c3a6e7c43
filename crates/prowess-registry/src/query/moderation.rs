//! What moderators see: open reports and what is held for review.

use prowess_server::database::DatabaseError;
use prowess_server::values;

use super::lists::SkillCard;
use crate::actor::{Action, Actor};
use crate::error::{Outcome, RegistryError};
use crate::registry::Registry;
use crate::store::{SKILL_COLUMNS, SkillRow};

/// Maximum length of a queue.
const MAX_QUEUE: usize = 200;

/// A report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportView {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The version, if the report names one.
    pub version: Option<String>,
    /// Who reported.
    pub username: String,
    /// One of the reasons.
    pub reason: String,
    /// What they wrote.
    pub detail: String,
    /// When.
    pub reported: i64,
}

/// A skill that waits for a moderator.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldSkill {
    /// The skill.
    pub card: SkillCard,
    /// Why: `name.typosquat:acme/weather`, `account.new`, `reports`.
    pub reason: String,
}

impl Registry {
    /// The open reports, the oldest first.
    pub async fn open_reports(&self, moderator: &Actor) -> Outcome<Vec<ReportView>> {
        require_moderator(moderator)?;
        let found = self.database().read(|connection| {
            let rows = connection.query(
                &format!(
                    "SELECT s.namespace, s.name, r.version, r.username, r.reason, r.detail, r.reported
                     FROM reports r JOIN skills s ON s.id = r.skill_id WHERE r.state = 'open'
                     ORDER BY r.reported LIMIT {MAX_QUEUE}"
                ),
                &[],
            )?;
            rows.iter()
                .map(|row| {
                    Ok(ReportView {
                        namespace: row.get("namespace")?,
                        name: row.get("name")?,
                        version: row.get("version")?,
                        username: row.get("username")?,
                        reason: row.get("reason")?,
                        detail: row.get("detail")?,
                        reported: row.get("reported")?,
                    })
                })
                .collect::<Result<Vec<_>, DatabaseError>>()
        });
        Ok(found.await?)
    }

    /// The skills that wait for a moderator, the oldest first.
    pub async fn held_skills(&self, moderator: &Actor) -> Outcome<Vec<HeldSkill>> {
        require_moderator(moderator)?;
        let found = self.database().read(|connection| {
            let rows = connection.query(
                &format!(
                    "SELECT {SKILL_COLUMNS}, n.created AS since FROM skills s JOIN namespaces n ON n.name = s.namespace
                     WHERE s.state IN ('held', 'hidden') ORDER BY s.updated LIMIT {MAX_QUEUE}"
                ),
                &values![],
            )?;
            let mut held = Vec::new();
            for row in &rows {
                let skill = SkillRow::read(row)?;
                let reason = skill.state_reason.clone().unwrap_or_default();
                held.push(HeldSkill { card: SkillCard::of(&skill, row.get("since")?), reason });
            }
            Ok::<_, DatabaseError>(held)
        });
        Ok(found.await?)
    }
}

/// Refuses everybody but administrators.
pub(crate) fn require_moderator(actor: &Actor) -> Outcome<()> {
    actor.require(Action::Moderate, None)?;
    if actor.is_administrator {
        return Ok(());
    }
    Err(RegistryError::refused("not-an-administrator", "only an administrator can do that"))
}
