//! The reset of a sandbox: the shop is replaced, and usage is forgotten.

use std::sync::Arc;

use petstore_domain::Timestamp;
use petstore_ports::{Resettable, Row, StoreError, StoreErrorKind};

use crate::new_shop::NewShop;
use crate::store::MemoryStore;

impl Resettable for MemoryStore {
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError> {
        let block = self.try_block_writes()?;
        let shop = NewShop::check(shop, self.tables.last_ids())?;
        let reset = if let Some(mut committer) = block.committer {
            committer.commit_reset(shop, epoch)
        } else {
            self.tables.replace_shop(&shop, &self.stripes);
            Ok(())
        };
        // An indeterminate reset may turn out to have been committed.
        if reset.as_ref().err().is_none_or(|error| error.kind() == StoreErrorKind::Indeterminate) {
            self.addresses.clear();
        }
        reset
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        let _block = self.try_block_writes()?;
        self.tables.forget_usage(&self.stripes);
        self.addresses.clear();
        Ok(())
    }
}

impl MemoryStore {
    /// Forgets all strikes, and usage and bans that were recorded at a time later than `now`. To be called at a start whose
    /// clock is behind the one that wrote the data: windows never go back, so a future one would stay in force until the
    /// clock has caught up. Returns the number of accounts whose usage was forgotten.
    pub fn forget_usage_after(&self, now: Timestamp) -> usize {
        self.tables.keys.forget_bans(&self.stripes, |ban| ban.is_ahead_of(now));
        self.tables.accounts.forget_usage(|windows| windows.are_ahead_of(now))
    }
}
