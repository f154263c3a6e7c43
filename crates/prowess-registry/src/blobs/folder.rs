//! Objects as plain files below a folder.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use prowess_files::atomic::{self, Durability, Existing, FileMode, WriteOptions};
use prowess_package::digest::Sha256Digest;

use super::{BlobError, BlobFuture, BlobKind, BlobStorage, StoredBlob, key, parse_key};

/// Packages are public, so that a web server may serve the folder too; one that was acknowledged survives a power failure.
const PUBLIC: WriteOptions = WriteOptions {
    mode: FileMode::Ordinary,
    existing: Existing::Replace,
    durability: Durability::OnDisk,
};

/// A folder on this machine.
#[derive(Clone, Debug)]
pub struct FolderBlobs {
    root: PathBuf,
}

impl FolderBlobs {
    /// Opens a folder; it is created when the first object is stored.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn file(&self, kind: BlobKind, sha256: Sha256Digest) -> PathBuf {
        self.root.join(key(kind, sha256))
    }

    /// Runs a function that waits for the disk on a thread for that.
    fn blocking<T: Send + 'static>(
        doing: &'static str,
        work: impl FnOnce() -> Result<T, BlobError> + Send + 'static,
    ) -> BlobFuture<'static, T> {
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(work).await;
            done.map_err(|source| BlobError::Storage { doing, source: Box::new(source) })?
        })
    }
}

impl BlobStorage for FolderBlobs {
    fn put(&self, kind: BlobKind, sha256: Sha256Digest, bytes: Bytes) -> BlobFuture<'_, ()> {
        let file = self.file(kind, sha256);
        Self::blocking("writing a file", move || {
            let failed = |source: io::Error| failed("writing a file", source);
            // The same bytes: only the time is renewed, which keeps the file from being swept.
            match File::options().write(true).open(&file) {
                Ok(known) if known.metadata().map_err(failed)?.len() == bytes.len() as u64 => {
                    return known.set_modified(SystemTime::now()).map_err(failed);
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).map_err(failed)?;
            }
            atomic::write(&file, &bytes, PUBLIC).map_err(failed)
        })
    }

    fn get(&self, kind: BlobKind, sha256: Sha256Digest) -> BlobFuture<'_, Bytes> {
        let file = self.file(kind, sha256);
        Self::blocking("reading a file", move || {
            let bytes = match std::fs::read(&file) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(BlobError::Missing(sha256));
                }
                Err(error) => return Err(failed("reading a file", error)),
            };
            if Sha256Digest::of(&bytes) != sha256 {
                return Err(BlobError::Damaged(sha256));
            }
            Ok(bytes.into())
        })
    }

    fn find(&self, kind: BlobKind, sha256: Sha256Digest) -> BlobFuture<'_, Option<StoredBlob>> {
        let (root, file) = (self.root.clone(), self.file(kind, sha256));
        Self::blocking("looking for a file", move || stored(&root, &file))
    }

    fn delete(&self, kind: BlobKind, sha256: Sha256Digest) -> BlobFuture<'_, ()> {
        let file = self.file(kind, sha256);
        Self::blocking("deleting a file", move || match std::fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failed("deleting a file", error))
            }
            _ => Ok(()),
        })
    }

    fn list(&self) -> BlobFuture<'_, Vec<StoredBlob>> {
        let root = self.root.clone();
        Self::blocking("listing files", move || {
            let mut found = Vec::new();
            for kind in BlobKind::ALL {
                for shard in entries(&root.join(kind.folder()))? {
                    for file in entries(&shard)? {
                        found.extend(stored(&root, &file)?);
                    }
                }
            }
            Ok(found)
        })
    }

    fn check(&self) -> BlobFuture<'_, ()> {
        let root = self.root.clone();
        Self::blocking("looking at the folder", move || {
            let failed = |source| failed("looking at the folder", source);
            let found = std::fs::metadata(&root).map_err(failed)?;
            let is_usable = found.is_dir() && !found.permissions().readonly();
            if is_usable { Ok(()) } else { Err(failed(ErrorKind::ReadOnlyFilesystem.into())) }
        })
    }

    fn name(&self) -> &'static str {
        "folder"
    }

    fn path(&self, kind: BlobKind, sha256: Sha256Digest) -> Option<PathBuf> {
        Some(self.file(kind, sha256))
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, BlobError> {
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed("listing files", error)),
    };
    let paths: io::Result<Vec<PathBuf>> = listed.map(|entry| Ok(entry?.path())).collect();
    paths.map_err(|source| failed("listing files", source))
}

/// An object, if the file is one; files that are being written have other names.
fn stored(root: &Path, file: &Path) -> Result<Option<StoredBlob>, BlobError> {
    let name = file.strip_prefix(root).ok().and_then(Path::to_str);
    let Some((kind, sha256)) = name.and_then(parse_key) else { return Ok(None) };
    let failed = |source: io::Error| failed("listing files", source);
    let metadata = match std::fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let stored = metadata.modified().map_err(failed)?;
    Ok(Some(StoredBlob { sha256, kind, size: metadata.len(), stored }))
}

fn failed(doing: &'static str, source: io::Error) -> BlobError {
    BlobError::Storage { doing, source: Box::new(source) }
}
