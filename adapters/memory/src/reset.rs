//! Beginning anew: the shop is replaced, and what was counted is forgotten.

use std::sync::Arc;

use petstore_domain::Timestamp;
use petstore_ports::{BulkLoad, LastIds, Resettable, Row, StoreError, StoreErrorKind};

use crate::bulk_loader::{BulkLoader, Contradiction};
use crate::committer::Committer;
use crate::store::MemoryStore;
use crate::stripes::Stripes;
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
            self.tables.begin(&beginning, &self.stripes);
            Ok(())
        };
        // One in doubt may turn out to have happened.
        if begun.as_ref().err().is_none_or(|error| error.kind() == StoreErrorKind::Indeterminate) {
            self.addresses.clear();
        }
        begun
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        let _hold = self.try_block_writes()?;
        self.tables.forget_usage(&self.stripes);
        self.addresses.clear();
        Ok(())
    }
}

impl MemoryStore {
    /// Forgets usage and bans that were noted at a time later than this, and all strikes: for a start on data whose
    /// clock was ahead, where it goes on with another. Windows never go back by themselves, so that they would be in
    /// force for as long as the clock was ahead. Returns of how many accounts the use is forgotten.
    pub fn forget_usage_after(&self, now: Timestamp) -> usize {
        self.tables.keys.forget_bans(&self.stripes, |ban| ban.is_ahead_of(now));
        self.tables.accounts.forget_usage(|windows| windows.are_ahead_of(now))
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
    pub(crate) fn begin(&self, beginning: &Beginning, stripes: &Stripes) {
        self.visibility.hide();
        self.clear_shop(beginning.last_ids);
        fill(self, &beginning.rows).expect("the rows agree, and there is nothing else");
        self.idempotency_records.clear();
        self.forget_usage(stripes);
        self.visibility.show();
    }

    /// Forgets usage, strikes and bans, which is noted behind like any other change of them.
    fn forget_usage(&self, stripes: &Stripes) {
        self.accounts.forget_usage(|_| true);
        self.keys.forget_bans(stripes, |_| true);
    }
}
