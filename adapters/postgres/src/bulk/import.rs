//! Imports: one transaction that keeps writers out.
//!
//! Each row is checked as it comes. Orders are written along the way; categories and pets at the end, because later rows
//! change them.

use std::sync::Arc;

use petstore_bulk_checks::ImportChecks;
use petstore_domain::{Category, InventoryItem, Order, Pet, Renamed, Version};
use petstore_ports::{
    BulkImport, ImportError, LastIds, StoreError, StoreErrorKind, Unwatched, WorkPhase, WorkProgress,
    WorkUnit,
};
use tokio_postgres::Row;

use super::log_restart::{self, NewEpoch, Restarted};
use super::staged::{HighestIds, Staged};
use super::{gate, inserts, sequences};
use crate::PostgresStore;
use crate::connection::{Confirmed, Role, Session};
use crate::error::{Driver, Fate, failed, fate};

/// An import in progress. If it is dropped, its connection is closed, and the transaction with it.
pub(super) struct Import<'s> {
    store: &'s PostgresStore,
    session: Arc<Session>,
    checks: ImportChecks<Staged>,
    before: LastIds,
    /// The progress of the last step, which takes most of the time.
    progress: Arc<dyn WorkProgress>,
}

impl<'s> Import<'s> {
    pub(super) fn begin(store: &'s PostgresStore) -> Result<Self, ImportError> {
        let connector = Arc::clone(&store.connector);
        let begun = store.background.run(async move {
            let session = connector.connect_with_retries(Role::Writer).await?;
            // Writers are not kept out of a shop that is in use.
            if !is_empty(session.rows_alone(IS_EMPTY, &[]).await)? {
                return Ok(None);
            }
            gate::close_in(&session).await?;
            if !is_empty(session.rows(IS_EMPTY, &[]).await)? {
                return Ok(None);
            }
            let before = sequences::last_ids(&session).await?;
            Ok::<_, StoreError>(Some((Arc::new(session), before)))
        });
        let Some((session, before)) = begun.and_then(|begun| begun)? else {
            return Err(ImportError::NotEmpty);
        };
        let (checks, progress) = (ImportChecks::new(Staged::default()), Arc::new(Unwatched));
        Ok(Self { store, session, checks, before, progress })
    }

    /// Writes the orders that are staged.
    fn flush(&mut self) -> Result<(), StoreError> {
        let orders = self.checks.tables_mut().take_orders();
        let session = Arc::clone(&self.session);
        self.store.background.run(async move { inserts::orders(&session, &orders, &mut |_| {}).await })?
    }
}

const IS_EMPTY: &str = "select not (exists (select from categories) or exists (select from pets) or exists (select from orders))";

fn is_empty(answer: Result<Vec<Row>, tokio_postgres::Error>) -> Result<bool, StoreError> {
    let is_empty = answer.and_then(|rows| rows.first().map_or(Ok(false), |row| row.try_get(0)));
    is_empty.map_err(|error| failed("look for rows of the shop", error))
}

impl BulkImport for Import<'_> {
    fn last_ids(&self) -> LastIds {
        self.before
    }

    fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.checks.category(category, version)
    }

    fn category_or_renamed(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.checks.category_or_renamed(category, version)
    }

    fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError> {
        self.checks.pet(pet, version)
    }

    fn item(&mut self, item: InventoryItem, version: Version) -> Result<(), ImportError> {
        self.checks.item(item, version)
    }

    fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError> {
        self.checks.order(order, version)?;
        if self.checks.tables_mut().waiting_orders() >= inserts::CHUNK {
            self.flush()?;
        }
        Ok(())
    }

    fn watch(&mut self, progress: Arc<dyn WorkProgress>) {
        self.progress = progress;
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<Renamed>, ImportError> {
        let renamed = self.checks.finish()?;
        self.flush()?;
        let (session, before) = (Arc::clone(&self.session), self.before);
        let mut staged = std::mem::take(self.checks.tables_mut());
        let progress = Arc::clone(&self.progress);
        let done =
            self.store.background.run(async move { finish(&session, &mut staged, before, &*progress).await });
        let restarted = done.and_then(|done| done)?;
        self.store.events.restarted(restarted.epoch_number, restarted.end);
        Ok(renamed)
    }
}

/// Writes the records and commits.
async fn finish(
    session: &Session,
    staged: &mut Staged,
    before: LastIds,
    progress: &dyn WorkProgress,
) -> Result<Restarted, StoreError> {
    let highest = staged.highest_ids();
    let (categories, pets) = staged.take_records();
    let total = Some((categories.len() + pets.len()) as u64);
    progress.begin(WorkPhase { name: "writing to the database", unit: WorkUnit::Rows, total });
    let mut rows = 0;
    let mut wrote = |more: usize| {
        rows += more as u64;
        progress.reached(rows);
    };
    inserts::categories(session, &categories, &mut wrote).await?;
    inserts::pets(session, &pets, &mut wrote).await?;
    progress.begin(WorkPhase { name: "committing to the database", unit: WorkUnit::Time, total: None });
    // The last ids only rise, so they may be set before the commit: if it fails, some ids are skipped.
    let last = HighestIds {
        category: highest.category.max(before.category),
        pet: highest.pet.max(before.pet),
        order: highest.order.max(before.order),
    };
    sequences::set(session, last).await?;
    log_restart::lock(session).await?;
    let restarted = log_restart::restart(session, NewEpoch::Following).await?;
    commit(session).await?;
    Ok(restarted)
}

/// Commits. If the connection is lost now, it is unknown whether the commit took place. If an earlier statement fails,
/// the commit cannot take place.
pub(super) async fn commit(session: &Session) -> Result<(), StoreError> {
    let committed = session.commit().await.map_err(|error| {
        let kind = match fate(&error) {
            Fate::Disconnected | Fate::ServerLost => StoreErrorKind::Indeterminate,
            Fate::Conflict | Fate::Duplicate | Fate::Exhausted | Fate::Denied | Fate::Refused => {
                StoreErrorKind::Unavailable
            }
        };
        StoreError::new(kind, "the commit of an import or a reset").with_source(Driver(error))
    })?;
    match committed {
        Confirmed::Durable => Ok(()),
        Confirmed::Doubtful => Err(StoreError::indeterminate(
            "PostgreSQL has warned during the commit of an import or a reset, which a failover may lose",
        )),
    }
}
