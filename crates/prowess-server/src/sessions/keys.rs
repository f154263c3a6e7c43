//! The keys that sign access tokens. They are in the database, so that all nodes share them.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use jsonwebtoken::{DecodingKey, EncodingKey};

use super::ACCESS_LIFETIME;
use crate::clock::{SharedClock, Timestamp};
use crate::database::{Database, DatabaseError, Transaction, values};
use crate::secret::{new_id, random};

/// The age at which a key is replaced.
const LIFETIME: Duration = Duration::from_hours(30 * 24);

/// How long a replaced key stays: until the last token that it signed has expired, and some time for nodes that did not
/// notice the new one at once.
const RETIREMENT: Duration = Duration::from_hours(1);

/// How often a token with an unknown key may make a node look for new keys.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a node signs with a key before it looks for a newer one.
const FRESH: Duration = Duration::from_mins(1);

const SECRET_BYTES: usize = 32;

pub(super) struct SigningKeys {
    database: Database,
    clock: SharedClock,
    known: RwLock<KnownKeys>,
}

#[derive(Default)]
struct KnownKeys {
    keys: HashMap<String, KeyPair>,
    newest: Option<String>,
    read_at: Option<Timestamp>,
}

#[derive(Clone)]
struct KeyPair {
    signing: EncodingKey,
    verifying: DecodingKey,
}

impl SigningKeys {
    pub(super) fn new(database: Database, clock: SharedClock) -> SigningKeys {
        SigningKeys { database, clock, known: RwLock::default() }
    }

    /// The newest key, which is made if there is none.
    pub(super) async fn signing(&self) -> Result<(String, EncodingKey), DatabaseError> {
        if let Some(newest) = self.newest(FRESH) {
            return Ok(newest);
        }
        self.make(Duration::MAX).await?;
        self.read().await?;
        self.newest(Duration::MAX).ok_or(DatabaseError::NoRow)
    }

    /// The key with an identifier.
    pub(super) async fn verifying(&self, kid: &str) -> Result<Option<DecodingKey>, DatabaseError> {
        let now = self.clock.now();
        let (found, read_at) = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            (known.keys.get(kid).map(|pair| pair.verifying.clone()), known.read_at)
        };
        if found.is_some() || read_at.is_some_and(|read_at| now.since(read_at) < SHORTEST_PAUSE) {
            return Ok(found);
        }
        self.read().await?;
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        Ok(known.keys.get(kid).map(|pair| pair.verifying.clone()))
    }

    /// Makes a new key.
    pub(super) async fn rotate(&self) -> Result<(), DatabaseError> {
        self.make(Duration::ZERO).await?;
        self.read().await
    }

    /// Makes a new key if the newest is old, and removes those that are no longer needed.
    pub(super) async fn maintain(&self) -> Result<(), DatabaseError> {
        self.make(LIFETIME).await?;
        self.read().await
    }

    /// Makes a key unless there is one younger than an age.
    async fn make(&self, age: Duration) -> Result<(), DatabaseError> {
        let now = self.clock.now();
        self.database
            .write(move |transaction| {
                let newest = newest(transaction)?;
                if newest.is_none_or(|created_at| now.since(created_at) >= age) {
                    let secret: [u8; SECRET_BYTES] = random();
                    // The newest is found by its time, so that it has to differ.
                    let after = newest.map_or(now, |before| before + Duration::from_millis(1));
                    transaction.execute(
                        "INSERT INTO signing_keys (kid, secret, created_at) VALUES (?1, ?2, ?3)",
                        &values![new_id("k"), secret, now.max(after)],
                    )?;
                }
                remove_retired(transaction, now)
            })
            .await
    }

    async fn read(&self) -> Result<(), DatabaseError> {
        let read_at = self.clock.now();
        let (keys, newest) = self
            .database
            .read(move |connection| {
                let sql = "SELECT kid, secret FROM signing_keys ORDER BY created_at";
                let mut keys = HashMap::new();
                let mut newest = None;
                for row in connection.query(sql, &[])? {
                    let kid: String = row.get("kid")?;
                    let secret: Vec<u8> = row.get("secret")?;
                    let signing = EncodingKey::from_secret(&secret);
                    let verifying = DecodingKey::from_secret(&secret);
                    keys.insert(kid.clone(), KeyPair { signing, verifying });
                    newest = Some(kid);
                }
                Ok::<_, DatabaseError>((keys, newest))
            })
            .await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        *known = KnownKeys { keys, newest, read_at: Some(read_at) };
        Ok(())
    }

    /// The newest key, if the keys were read recently enough.
    fn newest(&self, age: Duration) -> Option<(String, EncodingKey)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if self.clock.now().since(known.read_at?) > age {
            return None;
        }
        let kid = known.newest.clone()?;
        let signing = known.keys.get(&kid)?.signing.clone();
        Some((kid, signing))
    }
}

fn newest(transaction: &mut Transaction<'_>) -> Result<Option<Timestamp>, DatabaseError> {
    transaction
        .query_optional(
            "SELECT created_at FROM signing_keys ORDER BY created_at DESC LIMIT 1",
            &[],
        )?
        .map(|row| row.get("created_at"))
        .transpose()
}

/// Removes the keys that were replaced so long ago that no valid token has them.
fn remove_retired(transaction: &mut Transaction<'_>, now: Timestamp) -> Result<(), DatabaseError> {
    transaction.execute(
        "DELETE FROM signing_keys WHERE EXISTS (
             SELECT 1 FROM signing_keys newer
             WHERE newer.created_at > signing_keys.created_at AND newer.created_at < ?1)",
        &values![now - ACCESS_LIFETIME - RETIREMENT],
    )?;
    Ok(())
}
