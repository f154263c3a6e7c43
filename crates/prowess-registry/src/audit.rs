//! Entries of the audit log, written in the transaction of the change that they are about (attack registry-D21).

use prowess_server::audit::AuditEntry;
use prowess_server::database::{DatabaseError, Transaction};
use serde_json::Value;

use crate::actor::Actor;
use crate::registry::Registry;

/// Writes an entry.
pub(crate) fn record(
    registry: &Registry,
    transaction: &mut Transaction<'_>,
    actor: &Actor,
    action: &'static str,
    subject: &str,
    details: Value,
) -> Result<(), DatabaseError> {
    let entry = AuditEntry {
        actor: actor.user_id.clone(),
        action,
        subject: subject.to_owned(),
        address: None,
        details,
    };
    registry.server().audit().append_in(transaction, &entry)
}
