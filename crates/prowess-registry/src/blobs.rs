//! Where packages are stored: a folder, or a bucket. What is stored under a digest never changes.

mod check;
mod folder;
#[cfg(feature = "s3")]
mod s3;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use prowess_package::digest::Sha256Digest;

pub(crate) use check::StorageCheck;
pub use folder::FolderBlobs;
#[cfg(feature = "s3")]
pub use s3::S3Blobs;

/// What is stored: archives of skills, and texts without front matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlobKind {
    /// A `.tar.gz` of a skill.
    Package,
    /// A text (SRT §8).
    Prose,
    /// A file of a skill that is published file by file. No version names it, so that it is swept.
    Upload,
}

/// A stored object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// Its digest.
    pub sha256: Sha256Digest,
    /// What it is.
    pub kind: BlobKind,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last stored.
    pub stored: SystemTime,
}

/// Why an object can't be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// It is not there.
    #[error("the object {0} is missing from the storage")]
    Missing(Sha256Digest),
    /// Its bytes are not the ones that were stored.
    #[error("the object {0} in the storage is damaged")]
    Damaged(Sha256Digest),
    /// The storage failed.
    #[error("the storage failed while {doing}: {source}")]
    Storage {
        /// What was being done.
        doing: &'static str,
        /// The error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A future of a storage operation.
pub type BlobFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BlobError>> + Send + 'a>>;

/// A storage. Objects are named by their digest, so that an upload can be repeated and can't change what is there.
pub trait BlobStorage: Send + Sync + 'static {
    /// Stores an object durably. Storing it again renews its time.
    fn put(&self, kind: BlobKind, sha256: Sha256Digest, bytes: Bytes) -> BlobFuture<'_, ()>;

    /// Reads an object.
    fn get(&self, kind: BlobKind, sha256: Sha256Digest) -> BlobFuture<'_, Bytes>;

    /// What is known of an object without reading it; `None` if it is not there.
    fn find(&self, kind: BlobKind, sha256: Sha256Digest) -> BlobFuture<'_, Option<StoredBlob>>;

    /// Deletes an object, if it is there.
    fn delete(&self, kind: BlobKind, sha256: Sha256Digest) -> BlobFuture<'_, ()>;

    /// All objects.
    fn list(&self) -> BlobFuture<'_, Vec<StoredBlob>>;

    /// Whether the storage answers, for readiness and `registry doctor`.
    fn check(&self) -> BlobFuture<'_, ()>;

    /// What it is, for the status page: `folder` or `s3`.
    fn name(&self) -> &'static str;

    /// The path of an object, if it is a file on this machine, so that it can be served without reading it to memory.
    fn path(&self, kind: BlobKind, sha256: Sha256Digest) -> Option<PathBuf>;
}

/// A storage that several parts share.
pub type Blobs = Arc<dyn BlobStorage>;

impl BlobKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Package, Self::Prose, Self::Upload];

    /// The folder of its objects.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Package => "packages",
            Self::Prose => "prose",
            Self::Upload => "uploads",
        }
    }

    /// The ending of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Package => "tar.gz",
            Self::Prose => "md",
            Self::Upload => "part",
        }
    }
}

/// The key of an object: `packages/9f/9f86….tar.gz`. It consists of our own words and hexadecimal digits only, so that no
/// request can name another place (attack registry-D11).
pub fn key(kind: BlobKind, sha256: Sha256Digest) -> String {
    let digits = sha256.to_string();
    format!("{}/{}/{digits}.{}", kind.folder(), &digits[..2], kind.extension())
}

/// The object that a key names.
pub fn parse_key(key: &str) -> Option<(BlobKind, Sha256Digest)> {
    let kind = BlobKind::ALL.into_iter().find(|kind| key.starts_with(kind.folder()))?;
    let file = key.rsplit('/').next()?;
    let digits = file.strip_suffix(kind.extension())?.strip_suffix('.')?;
    let sha256 = digits.parse().ok()?;
    (self::key(kind, sha256) == key).then_some((kind, sha256))
}
