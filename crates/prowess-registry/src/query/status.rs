//! How the registry is doing.

use std::time::Instant;

use prowess_server::database::DatabaseError;

use crate::error::Outcome;
use crate::registry::Registry;

/// The state of this node.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusView {
    /// The version of the program.
    pub version: &'static str,
    /// `sqlite` or `postgres`.
    pub database: &'static str,
    /// How long a query takes, in microseconds.
    pub database_micros: u64,
    /// `folder` or `s3`.
    pub storage: &'static str,
    /// By how many changes the search index is behind.
    pub search_behind: i64,
    /// Publications that are not finished.
    pub pending_jobs: i64,
    /// Public skills.
    pub skills: i64,
    /// Versions that can be installed.
    pub versions: i64,
    /// Namespaces with at least one public skill.
    pub publishers: i64,
    /// How long this node is up, in seconds.
    pub uptime: u64,
}

impl Registry {
    /// The state of this node.
    pub async fn status(&self) -> Outcome<StatusView> {
        let started = Instant::now();
        let counts = self.database().read(|connection| {
            connection.query_one(
                "SELECT
                 (SELECT COUNT(*) FROM skills WHERE state = 'visible' AND private = 0 AND listed = 1) AS skills,
                 (SELECT COUNT(*) FROM versions WHERE state = 'visible') AS versions,
                 (SELECT COUNT(DISTINCT namespace) FROM skills WHERE state = 'visible' AND private = 0) AS publishers,
                 (SELECT COUNT(*) FROM jobs) AS jobs,
                 (SELECT value FROM registry_counters WHERE name = 'change') AS change",
                &[],
            )
        });
        let counts = counts.await?;
        let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let change: i64 = counts.get("change").map_err(|error: DatabaseError| error)?;
        Ok(StatusView {
            version: env!("CARGO_PKG_VERSION"),
            database: self.database_name(),
            database_micros: micros,
            storage: self.blobs().name(),
            search_behind: (change - self.search_index().sequence()).max(0),
            pending_jobs: counts.get("jobs")?,
            skills: counts.get("skills")?,
            versions: counts.get("versions")?,
            publishers: counts.get("publishers")?,
            uptime: self.uptime().as_secs(),
        })
    }
}
