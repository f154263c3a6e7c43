//! Backup and restore: a folder with the database as text, the settings, and copies of all packages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt as _;
use prowess_core::{Problem, ProblemKind};
use prowess_files::private::private_folder;
use prowess_server::database::{Component, Database, DatabaseError};

use crate::blobs::{BlobError, Blobs, FolderBlobs};
use crate::host::SETTINGS;
use crate::store::{COMPONENT, MIGRATIONS};

/// Objects that are copied at once: a bucket takes its time for each.
const COPIES_AT_ONCE: usize = 16;
/// The database in a backup.
const DATABASE: &str = "database.jsonl";

/// Writes a backup into a new folder, while the registry runs. Returns the number of packages and texts.
pub async fn backup(
    database: &Database,
    blobs: &Blobs,
    data: &Path,
    target: &Path,
) -> Result<usize, Problem> {
    if target.exists() {
        return Err(refused(format!("`{}` exists already", target.display())));
    }
    let unfinished = beside(target);
    // What an earlier attempt left behind; if it stays, the next line fails.
    let _ = fs::remove_dir_all(&unfinished);
    private_folder(&unfinished).map_err(|error| io(&unfinished, &error))?;
    // The database first: a package without a record is harmless, a record without its package is not.
    let (source, file) = (database.clone(), unfinished.join(DATABASE));
    let written = tokio::task::spawn_blocking(move || source.backup_blocking(&file, &[])).await;
    written.map_err(|_| DatabaseError::Panicked)??;
    let copied = copy(blobs, &folder(&unfinished)).await?;
    copy_settings(data, &unfinished)?;
    fs::rename(&unfinished, target).map_err(|error| io(target, &error))?;
    Ok(copied)
}

/// Restores a backup into an empty database and an empty storage. Returns the number of packages and texts.
pub async fn restore(
    database: &Database,
    blobs: &Blobs,
    data: &Path,
    source: &Path,
) -> Result<usize, Problem> {
    if !source.join(DATABASE).is_file() {
        let message = format!("`{}` is not a backup of a registry", source.display());
        return Err(Problem::new("no-backup", ProblemKind::NotFound, message));
    }
    if !blobs.list().await.map_err(|error| storage(&error))?.is_empty() {
        return Err(refused("the storage has packages already".to_owned())
            .advice("restore into a new folder, or an unused prefix of the bucket"));
    }
    let (target, file) = (database.clone(), source.join(DATABASE));
    let components =
        [prowess_server::COMPONENT, Component { name: COMPONENT, migrations: MIGRATIONS }];
    let restored =
        tokio::task::spawn_blocking(move || target.restore_blocking(&file, &components)).await;
    restored.map_err(|_| DatabaseError::Panicked)??;
    let copied = copy(&folder(source), blobs).await?;
    copy_settings(source, data)?;
    Ok(copied)
}

fn folder(path: &Path) -> Blobs {
    Arc::new(FolderBlobs::new(path))
}

/// Copies all objects. Reading one compares it with its digest, so that a damaged one is not carried on silently.
async fn copy(from: &Blobs, to: &Blobs) -> Result<usize, Problem> {
    let objects = from.list().await.map_err(|error| storage(&error))?;
    let copies = objects.into_iter().map(|object| async move {
        let bytes = match from.get(object.kind, object.sha256).await {
            // Deleted meanwhile.
            Err(BlobError::Missing(_)) => return Ok(0),
            bytes => bytes?,
        };
        to.put(object.kind, object.sha256, bytes).await?;
        Ok(1)
    });
    let mut copies = futures_util::stream::iter(copies).buffer_unordered(COPIES_AT_ONCE);
    let mut count = 0;
    while let Some(result) = copies.next().await {
        count += result.map_err(|error: BlobError| storage(&error))?;
    }
    Ok(count)
}

/// Copies the file of settings from one folder to another, if there is one. One that is there already stays: it may say how
/// the storage is reached.
fn copy_settings(from: &Path, to: &Path) -> Result<(), Problem> {
    let file = from.join(SETTINGS);
    if to.join(SETTINGS).exists() {
        return Ok(());
    }
    match fs::copy(&file, to.join(SETTINGS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io(&file, &error)),
        _ => Ok(()),
    }
}

fn beside(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    target.with_file_name(name)
}

fn refused(message: String) -> Problem {
    Problem::new("backup-refused", ProblemKind::Refused, message)
}

fn storage(error: &BlobError) -> Problem {
    Problem::new("backup-failed", ProblemKind::Failed, error.to_string())
        .advice("`prowess registry doctor` says which version it belongs to")
}

fn io(path: &Path, error: &io::Error) -> Problem {
    let message = format!("cannot copy `{}`: {error}", path.display());
    Problem::new("backup-failed", ProblemKind::Failed, message)
}
