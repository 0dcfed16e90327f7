//! Opening a store on a journal: each row is parsed into a record, and all records are checked against each other.

use std::sync::Arc;

use petstore_bulk_checks::Contradiction;
use petstore_ports::{Header, Journal, LastIds, Row, StoreError};

use crate::bulk_loader::BulkLoader;
use crate::committer::Committer;
use crate::older_events::OlderEvents;
use crate::queue::Queue;
use crate::store::MemoryStore;
use crate::stripes::Stripes;
use crate::tables::Tables;
use crate::writer::{Durable, Writer};

/// A store that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: MemoryStore,
    /// The header of its journal.
    pub header: Header,
}

impl MemoryStore {
    /// Opens the store that a journal has kept, and starts the thread that commits to the journal. The thread ends with
    /// the store.
    ///
    /// # Errors
    /// [`StoreErrorKind::Corrupt`](petstore_ports::StoreErrorKind::Corrupt) names a row that does not parse or
    /// contradicts another one.
    pub fn open(journal: Box<dyn Journal>) -> Result<Opened, StoreError> {
        Self::open_with_cpu_probe(journal, || false)
    }

    /// Opens the store like [`MemoryStore::open`], with a probe that is called before each batch and returns true if
    /// the CPU has had no idle time lately. A write then waits up to eight milliseconds for other writes, which share
    /// the cost of a batch.
    ///
    /// # Errors
    /// The errors of [`MemoryStore::open`].
    pub fn open_with_cpu_probe(
        journal: Box<dyn Journal>,
        is_cpu_saturated: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Opened, StoreError> {
        let opened = Self::open_tentatively(journal, is_cpu_saturated)?;
        opened.store.accept()?;
        Ok(opened)
    }

    /// Opens the store like [`MemoryStore::open_with_cpu_probe`], but does not accept the journal: if the store is
    /// dropped before [`MemoryStore::accept`] and before the first write, the journal stays as it was. Events may not be
    /// read before that call.
    ///
    /// # Errors
    /// The errors of [`MemoryStore::open`].
    pub fn open_tentatively(
        journal: Box<dyn Journal>,
        is_cpu_saturated: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Opened, StoreError> {
        let (opened, _) = open_unaccepted(journal)?;
        if let Some(durable) = &opened.store.durable {
            durable.spawn(Box::new(is_cpu_saturated))?;
        }
        Ok(opened)
    }

    /// Checks that the events of the journal can be read, and makes durable what the journal had to change for this
    /// program, such as a migration. Does nothing without a journal. Blocks.
    ///
    /// # Errors
    /// The errors of the journal, and of events that cannot be read.
    pub fn accept(&self) -> Result<(), StoreError> {
        self.durable.as_ref().map_or(Ok(()), |durable| durable.committer.lock().accept())
    }

    /// Accepts the journal like [`MemoryStore::accept`], but reads its events only if the journal has to change its storage for
    /// this program. For a short use of a long log. Blocks.
    ///
    /// # Errors
    /// The errors of [`MemoryStore::accept`].
    pub fn accept_unread(&self) -> Result<(), StoreError> {
        self.durable.as_ref().map_or(Ok(()), |durable| durable.committer.lock().accept_unread())
    }

    /// Opens the store like [`MemoryStore::open`], but without a thread: only [`Writer::step`] commits.
    ///
    /// # Errors
    /// The errors of [`MemoryStore::open`].
    pub fn open_inline(journal: Box<dyn Journal>) -> Result<(Opened, Writer), StoreError> {
        let (opened, writer) = open_unaccepted(journal)?;
        opened.store.accept()?;
        Ok((opened, writer))
    }
}

/// Opens the store of a journal, which is not accepted yet, without a thread.
fn open_unaccepted(mut journal: Box<dyn Journal>) -> Result<(Opened, Writer), StoreError> {
    let tables = Arc::new(Tables::new());
    let header = load(&tables, &mut *journal)?;
    let (stripes, queue) = (Arc::new(Stripes::new()), Arc::new(Queue::default()));
    let (its_tables, its_stripes) = (Arc::clone(&tables), Arc::clone(&stripes));
    let older_events = OlderEvents::new(Arc::clone(&tables.events), journal.event_reader());
    let committer = Committer::new(its_tables, its_stripes, Arc::clone(&queue), journal, header.last_batch);
    let durable = Durable::new(queue, committer, older_events);
    let writer = Writer::of(&durable);
    Ok((Opened { store: MemoryStore::of(tables, stripes, Some(durable)), header }, writer))
}

/// Loads the rows of the journal into empty tables.
fn load(tables: &Tables, journal: &mut dyn Journal) -> Result<Header, StoreError> {
    let mut loader = BulkLoader::of(tables);
    let header = journal.load(&mut |row| add(&mut loader, row).map_err(|it| corrupt(&it)))?;
    loader.finish().map_err(|it| corrupt(&it))?;
    check_last_ids(&tables.last_ids(), &header.last_ids).map_err(|it| corrupt(&it))?;
    tables.set_last_ids(header.last_ids);
    tables.events.resume(header.events);
    Ok(header)
}

fn add(loader: &mut BulkLoader<'_>, row: Row) -> Result<(), Contradiction> {
    match row {
        Row::Category(_) | Row::Pet(_) | Row::Order(_) => loader.shop().add(row),
        Row::Account(account) => loader.account(account),
        Row::Key(record) => loader.key(*record),
        Row::Idempotency(record) => loader.idempotency_record(*record),
        Row::Usage(count) => loader.usage(count),
        Row::Webhooks(record) => loader.webhooks(*record),
        Row::Progress(webhook, progress) => {
            loader.progress(webhook, *progress);
            Ok(())
        }
        Row::Delivery(delivery) => {
            loader.delivery(*delivery);
            Ok(())
        }
    }
}

/// Checks that no record has an id that was not issued yet.
fn check_last_ids(found: &LastIds, issued: &LastIds) -> Result<(), Contradiction> {
    let kinds = [
        ("pet", found.pet, issued.pet),
        ("category", found.category, issued.category),
        ("order", found.order, issued.order),
        ("account", found.account, issued.account),
        ("key", found.key, issued.key),
    ];
    for (kind, found, issued) in kinds {
        if found > issued {
            return Err(Contradiction::NotIssued { kind, id: found, last: issued });
        }
    }
    Ok(())
}

fn corrupt(contradiction: &Contradiction) -> StoreError {
    StoreError::corrupt(contradiction.to_string())
}
