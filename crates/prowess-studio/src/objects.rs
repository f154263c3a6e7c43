//! Storage of uploaded files by key: a folder, the database that several servers share, or what the program brings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use prowess_files::atomic::{self, WriteOptions};
use prowess_files::private;
use prowess_server::database::{Database, DatabaseError, values};

/// Storage of files by key. Keys are parts of a path with `/` in between, such as `kb-1/0a1b…`; they are made by the studio.
///
/// All functions block. What [`put`](Self::put) has returned for survives a crash.
pub trait ObjectFiles: Send + Sync {
    /// Stores a file, or replaces it.
    fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()>;

    /// Reads a file.
    fn get(&self, key: &str) -> io::Result<Option<Vec<u8>>>;

    /// Deletes a file, if it exists.
    fn delete(&self, key: &str) -> io::Result<()>;

    /// Lists the keys that begin with a prefix.
    fn keys(&self, prefix: &str) -> io::Result<Vec<String>>;
}

/// Files in a folder.
pub(crate) struct FolderObjects(pub(crate) PathBuf);

impl FolderObjects {
    fn path(&self, key: &str) -> io::Result<PathBuf> {
        let is_safe = |part: &str| {
            !part.is_empty()
                && part != "."
                && part != ".."
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if !key.split('/').all(is_safe) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the key is not a safe path"));
        }
        Ok(self.0.join(key))
    }
}

impl ObjectFiles for FolderObjects {
    fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(key)?;
        if let Some(folder) = path.parent() {
            private::private_folder(folder)?;
        }
        atomic::write(&path, bytes, WriteOptions::PRIVATE)
    }

    fn get(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        existing(fs::read(self.path(key)?))
    }

    fn delete(&self, key: &str) -> io::Result<()> {
        existing(fs::remove_file(self.path(key)?)).map(|_| ())
    }

    fn keys(&self, prefix: &str) -> io::Result<Vec<String>> {
        let mut keys = Vec::new();
        let mut open = vec![self.0.clone()];
        while let Some(folder) = open.pop() {
            for entry in existing(fs::read_dir(&folder))?.into_iter().flatten() {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    open.push(entry.path());
                } else if let Some(key) = key_of(&self.0, &entry.path())
                    && key.starts_with(prefix)
                {
                    keys.push(key);
                }
            }
        }
        keys.sort();
        Ok(keys)
    }
}

/// The key of a file below a folder.
fn key_of(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.components();
    let parts: Option<Vec<&str>> = parts.map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

fn existing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Files in the database.
pub(crate) struct DatabaseObjects(pub(crate) Database);

impl ObjectFiles for DatabaseObjects {
    fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let (key, bytes) = (key.to_owned(), bytes.to_vec());
        let written = self.0.write_blocking(move |transaction| {
            let sql = "INSERT INTO studio_objects (key, bytes) VALUES (?1, ?2) \
                       ON CONFLICT (key) DO UPDATE SET bytes = excluded.bytes";
            transaction.execute(sql, &values![key.as_str(), bytes.as_slice()])
        });
        written.map(|_| ()).map_err(failed)
    }

    fn get(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        let read = self.0.read_blocking(|connection| {
            let sql = "SELECT bytes FROM studio_objects WHERE key = ?1";
            let row = connection.query_optional(sql, &values![key])?;
            row.map(|row| row.get("bytes")).transpose()
        });
        read.map_err(failed)
    }

    fn delete(&self, key: &str) -> io::Result<()> {
        let key = key.to_owned();
        let deleted = self.0.write_blocking(move |transaction| {
            let sql = "DELETE FROM studio_objects WHERE key = ?1";
            transaction.execute(sql, &values![key.as_str()])
        });
        deleted.map(|_| ()).map_err(failed)
    }

    fn keys(&self, prefix: &str) -> io::Result<Vec<String>> {
        let read: Result<Vec<String>, DatabaseError> = self.0.read_blocking(|connection| {
            let sql = "SELECT key FROM studio_objects WHERE key >= ?1 ORDER BY key";
            let rows = connection.query(sql, &values![prefix])?;
            rows.iter().map(|row| row.get("key")).collect()
        });
        let mut keys = read.map_err(failed)?;
        keys.retain(|key| key.starts_with(prefix));
        Ok(keys)
    }
}

fn failed(error: DatabaseError) -> io::Error {
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_are_kept_by_key() {
        let root = prowess_testkit::temporary();
        let files = FolderObjects(root.path().join("uploads"));
        assert_eq!(files.keys("").expect("a list"), Vec::<String>::new());
        files.put("kb-1/aa", b"one").expect("it is stored");
        files.put("kb-2/bb", b"two").expect("it is stored");
        assert_eq!(files.get("kb-1/aa").expect("it is read").as_deref(), Some(&b"one"[..]));
        assert_eq!(files.keys("kb-1/").expect("a list"), ["kb-1/aa"]);
        files.delete("kb-1/aa").expect("it is deleted");
        files.delete("kb-1/aa").expect("twice is fine");
        assert_eq!(files.get("kb-1/aa").expect("it is read"), None);
        for key in ["../x", "a//b", "/etc/x", "a/../b", ""] {
            assert!(files.put(key, b"x").is_err(), "{key}");
        }
    }
}
