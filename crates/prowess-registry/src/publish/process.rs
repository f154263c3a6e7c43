//! The job of a version: scan it, check its signatures, and make it visible.
//!
//! Any node may run it, and it can be run again at any time: until its last transaction it only reads.

use std::time::Duration;

use prowess_server::accounts::user_by_id;
use prowess_server::database::{DatabaseError, DatabaseKind, Transaction};
use prowess_server::values;

use super::rules::refresh_skill;
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::registry::Registry;
use crate::scan_report::{ScanDecision, StoredScan, scan_tree};
use crate::signatures::{EVERY_NAMESPACE, RegisteredKey, SignatureResult, check_signatures};
use crate::store::{VERSION_COLUMNS, VersionRow, VersionState, record_change};

/// After so many attempts a moderator has to look at the version.
const MAX_ATTEMPTS: i64 = 5;
/// How often jobs of other nodes are looked for.
const POLL: Duration = Duration::from_secs(2);
/// Jobs that are taken at once.
const BATCH: usize = 16;

impl Registry {
    /// Works on jobs until the registry is stopped: those that a crash left behind, and those of nodes that are gone.
    pub(crate) async fn work_on_jobs(self) {
        if let Err(error) = self.release_jobs().await {
            tracing::error!(%error, "publications of the last run could not be released");
        }
        loop {
            match self.resume_jobs().await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "continued unfinished publications"),
                Err(error) => tracing::error!(%error, "publications could not be continued"),
            }
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                () = self.stopped() => return,
            }
        }
    }

    /// With SQLite there is one node, so whoever worked on the jobs of the last run is gone: they need not wait for the lease.
    async fn release_jobs(&self) -> Outcome<()> {
        if self.database().kind() != DatabaseKind::Sqlite {
            return Ok(());
        }
        let now = self.now();
        let released = self.database().write(move |transaction| {
            transaction
                .execute("UPDATE jobs SET leased_until = 0 WHERE created < ?1", &values![now])
        });
        released.await?;
        Ok(())
    }

    /// Finishes all jobs that nobody works on, and returns how many there were.
    pub async fn resume_jobs(&self) -> Outcome<usize> {
        let now = self.now();
        let found = self.database().read(move |connection| {
            let rows = connection.query(
                &format!("SELECT version_id FROM jobs WHERE leased_until < ?1 ORDER BY created LIMIT {BATCH}"),
                &values![now],
            )?;
            rows.iter().map(|row| row.get("version_id")).collect::<Result<Vec<i64>, DatabaseError>>()
        });
        let versions = found.await?;
        for version in &versions {
            if let Err(error) = self.process(*version).await {
                tracing::error!(%error, version, "a publication failed and will be tried again");
            }
        }
        Ok(versions.len())
    }

    /// Runs the job of a version, unless it is done or another node has it.
    pub(crate) async fn process(&self, version: i64) -> Outcome<()> {
        let Some(lease) = self.lease(version).await? else { return Ok(()) };
        if lease.attempts > MAX_ATTEMPTS {
            return self.give_up(version).await;
        }
        self.work(version, lease).await
    }

    /// Runs the job of a version that this node has just added, and that it leased with it.
    pub(crate) async fn process_own(&self, version: i64) -> Outcome<()> {
        let lease = self.database().write(move |transaction| read_lease(transaction, version));
        match lease.await? {
            Some(lease) => self.work(version, lease).await,
            None => Ok(()),
        }
    }

    async fn work(&self, version: i64, lease: Lease) -> Outcome<()> {
        let tree = self.tree(&lease.row.sha256).await?;
        let (now, row, skill, keys) = (self.now(), lease.row, lease.skill, lease.keys);
        let worked = tokio::task::spawn_blocking(move || {
            let (scan, decision) = scan_tree(&tree, now);
            let version = row.version.to_string();
            let proof = check_signatures(&skill, &version, &tree, &row.signatures, &keys, now);
            (scan, decision, proof)
        });
        let (scan, decision, proof) = worked.await.map_err(|_| {
            RegistryError::of("scan-failed", prowess_core::ProblemKind::Internal, "the scan failed")
        })?;
        let finished = self
            .database()
            .write(move |transaction| finish(transaction, version, &scan, &decision, &proof, now));
        finished.await?;
        self.wake_search();
        Ok(())
    }

    async fn lease(&self, version: i64) -> Outcome<Option<Lease>> {
        let (now, lease) = (self.now(), i64::from(self.settings().job_seconds));
        let leased = self.database().write(move |transaction| {
            let taken = transaction.execute(
                "UPDATE jobs SET leased_until = ?1, attempts = attempts + 1 WHERE version_id = ?2 AND leased_until < ?3",
                &values![now + lease, version, now],
            )?;
            if taken == 0 {
                return Ok(None);
            }
            read_lease(transaction, version)
        });
        Ok(leased.await?)
    }

    /// Holds a version whose job failed again and again.
    async fn give_up(&self, version: i64) -> Outcome<()> {
        let held = self.database().write(move |transaction| {
            transaction.execute(
                "UPDATE versions SET state = 'held', state_reason = 'scan.failed' WHERE id = ?1 AND state = 'pending'",
                &values![version],
            )?;
            transaction.execute("DELETE FROM jobs WHERE version_id = ?1", &values![version])
        });
        held.await?;
        Ok(())
    }
}

/// A version that this node works on.
struct Lease {
    attempts: i64,
    row: VersionRow,
    skill: SkillId,
    keys: Vec<RegisteredKey>,
}

fn read_lease(
    transaction: &mut Transaction<'_>,
    version: i64,
) -> Result<Option<Lease>, DatabaseError> {
    let job = transaction
        .query_optional("SELECT attempts FROM jobs WHERE version_id = ?1", &values![version])?;
    // Another node has finished it meanwhile.
    let Some(job) = job else { return Ok(None) };
    let row = transaction.query_one(
        &format!("SELECT {VERSION_COLUMNS} FROM versions WHERE id = ?1"),
        &values![version],
    )?;
    let row = VersionRow::read(&row)?;
    let skill = transaction
        .query_one("SELECT namespace, name FROM skills WHERE id = ?1", &values![row.skill_id])?;
    let (namespace, name): (String, String) = (skill.get("namespace")?, skill.get("name")?);
    // A skill that was deleted in the meantime has a name that is none.
    let Ok(skill) = SkillId::new(&namespace, &name) else {
        transaction.execute("DELETE FROM jobs WHERE version_id = ?1", &values![version])?;
        return Ok(None);
    };
    let keys = keys_of(transaction, &namespace)?;
    Ok(Some(Lease { attempts: job.get("attempts")?, row, skill, keys }))
}

/// The keys that may sign skills of a namespace.
pub(crate) fn keys_of(
    transaction: &mut Transaction<'_>,
    namespace: &str,
) -> Result<Vec<RegisteredKey>, DatabaseError> {
    let rows = transaction.query(
        "SELECT namespace, role, material, added, revoked FROM publisher_keys WHERE namespace IN (?1, ?2) ORDER BY added LIMIT 500",
        &values![namespace, EVERY_NAMESPACE],
    )?;
    let mut keys = Vec::new();
    for row in rows {
        let role: String = row.get("role")?;
        let Ok(role) = role.parse() else { continue };
        keys.push(RegisteredKey {
            namespace: row.get("namespace")?,
            role,
            material: row.get("material")?,
            added: row.get("added")?,
            revoked: row.get("revoked")?,
        });
    }
    Ok(keys)
}

fn finish(
    transaction: &mut Transaction<'_>,
    version: i64,
    scan: &StoredScan,
    decision: &ScanDecision,
    proof: &SignatureResult,
    now: i64,
) -> Result<(), DatabaseError> {
    let row = transaction.query_one(
        "SELECT skill_id, state, publisher_id FROM versions WHERE id = ?1",
        &values![version],
    )?;
    let (skill, state, publisher): (i64, String, String) =
        (row.get("skill_id")?, row.get("state")?, row.get("publisher_id")?);
    transaction.execute("DELETE FROM jobs WHERE version_id = ?1", &values![version])?;
    if state != VersionState::Pending.as_str() {
        return Ok(());
    }
    // Attack registry-D14: whoever was banned in the meantime publishes nothing.
    let is_enabled = user_by_id(transaction, &publisher)?.is_some_and(|user| !user.disabled);
    let (state, reason) = match decision {
        _ if !is_enabled => (VersionState::Refused, Some("the account was disabled".to_owned())),
        _ if !proof.refused.is_empty() => (VersionState::Refused, Some(proof.refused.join("; "))),
        ScanDecision::Refuse(_) => (VersionState::Refused, Some("scan".to_owned())),
        ScanDecision::Publish => (VersionState::Visible, None),
    };
    let tier = tier_of(scan, proof);
    let scan = serde_json::to_string(scan).unwrap_or_default();
    let signatures = serde_json::to_string(&proof.signatures).unwrap_or_default();
    transaction.execute(
        "UPDATE versions SET state = ?1, state_reason = ?2, scan = ?3, signatures = ?4, tier = ?5 WHERE id = ?6",
        &values![state.as_str(), reason, scan, signatures, tier, version],
    )?;
    refresh_skill(transaction, skill, now)?;
    record_change(transaction, skill, now)?;
    Ok(())
}

/// GAIA §4.4: a signature promotes only what the automated scan has passed.
pub(crate) fn tier_of(scan: &StoredScan, proof: &SignatureResult) -> &'static str {
    if scan.allows_community() { proof.tier.as_str() } else { "experimental" }
}
