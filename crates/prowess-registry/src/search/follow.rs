//! Follows the log of changes: what was changed anywhere is searchable here within a second.

use std::time::Duration;

use prowess_server::database::{Connection, DatabaseError};
use prowess_server::values;

use super::SearchDocument;
use crate::error::Outcome;
use crate::registry::Registry;
use crate::store::{SKILL_COLUMNS, SkillRow, VERSION_COLUMNS, VersionRow};
use crate::viewer::is_public;

/// How often the log is read when nobody on this node has changed something.
const POLL: Duration = Duration::from_millis(500);
/// Skills in one commit.
const BATCH: usize = 500;
/// After so many polls without a change the memory of the writer is freed.
const IDLE_POLLS: u32 = 20;
/// Old entries of the log that every node has seen.
const KEEP_SECONDS: i64 = 30 * 86_400;

/// The changed skills with their new documents, and the number of the last change.
type Changed = (Vec<(i64, Option<SearchDocument>)>, i64);

impl Registry {
    /// Keeps the index up to date until the registry is dropped or stopped.
    pub(crate) async fn follow_changes(self) {
        let mut idle = 0;
        loop {
            match self.catch_up().await {
                Ok(0) => {
                    idle += 1;
                    if idle == IDLE_POLLS {
                        self.search_index().rest();
                    }
                    tokio::select! {
                        () = tokio::time::sleep(POLL) => {}
                        () = self.changed().notified() => {}
                        () = self.stopped() => return,
                    }
                }
                Ok(_) => idle = 0,
                Err(error) => {
                    tracing::error!(%error, "the search index could not be updated");
                    tokio::select! {
                        () = tokio::time::sleep(POLL) => {}
                        () = self.stopped() => return,
                    }
                }
            }
        }
    }

    /// Reads the log once and applies it. Returns how many skills were updated.
    pub async fn catch_up(&self) -> Outcome<usize> {
        let after = self.search_index().sequence();
        let (changed, sequence) =
            self.database().read(move |connection| read_changes(connection, after)).await?;
        if sequence == after {
            return Ok(0);
        }
        let count = changed.len();
        let registry = self.clone();
        let applied =
            tokio::task::spawn_blocking(move || registry.search_index().apply(&changed, sequence));
        let failed = |error: &dyn std::fmt::Display| {
            tracing::error!(%error, "the search index could not be written");
            let message = "the search index could not be written";
            crate::error::RegistryError::of(
                "search-failed",
                prowess_core::ProblemKind::Failed,
                message,
            )
        };
        applied.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        Ok(count.max(1))
    }

    /// Deletes entries of the log that are older than a month. A node that was away for longer builds its index anew,
    /// because the first entry is not the one after its last.
    pub(crate) async fn trim_changes(&self) -> Outcome<()> {
        let before = self.now() - KEEP_SECONDS;
        let trimmed = self.database().write(move |transaction| {
            transaction.execute(
                "DELETE FROM changes WHERE changed < ?1 AND sequence < (SELECT MAX(sequence) FROM changes)",
                &values![before],
            )
        });
        trimmed.await?;
        Ok(())
    }
}

fn read_changes(connection: &mut Connection<'_>, after: i64) -> Result<Changed, DatabaseError> {
    // A new index, or one that misses entries of the log, starts with all skills in the order of their changes.
    let first =
        connection.query_one("SELECT COALESCE(MIN(sequence), 0) AS first FROM changes", &[])?;
    let has_all = after > 0 && first.get::<i64>("first")? <= after + 1;
    let ids = if has_all {
        connection.query(
            &format!("SELECT sequence, skill_id AS id FROM changes WHERE sequence > ?1 ORDER BY sequence LIMIT {BATCH}"),
            &values![after],
        )?
    } else {
        connection.query(
            &format!("SELECT sequence, id FROM skills WHERE sequence > ?1 ORDER BY sequence LIMIT {BATCH}"),
            &values![after],
        )?
    };
    let Some(last) = ids.last() else { return Ok((Vec::new(), after)) };
    let sequence: i64 = last.get("sequence")?;
    let mut changed: Vec<(i64, Option<SearchDocument>)> = Vec::new();
    for row in &ids {
        let id: i64 = row.get("id")?;
        if changed.iter().all(|(known, _)| *known != id) {
            changed.push((id, read_document(connection, id)?));
        }
    }
    Ok((changed, sequence))
}

fn read_document(
    connection: &mut Connection<'_>,
    id: i64,
) -> Result<Option<SearchDocument>, DatabaseError> {
    let row = connection.query_optional(
        &format!(
            "SELECT {SKILL_COLUMNS}, n.created AS since FROM skills s JOIN namespaces n ON n.name = s.namespace
             WHERE s.id = ?1 AND s.state <> 'deleted'"
        ),
        &values![id],
    )?;
    // The row of a deleted skill is kept under a name that no skill can have.
    let Some(row) = row else { return Ok(None) };
    let skill = SkillRow::read(&row)?;
    if !is_public(&skill) {
        return Ok(None);
    }
    let version = connection.query_optional(
        &format!("SELECT {VERSION_COLUMNS} FROM versions WHERE skill_id = ?1 AND version = ?2"),
        &values![id, skill.latest.as_deref()],
    )?;
    let Some(version) = version else { return Ok(None) };
    let version = VersionRow::read(&version)?;
    if version.revoked.is_some() {
        return Ok(None);
    }
    Ok(Some(SearchDocument::of(&skill, &version, row.get("since")?)))
}
