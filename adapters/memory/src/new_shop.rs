//! The shop that a reset puts in place of the current one.

use std::sync::Arc;

use parking_lot::Mutex;
use petstore_bulk_checks::Contradiction;
use petstore_domain::Change;
use petstore_ports::{LastIds, Row, StoreError};

use crate::bulk_loader::BulkLoader;
use crate::tables::Tables;

/// Rows of a shop that are known to be consistent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NewShop {
    rows: Arc<[Row]>,
    last_ids: LastIds,
    /// The epoch of the event log from the reset on.
    epoch: u64,
}

/// The shop of the last reset. Most resets have the same rows as the one before, which are not checked again.
#[derive(Debug, Default)]
pub(crate) struct CheckedShop(Mutex<Option<(Arc<[Row]>, LastIds)>>);

impl CheckedShop {
    /// Returns the last ids of rows that are consistent. They are checked by loading them into temporary tables, because an
    /// error after the commit would come too late.
    fn last_ids(&self, rows: &Arc<[Row]>) -> Result<LastIds, StoreError> {
        let mut checked = self.0.lock();
        if let Some((former, last_ids)) = &*checked
            && Arc::ptr_eq(former, rows)
        {
            return Ok(*last_ids);
        }
        let scratch = Tables::new();
        let loaded = load(&scratch, rows).and_then(BulkLoader::finish);
        loaded.map_err(|contradiction| StoreError::corrupt(contradiction.to_string()))?;
        let last_ids = scratch.last_ids();
        *checked = Some((Arc::clone(rows), last_ids));
        Ok(last_ids)
    }
}

impl NewShop {
    /// Checks the rows, unless they are those of the last reset. `before` has the last ids issued. The last ids of accounts and
    /// keys stay, because a reset keeps accounts and keys.
    pub(crate) fn check(
        checked: &CheckedShop,
        rows: Arc<[Row]>,
        before: LastIds,
        epoch: u64,
    ) -> Result<Self, StoreError> {
        let LastIds { account, key, .. } = before;
        let last_ids = LastIds { account, key, ..checked.last_ids(&rows)? };
        Ok(Self { rows, last_ids, epoch })
    }

    pub(crate) const fn last_ids(&self) -> LastIds {
        self.last_ids
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> {
        self.rows.iter().cloned()
    }
}

fn load<'t>(tables: &'t Tables, rows: &[Row]) -> Result<BulkLoader<'t>, Contradiction> {
    let mut loader = BulkLoader::of(tables);
    for row in rows {
        // A reset keeps accounts and keys, and drops idempotency records and usage.
        loader.shop().add(row.clone())?;
    }
    Ok(loader)
}

impl Tables {
    /// Replaces the shop, and drops idempotency records, webhooks, usage and bans. The caller excludes writes. Readers find an
    /// empty shop while this runs.
    pub(crate) fn replace_shop(&self, shop: &NewShop) {
        self.visibility.hide();
        self.clear_shop(shop.last_ids);
        let loaded = load(self, &shop.rows).and_then(BulkLoader::finish);
        loaded.expect("the rows were checked, and the shop is empty");
        self.idempotency_records.clear();
        self.webhooks.clear();
        self.deliveries.clear();
        for key in self.keys.without_bans() {
            self.apply_one(Change::Key(Box::new(key)));
        }
        self.forget_usage();
        self.events.restart(shop.epoch);
        self.visibility.show();
    }

    /// Forgets usage and strikes. Housekeeping later writes the changed usage to the journal.
    pub(crate) fn forget_usage(&self) {
        self.accounts.forget_usage(|_| true);
        self.keys.forget_strikes();
    }
}
