//! Backup and restore: a folder with the database as text and copies of all files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use prowess_core::{Problem, ProblemKind};
use prowess_knowledge::{BaseName, KnowledgeBases};
use prowess_server::database::{Component, Database, DatabaseError, DatabaseKind, values};

use crate::migrations;
use crate::objects::{DatabaseObjects, FolderObjects, ObjectFiles};
use crate::shelf::Shelf;
use crate::skills::{IMPORTED, SkillFiles};

/// The database in a backup.
const DATABASE: &str = "database.jsonl";
/// The folders of data that are copied as they are. Knowledge bases are copied one by one, while nobody writes to them.
const FOLDERS: &[&str] = &[SKILLS, UPLOADS, USERS];
const SKILLS: &str = "skills";
const UPLOADS: &str = "uploads";
const USERS: &str = "users";
const KNOWLEDGE: &str = "knowledge";
/// Deepest folder that is copied.
const MAX_DEPTH: usize = 64;

/// Writes a backup into a new folder, while the studio runs. Returns the number of files.
pub fn backup(database: &Database, data: &Path, target: &Path) -> Result<usize, Problem> {
    if target.exists() {
        return Err(refused(format!("`{}` exists already", target.display())));
    }
    let unfinished = beside(target);
    let _ = fs::remove_dir_all(&unfinished);
    prowess_files::private::private_folder(&unfinished).map_err(|error| io(&unfinished, &error))?;
    // The database first: a file without a record is harmless, a record without its file is not.
    database.backup_blocking(&unfinished.join(DATABASE), migrations::OF_THIS_DATABASE)?;
    let mut files = 1;
    if database.kind() == DatabaseKind::Postgres {
        files += copy(&data.join(USERS), &unfinished.join(USERS), 0)?;
        files += export(database, data, &unfinished)?;
        fs::rename(&unfinished, target).map_err(|error| io(target, &error))?;
        return Ok(files);
    }
    for folder in FOLDERS {
        files += copy(&data.join(folder), &unfinished.join(folder), 0)?;
    }
    let bases = KnowledgeBases::open(&data.join(KNOWLEDGE));
    let names: Vec<BaseName> = bases.names().map_err(|error| failed(&error))?;
    for name in names {
        // Its lock is held until the copy is complete.
        let writer = bases.writer(&name, || ()).map_err(|error| failed(&error))?;
        let path = Path::new(KNOWLEDGE).join(name.as_str());
        files += copy(&data.join(&path), &unfinished.join(&path), 0)?;
        drop(writer);
    }
    fs::rename(&unfinished, target).map_err(|error| io(target, &error))?;
    Ok(files)
}

/// Restores a backup into an empty folder and an empty database. Returns the number of files.
pub fn restore(database: &Database, data: &Path, source: &Path) -> Result<usize, Problem> {
    let all = FOLDERS.iter().copied().chain([KNOWLEDGE]);
    for folder in all.clone() {
        if data.join(folder).exists() {
            return Err(refused(format!("`{}` is not empty", data.display()))
                .advice("restore into a new folder"));
        }
    }
    let components = [prowess_server::COMPONENT, COMPONENT];
    database.restore_blocking(&source.join(DATABASE), &components)?;
    let mut files = 1;
    for folder in all {
        files += copy(&source.join(folder), &data.join(folder), 0)?;
    }
    if database.kind() == DatabaseKind::Postgres {
        import(database, data)?;
    }
    Ok(files)
}

/// Writes what is in the database of several servers as files, so that a backup is the same everywhere.
fn export(database: &Database, data: &Path, target: &Path) -> Result<usize, Problem> {
    let skills = SkillFiles::of_table(data.join(SKILLS), database.clone());
    let mut files = skills.export(&target.join(SKILLS)).map_err(|error| failed(&error))?;
    let (from, to) = (DatabaseObjects(database.clone()), FolderObjects(target.join(UPLOADS)));
    files += copy_objects(&from, &to)?;
    let from = Shelf::open(&data.join(KNOWLEDGE), database).map_err(|error| failed(&error))?;
    let to = Shelf::Disk(KnowledgeBases::open(&target.join(KNOWLEDGE)));
    let names: Result<Vec<String>, DatabaseError> = database.read_blocking(|connection| {
        let rows = connection.query("SELECT id FROM studio_bases ORDER BY id", &[])?;
        rows.iter().map(|row| row.get("id")).collect()
    });
    for name in names? {
        let name: BaseName = name.parse().map_err(|error| failed(&error))?;
        from.copy_to(&to, &name).map_err(|error| failed(&error))?;
        files += 1;
    }
    Ok(files)
}

/// Moves files that were restored into the database of several servers.
fn import(database: &Database, data: &Path) -> Result<(), Problem> {
    database.write_blocking(|transaction| {
        transaction.execute("DELETE FROM studio_settings WHERE name = ?1", &values![IMPORTED])
    })?;
    SkillFiles::in_database(data.join(SKILLS), database.clone()).map_err(|error| failed(&error))?;
    let uploads = data.join(UPLOADS);
    copy_objects(&FolderObjects(uploads.clone()), &DatabaseObjects(database.clone()))?;
    let _ = fs::remove_dir_all(&uploads);
    let folder = data.join(KNOWLEDGE);
    let bases = KnowledgeBases::open(&folder);
    let to = Shelf::open(&folder, database).map_err(|error| failed(&error))?;
    for name in bases.names().map_err(|error| failed(&error))? {
        let from = Shelf::Disk(bases.clone());
        from.copy_to(&to, &name).map_err(|error| failed(&error))?;
        from.delete(&name).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn copy_objects(from: &dyn ObjectFiles, to: &dyn ObjectFiles) -> Result<usize, Problem> {
    let keys = from.keys("").map_err(|error| failed(&error))?;
    for key in &keys {
        if let Some(bytes) = from.get(key).map_err(|error| failed(&error))? {
            to.put(key, &bytes).map_err(|error| failed(&error))?;
        }
    }
    Ok(keys.len())
}

/// The tables of the studio.
const COMPONENT: Component =
    Component { name: migrations::COMPONENT, migrations: migrations::MIGRATIONS };

fn beside(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    target.with_file_name(name)
}

/// Copies a folder. Links and locks are left out.
fn copy(from: &Path, to: &Path, depth: usize) -> Result<usize, Problem> {
    let entries = match fs::read_dir(from) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(io(from, &error)),
    };
    if depth > MAX_DEPTH {
        return Err(refused(format!("`{}` is nested too deeply", from.display())));
    }
    prowess_files::private::private_folder(to).map_err(|error| io(to, &error))?;
    let mut files = 0;
    for entry in entries {
        let entry = entry.map_err(|error| io(from, &error))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|error| io(&source, &error))?;
        if kind.is_dir() {
            files += copy(&source, &target, depth + 1)?;
        } else if kind.is_file() {
            match fs::copy(&source, &target) {
                Ok(_) => files += 1,
                // Deleted meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io(&source, &error)),
            }
        }
    }
    Ok(files)
}

fn refused(message: String) -> Problem {
    Problem::new("backup-refused", ProblemKind::Refused, message)
}

fn failed(error: &dyn std::fmt::Display) -> Problem {
    Problem::new("backup-failed", ProblemKind::Failed, format!("cannot copy: {error}"))
}

fn io(path: &Path, error: &io::Error) -> Problem {
    let message = format!("cannot copy `{}`: {error}", path.display());
    Problem::new("backup-failed", ProblemKind::Failed, message)
}
