//! The store, and the ports that change it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{RwLock, RwLockReadGuard};
use petstore_domain::Timestamp;
use petstore_ports::{Housekeeping, StoreDamage, StoreError, StoreHealth, Transactor, Transition};

use crate::addresses::Addresses;
use crate::event_retention::EventRetention;
use crate::new_shop::CheckedShop;
use crate::oneshot::{Sender, channel};
use crate::queue::{HousekeepingPart, Request};
use crate::stripes::Stripes;
use crate::tables::Tables;
use crate::transact;
use crate::writer::Durable;

/// A store in the memory of this process, shared by threads.
///
/// [`MemoryStore::new`] creates an empty store that is lost when it is dropped. [`MemoryStore::open`] opens a durable
/// one: it answers a write once the journal has it on disk. Reads are the same in both.
///
/// ```
/// use petstore_domain::{CategoryName, CreateCategory, NewCategory, PetId, Timestamp};
/// use petstore_memory::MemoryStore;
/// use petstore_ports::{CategoryReader, run};
///
/// # fn now<F: Future>(future: F) -> F::Output {
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     match std::pin::pin!(future).poll(&mut context) {
/// #         std::task::Poll::Ready(output) => output,
/// #         std::task::Poll::Pending => panic!("a store in memory never waits"),
/// #     }
/// # }
/// # now(async {
/// let store = MemoryStore::new();
/// let new = NewCategory::new(CategoryName::parse("Dogs").unwrap());
/// let dogs = run(&store, CreateCategory { new }, Timestamp::EPOCH).await.unwrap().unwrap();
/// assert_eq!(store.category(dogs.value.id).await.unwrap().unwrap().pets, 0);
/// # });
/// ```
pub struct MemoryStore {
    pub(crate) tables: Arc<Tables>,
    pub(crate) stripes: Arc<Stripes>,
    pub(crate) addresses: Addresses,
    /// The queue and the writer of the journal; none for a store without a journal.
    pub(crate) durable: Option<Durable>,
    /// A write holds this lock shared while it is accepted. Imports, exports and resets hold it exclusively.
    pub(crate) writes: RwLock<()>,
    pub(crate) checked_shop: CheckedShop,
}

impl MemoryStore {
    /// Creates an empty store without a journal.
    pub fn new() -> Self {
        Self::with_epoch(0)
    }

    /// Creates an empty store without a journal, whose event log has this epoch. The epoch should be random, so that no
    /// earlier process has issued the same event ids.
    pub fn with_epoch(epoch: u64) -> Self {
        let tables = Tables::new();
        tables.events.restart(epoch);
        Self::of(Arc::new(tables), Arc::new(Stripes::new()), None)
    }

    pub(crate) fn of(tables: Arc<Tables>, stripes: Arc<Stripes>, durable: Option<Durable>) -> Self {
        Self {
            tables,
            stripes,
            addresses: Addresses::new(),
            durable,
            writes: RwLock::new(()),
            checked_shop: CheckedShop::default(),
        }
    }

    /// Sets how many events are kept. Housekeeping drops the others.
    pub fn set_event_retention(&self, retention: EventRetention) {
        self.tables.events.set_retention(retention);
    }

    /// Refuses further writes, commits the waiting ones, and writes changed usage to the journal. Dropping the store
    /// does the same. Blocks until this is done.
    pub fn close(&self) {
        if let Some(durable) = &self.durable {
            durable.close();
        }
    }

    /// Accepts a write, unless an import, export or reset is in progress.
    fn accept_write(&self) -> Result<RwLockReadGuard<'_, ()>, StoreError> {
        self.writes.try_read().ok_or_else(writes_blocked)
    }
}

/// The answer to a write during an import, export or reset.
pub(crate) fn writes_blocked() -> StoreError {
    StoreError::busy("an import, an export or a reset is in progress")
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl Transactor for MemoryStore {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        let answer = {
            let _accepted = self.accept_write()?;
            let Some(durable) = &self.durable else {
                return transact::run(&self.stripes, &self.tables, transition.as_ref());
            };
            let (sender, answer) = channel();
            durable.queue.push(Request::Write { transition, sender })?;
            answer
        };
        answer.await
    }
}

impl MemoryStore {
    /// Returns an error if a write at this time would fail.
    pub fn check_at(&self, now: Timestamp) -> Result<(), StoreError> {
        drop(self.accept_write()?);
        // Without a journal a write needs nothing but memory.
        self.durable.as_ref().map_or(Ok(()), |durable| durable.queue.check_at(now))
    }

    /// Asks the writer to do a part of the housekeeping, and waits for the outcome. Does nothing without a journal.
    pub(crate) async fn keep_house(
        &self,
        part: impl FnOnce(Sender<()>) -> HousekeepingPart,
    ) -> Result<(), StoreError> {
        let answer = {
            let _accepted = self.accept_write()?;
            let Some(durable) = &self.durable else { return Ok(()) };
            let (sender, answer) = channel();
            durable.queue.push(Request::Housekeeping(part(sender)))?;
            answer
        };
        answer.await
    }

    /// The journal's error while it fails. Nothing is written during that time.
    pub fn journal_fault(&self) -> Option<StoreError> {
        self.durable.as_ref().and_then(|durable| durable.queue.failure())
    }

    /// The damage that reads of the journal have met. Records are read when the store is opened, so only events can be
    /// met later.
    pub fn damage(&self) -> &StoreDamage {
        self.tables.events.damage()
    }
}

#[async_trait]
impl Housekeeping for MemoryStore {
    async fn drop_expired(&self, now: Timestamp) -> Result<usize, StoreError> {
        let answer = {
            let _accepted = self.accept_write()?;
            let Some(durable) = &self.durable else {
                self.tables.events.prune(now);
                return Ok(self.tables.idempotency_records.prune(&self.stripes, now));
            };
            let (sender, answer) = channel();
            durable.queue.push(Request::Housekeeping(HousekeepingPart::DropExpired { now, sender }))?;
            answer
        };
        answer.await
    }

    async fn note_usage(&self) -> Result<(), StoreError> {
        self.keep_house(|sender| HousekeepingPart::NoteUsage { sender }).await
    }

    async fn watch(&self, now: Timestamp) -> Result<(), StoreError> {
        self.keep_house(|sender| HousekeepingPart::Watch { now, sender }).await
    }
}

#[async_trait]
impl StoreHealth for MemoryStore {
    async fn check(&self, now: Timestamp) -> Result<(), StoreError> {
        self.check_at(now)
    }

    fn has_met_damage(&self) -> bool {
        self.damage().contacts() > 0
    }
}
