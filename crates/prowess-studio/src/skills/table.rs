//! Skills in the database, for several servers that share it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prowess_server::database::{Connection, Database, DatabaseError, Row, values};

use super::files::SkillFileError;
use super::{SkillName, StoredSkill};
use crate::timestamp;

/// Maximum number of skills that a list looks at.
const MAX_SKILLS: i64 = 10_000;

const COLUMNS: &str = "name, content, created_at, modified_at";

/// The table of skills.
#[derive(Clone)]
pub(crate) struct SkillTable {
    pub(crate) database: Database,
}

impl SkillTable {
    pub(crate) fn read(&self, name: &SkillName) -> Result<StoredSkill, SkillFileError> {
        let found = self.database.read_blocking(|connection| find(connection, name))?;
        found.ok_or_else(|| SkillFileError::Missing(name.clone()))
    }

    pub(crate) fn all(&self) -> Result<Vec<StoredSkill>, SkillFileError> {
        let read = self.database.read_blocking(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM studio_skill_files ORDER BY name LIMIT ?1");
            let rows = connection.query(&sql, &values![MAX_SKILLS])?;
            rows.iter().map(stored).collect::<Result<Vec<_>, _>>()
        });
        let skills: Result<_, DatabaseError> = read;
        Ok(skills?.into_iter().flatten().collect())
    }

    pub(crate) fn is_taken(&self, name: &SkillName) -> Result<bool, SkillFileError> {
        let found = self.database.read_blocking(|connection| find(connection, name))?;
        Ok(found.is_some())
    }

    pub(crate) fn create(&self, name: &SkillName, text: &str) -> Result<(), SkillFileError> {
        if self.insert(name, text, SystemTime::now())? {
            return Ok(());
        }
        Err(SkillFileError::Exists(name.clone()))
    }

    /// Adds a skill unless its name is taken; returns whether it was added.
    pub(crate) fn insert(
        &self,
        name: &SkillName,
        text: &str,
        modified: SystemTime,
    ) -> Result<bool, SkillFileError> {
        let now = timestamp::millis(modified);
        let (name, text) = (name.clone(), text.to_owned());
        let inserted = self.database.write_blocking(move |transaction| {
            let sql = "INSERT INTO studio_skill_files (name, content, created_at, modified_at) \
                       VALUES (?1, ?2, ?3, ?3) ON CONFLICT (name) DO NOTHING";
            transaction.execute(sql, &values![name.as_str(), text.as_str(), now])
        })?;
        Ok(inserted > 0)
    }

    /// Replaces a text with what `change` makes of it. If somebody else was faster, `change` is asked again.
    pub(crate) fn update<T, E: From<SkillFileError>>(
        &self,
        name: &SkillName,
        mut change: impl FnMut(&StoredSkill) -> Result<(String, T), E>,
    ) -> Result<(String, T), E> {
        loop {
            let current = self.read(name)?;
            let (text, result) = change(&current)?;
            // Lists are sorted by it: a change is always later than the one before.
            let before = timestamp::millis(current.modified);
            let now = timestamp::millis(SystemTime::now()).max(before + 1);
            let (name, new, old) = (name.clone(), text.clone(), current.text);
            let updated = self.database.write_blocking(move |transaction| {
                let sql = "UPDATE studio_skill_files SET content = ?1, modified_at = ?2 \
                           WHERE name = ?3 AND content = ?4 AND modified_at = ?5";
                let cells = values![new.as_str(), now, name.as_str(), old.as_str(), before];
                transaction.execute(sql, &cells)
            });
            if updated.map_err(SkillFileError::from)? > 0 {
                return Ok((text, result));
            }
        }
    }

    pub(crate) fn delete<E: From<SkillFileError>>(
        &self,
        name: &SkillName,
        mut may: impl FnMut(&StoredSkill) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let current = self.read(name)?;
            may(&current)?;
            let (name, old) = (name.clone(), current.text);
            let deleted = self.database.write_blocking(move |transaction| {
                let sql = "DELETE FROM studio_skill_files WHERE name = ?1 AND content = ?2";
                transaction.execute(sql, &values![name.as_str(), old.as_str()])
            });
            if deleted.map_err(SkillFileError::from)? > 0 {
                return Ok(());
            }
        }
    }
}

fn find(
    connection: &mut Connection<'_>,
    name: &SkillName,
) -> Result<Option<StoredSkill>, DatabaseError> {
    let sql = format!("SELECT {COLUMNS} FROM studio_skill_files WHERE name = ?1");
    let row = connection.query_optional(&sql, &values![name.as_str()])?;
    Ok(row.as_ref().map(stored).transpose()?.flatten())
}

/// A row's skill; `None` if its name is not valid.
fn stored(row: &Row) -> Result<Option<StoredSkill>, DatabaseError> {
    let Ok(name) = row.get::<String>("name")?.parse::<SkillName>() else { return Ok(None) };
    let time = |millis: i64| UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs());
    Ok(Some(StoredSkill {
        name,
        text: row.get("content")?,
        modified: time(row.get("modified_at")?),
        created: Some(time(row.get("created_at")?)),
    }))
}
