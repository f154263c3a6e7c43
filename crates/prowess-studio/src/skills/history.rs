//! Saved texts of skills. The files stay the truth; a text that was put there by hand becomes a version when it is seen.

use prowess_server::database::{Connection, Database, DatabaseError, Transaction, values};
use serde::Serialize;
use utoipa::ToSchema;

use super::{SkillName, StoredSkill};
use crate::{digest, timestamp};

/// Number of versions that are kept per skill.
const MAX_VERSIONS: i64 = 200;

/// The history of all skills.
#[derive(Clone)]
pub(crate) struct SkillHistory {
    database: Database,
}

/// What the history knows about a skill's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SkillFacts {
    pub(crate) created_at: Option<String>,
    pub(crate) version: i64,
}

/// A version in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SkillVersion {
    pub(crate) version: i64,
    pub(crate) created_at: String,
    pub(crate) user_id: String,
    pub(crate) bytes: i64,
}

/// A version with its text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SkillVersionText {
    pub(crate) version: i64,
    pub(crate) created_at: String,
    pub(crate) user_id: String,
    pub(crate) content: String,
}

impl SkillHistory {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }

    /// Records a text if it is not the latest one already, and returns what is known then.
    pub(crate) async fn record(
        &self,
        stored: &StoredSkill,
        user: &str,
    ) -> Result<SkillFacts, DatabaseError> {
        let (name, text, user) = (stored.name.clone(), stored.text.clone(), user.to_owned());
        let seen = {
            let (name, digest) = (name.clone(), digest(text.as_bytes()));
            self.database.read(move |connection| latest(connection, &name, &digest)).await?
        };
        if let (facts, true) = seen {
            return Ok(facts);
        }
        let now = timestamp::millis(stored.modified);
        self.database.write(move |transaction| record(transaction, &name, &text, &user, now)).await
    }

    /// What is known about all skills.
    pub(crate) async fn all(
        &self,
    ) -> Result<std::collections::HashMap<String, SkillFacts>, DatabaseError> {
        self.database
            .read(|connection| {
                let sql = "SELECT s.name AS name, s.created_at AS created_at, \
                           COALESCE(MAX(v.version), 0) AS version FROM studio_skills s \
                           LEFT JOIN studio_skill_versions v ON v.name = s.name \
                           GROUP BY s.name, s.created_at";
                let rows = connection.query(sql, &[])?;
                rows.iter()
                    .map(|row| {
                        let created_at = Some(timestamp::of_millis(row.get("created_at")?));
                        Ok((
                            row.get("name")?,
                            SkillFacts { created_at, version: row.get("version")? },
                        ))
                    })
                    .collect()
            })
            .await
    }

    /// The versions of a skill, the latest first.
    pub(crate) async fn versions(
        &self,
        name: &SkillName,
    ) -> Result<Vec<SkillVersion>, DatabaseError> {
        let name = name.clone();
        self.database
            .read(move |connection| {
                let sql = "SELECT version, created_at, user_id, LENGTH(content) AS bytes \
                           FROM studio_skill_versions WHERE name = ?1 ORDER BY version DESC LIMIT ?2";
                let rows = connection.query(sql, &values![name.as_str(), MAX_VERSIONS])?;
                rows.iter()
                    .map(|row| {
                        Ok(SkillVersion {
                            version: row.get("version")?,
                            created_at: timestamp::of_millis(row.get("created_at")?),
                            user_id: row.get("user_id")?,
                            bytes: row.get("bytes")?,
                        })
                    })
                    .collect()
            })
            .await
    }

    /// A version with its text.
    pub(crate) async fn version(
        &self,
        name: &SkillName,
        version: i64,
    ) -> Result<Option<SkillVersionText>, DatabaseError> {
        let name = name.clone();
        self.database
            .read(move |connection| {
                let sql = "SELECT created_at, user_id, content FROM studio_skill_versions \
                           WHERE name = ?1 AND version = ?2";
                let row = connection.query_optional(sql, &values![name.as_str(), version])?;
                row.map(|row| {
                    Ok(SkillVersionText {
                        version,
                        created_at: timestamp::of_millis(row.get("created_at")?),
                        user_id: row.get("user_id")?,
                        content: row.get("content")?,
                    })
                })
                .transpose()
            })
            .await
    }

    /// Forgets a skill that was deleted: the next one of this name begins anew, and may be somebody else's.
    pub(crate) async fn forget(&self, name: &SkillName) -> Result<(), DatabaseError> {
        let name = name.clone();
        self.database
            .write(move |transaction| {
                for table in ["studio_skills", "studio_skill_versions"] {
                    let sql = format!("DELETE FROM {table} WHERE name = ?1");
                    transaction.execute(&sql, &values![name.as_str()])?;
                }
                Ok(())
            })
            .await
    }
}

/// The latest version, and whether it has this digest.
fn latest(
    connection: &mut Connection<'_>,
    name: &SkillName,
    digest: &str,
) -> Result<(SkillFacts, bool), DatabaseError> {
    let sql = "SELECT s.created_at AS created_at, v.version AS version, v.digest AS digest \
               FROM studio_skills s JOIN studio_skill_versions v ON v.name = s.name \
               WHERE s.name = ?1 ORDER BY v.version DESC LIMIT 1";
    let Some(row) = connection.query_optional(sql, &values![name.as_str()])? else {
        return Ok((SkillFacts::default(), false));
    };
    let created_at = Some(timestamp::of_millis(row.get("created_at")?));
    let facts = SkillFacts { created_at, version: row.get("version")? };
    Ok((facts, row.get::<String>("digest")? == digest))
}

fn record(
    transaction: &mut Transaction<'_>,
    name: &SkillName,
    text: &str,
    user: &str,
    now: i64,
) -> Result<SkillFacts, DatabaseError> {
    let digest = digest(text.as_bytes());
    let (facts, is_same) = latest(transaction, name, &digest)?;
    if is_same {
        return Ok(facts);
    }
    let sql = "INSERT INTO studio_skills (name, created_at) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
    transaction.execute(sql, &values![name.as_str(), now])?;
    let version = facts.version + 1;
    transaction.execute(
        "INSERT INTO studio_skill_versions (name, version, user_id, created_at, digest, content) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &values![name.as_str(), version, user, now, digest, text.replace('\0', "\u{fffd}")],
    )?;
    let sql = "DELETE FROM studio_skill_versions WHERE name = ?1 AND version <= ?2";
    transaction.execute(sql, &values![name.as_str(), version - MAX_VERSIONS])?;
    let created_at = facts.created_at.unwrap_or_else(|| timestamp::of_millis(now));
    Ok(SkillFacts { created_at: Some(created_at), version })
}
