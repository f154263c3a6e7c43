//! Versioned tables: each component has a sequence of migrations, which only goes forward.

use std::collections::BTreeMap;

use super::connection::{Connection, DatabaseKind, Transaction};
use super::error::DatabaseError;
use crate::values;

/// One step of a component's tables.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// Its number: 1, 2, 3 and so on.
    pub version: u32,
    /// What it does, in a few words. It must never change.
    pub name: &'static str,
    /// The statements for SQLite.
    pub sqlite: &'static str,
    /// The statements for Postgres.
    pub postgres: &'static str,
}

/// A part of a server with tables of its own.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// The name under which its migrations are counted.
    pub name: &'static str,
    /// Its migrations.
    pub migrations: &'static [Migration],
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS prowess_migrations (
    component TEXT NOT NULL,
    version BIGINT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (component, version)
)";

/// Applies the migrations that are missing, all in one transaction. Returns how many were.
///
/// The caller makes sure that servers which start at the same time do this one after the other. A database that a newer
/// version has migrated is refused: an older program does not know what the columns mean.
pub(super) fn migrate(
    transaction: &mut Transaction<'_>,
    component: &str,
    migrations: &[Migration],
) -> Result<usize, DatabaseError> {
    let failed =
        |reason: String| DatabaseError::Migration { component: component.to_owned(), reason };
    for (expected, migration) in (1..).zip(migrations) {
        if migration.version != expected {
            return Err(failed(format!("migration {expected} is missing from the program")));
        }
    }
    transaction.execute_batch(TABLE)?;
    let applied = applied(transaction)?.remove(component).unwrap_or_default();
    if let Some((newest, name)) = applied.last_key_value()
        && *newest as usize > migrations.len()
    {
        return Err(failed(format!(
            "a newer version of Prowess has applied migration {newest} (`{name}`)"
        )));
    }
    let mut done = 0;
    for migration in migrations {
        let Migration { version, name, sqlite, postgres } = *migration;
        match applied.get(&version) {
            Some(before) if before == name => continue,
            Some(before) => {
                return Err(failed(format!(
                    "migration {version} is `{before}` in the database and `{name}` in the program"
                )));
            }
            None => {}
        }
        let statements = match transaction.kind() {
            DatabaseKind::Sqlite => sqlite,
            DatabaseKind::Postgres => postgres,
        };
        transaction
            .execute_batch(statements)
            .map_err(|error| failed(format!("migration {version} (`{name}`): {error}")))?;
        transaction.execute(
            "INSERT INTO prowess_migrations (component, version, name) VALUES (?1, ?2, ?3)",
            &values![component, version, name],
        )?;
        done += 1;
    }
    Ok(done)
}

/// Applies a component's migrations up to a version.
pub(super) fn migrate_to(
    transaction: &mut Transaction<'_>,
    component: &Component,
    version: u32,
) -> Result<(), DatabaseError> {
    let Some(migrations) = component.migrations.get(..version as usize) else {
        return Err(DatabaseError::Migration {
            component: component.name.to_owned(),
            reason: format!("migration {version} is unknown to this program"),
        });
    };
    migrate(transaction, component.name, migrations).map(drop)
}

/// The migrations that were applied: for each component their versions and names.
pub(super) fn applied(
    connection: &mut Connection<'_>,
) -> Result<BTreeMap<String, BTreeMap<u32, String>>, DatabaseError> {
    let rows = connection.query("SELECT component, version, name FROM prowess_migrations", &[])?;
    let mut applied: BTreeMap<String, BTreeMap<u32, String>> = BTreeMap::new();
    for row in rows {
        let versions = applied.entry(row.get("component")?).or_default();
        versions.insert(row.get("version")?, row.get("name")?);
    }
    Ok(applied)
}
