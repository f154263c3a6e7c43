//! What is kept of the upstream registry.

use prowess_package::digest::Sha256Digest;
use prowess_registry_protocol::RegistryIndex;
use prowess_server::database::{Connection, DatabaseError, Transaction};
use prowess_server::values;

use crate::error::Outcome;
use crate::names::SkillId;
use crate::registry::Registry;

/// A skill of the upstream registry, as it was last accepted.
#[derive(Clone, Debug)]
pub(super) struct MirroredSkill {
    pub(super) index: RegistryIndex,
    /// The index as it was received.
    pub(super) body: String,
    pub(super) etag: Option<String>,
    pub(super) overview: Option<String>,
    pub(super) overview_fetched: i64,
    pub(super) fetched: i64,
    pub(super) gone: bool,
}

impl Registry {
    pub(super) async fn read_mirrored(&self, skill: &SkillId) -> Outcome<Option<MirroredSkill>> {
        let skill = skill.clone();
        Ok(self.database().read(move |connection| find(connection, &skill)).await?)
    }

    /// Notes that the upstream registry was asked, and whether it still has the skill.
    pub(super) async fn touch_mirrored(&self, skill: &SkillId, gone: bool) -> Outcome<()> {
        let (skill, now) = (skill.clone(), self.now());
        let touched = self.database().write(move |transaction| {
            transaction.execute(
                "UPDATE mirrored_skills SET fetched = ?1, gone = ?2 WHERE namespace = ?3 AND name = ?4",
                &values![now, gone, skill.namespace.as_str(), skill.name.as_str()],
            )
        });
        touched.await?;
        Ok(())
    }

    pub(super) async fn store_overview(&self, skill: &SkillId, text: &str) -> Outcome<()> {
        let (skill, text, now) = (skill.clone(), text.to_owned(), self.now());
        let stored = self.database().write(move |transaction| {
            transaction.execute(
                "UPDATE mirrored_skills SET overview = ?1, overview_fetched = ?2 WHERE namespace = ?3 AND name = ?4",
                &values![&text, now, skill.namespace.as_str(), skill.name.as_str()],
            )
        });
        stored.await?;
        Ok(())
    }

    pub(super) async fn is_mirrored_package(&self, sha256: Sha256Digest) -> Outcome<bool> {
        let found = self.database().read(move |connection| {
            connection.query_optional(
                "SELECT fetched FROM mirrored_packages WHERE sha256 = ?1",
                &values![sha256.to_string()],
            )
        });
        Ok(found.await?.is_some())
    }

    pub(super) async fn note_mirrored_package(&self, sha256: Sha256Digest) -> Outcome<()> {
        let now = self.now();
        let noted = self.database().write(move |transaction| {
            transaction.execute(
                "INSERT INTO mirrored_packages (sha256, fetched) VALUES (?1, ?2)
                 ON CONFLICT (sha256) DO UPDATE SET fetched = ?2",
                &values![sha256.to_string(), now],
            )
        });
        noted.await?;
        Ok(())
    }
}

pub(super) fn find(
    connection: &mut Connection<'_>,
    skill: &SkillId,
) -> Result<Option<MirroredSkill>, DatabaseError> {
    let row = connection.query_optional(
        "SELECT body, etag, overview, overview_fetched, fetched, gone FROM mirrored_skills
         WHERE namespace = ?1 AND name = ?2",
        &values![skill.namespace.as_str(), skill.name.as_str()],
    )?;
    let Some(row) = row else { return Ok(None) };
    let body: String = row.get("body")?;
    let index = RegistryIndex::read(body.as_bytes(), &skill.to_string());
    let damaged = |_| DatabaseError::Type {
        column: "body".to_owned(),
        expected: "an index that was accepted",
    };
    Ok(Some(MirroredSkill {
        index: index.map_err(damaged)?,
        body,
        etag: row.get("etag")?,
        overview: row.get("overview")?,
        overview_fetched: row.get("overview_fetched")?,
        fetched: row.get("fetched")?,
        gone: row.get("gone")?,
    }))
}

/// Stores an accepted index, and forgets the packages that it revokes, so that they are swept.
pub(super) fn store(
    transaction: &mut Transaction<'_>,
    skill: &SkillId,
    index: &RegistryIndex,
    body: &str,
    etag: Option<&str>,
    now: i64,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "INSERT INTO mirrored_skills (namespace, name, body, etag, fetched, gone) VALUES (?1, ?2, ?3, ?4, ?5, 0)
         ON CONFLICT (namespace, name) DO UPDATE SET body = ?3, etag = ?4, fetched = ?5, gone = 0",
        &values![skill.namespace.as_str(), skill.name.as_str(), body, etag, now],
    )?;
    for line in index.lines.iter().filter(|line| line.revoked.is_some()) {
        transaction.execute(
            "DELETE FROM mirrored_packages WHERE sha256 = ?1",
            &values![line.sha256.to_string()],
        )?;
    }
    Ok(())
}
