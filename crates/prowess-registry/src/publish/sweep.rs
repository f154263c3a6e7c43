//! Removes what nothing names: archives of uploads that were never added, and old entries of logs.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use prowess_server::database::DatabaseError;

use crate::blobs::BlobKind;
use crate::error::Outcome;
use crate::registry::Registry;

/// How often.
const INTERVAL: Duration = Duration::from_hours(1);
/// An archive that is younger than this may belong to an upload that is not finished.
const MIN_AGE: Duration = Duration::from_hours(1);

impl Registry {
    /// Sweeps once an hour until the registry is stopped.
    pub(crate) async fn maintain(self) {
        loop {
            for result in [
                self.sweep(MIN_AGE).await.map(|_| ()),
                self.trim_changes().await,
                self.forget_identities().await,
                self.forget_runs().await,
            ] {
                if let Err(error) = result {
                    tracing::warn!(%error, "what is not needed any more could not be removed");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = self.stopped() => return,
            }
        }
    }

    /// Deletes objects that no version names and that are older than `min_age`; returns how many.
    pub async fn sweep(&self, min_age: Duration) -> Outcome<usize> {
        let stored = self.blobs().list().await?;
        // Read after the list: an object that was named since then is in it.
        let named = self.database().read(|connection| {
            let mut named: HashSet<(BlobKind, String)> = HashSet::new();
            let sql = "SELECT v.sha256 FROM versions v JOIN skills s ON s.id = v.skill_id
                       WHERE v.state <> 'refused' AND s.state <> 'deleted'";
            connection.for_each(sql, &[], |row| {
                named.insert((BlobKind::Package, row.get("sha256")?));
                Ok(())
            })?;
            connection.for_each("SELECT sha256 FROM mirrored_packages", &[], |row| {
                named.insert((BlobKind::Package, row.get("sha256")?));
                Ok(())
            })?;
            connection.for_each("SELECT sha256 FROM prose", &[], |row| {
                named.insert((BlobKind::Prose, row.get("sha256")?));
                Ok(())
            })?;
            Ok::<_, DatabaseError>(named)
        });
        let named = named.await?;
        let before = SystemTime::now() - min_age;
        let mut deleted = 0;
        for object in stored {
            let is_named = named.contains(&(object.kind, object.sha256.to_string()));
            if is_named || object.stored >= before {
                continue;
            }
            // An upload may have renewed it while the others were deleted.
            let now = self.blobs().find(object.kind, object.sha256).await?;
            if now.is_some_and(|now| now.stored < before) {
                self.blobs().delete(object.kind, object.sha256).await?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }
}
