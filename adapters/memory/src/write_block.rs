//! Exclusion of all writes, for imports, exports and resets.

use std::time::Duration;

use parking_lot::{MutexGuard, RwLockWriteGuard};
use petstore_ports::StoreError;

use crate::committer::{Committer, Step};
use crate::store::{MemoryStore, writes_blocked};

/// The longest time for which a reset waits until another import, export or reset ends. The bound is short, because
/// requests wait for the reset meanwhile.
pub(crate) const BLOCK_WAIT_MAX: Duration = Duration::from_secs(1);

/// While this guard exists, all other writes are refused.
pub(crate) struct WriteBlock<'a> {
    /// The committer of a store with a journal.
    pub(crate) committer: Option<MutexGuard<'a, Committer>>,
    _writes: RwLockWriteGuard<'a, ()>,
}

impl<'a> WriteBlock<'a> {
    /// Commits all waiting requests. No further requests are accepted, because the caller holds the lock `writes`
    /// exclusively.
    fn new(writes: RwLockWriteGuard<'a, ()>, mut committer: Option<MutexGuard<'a, Committer>>) -> Self {
        if let Some(committer) = &mut committer {
            while committer.guarded(|committer| Ok(committer.step())) == Ok(Step::Worked) {}
        }
        Self { committer, _writes: writes }
    }
}

impl MemoryStore {
    /// Refuses writes from now on, and waits until the accepted writes are done.
    pub(crate) fn block_writes(&self) -> WriteBlock<'_> {
        let writes = self.writes.write();
        WriteBlock::new(writes, self.durable.as_ref().map(|durable| durable.committer.lock()))
    }

    /// Blocks writes like [`MemoryStore::block_writes`], but gives up as busy after a bounded wait.
    pub(crate) fn try_block_writes(&self) -> Result<WriteBlock<'_>, StoreError> {
        let writes = self.writes.try_write_for(BLOCK_WAIT_MAX).ok_or_else(writes_blocked)?;
        let committer = self.durable.as_ref().map(|durable| durable.committer.try_lock_for(BLOCK_WAIT_MAX));
        let busy = || {
            StoreError::busy(format!(
                "the journal's last write has not completed for {} s",
                BLOCK_WAIT_MAX.as_secs()
            ))
        };
        Ok(WriteBlock::new(writes, committer.map(|lock| lock.ok_or_else(busy)).transpose()?))
    }
}
