//! Opening a store on a journal: every row becomes a record, and no two may contradict each other.

use std::sync::Arc;

use petstore_ports::{Header, Journal, LastIds, Row, StoreError};

use crate::bulk_loader::{BulkLoader, Contradiction};
use crate::committer::Committer;
use crate::store::MemoryStore;
use crate::stripes::Stripes;
use crate::tables::Tables;
use crate::writer::{Durable, Writer};

/// A store that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: MemoryStore,
    /// What its journal says of itself.
    pub header: Header,
}

impl MemoryStore {
    /// Opens the store that a journal has kept. From now on a thread of the store commits to it; it ends with the
    /// store.
    ///
    /// # Errors
    /// [`StoreErrorKind::Corrupt`](petstore_ports::StoreErrorKind::Corrupt) names the row that does not parse or contradicts another one.
    pub fn open(journal: Box<dyn Journal>) -> Result<Opened, StoreError> {
        Self::open_with_cpu_probe(journal, || false)
    }

    /// The same for a machine that has other things to do: `pressed` is asked before each batch whether the processors
    /// have had no time to spare lately. If so, a write waits up to eight milliseconds for others, with
    /// which it shares the cost of a batch.
    ///
    /// # Errors
    /// As [`MemoryStore::open`].
    pub fn open_with_cpu_probe(
        journal: Box<dyn Journal>,
        pressed: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Opened, StoreError> {
        let (opened, _) = Self::open_inline(journal)?;
        if let Some(durable) = &opened.store.durable {
            durable.spawn(Box::new(pressed))?;
        }
        Ok(opened)
    }

    /// The same without a thread: nothing is committed but by [`Writer::step`].
    pub fn open_inline(journal: Box<dyn Journal>) -> Result<(Opened, Writer), StoreError> {
        let (committer, header) = load(journal)?;
        let (tables, stripes) = (Arc::clone(&committer.tables), Arc::clone(&committer.stripes));
        let durable = Durable::new(committer);
        let writer = Writer::of(&durable);
        Ok((Opened { store: Self::of(tables, stripes, Some(durable)), header }, writer))
    }
}

/// Fills tables with what the journal holds.
fn load(mut journal: Box<dyn Journal>) -> Result<(Committer, Header), StoreError> {
    let (tables, stripes) = (Arc::new(Tables::new()), Arc::new(Stripes::new()));
    let mut loader = BulkLoader::of(&tables);
    let header = journal.load(&mut |row| fill(&mut loader, row).map_err(|it| corrupt(&it)))?;
    loader.index_names();
    loader.check().map_err(|it| corrupt(&it))?;
    check_last_ids(&tables.last_ids(), &header.last_ids).map_err(|it| corrupt(&it))?;
    tables.set_last_ids(header.last_ids);
    Ok((Committer::new(tables, stripes, journal, header.last_batch), header))
}

fn fill(loader: &mut BulkLoader<'_>, row: Row) -> Result<(), Contradiction> {
    match row {
        Row::Category(record) => loader.category(record),
        Row::Pet(record) => loader.pet(record),
        Row::Order(record) => loader.order(record),
        Row::Account(account) => loader.account(account),
        Row::Key(record) => loader.key(*record),
        Row::Idempotency(record) => loader.retry(*record),
        Row::Usage(count) => loader.usage(count),
    }
}

/// No record may have an id that is still to be given.
fn check_last_ids(found: &LastIds, given: &LastIds) -> Result<(), Contradiction> {
    let kinds = [
        ("pet", found.pet, given.pet),
        ("category", found.category, given.category),
        ("order", found.order, given.order),
        ("account", found.account, given.account),
        ("key", found.key, given.key),
    ];
    for (kind, found, given) in kinds {
        if found > given {
            return Err(Contradiction::NotGiven { kind, id: found, last: given });
        }
    }
    Ok(())
}

fn corrupt(contradiction: &Contradiction) -> StoreError {
    StoreError::corrupt(contradiction.to_string())
}
