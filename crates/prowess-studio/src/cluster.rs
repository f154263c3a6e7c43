//! Several servers on one database: which are alive, what they write down while runs go on, and who continues the runs of one
//! that was killed.
//!
//! A server renews its row every second. The runs of one that has not done so for a while belong to whoever takes them
//! first: workflows continue with the nodes that are left, skills run again, and answers of a chat end with their text so
//! far. Times are those of the database, so that the clocks of the servers need not agree.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use prowess_server::database::{Database, DatabaseError, DatabaseKind, values};

use crate::routes::take_over;
use crate::runs::{LiveRun, TakenRun};
use crate::studio::Studio;

/// How often a server says that it is alive.
const BEAT: Duration = Duration::from_secs(1);
/// How long the row of a server that is gone is kept.
const FORGET_MS: i64 = 60 * 60 * 1_000;
/// How often new events are written down: with one server only for the case that it is killed.
const SHARED_PACE: Duration = Duration::from_millis(150);
const SINGLE_PACE: Duration = Duration::from_secs(1);
/// Runs that a server takes over at once.
const MAX_TAKEN: i64 = 50;

/// The clock of Postgres, in milliseconds.
const NOW: &str = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";

/// The condition that the node of a row `a` is alive: it has said so within the last 6 s.
pub(crate) const ALIVE: &str = "EXISTS (SELECT 1 FROM studio_nodes n WHERE n.node = a.node \
     AND n.seen_at > CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - 6000)";

/// Renews the row of a server.
pub(crate) fn beat_blocking(database: &Database, node: &str) -> Result<(), DatabaseError> {
    let sql = format!(
        "INSERT INTO studio_nodes (node, seen_at) VALUES (?1, {NOW}) \
         ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at"
    );
    let node = node.to_owned();
    database.write_blocking(move |transaction| {
        transaction.execute(&sql, &values![node.as_str()]).map(|_| ())
    })
}

/// Everything that a server does besides answering requests, until it is aborted.
pub(crate) async fn keep(studio: Studio) {
    let is_shared = studio.server().database().kind() == DatabaseKind::Postgres;
    if is_shared {
        tokio::join!(beat(&studio), inherit(&studio), note(&studio, SHARED_PACE));
    } else {
        note(&studio, SINGLE_PACE).await;
    }
}

/// Leaves: what still runs here may be taken over at once.
pub(crate) async fn leave(studio: &Studio) {
    let database = studio.server().database();
    if database.kind() == DatabaseKind::Sqlite {
        return;
    }
    let node = studio.shared.runs.inner.node.clone();
    let left: Result<u64, DatabaseError> = database
        .write(move |transaction| {
            let sql = "DELETE FROM studio_nodes WHERE node = ?1";
            transaction.execute(sql, &values![node.clone()])
        })
        .await;
    if let Err(error) = left {
        tracing::warn!(%error, "the other servers will notice later that this one has stopped");
    }
}

async fn beat(studio: &Studio) {
    loop {
        let (database, node) = (studio.server().database().clone(), node(studio));
        let beaten = tokio::task::spawn_blocking(move || beat_blocking(&database, &node)).await;
        if let Ok(Err(error)) = beaten {
            tracing::warn!(%error, "this server could not say that it is alive");
        }
        tokio::time::sleep(BEAT).await;
    }
}

fn node(studio: &Studio) -> String {
    studio.shared.runs.inner.node.clone()
}

/// Takes over the runs of servers that are gone.
async fn inherit(studio: &Studio) {
    loop {
        tokio::time::sleep(BEAT).await;
        match taken(studio).await {
            Ok(runs) => {
                for run in runs {
                    tracing::warn!(run_id = run.id, "a run of a server that is gone is continued");
                    if let Err(problem) = take_over(studio, run).await {
                        tracing::error!(?problem, "a run could not be taken over");
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "runs of servers that are gone were not found"),
        }
    }
}

/// Makes this server the owner of runs of those that are gone.
async fn taken(studio: &Studio) -> Result<Vec<TakenRun>, DatabaseError> {
    let node = node(studio);
    let database = studio.server().database();
    // Nearly always there are none, and a read disturbs nobody.
    let sql = format!(
        "SELECT a.id AS id FROM studio_runs a WHERE a.status = 'running' AND NOT {ALIVE} LIMIT {MAX_TAKEN}"
    );
    let found: Vec<String> = database
        .read(move |connection| {
            connection
                .query(&sql, &[])?
                .iter()
                .map(|row| row.get("id"))
                .collect::<Result<_, DatabaseError>>()
        })
        .await?;
    let mut taken = Vec::new();
    for id in found {
        let (node, id) = (node.clone(), id.clone());
        let run = database
            .write(move |transaction| {
                let sql = format!(
                    "SELECT a.id AS id FROM studio_runs a \
                     WHERE a.id = ?1 AND a.status = 'running' AND NOT {ALIVE}"
                );
                if transaction.query_optional(&sql, &values![id.clone()])?.is_none() {
                    return Ok(None);
                }
                let run = TakenRun::read(transaction, &id)?;
                let sql = "UPDATE studio_runs SET node = ?1 WHERE id = ?2";
                transaction.execute(sql, &values![node.clone(), id.clone()])?;
                Ok::<_, DatabaseError>(run)
            })
            .await?;
        taken.extend(run);
    }
    // Rows of servers that will not come back.
    let sql = format!("DELETE FROM studio_nodes WHERE seen_at < {NOW} - {FORGET_MS}");
    database.write(move |transaction| transaction.execute(&sql, &[])).await?;
    Ok(taken)
}

/// Writes down the events of runs while they go on, and looks for those that another server was asked to cancel.
async fn note(studio: &Studio, pace: Duration) {
    let is_shared = pace == SHARED_PACE;
    let mut noted: HashMap<String, u64> = HashMap::new();
    loop {
        tokio::time::sleep(pace).await;
        let live: Vec<Arc<LiveRun>> = studio.shared.runs.inner.live().values().cloned().collect();
        noted.retain(|id, _| live.iter().any(|run| run.id.to_string() == *id));
        if live.is_empty() {
            continue;
        }
        let mut news = Vec::new();
        for run in &live {
            let id = run.id.to_string();
            let after = noted.get(&id).copied().unwrap_or(run.first_noted);
            if let Some((first, last, frames)) = run.log.since(after) {
                news.push((id, first, last, frames));
            }
        }
        match studio.shared.runs.inner.store.note(news, &node(studio)).await {
            Ok(written) => noted.extend(written),
            Err(error) => tracing::warn!(%error, "events of runs were not written down"),
        }
        if is_shared {
            match studio.shared.runs.inner.store.cancelled_elsewhere(&node(studio)).await {
                Ok(ids) => {
                    for id in ids.iter().filter_map(|id| id.parse().ok()) {
                        studio.shared.runs.cancel(id);
                    }
                }
                Err(error) => tracing::warn!(%error, "cancelled runs were not found"),
            }
        }
    }
}
