//! The service provider interface of the store in memory: a [`Journal`] makes the store durable.
//!
//! The store decides, orders and indexes in memory. A journal only stores what was committed: it appends a [`Batch`]
//! of changes at a time, and passes all rows to the store when the store is opened.

use std::ops::ControlFlow;

use petstore_domain::{
    Account, AccountId, AccountWebhooks, CategoryRecord, Changes, Delivery, EventId, IdempotencyRecord,
    KeyRecord, OrderRecord, PetRecord, Progress, Timestamp, WebhookId, Window,
};

use crate::{EventBatch, EventBatchReader, EventBounds, EventLimits, EventRange, EventsPruned, StoreError};

/// The number of a batch. It increases by one with each batch on disk, and is 0 before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct BatchNumber(pub u64);

impl BatchNumber {
    /// The number of the batch after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The last id that was issued, for each kind of record; 0 if none was. Stored separately from the records, because
/// the id of a deleted record must not be issued again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LastIds {
    /// The last id of a pet.
    pub pet: u64,
    /// The last id of a category.
    pub category: u64,
    /// The last id of an order.
    pub order: u64,
    /// The last id of an account.
    pub account: u64,
    /// The last id of a key.
    pub key: u64,
}

/// Decisions that are committed together.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The number of the batch: one more than that of the previous batch.
    pub number: BatchNumber,
    /// The changes of each decision, in the order of the decisions. Several decisions may change the same record.
    pub changes: &'a [Changes],
    /// The last ids issued, including those in this batch.
    pub last_ids: LastIds,
    /// The events of the changes, if there are any. They follow the last event of the previous batches.
    pub events: Option<EventBatch<'a>>,
}

/// A description of a bulk load, without the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkLoad {
    /// The number of the load as a batch: one more than that of the previous batch.
    pub number: BatchNumber,
    /// The last ids issued, including those of the rows that are loaded.
    pub last_ids: LastIds,
    /// The new epoch of the journal if the load is a reset. The journal then first deletes everything except accounts
    /// and keys, and removes the bans of the keys. None if the load is an import, into a journal without categories,
    /// pets and orders.
    pub new_epoch: Option<u64>,
    /// The epoch of the event log that begins with the load. All older events are dropped.
    pub event_epoch: u64,
}

/// The usage of an account in its windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageCount {
    /// The account.
    pub account: AccountId,
    /// The minute window.
    pub minute: Window,
    /// The day window.
    pub day: Window,
}

/// A record in a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A category. Categories come before their pets.
    Category(CategoryRecord),
    /// A pet with its stock. Pets come before their orders.
    Pet(PetRecord),
    /// An order.
    Order(OrderRecord),
    /// An account. Accounts come before their keys and their usage.
    Account(Account),
    /// A key, with its last ban.
    Key(Box<KeyRecord>),
    /// An idempotency record.
    Idempotency(Box<IdempotencyRecord>),
    /// The usage of an account. It is stored some time after the requests, so it may be older than the other rows.
    Usage(UsageCount),
    /// The webhooks of an account. They come before their progress and their deliveries.
    Webhooks(Box<AccountWebhooks>),
    /// The progress of a webhook. It is stored some time after its change.
    Progress(WebhookId, Box<Progress>),
    /// A delivery. It is stored together with the progress of its webhook.
    Delivery(Box<Delivery>),
}

/// The changes of the deliveries of one webhook since they were last stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryNote {
    /// The webhook.
    pub webhook: WebhookId,
    /// Its progress; none if the webhook was deleted, and its progress and deliveries are to be deleted, too.
    pub progress: Option<Progress>,
    /// The deliveries that are new or changed.
    pub deliveries: Vec<Delivery>,
    /// The events of deliveries that are no longer kept.
    pub dropped: Vec<EventId>,
}

/// The data of a journal besides its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The last batch on disk.
    pub last_batch: BatchNumber,
    /// The last ids issued.
    pub last_ids: LastIds,
    /// A random number, drawn when the journal was created. Entity tags and cursors are valid for one epoch only. A journal that
    /// returns to an earlier state, such as a restored copy, needs a new epoch.
    pub epoch: u64,
    /// The extent of the event log.
    pub events: EventBounds,
}

/// Stores batches on disk. Calls block, and come one at a time: from the writer thread of the store, or from the caller that
/// opens, imports into, resets or closes the store.
///
/// An implementation guarantees the following, and `petstore-tests` tests it:
/// - `append` is atomic, even if it is interrupted, and an acknowledged batch survives a power cut.
/// - After an error of any method except `load` the store calls only `recover`, repeatedly until that succeeds.
/// - `load` returns exactly the records that exist after all batches in the journal. It parses each row like external
///   input: a row that does not parse is [`StoreErrorKind::Corrupt`](crate::StoreErrorKind::Corrupt), with the table
///   and the row, never a default value.
///
/// A journal of categories alone, which drops events at once and loses everything when the process ends:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::ops::ControlFlow;
/// use std::sync::{Arc, Mutex};
/// use petstore_domain::{CategoryId, CategoryRecord, Change, Changes, Position, Timestamp};
/// use petstore_ports::{
///     Batch, BatchNumber, BulkLoad, DeliveryNote, EventBatch, EventBatchReader, EventBounds, EventLimits, EventRange, EventsPruned,
///     Header, Journal, Row, StoreError, UsageCount,
/// };
///
/// struct Categories {
///     header: Header,
///     records: BTreeMap<CategoryId, CategoryRecord>,
///     /// Shared with the readers of events.
///     bounds: Arc<Mutex<EventBounds>>,
/// }
///
/// fn other_record() -> StoreError {
///     StoreError::unavailable("this journal holds categories only")
/// }
///
/// impl Journal for Categories {
///     fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
///         self.records.values().cloned().map(Row::Category).try_for_each(into)?;
///         Ok(Header { events: *self.bounds.lock().unwrap(), ..self.header })
///     }
///
///     fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
///         // The records are changed in a copy, so that a batch that fails changes nothing.
///         let mut records = self.records.clone();
///         for change in batch.changes.iter().flat_map(Changes::as_slice) {
///             match change {
///                 Change::Category(record) => drop(records.insert(record.category.id, record.clone())),
///                 Change::CategoryDeleted(id) => drop(records.remove(id)),
///                 _ => return Err(other_record()),
///             }
///         }
///         self.records = records;
///         (self.header.last_batch, self.header.last_ids) = (batch.number, batch.last_ids);
///         if let Some(events) = batch.events {
///             // This journal keeps no event, so the log ends where it begins.
///             let mut bounds = self.bounds.lock().unwrap();
///             (bounds.pruned, bounds.last) = (events.last, events.last);
///         }
///         Ok(())
///     }
///
///     fn recover(&mut self) -> Result<BatchNumber, StoreError> {
///         Ok(self.header.last_batch)
///     }
///
///     fn check(&mut self) -> Result<(), StoreError> {
///         Ok(())
///     }
///
///     fn note_usage(&mut self, _counts: &[UsageCount]) -> Result<(), StoreError> {
///         Err(other_record())
///     }
///
///     fn note_deliveries(&mut self, _notes: &[DeliveryNote]) -> Result<(), StoreError> {
///         Err(other_record())
///     }
///
///     fn prune(&mut self, _now: Timestamp) -> Result<usize, StoreError> {
///         Ok(0)
///     }
///
///     fn prune_events(&mut self, _limits: &EventLimits) -> Result<EventsPruned, StoreError> {
///         Ok(EventsPruned { bounds: *self.bounds.lock().unwrap(), has_more: false })
///     }
///
///     fn event_reader(&self) -> Box<dyn EventBatchReader> {
///         Box::new(Dropped(Arc::clone(&self.bounds)))
///     }
///
///     fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
///         let loaded = rows.map(|row| match row {
///             Row::Category(record) => Ok((record.category.id, record)),
///             _ => Err(other_record()),
///         });
///         self.records = loaded.collect::<Result<_, StoreError>>()?;
///         (self.header.last_batch, self.header.last_ids) = (bulk.number, bulk.last_ids);
///         self.header.epoch = bulk.new_epoch.unwrap_or(self.header.epoch);
///         let (pruned, last) = (Position::START, Position::START);
///         *self.bounds.lock().unwrap() = EventBounds { epoch: bulk.event_epoch, pruned, last, oldest_at: None };
///         Ok(())
///     }
/// }
///
/// /// A log whose events have all been dropped.
/// struct Dropped(Arc<Mutex<EventBounds>>);
///
/// impl EventBatchReader for Dropped {
///     fn read(
///         &mut self,
///         _range: &EventRange,
///         _into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
///     ) -> Result<EventBounds, StoreError> {
///         Ok(*self.0.lock().unwrap())
///     }
/// }
/// ```
pub trait Journal: Send {
    /// Passes all rows to the sink, and returns the header. Called once, before any other method.
    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError>;

    /// Reads events like [`EventBatchReader::read`], also before [`Journal::accept`], so that the store checks them before it
    /// accepts the journal.
    ///
    /// By default a new [`Journal::event_reader`] reads.
    fn read_events(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        self.event_reader().read(range, into)
    }

    /// Accepts what [`Journal::load`] has passed, after the store has checked it. A journal that must change its storage for
    /// this program, such as to migrate it, makes this durable here, and undoes it if it is dropped before. So data that
    /// the store refuses stays as it was. Called once, after `load` and before a reader of events reads.
    ///
    /// By default nothing is done.
    fn accept(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns whether [`Journal::accept`] will change the storage for this program. By default it will not.
    fn awaits_acceptance(&self) -> bool {
        false
    }

    /// Appends a batch. Ok means that the whole batch is on disk under its number. After an error it is unknown
    /// whether the batch is on disk. A batch has at least one change.
    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError>;

    /// Reopens the storage and returns the number of its last batch. From the number the store learns whether a batch
    /// whose `append` failed is on disk. If it is, the store applies the batch in memory; if not, the store drops it.
    /// The old handle must not be used after a failed sync, because data that it returns may not be on disk. Callers of
    /// the store wait during this call, so it should return within some tenths of a second, even if it fails again. It
    /// may take as long as reading the whole file only after a write has found damage.
    fn recover(&mut self) -> Result<BatchNumber, StoreError>;

    /// Checks that the storage answers and is still the storage that was opened. Changes nothing. Called about once a
    /// second.
    fn check(&mut self) -> Result<(), StoreError>;

    /// Stores usage. The store calls this some time after it has counted the requests, so a crash may lose the last
    /// second of usage.
    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError>;

    /// Stores the progress of webhooks and their deliveries, all of them or none. The store calls this some time after the
    /// changes, so a crash may lose the last second of them.
    fn note_deliveries(&mut self, notes: &[DeliveryNote]) -> Result<(), StoreError>;

    /// Deletes a bounded number of the idempotency records that have expired at this time. Returns how many it
    /// deleted.
    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError>;

    /// Drops the oldest batches of events until the rest is within the limits, but only a bounded number of batches in
    /// one call. It drops whole batches only, beginning with the oldest, so that the log has no gap.
    fn prune_events(&mut self, limits: &EventLimits) -> Result<EventsPruned, StoreError>;

    /// Returns a reader of the events. It must be dropped before the journal.
    fn event_reader(&self) -> Box<dyn EventBatchReader>;

    /// Loads rows as one batch, which is atomic like that of `append`. The shop is empty, or is cleared first if
    /// [`BulkLoad::new_epoch`] is given. The same step begins a new epoch of the event log. The order of the rows is
    /// categories, pets, orders.
    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError>;
}
