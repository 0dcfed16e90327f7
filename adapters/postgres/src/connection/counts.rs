//! Counts of connections, for monitoring.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The connections of a store since it was opened.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    opened: AtomicU64,
    closed: AtomicU64,
    failures: AtomicU64,
}

impl ConnectionCounts {
    /// The number of open connections.
    pub(crate) fn open(&self) -> u64 {
        // The second number is read first, so that it is not the higher one.
        let closed = self.closed.load(Ordering::Relaxed);
        self.opened.load(Ordering::Relaxed).saturating_sub(closed)
    }

    /// The number of connections that were opened.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// The number of attempts that failed.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection until the result is dropped.
    pub(super) fn count(self: &Arc<Self>) -> Counted {
        self.opened.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(self))
    }
}

/// A connection that counts as open.
#[derive(Debug)]
pub(super) struct Counted(Arc<ConnectionCounts>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.closed.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_open_until_it_is_dropped() {
        let counts = Arc::<ConnectionCounts>::default();
        let (one, other) = (counts.count(), counts.count());
        assert_eq!((counts.open(), counts.opened()), (2, 2));
        drop(one);
        assert_eq!((counts.open(), counts.opened()), (1, 2));
        drop(other);
        assert_eq!(counts.open(), 0);
    }
}
