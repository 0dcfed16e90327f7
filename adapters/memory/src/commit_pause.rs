//! A store between two batches: what its journal should hold, from memory.

use std::fmt;

use parking_lot::MutexGuard;
use petstore_domain::Windows;
use petstore_ports::{Header, PageOrder, PageRequest, Row, StoreError};

use crate::committer::Committer;
use crate::import::HOLD_TIME;
use crate::store::MemoryStore;
use crate::tables::Tables;

/// A store with a journal in which no batch is shown while this is held: writes wait for its end, and do not fail by it.
pub struct CommitPause<'s> {
    tables: &'s Tables,
    committer: MutexGuard<'s, Committer>,
}

impl MemoryStore {
    /// Waits for the end of a batch that is on its way, and holds further ones back. Blocks.
    ///
    /// # Errors
    /// [`StoreErrorKind::Busy`](petstore_ports::StoreErrorKind::Busy) without a journal, while an import goes on, and while the journal does not come to an end with its
    /// last write.
    pub fn pause_commits(&self) -> Result<CommitPause<'_>, StoreError> {
        let busy = |why: &'static str| StoreError::busy(why);
        let durable = self.durable.as_ref().ok_or_else(|| busy("there is no journal"))?;
        let committer = durable.committer.try_lock_for(HOLD_TIME);
        let committer =
            committer.ok_or_else(|| busy("an import or the last write does not come to an end"))?;
        if self.tables.visibility.is_hidden() {
            return Err(busy("it is not known whether an import is on disk"));
        }
        Ok(CommitPause { tables: &self.tables, committer })
    }
}

impl CommitPause<'_> {
    /// What the journal says of itself, but for its epoch, which no copy has: it is 0.
    pub fn header(&self) -> Header {
        Header { last_batch: self.committer.last, last_ids: self.tables.last_ids(), epoch: 0 }
    }

    /// How many categories, pets and orders there are.
    pub fn shop_len(&self) -> u64 {
        self.tables.categories.len() + self.tables.pets.len() + self.tables.orders.len()
    }

    /// Every row, in the order in which a journal hands them over.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let tables = self.tables;
        let all = PageRequest { order: PageOrder::Ascending, after: None, limit: usize::MAX };
        let accounts = tables.accounts.page(&all);
        let used: Vec<_> = accounts
            .iter()
            .filter_map(|account| tables.accounts.usage(account.id))
            .filter(|count| Windows { minute: count.minute, day: count.day } != Windows::default())
            .map(Row::Usage)
            .collect();
        let keys = tables.keys.page(&all);
        tables
            .rows()
            .chain(accounts.into_iter().map(Row::Account))
            .chain(keys.into_iter().map(|key| Row::Key(Box::new(key))))
            .chain(tables.idempotency_records.all().map(|retry| Row::Idempotency(Box::new(retry))))
            .chain(used)
    }
}

impl fmt::Debug for CommitPause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitPause").finish_non_exhaustive()
    }
}
