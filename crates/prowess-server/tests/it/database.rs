use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prowess_server::database::{
    ConstraintKind, Database, DatabaseError, DatabaseUrl, Migration, Value, values,
};

use crate::support::{Bed, on_both};

on_both! {
    all_types_survive,
    numbers_and_sums_have_one_type,
    an_error_rolls_back,
    a_panic_rolls_back_and_the_next_write_works,
    a_read_sees_one_state,
    reading_functions_can_not_write,
    constraints_are_told_apart,
    fifty_writers_do_not_get_in_each_others_way,
    what_was_acknowledged_is_there_after_a_restart,
    a_caller_who_goes_away_does_not_undo_its_write,
    migrations_run_once_whoever_comes_first,
    migrations_only_go_forward,
    a_failed_migration_leaves_nothing,
    blocking_callers_share_the_connections,
    rows_are_read_one_by_one,
}

const NOTES: &[Migration] = &[Migration {
    version: 1,
    name: "notes",
    sqlite: "CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT NOT NULL, body BLOB, score DOUBLE PRECISION,
             CHECK (id >= 0));
             CREATE TABLE links (note BIGINT REFERENCES notes (id))",
    postgres: "CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT NOT NULL, body BYTEA, score DOUBLE PRECISION,
             CHECK (id >= 0));
             CREATE TABLE links (note BIGINT REFERENCES notes (id))",
}];

async fn notes(bed: &Bed) -> Database {
    bed.database().migrate("notes", NOTES).await.expect("the tables");
    bed.database().clone()
}

async fn add(database: &Database, id: i64) -> Result<(), DatabaseError> {
    database
        .write(move |transaction| {
            transaction
                .execute("INSERT INTO notes (id, text) VALUES (?1, ?2)", &values![id, "x"])?;
            Ok(())
        })
        .await
}

async fn count(database: &Database) -> i64 {
    database
        .read(|connection| connection.query_one("SELECT COUNT(*) FROM notes", &[])?.get::<i64>(0))
        .await
        .expect("a count")
}

async fn all_types_survive(bed: Bed) {
    let database = notes(&bed).await;
    let text = "näme ?1 '\"\n\u{1F600}";
    let body = vec![0_u8, 255, 39, 0];
    let given = values![7, text, body.clone(), -1.5];
    database
        .write(move |transaction| {
            transaction.execute(
                "INSERT INTO notes (id, text, body, score) VALUES (?1, ?2, ?3, ?4)",
                &given,
            )
        })
        .await
        .expect("the row");
    let row = database
        .read(|connection| {
            connection.query_one(
                "SELECT id, text, body, score, NULL AS absent, '?1' AS quoted FROM notes WHERE id = ?1",
                &values![7],
            )
        })
        .await
        .expect("the row");
    assert_eq!(row.get::<i64>("id"), Ok(7));
    assert_eq!(row.get::<String>("text").as_deref(), Ok(text));
    assert_eq!(row.get::<Vec<u8>>("body"), Ok(body));
    assert_eq!(row.get::<f64>("score"), Ok(-1.5));
    assert_eq!(row.get::<Option<String>>("absent"), Ok(None));
    assert_eq!(row.get::<String>("quoted").as_deref(), Ok("?1"));
    assert_eq!(
        row.get::<i64>("text"),
        Err(DatabaseError::Type { column: "text".to_owned(), expected: "a whole number in range" })
    );
    assert_eq!(row.get::<i64>("missing"), Err(DatabaseError::NoColumn("missing".to_owned())));
    assert_eq!(row.get::<u8>(0_usize), Ok(7));
}

async fn numbers_and_sums_have_one_type(bed: Bed) {
    let database = notes(&bed).await;
    for id in [1, 2, 3] {
        add(&database, id).await.expect("a row");
    }
    let row = database
        .read(|connection| {
            connection.query_one(
                "SELECT SUM(id) AS sum, COUNT(*) AS count, MAX(id) AS max, AVG(id * 1.0) AS mean,
                        SUM(id) FILTER (WHERE id > 10) AS absent
                 FROM notes",
                &[],
            )
        })
        .await
        .expect("the sums");
    assert_eq!(row.get::<i64>("sum"), Ok(6));
    assert_eq!(row.get::<i64>("count"), Ok(3));
    assert_eq!(row.get::<i64>("max"), Ok(3));
    assert_eq!(row.get::<f64>("mean"), Ok(2.0));
    assert_eq!(row.get::<Option<i64>>("absent"), Ok(None));
}

async fn an_error_rolls_back(bed: Bed) {
    #[derive(Debug, PartialEq)]
    struct Mine(String);
    impl From<DatabaseError> for Mine {
        fn from(error: DatabaseError) -> Mine {
            Mine(error.to_string())
        }
    }
    let database = notes(&bed).await;
    let result = database
        .write(|transaction| {
            transaction.execute("INSERT INTO notes (id, text) VALUES (1, 'x')", &[])?;
            Err::<(), _>(Mine("no".to_owned()))
        })
        .await;
    assert_eq!(result, Err(Mine("no".to_owned())));
    assert_eq!(count(&database).await, 0);
}

async fn a_panic_rolls_back_and_the_next_write_works(bed: Bed) {
    let database = notes(&bed).await;
    let result = database
        .write(|transaction| {
            transaction.execute("INSERT INTO notes (id, text) VALUES (1, 'x')", &[])?;
            assert_eq!(count_in(transaction)?, 2, "a bug in a handler");
            Ok::<_, DatabaseError>(())
        })
        .await;
    assert_eq!(result, Err(DatabaseError::Panicked));
    let result: Result<(), DatabaseError> =
        database.read(|_| panic!("a bug in a reading handler")).await;
    assert_eq!(result, Err(DatabaseError::Panicked));
    add(&database, 2).await.expect("the writer lives");
    assert_eq!(count(&database).await, 1);
}

fn count_in(
    connection: &mut prowess_server::database::Connection<'_>,
) -> Result<i64, DatabaseError> {
    connection.query_one("SELECT COUNT(*) FROM notes", &[])?.get(0)
}

async fn a_read_sees_one_state(bed: Bed) {
    let database = notes(&bed).await;
    let (first, read) = std::sync::mpsc::channel();
    let (written, go_on) = std::sync::mpsc::channel();
    let reading = {
        let database = database.clone();
        tokio::spawn(async move {
            database
                .read(move |connection| {
                    let before = count_in(connection)?;
                    first.send(()).expect("the test waits");
                    go_on.recv().expect("the test writes");
                    Ok::<_, DatabaseError>((before, count_in(connection)?))
                })
                .await
        })
    };
    tokio::task::spawn_blocking(move || read.recv()).await.expect("a thread").expect("a read");
    add(&database, 1).await.expect("a reader does not stop a writer");
    written.send(()).expect("the reader waits");
    assert_eq!(reading.await.expect("the task"), Ok((0, 0)));
    assert_eq!(count(&database).await, 1);
}

async fn reading_functions_can_not_write(bed: Bed) {
    let database = notes(&bed).await;
    let result = database
        .read(|connection| {
            connection.query("INSERT INTO notes (id, text) VALUES (1, 'x') RETURNING id", &[])
        })
        .await;
    assert!(matches!(result, Err(DatabaseError::Statement(_))), "{result:?}");
    assert_eq!(count(&database).await, 0);
}

async fn constraints_are_told_apart(bed: Bed) {
    let database = notes(&bed).await;
    add(&database, 1).await.expect("a row");
    let kind = async |sql: &'static str| {
        let result = database.write(move |transaction| transaction.execute(sql, &[])).await;
        match result {
            Err(DatabaseError::Constraint { kind, name }) => {
                assert!(!name.contains("secret"), "{name}");
                kind
            }
            other => panic!("{sql}: {other:?}"),
        }
    };
    assert_eq!(
        kind("INSERT INTO notes (id, text) VALUES (1, 'secret')").await,
        ConstraintKind::Unique
    );
    assert_eq!(
        kind("INSERT INTO notes (id, text) VALUES (2, NULL)").await,
        ConstraintKind::NotNull
    );
    assert_eq!(
        kind("INSERT INTO notes (id, text) VALUES (-1, 'secret')").await,
        ConstraintKind::Check
    );
    assert_eq!(kind("INSERT INTO links (note) VALUES (9)").await, ConstraintKind::ForeignKey);
    assert!(add(&database, 1).await.expect_err("it exists").is_unique_violation());
}

/// Attack registry-D16.
async fn fifty_writers_do_not_get_in_each_others_way(bed: Bed) {
    const WRITERS: i64 = 50;
    const EACH: i64 = 10;
    let database = notes(&bed).await;
    add(&database, 0).await.expect("a row");
    let reads = Arc::new(AtomicUsize::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let database = database.clone();
        tasks.spawn(async move {
            for _ in 0..EACH {
                // A counter that is read and written loses updates unless writers are kept apart.
                database
                    .write(|transaction| {
                        let row =
                            transaction.query_one("SELECT score FROM notes WHERE id = 0", &[])?;
                        let score = row.get::<Option<f64>>("score")?.unwrap_or(0.0);
                        transaction.execute(
                            "UPDATE notes SET score = ?1 WHERE id = 0",
                            &values![score + 1.0],
                        )?;
                        Ok::<_, DatabaseError>(())
                    })
                    .await
                    .expect("no lock error");
            }
        });
    }
    for _ in 0..20 {
        let (database, reads) = (database.clone(), Arc::clone(&reads));
        tasks.spawn(async move {
            for _ in 0..50 {
                count(&database).await;
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("a task");
    }
    let score = database
        .read(|connection| {
            connection.query_one("SELECT score FROM notes WHERE id = 0", &[])?.get::<Value>(0)
        })
        .await;
    assert_eq!(score, Ok(Value::Real(f64::from(500))));
    assert_eq!(reads.load(Ordering::Relaxed), 1000);
}

async fn what_was_acknowledged_is_there_after_a_restart(bed: Bed) {
    let database = notes(&bed).await;
    for id in 0..20 {
        add(&database, id).await.expect("a row");
    }
    if let Some(postgres) = &bed.postgres {
        postgres.lock().expect("a lock").crash();
        let error = add(&database, 100).await.expect_err("the server is down");
        assert!(matches!(error, DatabaseError::Unavailable(_)), "{error:?}");
        postgres.lock().expect("a lock").restart();
        // All connections of the pool are closed; the first request afterwards must not notice.
        assert_eq!(count(&database).await, 20);
        add(&database, 100).await.expect("a row");
    }
    let again = Database::open(&bed.url).expect("it opens");
    let expected = if bed.postgres.is_some() { 21 } else { 20 };
    assert_eq!(count(&again).await, expected);
}

async fn a_caller_who_goes_away_does_not_undo_its_write(bed: Bed) {
    let database = notes(&bed).await;
    let (started, start) = tokio::sync::oneshot::channel();
    let mut started = Some(started);
    let (finish, finished) = std::sync::mpsc::channel();
    let write = {
        let database = database.clone();
        tokio::spawn(async move {
            database
                .write(move |transaction| {
                    if let Some(started) = started.take() {
                        started.send(()).expect("the test waits");
                        finished.recv().expect("the test goes on");
                    }
                    transaction.execute("INSERT INTO notes (id, text) VALUES (1, 'x')", &[])
                })
                .await
        })
    };
    start.await.expect("the write has started");
    write.abort();
    assert!(write.await.expect_err("it was aborted").is_cancelled());
    finish.send(()).expect("the write waits");
    let done = async {
        while count(&database).await == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), done).await.expect("it is written");
}

async fn migrations_run_once_whoever_comes_first(bed: Bed) {
    let mut nodes = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let url = bed.url.clone();
        nodes.spawn(async move {
            let database = Database::open_with(&url, 2).expect("it opens");
            database.migrate("notes", NOTES).await.expect("it migrates")
        });
    }
    let mut applied = 0;
    while let Some(node) = nodes.join_next().await {
        applied += node.expect("a node");
    }
    assert_eq!(applied, 1);
}

async fn migrations_only_go_forward(bed: Bed) {
    const SECOND: Migration = Migration {
        version: 2,
        name: "colours",
        sqlite: "ALTER TABLE notes ADD COLUMN colour TEXT",
        postgres: "ALTER TABLE notes ADD COLUMN colour TEXT",
    };
    const BOTH: &[Migration] = &[NOTES[0], SECOND];
    const RENAMED: &[Migration] = &[Migration { name: "jottings", ..NOTES[0] }, SECOND];
    const GAP: &[Migration] = &[NOTES[0], Migration { version: 3, ..SECOND }];
    let database = notes(&bed).await;
    add(&database, 1).await.expect("a row");
    assert_eq!(database.migrate("notes", BOTH).await, Ok(1));
    assert_eq!(database.migrate("notes", BOTH).await, Ok(0));
    // The rows that were there survive, and statements that were prepared before still work.
    assert_eq!(count(&database).await, 1);
    let refused = async |migrations: &'static [Migration]| {
        database.migrate("notes", migrations).await.expect_err("it is refused").to_string()
    };
    assert_eq!(
        refused(NOTES).await,
        "cannot migrate the tables of `notes`: a newer version of Prowess has applied migration 2 (`colours`)"
    );
    assert_eq!(
        refused(RENAMED).await,
        "cannot migrate the tables of `notes`: migration 1 is `notes` in the database and `jottings` in the program"
    );
    assert_eq!(
        refused(GAP).await,
        "cannot migrate the tables of `notes`: migration 2 is missing from the program"
    );
    // Components do not share their numbers.
    let other = [Migration {
        version: 1,
        name: "others",
        sqlite: "CREATE TABLE others (id BIGINT)",
        postgres: "CREATE TABLE others (id BIGINT)",
    }];
    let blocking = database.clone();
    let applied = tokio::task::spawn_blocking(move || blocking.migrate_blocking("others", &other));
    assert_eq!(applied.await.expect("a thread"), Ok(1));
}

async fn a_failed_migration_leaves_nothing(bed: Bed) {
    const BROKEN: &[Migration] = &[
        NOTES[0],
        Migration {
            version: 2,
            name: "broken",
            sqlite: "CREATE TABLE half (id BIGINT); NONSENSE",
            postgres: "CREATE TABLE half (id BIGINT); NONSENSE",
        },
    ];
    let database = bed.database();
    let error = database.migrate("notes", BROKEN).await.expect_err("nonsense").to_string();
    assert!(
        error.starts_with("cannot migrate the tables of `notes`: migration 2 (`broken`): "),
        "{error}"
    );
    for table in ["half", "notes"] {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        let result = database.read(move |connection| connection.query(&sql, &[])).await;
        assert!(result.is_err(), "{table} was left behind");
    }
}

async fn blocking_callers_share_the_connections(bed: Bed) {
    let database = notes(&bed).await;
    let blocking = database.clone();
    let counted = tokio::task::spawn_blocking(move || {
        blocking.write_blocking(|transaction| {
            transaction.execute("INSERT INTO notes (id, text) VALUES (1, 'x')", &[])
        })?;
        blocking.read_blocking(count_in)
    });
    assert_eq!(counted.await.expect("a thread"), Ok(1));
}

async fn rows_are_read_one_by_one(bed: Bed) {
    let database = notes(&bed).await;
    database
        .write(|transaction| {
            for id in 0..1000 {
                transaction
                    .execute("INSERT INTO notes (id, text) VALUES (?1, 'x')", &values![id])?;
            }
            Ok::<_, DatabaseError>(())
        })
        .await
        .expect("rows");
    let result = database
        .read(|connection| {
            let mut seen = 0;
            let stopped = connection.for_each("SELECT id FROM notes ORDER BY id", &[], |row| {
                seen += 1;
                if row.get::<i64>("id")? == 9 { Err(DatabaseError::NoRow) } else { Ok(()) }
            });
            // The connection can be used again after the reader stopped in the middle.
            Ok::<_, DatabaseError>((stopped, seen, count_in(connection)?))
        })
        .await;
    assert_eq!(result, Ok((Err(DatabaseError::NoRow), 10, 1000)));
}

#[test]
fn addresses_are_paths_or_urls_of_postgres() {
    let path = |text: &str| match text.parse::<DatabaseUrl>().expect(text) {
        DatabaseUrl::Sqlite(path) => path.display().to_string(),
        DatabaseUrl::Postgres(url) => panic!("{url}"),
    };
    assert_eq!(path("data/registry.db"), "data/registry.db");
    assert_eq!(path("sqlite:registry.db"), "registry.db");
    let url: DatabaseUrl = "postgres://ada:hunter2@db.example/prowess".parse().expect("a URL");
    assert_eq!(url.to_string(), "postgres://ada@db.example/prowess");
    assert!(!format!("{url:?}").contains("hunter2"));
    for text in ["", "mysql://root:hunter2@localhost/x", "sqlite:"] {
        let error = text.parse::<DatabaseUrl>().expect_err(text).to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn a_database_that_can_not_be_opened_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = DatabaseUrl::Sqlite(folder.path().join("missing/server.db"));
    let error = Database::open(&missing).err().expect("an error").to_string();
    assert!(error.contains("missing/server.db") && error.contains("No such file"), "{error}");
    let nobody: DatabaseUrl = "postgres://ada:hunter2@127.0.0.1:1/x".parse().expect("a URL");
    let error = Database::open(&nobody).err().expect("an error").to_string();
    assert!(error.contains("ada@127.0.0.1:1") && error.contains("refused"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("server.db");
    let database = Database::open(&DatabaseUrl::Sqlite(path.clone())).expect("it opens");
    database
        .write_blocking(|transaction| transaction.execute_batch("CREATE TABLE a (b TEXT)"))
        .expect("a table");
    for name in ["server.db", "server.db-wal"] {
        let mode = folder.path().join(name).metadata().expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// The other process of the next test: this very program, which runs only this test.
#[test]
fn another_process_writes() {
    let Some(path) = std::env::var_os("PROWESS_TEST_DATABASE") else { return };
    let database = Database::open(&DatabaseUrl::Sqlite(path.into())).expect("it opens");
    for _ in 0..100 {
        database
            .write_blocking(|transaction| {
                transaction.execute("INSERT INTO numbers VALUES (1)", &[])?;
                Ok::<_, DatabaseError>(())
            })
            .expect("a write");
    }
}

/// A command such as `user add` works on the database of a running server.
#[tokio::test(flavor = "multi_thread")]
async fn processes_share_a_database() {
    let bed = Bed::sqlite().await;
    let database = bed.database().clone();
    database
        .write(|transaction| transaction.execute_batch("CREATE TABLE numbers (number BIGINT)"))
        .await
        .expect("a table");
    let DatabaseUrl::Sqlite(path) = &bed.url else { unreachable!("it is SQLite") };
    let mut other = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "database::another_process_writes"])
        .env("PROWESS_TEST_DATABASE", path)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let mut written = 0;
    let status = loop {
        database
            .write(|transaction| transaction.execute("INSERT INTO numbers VALUES (2)", &[]))
            .await
            .expect("a write");
        written += 1;
        if let Some(status) = other.try_wait().expect("a status") {
            break status;
        }
    };
    assert!(status.success());
    let sum = database
        .read(|connection| {
            connection.query_one("SELECT SUM(number) FROM numbers", &[])?.get::<i64>(0)
        })
        .await;
    assert_eq!(sum, Ok(100 + 2 * written));
}

/// What was acknowledged survives the end of the process without any goodbye.
#[cfg(unix)]
#[test]
fn acknowledged_writes_survive_a_kill() {
    use std::io::{BufRead as _, BufReader};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("killed.db");
    let mut victim = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "database::a_process_that_is_killed", "--nocapture"])
        .env("PROWESS_TEST_VICTIM", &path)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(victim.stdout.take().expect("it is piped")).lines();
    let mut acknowledged = 0;
    for line in lines {
        let line = line.expect("a line");
        if let Some(number) = line.strip_prefix("acknowledged ") {
            acknowledged = number.parse::<i64>().expect("a number");
            if acknowledged == 50 {
                // On Unix this is SIGKILL.
                victim.kill().expect("it is killed");
            }
        }
    }
    victim.wait().expect("it has ended");
    assert!(acknowledged >= 50, "{acknowledged}");
    let database = Database::open(&DatabaseUrl::Sqlite(path)).expect("it opens");
    let kept = database.read_blocking(|connection| {
        connection.query_one("SELECT MAX(number) FROM numbers", &[])?.get::<i64>(0)
    });
    assert!(kept.expect("a number") >= acknowledged);
}

/// The victim of the test above.
#[test]
#[expect(clippy::print_stdout, reason = "the other process reads it")]
fn a_process_that_is_killed() {
    let Some(path) = std::env::var_os("PROWESS_TEST_VICTIM") else { return };
    let database = Database::open(&DatabaseUrl::Sqlite(path.into())).expect("it opens");
    database
        .write_blocking(|transaction| {
            transaction.execute_batch("CREATE TABLE numbers (number BIGINT)")
        })
        .expect("a table");
    for number in 1..100_000_i64 {
        database
            .write_blocking(move |transaction| {
                transaction.execute("INSERT INTO numbers VALUES (?1)", &values![number])
            })
            .expect("a write");
        println!("acknowledged {number}");
    }
}

/// A server for TLS with an authority that only this test knows.
fn certificates() -> (String, String, String) {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "authority of a test");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("a key");
    let root = authority.self_signed(&authority_key).expect("a certificate");
    let key = KeyPair::generate().expect("a key");
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
    let server = server.signed_by(&key, &Issuer::new(authority, authority_key));
    (root.pem(), server.expect("a certificate").pem(), key.serialize_pem())
}

/// Connections are encrypted where the address says so, and the certificate is checked.
#[test]
fn postgres_is_reached_over_tls() {
    let Some(cluster) = crate::support::cluster() else { return };
    let (root, certificate, key) = certificates();
    cluster.lock().expect("a lock").enable_tls(&certificate, &key);
    let url = format!("{}?sslmode=require", cluster.lock().expect("a lock").url());
    let folder = tempfile::tempdir().expect("a folder");
    // Authorities are read once per process, so that each attempt is a process of its own.
    let connect = |authorities: &str| {
        let path = folder.path().join("authorities.pem");
        std::fs::write(&path, authorities).expect("a file");
        let output = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "database::a_process_that_uses_tls", "--nocapture"])
            .env("PROWESS_TEST_TLS", &url)
            .env("SSL_CERT_FILE", &path)
            .output()
            .expect("it starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(connect(&root).contains("encrypted: 1"), "{}", connect(&root));
    let (stranger, _, _) = certificates();
    let refused = connect(&stranger);
    assert!(
        refused.contains("cannot open the database") && refused.contains("certificate"),
        "{refused}"
    );
}

/// The other process of the test above.
#[test]
#[expect(clippy::print_stdout, reason = "the other process reads it")]
fn a_process_that_uses_tls() {
    let Ok(url) = std::env::var("PROWESS_TEST_TLS") else { return };
    let database = match Database::open_with(&url.parse().expect("a URL"), 1) {
        Ok(database) => database,
        Err(error) => return println!("{error}"),
    };
    let encrypted = database.read_blocking(|connection| {
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        connection.query_one(sql, &[])?.get::<i64>("ssl")
    });
    println!("encrypted: {}", encrypted.expect("an answer"));
}
