//! Objects in a bucket of an S3-compatible storage.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use prowess_blobs::{Bucket, BucketError, CreateResult, ObjectInfo};
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;

use super::{BlobError, BlobFuture, BlobKind, BlobStorage, StoredBlob, key, parse_key};

/// An object that is younger than this is not written again to renew its time. It is half the age from which objects are swept.
const FRESH: Duration = Duration::from_mins(30);

/// A bucket, which all nodes share.
#[derive(Clone)]
pub struct S3Blobs {
    bucket: Bucket,
}

impl S3Blobs {
    /// Uses a bucket.
    pub fn new(bucket: Bucket) -> Self {
        Self { bucket }
    }
}

impl BlobStorage for S3Blobs {
    fn put(&self, kind: BlobKind, sha256: Sha256Digest, bytes: Bytes) -> BlobFuture<'_, ()> {
        Box::pin(async move {
            let key = key(kind, sha256);
            let doing = "writing an object";
            let created = self.bucket.create(&key, bytes.clone()).await;
            match created.map_err(|error| failed(doing, error))? {
                CreateResult::Created => return Ok(()),
                CreateResult::Exists => {}
            }
            let known = self.bucket.info(&key).await.map_err(|error| failed(doing, error))?;
            let is_fresh = |info: &ObjectInfo| {
                let age = SystemTime::now().duration_since(info.modified).unwrap_or_default();
                info.size == bytes.len() as u64 && age < FRESH
            };
            if known.as_ref().is_some_and(is_fresh) {
                return Ok(());
            }
            // Only bytes that have the digest of the key replace what is there, so that no mistake can change an object. The
            // same bytes renew its time, which keeps it from being swept, and repair one that was cut off.
            if Sha256Digest::of(&bytes) != sha256 {
                return Err(BlobError::Damaged(sha256));
            }
            self.bucket.write(&key, bytes).await.map_err(|error| failed(doing, error))
        })
    }

    fn get(&self, kind: BlobKind, sha256: Sha256Digest) -> BlobFuture<'_, Bytes> {
        Box::pin(async move {
            let read =
                self.bucket.read(&key(kind, sha256), PackageLimits::PACKAGE.archive_bytes).await;
            let bytes = match read {
                Ok(bytes) => bytes,
                Err(BucketError::Missing(_)) => return Err(BlobError::Missing(sha256)),
                Err(BucketError::TooLarge { .. }) => return Err(BlobError::Damaged(sha256)),
                Err(error) => return Err(failed("reading an object", error)),
            };
            if Sha256Digest::of(&bytes) != sha256 {
                return Err(BlobError::Damaged(sha256));
            }
            Ok(bytes)
        })
    }

    fn find(&self, kind: BlobKind, sha256: Sha256Digest) -> BlobFuture<'_, Option<StoredBlob>> {
        Box::pin(async move {
            let found = self.bucket.info(&key(kind, sha256)).await;
            let found = found.map_err(|error| failed("looking for an object", error))?;
            Ok(found.and_then(|info| stored(&info)))
        })
    }

    fn delete(&self, kind: BlobKind, sha256: Sha256Digest) -> BlobFuture<'_, ()> {
        Box::pin(async move {
            let deleted = self.bucket.delete(&key(kind, sha256)).await;
            deleted.map_err(|error| failed("deleting an object", error))
        })
    }

    fn list(&self) -> BlobFuture<'_, Vec<StoredBlob>> {
        Box::pin(async move {
            let mut found = Vec::new();
            for kind in BlobKind::ALL {
                let listed = self.bucket.list(kind.folder()).await;
                let listed = listed.map_err(|error| failed("listing objects", error))?;
                found.extend(listed.iter().filter_map(stored));
            }
            Ok(found)
        })
    }

    fn check(&self) -> BlobFuture<'_, ()> {
        Box::pin(async move {
            let checked = self.bucket.check().await;
            checked.map_err(|error| failed("looking at the bucket", error))
        })
    }

    fn name(&self) -> &'static str {
        "s3"
    }

    fn path(&self, _: BlobKind, _: Sha256Digest) -> Option<PathBuf> {
        None
    }
}

fn stored(info: &ObjectInfo) -> Option<StoredBlob> {
    let (kind, sha256) = parse_key(&info.key)?;
    Some(StoredBlob { sha256, kind, size: info.size, stored: info.modified })
}

fn failed(doing: &'static str, source: BucketError) -> BlobError {
    BlobError::Storage { doing, source: Box::new(source) }
}
