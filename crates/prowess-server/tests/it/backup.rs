use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prowess_server::COMPONENT;
use prowess_server::accounts::Role;
use prowess_server::audit::AuditVerification;
use prowess_server::database::{
    BackupReport, Component, Database, DatabaseError, DatabaseUrl, Migration, values,
};
use prowess_server::{Server, ServerOptions};

use crate::support::{Bed, Cluster, cluster};

const FIRST: Migration = Migration {
    version: 1,
    name: "shelves",
    sqlite: "CREATE TABLE books (id INTEGER PRIMARY KEY AUTOINCREMENT, shelf TEXT REFERENCES shelves (name) ON DELETE CASCADE,
                 before BIGINT REFERENCES books (id), cover BLOB, price DOUBLE PRECISION, title TEXT);
             CREATE TABLE shelves (name TEXT PRIMARY KEY);
             INSERT INTO shelves VALUES ('default')",
    postgres: "CREATE TABLE shelves (name TEXT PRIMARY KEY);
             CREATE TABLE books (id BIGSERIAL PRIMARY KEY, shelf TEXT REFERENCES shelves (name) ON DELETE CASCADE,
                 before BIGINT REFERENCES books (id), cover BYTEA, price DOUBLE PRECISION, title TEXT);
             INSERT INTO shelves VALUES ('default')",
};

const SECOND: Migration = Migration {
    version: 2,
    name: "readers",
    sqlite: "CREATE TABLE readers (name TEXT PRIMARY KEY)",
    postgres: "CREATE TABLE readers (name TEXT PRIMARY KEY)",
};

const LIBRARY: Component = Component { name: "library", migrations: &[FIRST] };
const NEWER_LIBRARY: Component = Component { name: "library", migrations: &[FIRST, SECOND] };

/// Fills a database with everything that a backup has to keep.
async fn fill(bed: &Bed) {
    let database = bed.database();
    database.migrate(LIBRARY.name, LIBRARY.migrations).await.expect("the tables");
    database
        .write(|transaction| {
            transaction.execute("INSERT INTO shelves VALUES (?1)", &values!["ä \"'\n"])?;
            let insert = "INSERT INTO books (shelf, before, cover, price, title)
                          VALUES (?1, ?2, ?3, ?4, ?5)";
            transaction.execute(
                insert,
                &values!["ä \"'\n", None::<i64>, vec![0_u8, 1, 255], 1.0, "one"],
            )?;
            transaction.execute(insert, &values!["default", 1, None::<Vec<u8>>, -0.1, "two"])?;
            // The first now refers to a row that comes after it.
            transaction.execute("UPDATE books SET before = 2 WHERE id = 1", &[])
        })
        .await
        .expect("rows");
    let ada = bed.user("ada", Role::Admin).await;
    bed.server.sessions().start(&ada).await.expect("a session");
    for number in 0..3 {
        let entry = prowess_server::audit::AuditEntry {
            actor: ada.id.clone(),
            action: "test",
            subject: number.to_string(),
            address: None,
            details: serde_json::json!({}),
        };
        bed.server.audit().append(entry).await.expect("an entry");
    }
}

type Dump = Vec<String>;

fn dump(database: &Database) -> Dump {
    database
        .read_blocking(|connection| {
            let mut lines = Vec::new();
            for table in ["books", "shelves", "users", "audit_log", "signing_keys"] {
                let sql = format!("SELECT * FROM {table} ORDER BY 1");
                for row in connection.query(&sql, &[])? {
                    lines.push(format!("{table} {:?}", row.values()));
                }
            }
            Ok::<_, DatabaseError>(lines)
        })
        .expect("rows")
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("a thread")
}

async fn back_up(bed: &Bed) -> BackupReport {
    let (database, path) = (bed.database().clone(), bed.path("backup.jsonl"));
    blocking(move || database.backup_blocking(&path, &["refresh_tokens"])).await.expect("a backup")
}

/// Restores the backup of one database into another, and compares them.
async fn restores(bed: Bed, target: DatabaseUrl) {
    fill(&bed).await;
    let report = back_up(&bed).await;
    let expected: BTreeMap<&str, u64> =
        [("books", 2), ("shelves", 2), ("users", 1), ("audit_log", 3)].into();
    for (table, rows) in expected {
        assert_eq!(report.rows[table], rows, "{table}");
    }
    assert!(!report.rows.contains_key("refresh_tokens"));
    let path = bed.path("backup.jsonl");
    let restored = Database::open(&target).expect("it opens");
    let (source, copy) = (bed.database().clone(), restored.clone());
    blocking(move || {
        let done = copy.restore_blocking(&path, &[COMPONENT, NEWER_LIBRARY]).expect("a restore");
        assert_eq!(done.rows.get("books"), Some(&2));
        assert_eq!(dump(&copy), dump(&source));
        // New numbers do not collide, references hold, and the newer migration is there.
        let result = copy.write_blocking(|transaction| {
            transaction.execute("INSERT INTO readers VALUES ('ada')", &[])?;
            transaction
                .query_one("INSERT INTO books (title) VALUES ('three') RETURNING id", &[])?
                .get::<i64>("id")
        });
        assert_eq!(result, Ok(3));
        let dangling = copy.write_blocking(|transaction| {
            transaction.execute("INSERT INTO books (shelf) VALUES ('nowhere')", &[])
        });
        assert!(matches!(dangling, Err(DatabaseError::Constraint { .. })), "{dangling:?}");
        // A second restore would mix two databases.
        let again = copy.restore_blocking(&path, &[COMPONENT, NEWER_LIBRARY]);
        assert_eq!(
            again.expect_err("it has tables").to_string(),
            "cannot restore the backup: the database is not empty"
        );
    })
    .await;
    // A server runs on it: the password is right and the log intact.
    let server =
        Server::start(ServerOptions::new("prowess-test", restored)).await.expect("a server");
    let password = prowess_server::Secret::new(crate::support::PASSWORD);
    let found = server.accounts().verify_password("ada", &password).await.expect("an answer");
    assert!(found.is_some());
    let verified = server.audit().verify().await.expect("a verification");
    assert!(matches!(verified, AuditVerification::Intact { entries: 3, .. }), "{verified:?}");
}

fn empty_postgres(cluster: &Cluster, name: &str) -> DatabaseUrl {
    DatabaseUrl::Postgres(cluster.lock().expect("a lock").create_database(name))
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_is_restored_into_sqlite() {
    let bed = Bed::sqlite().await;
    let target = DatabaseUrl::Sqlite(bed.path("restored.db"));
    restores(bed, target).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_database_is_restored_into_the_other() {
    let Some(cluster) = cluster() else { return };
    restores(Bed::sqlite().await, empty_postgres(&cluster, "from_sqlite")).await;
    let bed = Bed::postgres(&cluster, "to_sqlite").await;
    let target = DatabaseUrl::Sqlite(bed.path("restored.db"));
    restores(bed, target).await;
    let bed = Bed::postgres(&cluster, "to_postgres").await;
    restores(bed, empty_postgres(&cluster, "from_postgres")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_is_refused_and_changes_nothing() {
    let bed = Bed::sqlite().await;
    fill(&bed).await;
    back_up(&bed).await;
    let whole = fs::read_to_string(bed.path("backup.jsonl")).expect("the backup");
    let lines: Vec<&str> = whole.lines().collect();
    let cut = lines[..lines.len() - 3].join("\n");
    let damaged = [
        (cut, "it was cut off"),
        (whole.replace("\"one\"", "\"two\""), "it was changed: its digest does not match"),
        (String::new(), "it is not a backup of Prowess"),
        ("{}\n".to_owned(), "it is not a backup of Prowess"),
        (
            whole.replacen("\"prowess_backup\":1", "\"prowess_backup\":2", 1),
            "its format 2 is newer than this program",
        ),
    ];
    for (text, reason) in damaged {
        let path = bed.path("damaged.jsonl");
        fs::write(&path, text).expect("a file");
        let target = DatabaseUrl::Sqlite(bed.path("target.db"));
        let error = blocking(move || {
            let database = Database::open(&target).expect("it opens");
            database.restore_blocking(&path, &[COMPONENT, LIBRARY]).expect_err("it is damaged")
        });
        assert_eq!(error.await.to_string(), format!("cannot restore the backup: {reason}"));
    }
    // The same file is still empty, and the right backup goes into it; but not without its components.
    let (path, target) = (bed.path("backup.jsonl"), DatabaseUrl::Sqlite(bed.path("target.db")));
    blocking(move || {
        let database = Database::open(&target).expect("it opens");
        let error = database.restore_blocking(&path, &[COMPONENT]).expect_err("no component");
        assert_eq!(
            error.to_string(),
            "cannot restore the backup: it has tables of `library`, which are unknown here"
        );
        database.restore_blocking(&path, &[COMPONENT, LIBRARY]).expect("a restore");
    })
    .await;
}

/// A backup is of one moment, whatever is written meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn backups_and_copies_are_made_while_others_write() {
    let bed = Bed::sqlite().await;
    fill(&bed).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let writing = {
        let (database, is_over) = (bed.database().clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut written = 0;
            while !is_over.load(Ordering::Relaxed) {
                // Both or neither.
                database
                    .write(|transaction| {
                        transaction.execute("INSERT INTO books (title) VALUES ('x')", &[])?;
                        transaction.execute("INSERT INTO books (title) VALUES ('y')", &[])
                    })
                    .await
                    .expect("a write");
                written += 1;
            }
            written
        })
    };
    let (database, backup, copy) =
        (bed.database().clone(), bed.path("backup.jsonl"), bed.path("copy.db"));
    let counts = blocking(move || {
        let mut counts = Vec::new();
        for _ in 0..5 {
            let report = database.backup_blocking(&backup, &[]).expect("a backup");
            counts.push(report.rows["books"]);
            database.copy_blocking(&copy).expect("a copy");
            let copied = Database::open(&DatabaseUrl::Sqlite(copy.clone())).expect("it opens");
            let count = copied.read_blocking(|connection| {
                connection.query_one("SELECT COUNT(*) FROM books", &[])?.get::<u64>(0)
            });
            counts.push(count.expect("a count"));
        }
        counts
    })
    .await;
    is_over.store(true, Ordering::Relaxed);
    assert!(writing.await.expect("a task") > 0);
    assert!(counts.iter().all(|count| count % 2 == 0), "{counts:?}");
    assert!(!bed.path("backup.jsonl.unfinished").exists());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_reads_a_backup() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = Bed::sqlite().await;
    fill(&bed).await;
    back_up(&bed).await;
    let (database, copy) = (bed.database().clone(), bed.path("copy.db"));
    blocking(move || database.copy_blocking(&copy)).await.expect("a copy");
    for name in ["backup.jsonl", "copy.db"] {
        let mode = bed.path(name).metadata().expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
