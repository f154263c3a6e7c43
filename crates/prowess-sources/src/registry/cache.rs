//! Cache of registry indexes, so that unchanged ones are not sent again and offline use is possible.

use std::path::{Path, PathBuf};

use prowess_files::atomic::{self, WriteOptions};
use prowess_package::digest::Sha256Digest;

/// The first line of each file. Files of other versions are ignored.
const HEADER: &str = "prowess registry index 1";

/// A folder of indexes, which can be deleted at any time.
pub(super) struct Cache {
    folder: Option<PathBuf>,
}

/// A cached index and its entity tag.
pub(super) struct Cached {
    pub(super) etag: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Cache {
    pub(super) fn new(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(|folder| folder.join("registry-index")) }
    }

    /// Returns the cached index of an address; unreadable files count as missing.
    pub(super) fn read(&self, address: &str, most: u64) -> Option<Cached> {
        let path = self.path(address)?;
        if std::fs::metadata(&path).ok()?.len() > most + 4096 {
            return None;
        }
        let bytes = std::fs::read(path).ok()?;
        let mut parts = bytes.splitn(4, |byte| *byte == b'\n');
        let mut line = || parts.next().and_then(|line| std::str::from_utf8(line).ok());
        // Two addresses share a file only if someone renamed it.
        if line()? != HEADER || line()? != address {
            return None;
        }
        let etag = Some(line()?.to_owned()).filter(|etag| !etag.is_empty());
        Some(Cached { etag, body: parts.next()?.to_vec() })
    }

    /// Caches an index. A failure to write it is ignored.
    pub(super) fn write(&self, address: &str, etag: Option<&str>, body: &[u8]) {
        let Some(path) = self.path(address) else { return };
        let Some(folder) = path.parent() else { return };
        let write = || {
            std::fs::create_dir_all(folder)?;
            let etag = etag.filter(|etag| !etag.contains('\n')).unwrap_or_default();
            let head = format!("{HEADER}\n{address}\n{etag}\n");
            // Atomically: concurrent readers see the old file or the new one.
            atomic::write(&path, &[head.as_bytes(), body].concat(), WriteOptions::CACHE)
        };
        let _ = write();
    }

    fn path(&self, address: &str) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join(Sha256Digest::of(address.as_bytes()).to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let cache = Cache::new(Some(folder.path()));
        assert!(cache.read("https://a.example/x", 100).is_none());
        cache.write("https://a.example/x", Some("\"1\""), b"one\ntwo\n");
        let cached = cache.read("https://a.example/x", 100).expect("it is there");
        assert_eq!(
            (cached.etag.as_deref(), cached.body.as_slice()),
            (Some("\"1\""), &b"one\ntwo\n"[..])
        );
        assert!(cache.read("https://b.example/x", 100).is_none());
        for text in ["", "other\n", "prowess registry index 1\nhttps://b.example/x\n\"1\"\nx"] {
            let path = cache.path("https://a.example/x").expect("a path");
            std::fs::write(path, text).expect("a file");
            assert!(cache.read("https://a.example/x", 100).is_none(), "{text}");
        }
        assert!(Cache::new(None).read("https://a.example/x", 100).is_none());
    }
}
