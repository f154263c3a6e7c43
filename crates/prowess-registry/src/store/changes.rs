//! Numbers that never repeat, and the log of changes that every node follows.

use prowess_server::database::{DatabaseError, Transaction};
use prowess_server::values;

/// The next value of a counter. The row stays locked until the transaction ends, so that numbers become visible in their
/// order: who has seen number 41 has seen all before it.
pub fn next_number(transaction: &mut Transaction<'_>, counter: &str) -> Result<i64, DatabaseError> {
    let row = transaction.query_one(
        "UPDATE registry_counters SET value = value + 1 WHERE name = ?1 RETURNING value",
        &values![counter],
    )?;
    row.get("value")
}

/// Notes that a skill has changed: its index gets a new sequence number, and search indexes follow.
pub fn record_change(
    transaction: &mut Transaction<'_>,
    skill: i64,
    now: i64,
) -> Result<i64, DatabaseError> {
    let sequence = next_number(transaction, "change")?;
    transaction.execute(
        "INSERT INTO changes (sequence, skill_id, changed) VALUES (?1, ?2, ?3)",
        &values![sequence, skill, now],
    )?;
    transaction
        .execute("UPDATE skills SET sequence = ?1 WHERE id = ?2", &values![sequence, skill])?;
    Ok(sequence)
}
