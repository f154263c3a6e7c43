//! Counts downloads: one for each identity, skill and day (attack registry-A12).
//!
//! A download must not wait for the database, so that downloads are collected in memory and written each second. When more
//! come than can be written, some are not counted.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_server::database::DatabaseError;
use prowess_server::values;
use sha2::{Digest as _, Sha256};

use crate::error::Outcome;
use crate::registry::Registry;

/// How often downloads are written.
const FLUSH: Duration = Duration::from_secs(1);
/// The most downloads between two writes.
const MAX_COLLECTED: usize = 100_000;
/// Seconds in a day.
const DAY: i64 = 86_400;
/// For how many days identities are kept. They are hashes that are different every day.
const KEEP_DAYS: i64 = 2;

/// Downloads that are not written yet.
pub(crate) struct DownloadCounter {
    collected: Mutex<HashSet<(i64, i64, String)>>,
}

impl DownloadCounter {
    pub(crate) fn new() -> Self {
        Self { collected: Mutex::default() }
    }

    fn add(&self, day: i64, skill: i64, identity: String) {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        if collected.len() < MAX_COLLECTED {
            collected.insert((day, skill, identity));
        }
    }

    fn take(&self) -> HashSet<(i64, i64, String)> {
        std::mem::take(&mut *self.collected.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Registry {
    /// Notes a download. `identity` is the user or the address of the client; it is stored as a hash that can't be compared
    /// between days.
    pub fn count_download(&self, skill: i64, identity: &str) {
        let day = self.now() / DAY;
        let hash = Sha256::digest(format!("{day}\n{skill}\n{identity}"));
        let identity =
            hash.iter().take(12).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        self.downloads().add(day, skill, identity);
    }

    /// Writes what was collected, and returns how many downloads counted.
    pub async fn flush_downloads(&self) -> Outcome<u64> {
        let collected = self.downloads().take();
        if collected.is_empty() {
            return Ok(0);
        }
        let written = self.database().write(move |transaction| {
            let mut counted = 0;
            for (day, skill, identity) in &collected {
                let new = transaction.execute(
                    "INSERT INTO download_identities (day, skill_id, identity) VALUES (?1, ?2, ?3)
                     ON CONFLICT (day, skill_id, identity) DO NOTHING",
                    &values![*day, *skill, identity],
                )?;
                if new == 0 {
                    continue;
                }
                counted += 1;
                transaction.execute(
                    "INSERT INTO download_days (skill_id, day, downloads) VALUES (?1, ?2, 1)
                     ON CONFLICT (skill_id, day) DO UPDATE SET downloads = download_days.downloads + 1",
                    &values![*skill, *day],
                )?;
                transaction.execute(
                    "UPDATE skills SET downloads = downloads + 1 WHERE id = ?1",
                    &values![*skill],
                )?;
            }
            Ok::<u64, DatabaseError>(counted)
        });
        Ok(written.await?)
    }

    /// Writes downloads each second until the registry is stopped, and once more then.
    pub(crate) async fn write_downloads(self) {
        loop {
            let stopped = tokio::select! {
                () = tokio::time::sleep(FLUSH) => false,
                () = self.stopped() => true,
            };
            if let Err(error) = self.flush_downloads().await {
                tracing::warn!(%error, "downloads could not be counted");
            }
            if stopped {
                return;
            }
        }
    }

    /// Deletes the identities of earlier days.
    pub(crate) async fn forget_identities(&self) -> Outcome<()> {
        let before = self.now() / DAY - KEEP_DAYS;
        let deleted = self.database().write(move |transaction| {
            transaction.execute("DELETE FROM download_identities WHERE day < ?1", &values![before])
        });
        deleted.await?;
        Ok(())
    }
}
