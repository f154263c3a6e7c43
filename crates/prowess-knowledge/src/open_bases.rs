//! A cache of open knowledge bases, limited in number and size; the least recently used is closed first.

use std::num::NonZero;
use std::sync::Arc;

use lru::LruCache;

use crate::base::KnowledgeBase;
use crate::name::BaseName;

/// Limits on open knowledge bases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenLimits {
    /// Maximum number. Each has a few file descriptors and mapped files.
    pub(crate) count: NonZero<usize>,
    /// Maximum size of their files in bytes, which are mapped and count as memory of the process once they are read.
    pub(crate) bytes: u64,
}

impl OpenLimits {
    pub(crate) const USUAL: Self =
        Self { count: NonZero::new(64).expect("it is not zero"), bytes: 8 << 30 };
}

/// Open knowledge bases by name. The least recently used is closed first; a search keeps it open until it has
/// ended.
pub(crate) struct OpenBases {
    limits: OpenLimits,
    bases: LruCache<BaseName, Arc<KnowledgeBase>>,
    bytes: u64,
}

impl OpenBases {
    pub(crate) fn new(limits: OpenLimits) -> Self {
        Self { limits, bases: LruCache::unbounded(), bytes: 0 }
    }

    /// The knowledge base, if it is open and current. One that another process removed or rewrote has lost its data folder
    /// and is closed.
    pub(crate) fn get(&mut self, name: &BaseName) -> Option<Arc<KnowledgeBase>> {
        let base = Arc::clone(self.bases.get(name)?);
        if base.data.is_dir() {
            return Some(base);
        }
        self.remove(name);
        None
    }

    /// Keeps a knowledge base open, and closes others if there are too many. One that exceeds the size limit alone is
    /// kept as the only one.
    pub(crate) fn insert(&mut self, name: BaseName, base: Arc<KnowledgeBase>) {
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
