//! The directory of the index, as tantivy sees it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory, WatchCallback,
    WatchHandle, WritePtr,
};

/// A directory that can be read without write access: on a read-only file system, or of another user.
///
/// Tantivy takes a lock file before it opens the segments, so that no writer removes them meanwhile. If that file
/// can't be created, it is skipped: a reader whose knowledge base is changed meanwhile retries.
#[derive(Clone, Debug)]
pub(crate) struct IndexFolder(MmapDirectory);

impl IndexFolder {
    pub(crate) fn open(path: &Path) -> Result<Self, tantivy::TantivyError> {
        Ok(Self(MmapDirectory::open(path)?))
    }
}

impl Directory for IndexFolder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.0.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.0.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.0.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.0.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.0.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        match self.0.acquire_lock(lock) {
            Err(LockError::IoError(error))
                if lock.filepath == META_LOCK.filepath
                    && matches!(
                        error.kind(),
                        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
                    ) =>
            {
                Ok(DirectoryLock::from(Box::new(())))
            }
            lock => lock,
        }
    }

    fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.0.watch(watch_callback)
    }
}
