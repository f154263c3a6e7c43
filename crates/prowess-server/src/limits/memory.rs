//! Counts of one node, bounded in number.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Limit;
use crate::clock::Timestamp;

/// Parts with a lock of their own.
const PARTS: usize = 16;

/// Subjects in each part.
const MOST_IN_PART: usize = 8192;

pub(super) struct MemoryBuckets {
    pub(super) parts: [Mutex<HashMap<Key, Timestamp>>; PARTS],
    hasher: RandomState,
}

type Key = (&'static str, String);

impl MemoryBuckets {
    pub(super) fn new() -> MemoryBuckets {
        MemoryBuckets {
            parts: std::array::from_fn(|_| Mutex::new(HashMap::new())),
            hasher: RandomState::new(),
        }
    }

    pub(super) fn check(
        &self,
        limit: Limit,
        subject: &str,
        now: Timestamp,
    ) -> Result<Timestamp, Duration> {
        let key = (limit.name, subject.to_owned());
        let mut part = self.part(&key);
        let free_at = limit.advance(part.get(&key).copied().unwrap_or(now), now)?;
        store(&mut part, key, free_at, now);
        Ok(free_at)
    }

    pub(super) fn charge(&self, limit: Limit, subject: &str, now: Timestamp) {
        let key = (limit.name, subject.to_owned());
        let mut part = self.part(&key);
        let free_at = limit.add(part.get(&key).copied().unwrap_or(now), now);
        store(&mut part, key, free_at, now);
    }

    pub(super) fn free_at(&self, limit: Limit, subject: &str) -> Option<Timestamp> {
        let key = (limit.name, subject.to_owned());
        self.part(&key).get(&key).copied()
    }

    pub(super) fn sweep(&self, now: Timestamp) {
        for part in &self.parts {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            part.retain(|_, free_at| *free_at > now);
        }
    }

    fn part(&self, key: &Key) -> std::sync::MutexGuard<'_, HashMap<Key, Timestamp>> {
        let number = usize::try_from(self.hasher.hash_one(key) % PARTS as u64).unwrap_or(0);
        self.parts[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn store(part: &mut HashMap<Key, Timestamp>, key: Key, free_at: Timestamp, now: Timestamp) {
    if part.len() >= MOST_IN_PART && !part.contains_key(&key) {
        make_room(part, now);
    }
    part.insert(key, free_at);
}

/// Forgets what no longer matters. If that is less than half, it forgets the subjects that are furthest from their limit
/// as well: an attacker with that many addresses must not get anybody forgotten who is refused.
fn make_room(part: &mut HashMap<Key, Timestamp>, now: Timestamp) {
    part.retain(|_, free_at| *free_at > now);
    if part.len() <= MOST_IN_PART / 2 {
        return;
    }
    let mut times: Vec<Timestamp> = part.values().copied().collect();
    let middle = times.len() / 2;
    let (_, middle, _) = times.select_nth_unstable(middle);
    let middle = *middle;
    let mut left = part.len() / 2;
    part.retain(|_, free_at| {
        let is_forgotten = left > 0 && *free_at <= middle;
        left -= usize::from(is_forgotten);
        !is_forgotten
    });
}
