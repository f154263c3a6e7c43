//! Runs per minute and user: a window that slides, so that the eleventh run within any minute is refused (specification
//! §7.1). Where several servers share a database, the runs of all of them count, and so do those that a user has at a time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_server::database::{
    Connection, Database, DatabaseError, DatabaseKind, Transaction, values,
};

use crate::cluster::ALIVE;
use crate::problem::ApiProblem;
use crate::request::new_id;
use crate::studio::StudioLimits;

/// The window.
const WINDOW_MS: i64 = 60_000;
/// Maximum number of users that are counted. Above it, those whose window is over are forgotten.
const MAX_USERS: usize = 10_000;
/// Maximum number of waiting runs of a user, on all servers.
const MAX_WAITING: i64 = 50;
/// How often a run that waits looks whether it may begin.
const POLL: Duration = Duration::from_millis(150);

/// Counts runs.
pub(crate) struct RunLimiter {
    database: Database,
    node: String,
    per_minute: usize,
    at_a_time: usize,
    starts: Mutex<HashMap<String, VecDeque<i64>>>,
}

/// Permission to run. Dropping it ends the run for those that count.
#[derive(Debug)]
pub(crate) struct Admission {
    shared: Option<SharedAdmission>,
}

/// A row in the table that all servers count.
struct SharedAdmission {
    database: Database,
    id: String,
    owner: String,
    at: i64,
    at_a_time: usize,
    is_waiting: bool,
}

impl std::fmt::Debug for SharedAdmission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedAdmission").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What the table says about a run that wants to begin.
enum Counted {
    Begins,
    Waits,
    /// The earliest run of the window began at this time.
    TooMany(i64),
    QueueFull,
}

impl RunLimiter {
    pub(crate) fn new(database: Database, node: &str, limits: StudioLimits) -> Self {
        Self {
            database,
            node: node.to_owned(),
            per_minute: limits.runs_per_minute,
            at_a_time: limits.running_per_user,
            starts: Mutex::default(),
        }
    }

    /// Counts a run, or refuses it.
    pub(crate) async fn admit(&self, user: &str, now: i64) -> Result<Admission, ApiProblem> {
        if self.database.kind() == DatabaseKind::Sqlite {
            self.count_here(user, now)?;
            return Ok(Admission { shared: None });
        }
        let id = new_id("a")?;
        let (row, owner, node) = (id.clone(), user.to_owned(), self.node.clone());
        let (per_minute, at_a_time) = (self.per_minute, self.at_a_time);
        let counted: Result<Counted, DatabaseError> = self
            .database
            .write(move |transaction| {
                count(transaction, &row, &owner, &node, now, per_minute, at_a_time)
            })
            .await;
        let is_waiting = match counted? {
            Counted::Begins => false,
            Counted::Waits => true,
            Counted::TooMany(first) => return Err(refused(self.per_minute, first, now)),
            Counted::QueueFull => {
                let second = Duration::from_secs(1);
                return Err(ApiProblem::rate_limited("Too many of your runs are waiting", second));
            }
        };
        let shared = SharedAdmission {
            database: self.database.clone(),
            id,
            owner: user.to_owned(),
            at: now,
            at_a_time: self.at_a_time,
            is_waiting,
        };
        Ok(Admission { shared: Some(shared) })
    }

    fn count_here(&self, user: &str, now: i64) -> Result<(), ApiProblem> {
        let mut all = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_USERS {
            all.retain(|_, starts| starts.back().is_some_and(|last| *last > now - WINDOW_MS));
        }
        let starts = all.entry(user.to_owned()).or_default();
        while starts.front().is_some_and(|first| *first <= now - WINDOW_MS) {
            starts.pop_front();
        }
        if starts.len() >= self.per_minute {
            let first = starts.front().copied().unwrap_or(now);
            return Err(refused(self.per_minute, first, now));
        }
        starts.push_back(now);
        Ok(())
    }
}

/// Counts a run in the table of all servers.
fn count(
    transaction: &mut Transaction<'_>,
    id: &str,
    owner: &str,
    node: &str,
    now: i64,
    per_minute: usize,
    at_a_time: usize,
) -> Result<Counted, DatabaseError> {
    let since = now - WINDOW_MS;
    transaction.execute(
        "DELETE FROM studio_admissions WHERE owner = ?1 AND at <= ?2 AND state = 'ended'",
        &values![owner, since],
    )?;
    let row = transaction.query_one(
        "SELECT COUNT(*) AS runs, COALESCE(MIN(at), ?3) AS first FROM studio_admissions \
         WHERE owner = ?1 AND at > ?2",
        &values![owner, since, now],
    )?;
    if row.get::<usize>("runs")? >= per_minute {
        return Ok(Counted::TooMany(row.get("first")?));
    }
    let running = number(transaction, owner, "running", i64::MAX, "")?;
    let waiting = number(transaction, owner, "waiting", i64::MAX, "")?;
    if waiting >= MAX_WAITING {
        return Ok(Counted::QueueFull);
    }
    let begins = waiting == 0 && usize::try_from(running).is_ok_and(|running| running < at_a_time);
    let state = if begins { "running" } else { "waiting" };
    transaction.execute(
        "INSERT INTO studio_admissions (id, owner, node, state, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        &values![id, owner, node, state, now],
    )?;
    Ok(if begins { Counted::Begins } else { Counted::Waits })
}

/// The number of a user's runs in a state, on servers that are alive, before a place in the queue.
fn number(
    connection: &mut Connection<'_>,
    owner: &str,
    state: &str,
    at: i64,
    id: &str,
) -> Result<i64, DatabaseError> {
    let sql = format!(
        "SELECT COUNT(*) AS runs FROM studio_admissions a WHERE owner = ?1 AND state = ?2 \
         AND (at < ?3 OR (at = ?3 AND id < ?4)) AND {ALIVE}"
    );
    connection.query_one(&sql, &values![owner, state, at, id])?.get("runs")
}

impl Admission {
    /// Of a run that another server has admitted.
    pub(crate) fn taken_over() -> Self {
        Self { shared: None }
    }

    /// Begins at once: a workflow waits in the queue of its tools.
    pub(crate) async fn begin_now(&mut self) -> Result<(), DatabaseError> {
        let Some(shared) = &mut self.shared else { return Ok(()) };
        shared.is_waiting = false;
        set_state(&shared.database, &shared.id, "free").await
    }

    /// Waits until the run may begin. `tell` is called with the position whenever it has changed.
    pub(crate) async fn wait(&mut self, mut tell: impl FnMut(usize)) {
        let Some(shared) = &mut self.shared else { return };
        let mut told = None;
        while shared.is_waiting {
            match shared.position().await {
                Ok(None) => shared.is_waiting = false,
                Ok(Some(position)) => {
                    if told != Some(position) {
                        told = Some(position);
                        tell(position);
                    }
                    tokio::time::sleep(POLL).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "the queue of runs can't be read");
                    tokio::time::sleep(POLL).await;
                }
            }
        }
    }
}

impl SharedAdmission {
    /// Begins if it is its turn; otherwise the number of runs before it.
    async fn position(&self) -> Result<Option<usize>, DatabaseError> {
        let (id, owner, at, most) = (self.id.clone(), self.owner.clone(), self.at, self.at_a_time);
        self.database
            .write(move |transaction| {
                let before = number(transaction, &owner, "waiting", at, &id)?;
                let running = number(transaction, &owner, "running", i64::MAX, "")?;
                if before > 0 || usize::try_from(running).is_ok_and(|running| running >= most) {
                    return Ok(Some(usize::try_from(before).unwrap_or(0)));
                }
                let sql = "UPDATE studio_admissions SET state = 'running' WHERE id = ?1";
                transaction.execute(sql, &values![id.clone()])?;
                Ok(None)
            })
            .await
    }
}

async fn set_state(
    database: &Database,
    id: &str,
    state: &'static str,
) -> Result<(), DatabaseError> {
    let id = id.to_owned();
    database
        .write(move |transaction| {
            let sql = "UPDATE studio_admissions SET state = ?1 WHERE id = ?2";
            transaction.execute(sql, &values![state, id.clone()]).map(|_| ())
        })
        .await
}

impl Drop for SharedAdmission {
    fn drop(&mut self) {
        let (database, id) = (self.database.clone(), std::mem::take(&mut self.id));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = set_state(&database, &id, "ended").await {
                tracing::warn!(%error, "the end of a run was not counted");
            }
        });
    }
}

fn refused(most: usize, first: i64, now: i64) -> ApiProblem {
    let wait = u64::try_from(first + WINDOW_MS - now).unwrap_or(1);
    let message = format!("At most {most} runs per minute are allowed");
    ApiProblem::rate_limited(message, Duration::from_millis(wait))
}
