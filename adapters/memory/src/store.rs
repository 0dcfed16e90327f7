//! The store itself, and the ports that change it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{RwLock, RwLockReadGuard};
use petstore_domain::Timestamp;
use petstore_ports::{Housekeeping, StoreError, StoreHealth, Transactor, Transition};

use crate::addresses::Addresses;
use crate::idempotency_records;
use crate::oneshot::promise;
use crate::queue::Request;
use crate::stripes::Stripes;
use crate::tables::Tables;
use crate::transact;
use crate::writer::Durable;

/// A store in the memory of this process. Threads share it by reference.
///
/// [`MemoryStore::new`] makes one that is empty, answers at once and is gone when it is dropped. [`MemoryStore::open`]
/// opens one that a journal keeps: it reads just the same, and answers a write once the journal has it on disk.
///
/// ```
/// use petstore_domain::{CategoryName, CreateCategory, NewCategory, PetId};
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
/// let new = NewCategory { name: CategoryName::parse("Dogs").unwrap(), description: None };
/// let dogs = run(&store, CreateCategory { new }).await.unwrap().unwrap();
/// assert_eq!(store.category(dogs.value.id).await.unwrap().unwrap().pets, 0);
/// # });
/// ```
pub struct MemoryStore {
    pub(crate) tables: Arc<Tables>,
    pub(crate) stripes: Arc<Stripes>,
    pub(crate) addresses: Addresses,
    /// What keeps the store; none if nothing does.
    pub(crate) durable: Option<Durable>,
    /// Held by each write while it is taken in; by whoever wants none, from its beginning to its end.
    pub(crate) writing: RwLock<()>,
}

impl MemoryStore {
    /// A store with nothing in it, which nothing keeps.
    pub fn new() -> Self {
        Self::of(Arc::new(Tables::new()), Arc::new(Stripes::new()), None)
    }

    pub(crate) fn of(tables: Arc<Tables>, stripes: Arc<Stripes>, durable: Option<Durable>) -> Self {
        Self { tables, stripes, addresses: Addresses::new(), durable, writing: RwLock::new(()) }
    }

    /// Takes no more writes, commits those that wait, and notes in the journal what is written behind. Dropping the
    /// store does the same. Blocks until it is done.
    pub fn close(&self) {
        if let Some(durable) = &self.durable {
            durable.close();
        }
    }

    /// Whether writes are taken at the moment.
    fn taking_writes(&self) -> Result<RwLockReadGuard<'_, ()>, StoreError> {
        self.writing.try_read().ok_or_else(writes_blocked)
    }
}

/// What is answered while writes are held out.
pub(crate) fn writes_blocked() -> StoreError {
    StoreError::busy("an import, an export or a reset holds writes out")
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
            let _taken = self.taking_writes()?;
            let Some(durable) = &self.durable else {
                return transact::run(&self.stripes, &self.tables, transition.as_ref());
            };
            let (promise, answer) = promise();
            durable.queue.push(Request::Write { transition, promise })?;
            answer
        };
        answer.await
    }
}

impl MemoryStore {
    /// Ok if a write made at this time is expected to succeed.
    pub fn check_at(&self, now: Timestamp) -> Result<(), StoreError> {
        drop(self.taking_writes()?);
        // Without a journal a write needs nothing but memory, and without that there is nobody left to ask.
        self.durable.as_ref().map_or(Ok(()), |durable| durable.queue.check_at(now))
    }

    /// What is wrong with the journal, if there is one and it fails: nothing is written meanwhile.
    pub fn journal_fault(&self) -> Option<StoreError> {
        self.durable.as_ref().and_then(|durable| durable.queue.fault())
    }
}

#[async_trait]
impl Housekeeping for MemoryStore {
    async fn prune(&self, now: Timestamp) -> Result<usize, StoreError> {
        let answer = {
            let _taken = self.taking_writes()?;
            let Some(durable) = &self.durable else {
                return Ok(idempotency_records::prune(&self.tables.idempotency_records, &self.stripes, now));
            };
            let (promise, answer) = promise();
            durable.queue.push(Request::Prune { now, promise })?;
            answer
        };
        answer.await
    }
}

#[async_trait]
impl StoreHealth for MemoryStore {
    async fn check(&self, now: Timestamp) -> Result<(), StoreError> {
        self.check_at(now)
    }
}
