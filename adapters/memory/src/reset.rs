//! The reset of a sandbox: the shop is replaced, and usage is forgotten.

use std::sync::Arc;

use petstore_domain::{Change, Changes, KeyRecord, Timestamp};
use petstore_ports::{Resettable, Row, StoreError, StoreErrorKind};

use crate::new_shop::NewShop;
use crate::store::MemoryStore;
use crate::tables::Tables;
use crate::write_block::WriteBlock;

impl Resettable for MemoryStore {
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError> {
        let block = self.try_block_writes()?;
        let shop = NewShop::check(shop, self.tables.last_ids(), epoch)?;
        let reset = if let Some(mut committer) = block.committer {
            committer.commit_reset(shop, epoch)
        } else {
            self.tables.replace_shop(&shop);
            Ok(())
        };
        // An indeterminate reset may turn out to have been committed.
        if reset.as_ref().err().is_none_or(|error| error.kind() == StoreErrorKind::Indeterminate) {
            self.addresses.clear();
        }
        reset
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        let block = self.try_block_writes()?;
        let forgotten = commit_keys(block, &self.tables, self.tables.keys.without_bans());
        // An indeterminate change of the keys may turn out to have been committed.
        if forgotten.as_ref().err().is_none_or(|error| error.kind() == StoreErrorKind::Indeterminate) {
            self.tables.forget_usage();
            self.addresses.clear();
        }
        forgotten
    }
}

impl MemoryStore {
    /// Forgets all strikes, and usage, bans and lifts that were recorded at a time later than `now`. It is called when
    /// the store is opened, because the clock may be behind the one that wrote the data. A window never goes back, so
    /// a window in the future would stay in force until the clock has caught up. Returns the number of accounts whose
    /// usage was forgotten.
    ///
    /// # Errors
    /// If the journal fails or writes are blocked. Then nothing is forgotten, or the outcome is unknown.
    pub fn forget_usage_after(&self, now: Timestamp) -> Result<usize, StoreError> {
        let block = self.try_block_writes()?;
        commit_keys(block, &self.tables, self.tables.keys.without_bans_after(now))?;
        self.tables.keys.begin_with_records();
        Ok(self.tables.accounts.forget_usage(|windows| windows.are_ahead_of(now)))
    }
}

/// Writes changed keys while writes are blocked.
fn commit_keys(block: WriteBlock<'_>, tables: &Tables, keys: Vec<KeyRecord>) -> Result<(), StoreError> {
    let mut changes = Changes::none();
    for key in keys {
        changes.push(Change::Key(Box::new(key)));
    }
    match block.committer {
        Some(mut committer) => committer.commit_changes(changes),
        None => tables.apply(changes),
    }
}
