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
        let shop = NewShop::check(&self.checked_shop, shop, self.tables.last_ids(), epoch)?;
        let reset = if let Some(mut committer) = block.committer {
            committer.commit_reset(shop, epoch)
        } else {
            self.tables.replace_shop(&shop);
            Ok(())
        };
        // The counts are also cleared if the outcome is unknown, because the reset may turn out to have been committed.
        if reset.as_ref().err().is_none_or(|error| error.kind() == StoreErrorKind::Indeterminate) {
            self.addresses.clear();
        }
        reset
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        let block = self.try_block_writes()?;
        let forgotten = commit_keys(block, &self.tables, self.tables.keys.without_bans());
        // The usage is also forgotten if the outcome is unknown, because the change of the keys may turn out to have
        // been committed.
        if forgotten.as_ref().err().is_none_or(|error| error.kind() == StoreErrorKind::Indeterminate) {
            self.tables.forget_usage();
            self.addresses.clear();
        }
        forgotten
    }
}

impl MemoryStore {
    /// Forgets all strikes. Also forgets the usage, bans and lifts (ends of bans by an operator) whose time is later
    /// than `now`. Call it when the store is opened, because the clock may be behind the clock with which the data was
    /// written. A window never goes back in time, so a window in the future would stay in force until the clock has
    /// reached it. Returns the number of accounts whose usage was forgotten.
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
