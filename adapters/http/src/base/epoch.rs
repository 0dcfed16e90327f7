//! The epoch of the store, which may change while a server runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The epoch of a store: entity tags and cursors of another epoch are not valid. Clones share the number, so that a store can
/// begin a new epoch while servers run.
#[derive(Debug, Clone)]
pub struct Epoch(Arc<AtomicU64>);

impl Epoch {
    /// The epoch that is in force.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Begins another epoch: entity tags and cursors of the earlier one never match again.
    pub fn set(&self, epoch: u64) {
        self.0.store(epoch, Ordering::Relaxed);
    }
}

/// An epoch that no other part changes.
impl From<u64> for Epoch {
    fn from(epoch: u64) -> Self {
        Self(Arc::new(AtomicU64::new(epoch)))
    }
}

/// An epoch that its owner changes.
impl From<Arc<AtomicU64>> for Epoch {
    fn from(epoch: Arc<AtomicU64>) -> Self {
        Self(epoch)
    }
}
