//! A small memory of what was read a moment ago, for what every request asks.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{SharedClock, Timestamp};

pub(crate) struct Recent<K, V> {
    clock: SharedClock,
    lifetime: Duration,
    most: usize,
    entries: Mutex<HashMap<K, (Timestamp, V)>>,
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    pub(crate) fn new(clock: SharedClock, lifetime: Duration, most: usize) -> Recent<K, V> {
        Recent { clock, lifetime, most, entries: Mutex::new(HashMap::new()) }
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (read_at, value) = entries.get(key)?;
        (self.clock.now().since(*read_at) < self.lifetime).then(|| value.clone())
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        let now = self.clock.now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= self.most {
            entries.retain(|_, (read_at, _)| now.since(*read_at) < self.lifetime);
        }
        // More than that within a lifetime is not remembered, only read again.
        if entries.len() < self.most {
            entries.insert(key, (now, value));
        }
    }

    pub(crate) fn remove<Q: Eq + Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
