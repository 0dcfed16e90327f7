//! What makes a store in memory durable.

use petstore_domain::{
    Account, AccountId, CategoryRecord, Changes, IdempotencyRecord, KeyRecord, OrderRecord, PetRecord,
    Timestamp, Window,
};

use crate::{EventBatch, EventBatchReader, EventBounds, EventLimits, EventsPruned, StoreError};

/// The number of a batch: rising by one with each batch that is on disk; 0 before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct BatchNumber(pub u64);

impl BatchNumber {
    /// The number of the batch after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The last id given of each kind; 0 where none was given. Kept apart from the records, since a deleted record's id
/// must not be given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LastIds {
    /// Of pets.
    pub pet: u64,
    /// Of categories.
    pub category: u64,
    /// Of orders.
    pub order: u64,
    /// Of accounts.
    pub account: u64,
    /// Of keys.
    pub key: u64,
}

/// Decisions that are committed together.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// One more than the batch before.
    pub number: BatchNumber,
    /// What each decision changes, in the order in which they were decided. A later one may change the same record.
    pub changes: &'a [Changes],
    /// The last ids given, this batch included.
    pub last_ids: LastIds,
    /// The events of the changes, if there are any. They follow the last event of the batches before.
    pub events: Option<EventBatch<'a>>,
}

/// What a bulk load is besides its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkLoad {
    /// One more than the batch before.
    pub number: BatchNumber,
    /// The last ids given, those of its rows included.
    pub last_ids: LastIds,
    /// The epoch that the journal begins anew with, if it does: first all but accounts and keys goes, bans and usage among
    /// it. Without, there is no category, pet or order.
    pub anew: Option<u64>,
    /// The epoch of the event log that begins with the load. All older events are dropped.
    pub event_epoch: u64,
}

/// How much of its windows an account has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageCount {
    /// The account.
    pub account: AccountId,
    /// Its minute.
    pub minute: Window,
    /// Its day.
    pub day: Window,
}

/// One thing that a journal holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A category. They come before the pets that belong to them.
    Category(CategoryRecord),
    /// A pet with its stock. They come before the orders for them.
    Pet(PetRecord),
    /// An order.
    Order(OrderRecord),
    /// An account. They come before the keys that belong to them, and before their usage.
    Account(Account),
    /// A key, with its last ban.
    Key(Box<KeyRecord>),
    /// The record of an answered request.
    Idempotency(Box<IdempotencyRecord>),
    /// How much an account had used when that was last noted.
    Usage(UsageCount),
}

/// What a journal holds besides its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The last batch on disk.
    pub last_batch: BatchNumber,
    /// The last ids given.
    pub last_ids: LastIds,
    /// A number that was made at random when the journal was: entity tags and cursors are good for it alone. A journal
    /// that goes back to an earlier state, restored from a copy, must have another one.
    pub epoch: u64,
    /// The extent of the event log.
    pub events: EventBounds,
}

/// Keeps batches on disk. Blocking, one call at a time: by the store's writer thread, or by whoever opens the store, imports
/// into it, empties it or closes it.
///
/// An implementation must keep these, and `petstore-tests` proves them:
/// - `append` is all or nothing, whatever happens in the middle of it, and what it has acknowledged survives a power
///   cut.
/// - After any error but one of `load` the next call is `recover`, again and again until it succeeds: an implementation
///   need not know how to go on without.
/// - `load` gives exactly what the batches left, each row parsed like any input: what does not parse is
///   [`StoreErrorKind::Corrupt`](crate::StoreErrorKind::Corrupt), naming table and row, never a default.
pub trait Journal: Send {
    /// Hands over everything that is kept, and says what the last batch was. Called once, before anything else.
    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError>;

    /// Ok means: all of the batch is on disk, under its number. Err means: unknown. A batch changes something.
    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError>;

    /// Opens the disk anew and says which batch it holds last: the one in doubt is applied or dropped accordingly.
    /// After a failed sync the old handle is never trusted: what it says it holds may not be on disk. Callers wait
    /// meanwhile: it should not take longer than some tenths of a second, be it to say that it has failed again. Only to
    /// look for damage that a write has met it may take as long as a look at all of the file does.
    fn recover(&mut self) -> Result<BatchNumber, StoreError>;

    /// Notes usage. Written behind, with no promise for each request.
    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError>;

    /// Drops records of answered requests that have expired at this time, a bounded number of them.
    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError>;

    /// Drops the oldest batches of events until the rest is within the limits, a bounded number of them. Whole batches are
    /// dropped, from the oldest on: the log never gets a gap.
    fn prune_events(&mut self, limits: &EventLimits) -> Result<EventsPruned, StoreError>;

    /// Returns a reader of the events. It must be dropped before the journal.
    fn event_reader(&self) -> Box<dyn EventBatchReader>;

    /// Loads rows into an empty shop, or into one that is cleared first, as one batch: all or nothing, like `append`. The event
    /// log begins again in the same step.
    /// They are categories, then pets, then orders.
    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError>;
}
