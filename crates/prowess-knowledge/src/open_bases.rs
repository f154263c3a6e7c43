//! The bases that are open: bounded in number and size, those that were used last.

use std::num::NonZero;
use std::sync::Arc;

use lru::LruCache;

use crate::base::Base;
use crate::name::BaseName;

/// What may be open at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenLimits {
    /// Bases. Each has a few descriptors and mapped files.
    pub(crate) count: NonZero<usize>,
    /// Bytes of their files, which are mapped and count as memory of the process once they are read.
    pub(crate) bytes: u64,
}

impl OpenLimits {
    pub(crate) const USUAL: Self =
        Self { count: NonZero::new(64).expect("it is not zero"), bytes: 8 << 30 };
}

/// Bases by name. The one that was not used for the longest time is closed first; whoever searches in it keeps it open
/// until the search has ended.
pub(crate) struct OpenBases {
    limits: OpenLimits,
    bases: LruCache<BaseName, Arc<Base>>,
    bytes: u64,
}

impl OpenBases {
    pub(crate) fn new(limits: OpenLimits) -> Self {
        Self { limits, bases: LruCache::unbounded(), bytes: 0 }
    }

    /// The base, if it is open and still there: one that was removed or rewritten by another process has lost the folder of
    /// its data, and is closed.
    pub(crate) fn get(&mut self, name: &BaseName) -> Option<Arc<Base>> {
        let base = Arc::clone(self.bases.get(name)?);
        if base.data.is_dir() {
            return Some(base);
        }
        self.remove(name);
        None
    }

    /// Keeps a base open, and closes others where there are too many. A base that is larger than everything that may be
    /// open is kept alone.
    pub(crate) fn insert(&mut self, name: BaseName, base: Arc<Base>) {
        self.remove(&name);
        self.bytes += base.opened_bytes();
        self.bases.put(name, base);
        while self.bases.len() > 1
            && (self.bases.len() > self.limits.count.get() || self.bytes > self.limits.bytes)
        {
            if let Some((_, closed)) = self.bases.pop_lru() {
                self.bytes -= closed.opened_bytes();
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &BaseName) {
        if let Some(base) = self.bases.pop(name) {
            self.bytes -= base.opened_bytes();
        }
    }
}

#[cfg(test)]
mod tests;
