//! Runs per minute and user: a window that slides, so that the eleventh run within any minute is refused (specification
//! §7.1). With several servers the runs of all of them count.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_server::database::{Database, DatabaseKind, values};

use crate::problem::ApiProblem;

/// The window.
const WINDOW_MS: i64 = 60_000;
/// Maximum number of users that are counted. Above it, those whose window is over are forgotten.
const MAX_USERS: usize = 10_000;

/// Counts runs.
pub(crate) struct RunLimiter {
    database: Database,
    starts: Mutex<HashMap<String, VecDeque<i64>>>,
}

impl RunLimiter {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, starts: Mutex::default() }
    }

    /// Counts a run, or refuses it.
    pub(crate) async fn check(&self, user: &str, most: usize, now: i64) -> Result<(), ApiProblem> {
        self.check_here(user, most, now)?;
        if self.database.kind() == DatabaseKind::Postgres {
            let (user, since) = (user.to_owned(), now - WINDOW_MS);
            let count: i64 = self
                .database
                .read(move |connection| {
                    let sql = "SELECT COUNT(*) AS runs FROM studio_runs \
                               WHERE owner = ?1 AND started_at > ?2 AND kind <> 'workflow'";
                    connection.query_one(sql, &values![user.clone(), since])?.get("runs")
                })
                .await
                .map_err(|error: prowess_server::database::DatabaseError| {
                    ApiProblem::from(error)
                })?;
            if usize::try_from(count).unwrap_or(usize::MAX) >= most {
                return Err(refused(most, Duration::from_secs(1)));
            }
        }
        Ok(())
    }

    fn check_here(&self, user: &str, most: usize, now: i64) -> Result<(), ApiProblem> {
        let mut all = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_USERS {
            all.retain(|_, starts| starts.back().is_some_and(|last| *last > now - WINDOW_MS));
        }
        let starts = all.entry(user.to_owned()).or_default();
        while starts.front().is_some_and(|first| *first <= now - WINDOW_MS) {
            starts.pop_front();
        }
        if starts.len() >= most {
            let first = starts.front().copied().unwrap_or(now);
            let wait = u64::try_from(first + WINDOW_MS - now).unwrap_or(1);
            return Err(refused(most, Duration::from_millis(wait)));
        }
        starts.push_back(now);
        Ok(())
    }
}

fn refused(most: usize, retry_after: Duration) -> ApiProblem {
    ApiProblem::rate_limited(format!("At most {most} runs per minute are allowed"), retry_after)
}
