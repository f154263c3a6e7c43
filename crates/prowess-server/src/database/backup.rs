//! Backups: a file of JSON lines that either database can restore, and the online copy of SQLite.
//!
//! The first line has the migrations that the tables were made by, the last one the number of rows and a digest of all lines
//! before it. Between them is a line for each row, with its table. A restore makes the tables as they were, fills them, and
//! then applies the migrations that came later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::connection::{Connection, DatabaseKind, Transaction};
use super::error::DatabaseError;
use super::migrations::{Component, applied, migrate, migrate_to};
use super::value::Value;
use super::{Database, sqlite};
use crate::values;

/// The version of the format.
const FORMAT: u64 = 1;

/// The longest line, and so the largest row.
const MOST_LINE_BYTES: u64 = 256 * 1024 * 1024;

/// Pages that the online copy takes at a time, and the pause between: writers go on meanwhile.
const PAGES: std::ffi::c_int = 512;
const PAUSE: Duration = Duration::from_millis(2);

/// What a backup or a restore has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// Rows in each table.
    pub rows: BTreeMap<String, u64>,
}

impl Database {
    /// Writes all tables but some to a file, as of one moment, while the database is used. The file is there as a whole or
    /// not at all, and only its owner can read it.
    pub fn backup_blocking(
        &self,
        path: &Path,
        without: &[&str],
    ) -> Result<BackupReport, DatabaseError> {
        let failed = |reason: String| DatabaseError::Backup { action: "write the backup", reason };
        let unfinished = Unfinished::create(path).map_err(|error| failed(error.to_string()))?;
        let file = File::options()
            .write(true)
            .open(&unfinished.path)
            .map_err(|error| failed(error.to_string()))?;
        let mut out = DigestWriter { out: BufWriter::new(file), digest: Sha256::new() };
        let report = self.read_blocking(|connection| {
            // With Postgres this may run twice.
            out.restart()?;
            write_backup(connection, without, &mut out)
        })?;
        let file = out.finish(&report)?;
        file.sync_all().map_err(|error| failed(error.to_string()))?;
        unfinished.keep(path).map_err(|error| failed(error.to_string()))?;
        Ok(report)
    }

    /// Copies the file of SQLite while it is used.
    pub fn copy_blocking(&self, path: &Path) -> Result<(), DatabaseError> {
        let failed = |reason: String| DatabaseError::Backup { action: "copy the database", reason };
        let source = self
            .path()
            .ok_or_else(|| failed("only the file of SQLite can be copied".to_owned()))?;
        let unfinished = Unfinished::create(path).map_err(|error| failed(error.to_string()))?;
        let copy = || -> rusqlite::Result<()> {
            let source = sqlite::connect(source)?;
            let mut target = rusqlite::Connection::open(&unfinished.path)?;
            let backup = rusqlite::backup::Backup::new(&source, &mut target)?;
            backup.run_to_completion(PAGES, PAUSE, None)?;
            drop(backup);
            // The copy is one file, without a log beside it.
            target.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
            target.close().map_err(|(_, error)| error)
        };
        copy().map_err(|error| failed(sqlite::describe(&error).to_string()))?;
        let synced = File::open(&unfinished.path).and_then(|file| file.sync_all());
        synced.map_err(|error| failed(error.to_string()))?;
        unfinished.keep(path).map_err(|error| failed(error.to_string()))
    }

    /// Fills an empty database from a backup of either kind of database. All components whose tables are in the backup have
    /// to be named; their newer migrations are applied as well.
    pub fn restore_blocking(
        &self,
        path: &Path,
        components: &[Component],
    ) -> Result<BackupReport, DatabaseError> {
        let file = File::open(path)
            .map_err(|error| unreadable(format!("`{}`: {error}", path.display())))?;
        let mut input = BufReader::new(file);
        // A backup that was cut off is refused before anything is written.
        let header = verify(&mut input)?;
        let components = components.to_vec();
        let work = move |transaction: &mut Transaction<'_>| {
            input.rewind().map_err(|error| unreadable(error.to_string()))?;
            restore(transaction, &mut input, &header, &components)
        };
        self.write_alone_blocking(work)
    }
}

fn unreadable(reason: String) -> DatabaseError {
    DatabaseError::Backup { action: "restore the backup", reason }
}

/// A file under another name until it is complete.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    fn create(path: &Path) -> std::io::Result<Unfinished> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".unfinished");
        let unfinished = Unfinished { path: path.with_file_name(name) };
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        options.open(&unfinished.path)?;
        Ok(unfinished)
    }

    fn keep(self, path: &Path) -> std::io::Result<()> {
        fs::rename(&self.path, path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After `keep` there is no such file.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes lines and computes their digest.
struct DigestWriter {
    out: BufWriter<File>,
    digest: Sha256,
}

impl DigestWriter {
    fn restart(&mut self) -> Result<(), DatabaseError> {
        self.digest = Sha256::new();
        let restarted = self.out.rewind().and_then(|()| self.out.get_ref().set_len(0));
        restarted.map_err(|error| Self::failed(&error))
    }

    fn line(&mut self, line: &Json) -> Result<(), DatabaseError> {
        let mut text = line.to_string();
        text.push('\n');
        self.digest.update(&text);
        self.out.write_all(text.as_bytes()).map_err(|error| Self::failed(&error))
    }

    fn finish(mut self, report: &BackupReport) -> Result<File, DatabaseError> {
        let digest = HEXLOWER.encode(&self.digest.finalize_reset());
        let rows: u64 = report.rows.values().sum();
        self.line(&json!({ "end": { "rows": rows, "sha256": digest } }))?;
        self.out.into_inner().map_err(|error| Self::failed(error.error()))
    }

    fn failed(error: &std::io::Error) -> DatabaseError {
        DatabaseError::Backup { action: "write the backup", reason: error.to_string() }
    }
}

fn write_backup(
    connection: &mut Connection<'_>,
    without: &[&str],
    out: &mut DigestWriter,
) -> Result<BackupReport, DatabaseError> {
    connection.allow_long_statements()?;
    let migrations = applied(connection)?;
    let components: BTreeMap<&str, usize> =
        migrations.iter().map(|(name, versions)| (name.as_str(), versions.len())).collect();
    out.line(&json!({ "prowess_backup": FORMAT, "components": components }))?;
    let mut rows = BTreeMap::new();
    for table in tables(connection)? {
        if without.contains(&table.as_str()) {
            continue;
        }
        let columns = columns(connection, &table)?;
        let sql = format!("SELECT {} FROM {}", quoted_list(&columns), quoted(&table));
        out.line(&json!({ "table": table, "columns": columns }))?;
        let mut count = 0;
        connection.for_each(&sql, &[], |row| {
            count += 1;
            out.line(&Json::Array(row.values().iter().map(to_json).collect()))
        })?;
        rows.insert(table, count);
    }
    Ok(BackupReport { rows })
}

/// Whole numbers and text are themselves; what JSON has no form for is an object with one member.
fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(value) => json!(value),
        // As text, because JSON knows neither infinity nor the difference between 1 and 1.0.
        Value::Real(value) => json!({ "real": value.to_string() }),
        Value::Text(value) => json!(value),
        Value::Blob(value) => json!({ "bytes": BASE64.encode(value) }),
    }
}

fn from_json(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => Value::Null,
        Json::Number(number) => Value::Integer(number.as_i64()?),
        Json::String(text) => Value::Text(text.clone()),
        Json::Object(object) => match (object.get("real"), object.get("bytes")) {
            (Some(real), None) => Value::Real(real.as_str()?.parse().ok()?),
            (None, Some(bytes)) => Value::Blob(BASE64.decode(bytes.as_str()?.as_bytes()).ok()?),
            _ => return None,
        },
        Json::Bool(_) | Json::Array(_) => return None,
    })
}

/// The first line of a backup.
struct Header {
    components: BTreeMap<String, u32>,
}

/// Reads the next line; `None` at the end.
fn next_line(input: &mut BufReader<File>) -> Result<Option<(String, Json)>, DatabaseError> {
    let mut line = String::new();
    let read = input
        .by_ref()
        .take(MOST_LINE_BYTES)
        .read_line(&mut line)
        .map_err(|error| unreadable(error.to_string()))?;
    if read == 0 {
        return Ok(None);
    }
    let json = serde_json::from_str(&line)
        .map_err(|error| unreadable(format!("a line is not valid JSON: {error}")))?;
    Ok(Some((line, json)))
}

/// Reads a whole backup and compares its digest.
fn verify(input: &mut BufReader<File>) -> Result<Header, DatabaseError> {
    let not_ours = || unreadable("it is not a backup of Prowess".to_owned());
    let (first, header) = next_line(input)?.ok_or_else(not_ours)?;
    let format = header["prowess_backup"].as_u64().ok_or_else(not_ours)?;
    if format != FORMAT {
        return Err(unreadable(format!("its format {format} is newer than this program")));
    }
    let components = header["components"].as_object().ok_or_else(not_ours)?;
    let components = components
        .iter()
        .map(|(name, version)| {
            let version = version.as_u64().and_then(|version| version.try_into().ok());
            Ok((name.clone(), version.ok_or_else(not_ours)?))
        })
        .collect::<Result<_, DatabaseError>>()?;
    let mut digest = Sha256::new();
    digest.update(&first);
    loop {
        let Some((line, json)) = next_line(input)? else {
            return Err(unreadable("it was cut off".to_owned()));
        };
        if let Some(end) = json.get("end") {
            let computed = HEXLOWER.encode(&digest.finalize());
            if end["sha256"] != computed.as_str() {
                return Err(unreadable("it was changed: its digest does not match".to_owned()));
            }
            return Ok(Header { components });
        }
        digest.update(&line);
    }
}

fn restore(
    transaction: &mut Transaction<'_>,
    input: &mut BufReader<File>,
    header: &Header,
    components: &[Component],
) -> Result<BackupReport, DatabaseError> {
    transaction.allow_long_statements()?;
    if !tables(transaction)?.is_empty() {
        return Err(unreadable("the database is not empty".to_owned()));
    }
    for (name, version) in &header.components {
        let component =
            components.iter().find(|component| component.name == name).ok_or_else(|| {
                unreadable(format!("it has tables of `{name}`, which are unknown here"))
            })?;
        migrate_to(transaction, component, *version)?;
    }
    let known: BTreeSet<String> = tables(transaction)?.into_iter().collect();
    // The tables come in the order of their names, and the database wants what is referred to first.
    defer_foreign_keys(transaction)?;
    // The rows that the migrations themselves have added are in the backup as well. They go before anything else comes,
    // because deleting a row may delete others that refer to it.
    for table in &known {
        transaction.execute(&format!("DELETE FROM {}", quoted(table)), &[])?;
    }
    let mut rows = BTreeMap::new();
    let mut insert: Option<(String, String, usize)> = None;
    // The header was read before.
    next_line(input)?;
    while let Some((_, line)) = next_line(input)? {
        match &line {
            Json::Array(cells) => {
                let (table, sql, columns) = insert
                    .as_ref()
                    .ok_or_else(|| unreadable("a row belongs to no table".to_owned()))?;
                let values: Option<Vec<Value>> = cells.iter().map(from_json).collect();
                let values = values
                    .filter(|values| values.len() == *columns)
                    .ok_or_else(|| unreadable(format!("a row of `{table}` is not valid")))?;
                transaction.execute(sql, &values)?;
                *rows.entry(table.clone()).or_insert(0) += 1;
            }
            _ if line.get("end").is_some() => break,
            _ => {
                let table = line["table"].as_str().unwrap_or_default().to_owned();
                if !known.contains(&table) {
                    return Err(unreadable(format!("the table `{table}` is unknown here")));
                }
                let columns: Vec<String> = line["columns"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|column| column.as_str().map(str::to_owned))
                    .collect();
                let placeholders: Vec<String> =
                    (1..=columns.len()).map(|number| format!("?{number}")).collect();
                let sql = format!(
                    "INSERT INTO {} ({}) VALUES ({})",
                    quoted(&table),
                    quoted_list(&columns),
                    placeholders.join(", ")
                );
                rows.insert(table.clone(), 0);
                insert = Some((table, sql, columns.len()));
            }
        }
    }
    restore_foreign_keys(transaction)?;
    advance_sequences(transaction, &known)?;
    for component in components {
        migrate(transaction, component.name, component.migrations)?;
    }
    Ok(BackupReport { rows })
}

/// The tables of the schema, without those that the database keeps for itself and without indexes for searching text,
/// which are made from others.
fn tables(connection: &mut Connection<'_>) -> Result<Vec<String>, DatabaseError> {
    let sql = match connection.kind() {
        DatabaseKind::Sqlite => {
            "SELECT name FROM pragma_table_list
             WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        }
        DatabaseKind::Postgres => {
            "SELECT tablename AS name FROM pg_catalog.pg_tables
             WHERE schemaname = current_schema() ORDER BY tablename"
        }
    };
    connection.query(sql, &[])?.iter().map(|row| row.get("name")).collect()
}

/// The columns of a table that are stored: others follow from them.
fn columns(connection: &mut Connection<'_>, table: &str) -> Result<Vec<String>, DatabaseError> {
    let sql = match connection.kind() {
        DatabaseKind::Sqlite => {
            "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0 ORDER BY cid"
        }
        DatabaseKind::Postgres => {
            "SELECT column_name AS name FROM information_schema.columns
             WHERE table_schema = current_schema() AND table_name = ?1 AND is_generated = 'NEVER'
             ORDER BY ordinal_position"
        }
    };
    connection.query(sql, &values![table])?.iter().map(|row| row.get("name")).collect()
}

/// A name as part of a statement.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted_list(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

const POSTGRES_FOREIGN_KEYS: &str = "
SELECT CAST(conrelid::regclass AS text) AS held_by, CAST(conname AS text) AS name
FROM pg_catalog.pg_constraint
WHERE contype = 'f' AND connamespace = CAST(CAST(current_schema() AS text) AS regnamespace)";

/// From here on references are checked at the end of the transaction.
fn defer_foreign_keys(transaction: &mut Transaction<'_>) -> Result<(), DatabaseError> {
    match transaction.kind() {
        DatabaseKind::Sqlite => transaction.execute_batch("PRAGMA defer_foreign_keys = ON"),
        DatabaseKind::Postgres => alter_foreign_keys(transaction, "DEFERRABLE INITIALLY DEFERRED"),
    }
}

/// Checks the references, and makes them as they were.
fn restore_foreign_keys(transaction: &mut Transaction<'_>) -> Result<(), DatabaseError> {
    match transaction.kind() {
        // They are checked when the transaction ends.
        DatabaseKind::Sqlite => Ok(()),
        DatabaseKind::Postgres => {
            transaction.execute_batch("SET CONSTRAINTS ALL IMMEDIATE")?;
            alter_foreign_keys(transaction, "NOT DEFERRABLE")
        }
    }
}

fn alter_foreign_keys(transaction: &mut Transaction<'_>, how: &str) -> Result<(), DatabaseError> {
    for row in transaction.query(POSTGRES_FOREIGN_KEYS, &[])? {
        // The database has quoted the table already, where that is needed.
        let table: String = row.get("held_by")?;
        let name: String = row.get("name")?;
        transaction.execute_batch(&format!(
            "ALTER TABLE {table} ALTER CONSTRAINT {} {how}",
            quoted(&name)
        ))?;
    }
    Ok(())
}

/// Numbers that Postgres gives out itself go on after the largest one that was restored.
fn advance_sequences(
    transaction: &mut Transaction<'_>,
    tables: &BTreeSet<String>,
) -> Result<(), DatabaseError> {
    if transaction.kind() == DatabaseKind::Sqlite {
        return Ok(());
    }
    for table in tables {
        for column in columns(transaction, table)? {
            let row = transaction.query_one(
                "SELECT pg_get_serial_sequence(?1, ?2) AS sequence",
                &values![quoted(table), &column],
            )?;
            let Some(sequence) = row.get::<Option<String>>("sequence")? else {
                continue;
            };
            let sql = format!(
                "SELECT setval(CAST(CAST(?1 AS text) AS regclass), COALESCE(MAX({}), 0) + 1, false) FROM {}",
                quoted(&column),
                quoted(table)
            );
            transaction.query(&sql, &values![sequence])?;
        }
    }
    Ok(())
}
