//! A log of who changed what, in which each entry contains the hash of the one before.
//!
//! Whoever changes or removes an entry has to change all that follow. [`AuditLog::verify`] finds the first entry that does
//! not fit; a hash noted elsewhere shows that the end was not cut off.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use crate::clock::{SharedClock, Timestamp};
use crate::database::{Database, DatabaseError, Row, Transaction, values};

/// The hash before the first entry.
const FIRST: [u8; 32] = [0; 32];

/// The longest list of entries that is returned at once.
const MOST_LISTED: usize = 500;

/// Entries that are verified in one transaction.
const VERIFIED_AT_ONCE: usize = 2000;

const COLUMNS: &str = "sequence, at, actor, action, subject, address, details, hash";

/// An entry to be written.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    /// Who did it: the identifier of a user, or of a part of the server, such as `system`.
    pub actor: String,
    /// What was done: a verb with its area, such as `user.disable`.
    pub action: &'static str,
    /// What it was done to: an identifier or a name.
    pub subject: String,
    /// Where the request came from.
    pub address: Option<IpAddr>,
    /// Anything else worth knowing, and never a secret.
    pub details: Json,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRecord {
    /// Its number, from 1 without gaps.
    pub sequence: u64,
    /// When it was written.
    pub at: Timestamp,
    /// Who did it.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// What it was done to.
    pub subject: String,
    /// Where the request came from.
    pub address: Option<String>,
    /// Anything else worth knowing.
    pub details: Json,
    /// The hash of this entry and all before it, in hexadecimal.
    pub hash: String,
}

/// What a verification came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "lowercase")]
pub enum AuditVerification {
    /// All entries fit together.
    Intact {
        /// The number of entries.
        entries: u64,
        /// The hash of the last one, in hexadecimal.
        head: String,
    },
    /// An entry was changed, inserted or removed.
    Broken {
        /// The number of the first entry that does not fit.
        sequence: u64,
    },
}

/// The audit log of a server.
pub struct AuditLog {
    database: Database,
    clock: SharedClock,
}

impl AuditLog {
    pub(crate) fn new(database: Database, clock: SharedClock) -> AuditLog {
        AuditLog { database, clock }
    }

    /// Writes an entry. Where something is changed in the database, [`AuditLog::append_in`] does both or neither.
    pub async fn append(&self, entry: AuditEntry) -> Result<(), DatabaseError> {
        let now = self.clock.now();
        self.database.write(move |transaction| append(transaction, &entry, now)).await
    }

    /// Writes an entry in the transaction of the change that it is about.
    pub fn append_in(
        &self,
        transaction: &mut Transaction<'_>,
        entry: &AuditEntry,
    ) -> Result<(), DatabaseError> {
        append(transaction, entry, self.clock.now())
    }

    /// Entries before a number, the newest first; at most 500.
    pub async fn entries(
        &self,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, DatabaseError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM audit_log WHERE sequence < ?1 ORDER BY sequence DESC LIMIT ?2"
        );
        let before = before.unwrap_or(i64::MAX.unsigned_abs());
        let limit = limit.min(MOST_LISTED);
        self.database
            .read(move |connection| {
                let rows = connection.query(&sql, &values![before, limit])?;
                rows.iter().map(record).collect()
            })
            .await
    }

    /// Computes all hashes again.
    pub async fn verify(&self) -> Result<AuditVerification, DatabaseError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM audit_log WHERE sequence > ?1 ORDER BY sequence LIMIT ?2"
        );
        let mut entries = 0_u64;
        let mut head = FIRST;
        loop {
            let (sql, from) = (sql.clone(), entries);
            let rows = self
                .database
                .read(move |connection| connection.query(&sql, &values![from, VERIFIED_AT_ONCE]))
                .await?;
            if rows.is_empty() {
                return Ok(AuditVerification::Intact { entries, head: hexadecimal(&head) });
            }
            for row in rows {
                let stored = StoredEntry::from_row(&row)?;
                let expected = entries + 1;
                if stored.sequence != expected || stored.hash_after(&head) != stored.hash {
                    return Ok(AuditVerification::Broken { sequence: expected });
                }
                head = stored.hash;
                entries = expected;
            }
        }
    }
}

fn append(
    transaction: &mut Transaction<'_>,
    entry: &AuditEntry,
    now: Timestamp,
) -> Result<(), DatabaseError> {
    let last = transaction.query_optional(
        "SELECT sequence, hash FROM audit_log ORDER BY sequence DESC LIMIT 1",
        &[],
    )?;
    let (sequence, before) = match last {
        Some(row) => (row.get::<u64>("sequence")? + 1, row.get("hash")?),
        None => (1, FIRST),
    };
    let mut stored = StoredEntry {
        sequence,
        at: now,
        actor: entry.actor.clone(),
        action: entry.action.to_owned(),
        subject: entry.subject.clone(),
        address: entry.address.map(|address| address.to_canonical().to_string()),
        details: entry.details.to_string(),
        hash: FIRST,
    };
    stored.hash = stored.hash_after(&before);
    transaction.execute(
        "INSERT INTO audit_log (sequence, at, actor, action, subject, address, details, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        &values![
            stored.sequence,
            stored.at,
            stored.actor,
            stored.action,
            stored.subject,
            stored.address,
            stored.details,
            stored.hash
        ],
    )?;
    Ok(())
}

/// An entry as it is stored and hashed.
struct StoredEntry {
    sequence: u64,
    at: Timestamp,
    actor: String,
    action: String,
    subject: String,
    address: Option<String>,
    details: String,
    hash: [u8; 32],
}

impl StoredEntry {
    fn from_row(row: &Row) -> Result<StoredEntry, DatabaseError> {
        Ok(StoredEntry {
            sequence: row.get("sequence")?,
            at: row.get("at")?,
            actor: row.get("actor")?,
            action: row.get("action")?,
            subject: row.get("subject")?,
            address: row.get("address")?,
            details: row.get("details")?,
            hash: row.get("hash")?,
        })
    }

    /// Each field is preceded by its length, so that no two entries have the same bytes.
    fn hash_after(&self, before: &[u8; 32]) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(before);
        hash.update(self.sequence.to_be_bytes());
        hash.update(self.at.millis().to_be_bytes());
        let address = self.address.as_deref().unwrap_or_default();
        for field in [&self.actor, &self.action, &self.subject, address, &self.details] {
            hash.update((field.len() as u64).to_be_bytes());
            hash.update(field);
        }
        hash.finalize().into()
    }
}

fn record(row: &Row) -> Result<AuditRecord, DatabaseError> {
    let stored = StoredEntry::from_row(row)?;
    Ok(AuditRecord {
        sequence: stored.sequence,
        at: stored.at,
        actor: stored.actor,
        action: stored.action,
        subject: stored.subject,
        address: stored.address,
        // It was written as JSON; what somebody changed by hand is shown as text.
        details: serde_json::from_str(&stored.details).unwrap_or(Json::String(stored.details)),
        hash: hexadecimal(&stored.hash),
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}
