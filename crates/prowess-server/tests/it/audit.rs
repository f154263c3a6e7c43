use prowess_server::audit::{AuditEntry, AuditVerification};
use prowess_server::database::{DatabaseError, values};
use serde_json::json;

use crate::support::{Bed, on_both};

on_both! {
    entries_are_chained,
    each_kind_of_tampering_is_found,
    entries_of_many_at_once_form_one_chain,
    an_entry_belongs_to_its_transaction,
    entries_are_listed_from_the_newest,
}

fn entry(number: u32) -> AuditEntry {
    AuditEntry {
        actor: "u_ada".to_owned(),
        action: "skill.revoke",
        subject: format!("acme/weather-{number}"),
        address: Some([203, 0, 113, 7].into()),
        details: json!({ "reason": "malware" }),
    }
}

async fn fill(bed: &Bed, count: u32) {
    for number in 0..count {
        bed.server.audit().append(entry(number)).await.expect("an entry");
    }
}

async fn entries_are_chained(bed: Bed) {
    let audit = bed.server.audit();
    let empty = audit.verify().await.expect("a verification");
    assert_eq!(empty, AuditVerification::Intact { entries: 0, head: "0".repeat(64) });
    fill(&bed, 5).await;
    let newest = audit.entries(None, 1).await.expect("entries").remove(0);
    let intact = audit.verify().await.expect("a verification");
    assert_eq!(intact, AuditVerification::Intact { entries: 5, head: newest.hash });
}

/// Attack registry-D21.
async fn each_kind_of_tampering_is_found(bed: Bed) {
    for (statement, broken_at) in [
        ("UPDATE audit_log SET actor = 'u_eve' WHERE sequence = 3", 3),
        ("UPDATE audit_log SET details = '{}' WHERE sequence = 1", 1),
        ("UPDATE audit_log SET address = NULL WHERE sequence = 2", 2),
        ("UPDATE audit_log SET at = at + 1 WHERE sequence = 5", 5),
        ("DELETE FROM audit_log WHERE sequence = 2", 2),
        ("UPDATE audit_log SET sequence = 9 WHERE sequence = 4", 4),
        // Letters that move from one field to the next.
        (
            "UPDATE audit_log SET action = 'skill', subject = '.revoke' || subject WHERE sequence = 3",
            3,
        ),
    ] {
        bed.database()
            .write(|transaction| transaction.execute("DELETE FROM audit_log", &[]))
            .await
            .expect("an empty log");
        fill(&bed, 5).await;
        bed.database()
            .write(move |transaction| transaction.execute(statement, &values![]))
            .await
            .expect("somebody tampers");
        let found = bed.server.audit().verify().await.expect("a verification");
        assert_eq!(found, AuditVerification::Broken { sequence: broken_at }, "{statement}");
    }
}

async fn entries_of_many_at_once_form_one_chain(bed: Bed) {
    let node = bed.node().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..50 {
        let server = if number % 2 == 0 { bed.server.clone() } else { node.clone() };
        tasks.spawn(async move { server.audit().append(entry(number)).await });
    }
    while let Some(task) = tasks.join_next().await {
        task.expect("a task").expect("an entry");
    }
    let verified = bed.server.audit().verify().await.expect("a verification");
    assert!(matches!(verified, AuditVerification::Intact { entries: 50, .. }), "{verified:?}");
}

async fn an_entry_belongs_to_its_transaction(bed: Bed) {
    let server = bed.server.clone();
    let result = bed
        .database()
        .write(move |transaction| {
            server.audit().append_in(transaction, &entry(1))?;
            Err::<(), _>(DatabaseError::NoRow)
        })
        .await;
    assert_eq!(result, Err(DatabaseError::NoRow));
    assert_eq!(bed.server.audit().entries(None, 10).await, Ok(Vec::new()));
}

async fn entries_are_listed_from_the_newest(bed: Bed) {
    fill(&bed, 5).await;
    let audit = bed.server.audit();
    let first = audit.entries(None, 2).await.expect("entries");
    let numbers: Vec<u64> = first.iter().map(|entry| entry.sequence).collect();
    assert_eq!(numbers, [5, 4]);
    let next = audit.entries(Some(4), 10).await.expect("entries");
    assert_eq!(next.len(), 3);
    assert_eq!(next[0].details, json!({ "reason": "malware" }));
}
