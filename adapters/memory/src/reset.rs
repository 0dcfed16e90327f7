//! Beginning anew: the shop is replaced, and what was counted is forgotten.

use std::sync::Arc;

use petstore_domain::{Change, Changes, KeyRecord, Timestamp};
use petstore_ports::{BulkLoad, LastIds, Resettable, Row, StoreError, StoreErrorKind};

use crate::bulk_loader::{BulkLoader, Contradiction};
use crate::committer::Committer;
use crate::import::WriteBlock;
use crate::store::MemoryStore;
use crate::tables::Tables;

/// A shop to begin anew with, the rows of which agree.
pub(crate) struct Beginning {
    rows: Arc<[Row]>,
    /// The last ids given when it has begun.
    last_ids: LastIds,
}

impl Beginning {
    /// Judges the rows in tables of their own: once they are on disk it is too late. `before`: the last ids given.
    fn of(rows: Arc<[Row]>, before: LastIds) -> Result<Self, StoreError> {
        let scratch = Tables::new();
        let filled = fill(&scratch, &rows).and_then(|loader| loader.check());
        filled.map_err(|contradiction| StoreError::corrupt(contradiction.to_string()))?;
        let LastIds { account, key, .. } = before;
        Ok(Self { rows, last_ids: LastIds { account, key, ..scratch.last_ids() } })
    }
}

fn fill<'t>(tables: &'t Tables, rows: &[Row]) -> Result<BulkLoader<'t>, Contradiction> {
    let mut loader = BulkLoader::of(tables);
    for row in rows {
        match row {
            Row::Category(record) => loader.category(record.clone())?,
            Row::Pet(record) => loader.pet(record.clone())?,
            Row::Order(record) => loader.order(record.clone())?,
            // They stay as they are, or go.
            Row::Account(_) | Row::Key(_) | Row::Idempotency(_) | Row::Usage(_) => {}
        }
    }
    loader.index_names();
    Ok(loader)
}

impl Resettable for MemoryStore {
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError> {
        let hold = self.try_block_writes()?;
        let beginning = Beginning::of(shop, self.tables.last_ids())?;
        let begun = if let Some(mut committer) = hold.committer {
            committer.commit_beginning(beginning, epoch)
        } else {
            self.tables.begin(&beginning);
            Ok(())
        };
        // One in doubt may turn out to have happened.
        if begun.as_ref().err().is_none_or(|error| error.kind() == StoreErrorKind::Indeterminate) {
            self.addresses.clear();
        }
        begun
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        let block = self.try_block_writes()?;
        let forgotten = commit_keys(block, &self.tables, self.tables.keys.without_bans());
        // Keys in doubt may turn out to be written.
        if forgotten.as_ref().err().is_none_or(|error| error.kind() == StoreErrorKind::Indeterminate) {
            self.tables.forget_usage();
            self.addresses.clear();
        }
        forgotten
    }
}

impl MemoryStore {
    /// Forgets usage, bans and lifts that were recorded at a time later than `now`, and all strikes: for a start on data
    /// whose clock was ahead. Windows never go back by themselves, so that they would be in force for as long as the clock
    /// was ahead. Returns the number of accounts whose usage is forgotten.
    ///
    /// # Errors
    /// If the journal fails, or writes are blocked. Then nothing is forgotten, or it is not known.
    pub fn forget_usage_after(&self, now: Timestamp) -> Result<usize, StoreError> {
        let block = self.try_block_writes()?;
        commit_keys(block, &self.tables, self.tables.keys.without_bans_after(now))?;
        self.tables.keys.begin_with_records();
        Ok(self.tables.accounts.forget_usage(|windows| windows.are_ahead_of(now)))
    }
}

/// Writes keys that have been changed while writes are blocked.
fn commit_keys(block: WriteBlock<'_>, tables: &Tables, keys: Vec<KeyRecord>) -> Result<(), StoreError> {
    let mut changes = Changes::none();
    keys.into_iter().for_each(|key| changes.push(Change::Key(Box::new(key))));
    match block.committer {
        Some(mut committer) => committer.commit_alone(changes),
        None => tables.apply(changes),
    }
}

impl Committer {
    /// Commits a beginning, and shows it. If the journal cannot say whether it has, that is settled once it can.
    fn commit_beginning(&mut self, beginning: Beginning, epoch: u64) -> Result<(), StoreError> {
        self.queue.check()?;
        self.guarded(|committer| {
            let number = committer.last.next();
            let bulk = BulkLoad { number, last_ids: beginning.last_ids, anew: Some(epoch) };
            let written = committer.journal.bulk(&bulk, &mut beginning.rows.iter().cloned());
            committer.beginning = Some(beginning);
            committer.settle(number, written)
        })
    }
}

impl Tables {
    /// Begins anew. Nobody writes meanwhile; readers find the shop empty.
    pub(crate) fn begin(&self, beginning: &Beginning) {
        self.visibility.hide();
        self.clear_shop(beginning.last_ids);
        fill(self, &beginning.rows).expect("the rows agree, and there is nothing else");
        self.idempotency_records.clear();
        for key in self.keys.without_bans() {
            self.apply_one(Change::Key(Box::new(key)));
        }
        self.forget_usage();
        self.visibility.show();
    }

    /// Forgets usage, which is noted behind like any other change of it, and strikes.
    fn forget_usage(&self) {
        self.accounts.forget_usage(|_| true);
        self.keys.forget_strikes();
    }
}
