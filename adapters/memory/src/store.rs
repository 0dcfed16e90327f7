//! The store itself, and the ports that change it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::Timestamp;
use petstore_ports::{Housekeeping, StoreError, StoreHealth, Transactor, Transition};

use crate::addresses::Addresses;
use crate::stripes::Stripes;
use crate::tables::Tables;
use crate::transact;

/// A store in the memory of this process: empty when it is made, gone when it is dropped.
///
/// Every answer is there at once. Threads share it by reference.
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
    pub(crate) tables: Tables,
    pub(crate) stripes: Stripes,
    pub(crate) addresses: Addresses,
}

impl MemoryStore {
    /// A store with nothing in it.
    pub fn new() -> Self {
        Self { tables: Tables::new(), stripes: Stripes::new(), addresses: Addresses::new() }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
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
        transact::run(&self.stripes, &self.tables, transition.as_ref())
    }
}

#[async_trait]
impl Housekeeping for MemoryStore {
    async fn prune(&self, now: Timestamp) -> Result<usize, StoreError> {
        Ok(self.prune_retries(now))
    }
}

#[async_trait]
impl StoreHealth for MemoryStore {
    async fn check(&self) -> Result<(), StoreError> {
        // A write needs nothing but memory, and without that there is nobody left to ask.
        Ok(())
    }
}
