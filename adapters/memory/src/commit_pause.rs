//! A pause between two commits, for backups. During the pause the tables and the journal have the same content.

use std::fmt;

use parking_lot::MutexGuard;
use petstore_domain::Windows;
use petstore_ports::{EventBounds, Header, PageRequest, Row, SortDirection, StoreError};

use crate::committer::Committer;
use crate::store::MemoryStore;
use crate::tables::Tables;
use crate::write_block::BLOCK_WAIT_MAX;

/// A pause in the commits of a store with a journal. Writes wait until the pause is dropped, and do not fail because
/// of it.
pub struct CommitPause<'s> {
    tables: &'s Tables,
    committer: MutexGuard<'s, Committer>,
}

impl MemoryStore {
    /// Waits for the end of the current batch, and delays further batches. Blocks.
    ///
    /// # Errors
    /// [`StoreErrorKind::Busy`](petstore_ports::StoreErrorKind::Busy) if the store has no journal, during an import,
    /// and while the journal's last write does not complete.
    pub fn pause_commits(&self) -> Result<CommitPause<'_>, StoreError> {
        let durable = self.durable.as_ref().ok_or_else(|| StoreError::busy("the store has no journal"))?;
        let Some(committer) = durable.committer.try_lock_for(BLOCK_WAIT_MAX) else {
            return Err(StoreError::busy(format!(
                "an import or the journal's last write has not completed for {} s",
                BLOCK_WAIT_MAX.as_secs()
            )));
        };
        if self.tables.visibility.is_hidden() {
            return Err(StoreError::busy("the outcome of an import is unknown until the journal recovers"));
        }
        Ok(CommitPause { tables: &self.tables, committer })
    }
}

impl CommitPause<'_> {
    /// The header for a copy of the journal. Its epoch is 0 and it has no events, because a copy must not have the
    /// epoch of the original.
    pub fn header(&self) -> Header {
        Header {
            last_batch: self.committer.last_batch(),
            last_ids: self.tables.last_ids(),
            epoch: 0,
            events: EventBounds::new(0),
        }
    }

    /// The number of categories, pets and orders.
    pub fn shop_len(&self) -> u64 {
        self.tables.categories.len() + self.tables.pets.len() + self.tables.orders.len()
    }

    /// All rows, in the order in which a journal returns them.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let tables = self.tables;
        let all = PageRequest { order: SortDirection::Ascending, after: None, limit: usize::MAX };
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
            .chain(tables.idempotency_records.all().map(|record| Row::Idempotency(Box::new(record))))
            .chain(used)
            .chain(webhook_rows(tables))
    }
}

/// The webhooks, their progress and their deliveries.
fn webhook_rows(tables: &Tables) -> impl Iterator<Item = Row> {
    let (progress, deliveries) = tables.deliveries.all();
    let webhooks = tables.webhooks.all().into_iter().map(|record| Row::Webhooks(Box::new(record)));
    webhooks
        .chain(progress.into_iter().map(|(webhook, progress)| Row::Progress(webhook, Box::new(progress))))
        .chain(deliveries.into_iter().map(|delivery| Row::Delivery(Box::new(delivery))))
}

impl fmt::Debug for CommitPause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitPause").finish_non_exhaustive()
    }
}
