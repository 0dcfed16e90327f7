//! The subject of a case: the driven ports of one store.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    AccountId, CategoryId, CategoryRecord, Operation, OrderId, OrderRecord, PetId, PetRecord, Timestamp,
};
use petstore_ports::{
    AccountDirectory, AddressLimits, CategoryReader, EventFeed, EventReader, Housekeeping,
    IdempotencyRecords, KeyReader, OrderReader, PetReader, Quotas, StoreError, StoreErrorKind, StorePorts,
    Transactor, run,
};

/// The driven ports of a new, empty store. The quotas may be in another store, which reads the bans of keys from this
/// store.
#[derive(Clone)]
pub struct Subject {
    /// Runs transitions.
    pub transactor: Arc<dyn Transactor>,
    /// Reads pets and their stock.
    pub pets: Arc<dyn PetReader>,
    /// Reads categories.
    pub categories: Arc<dyn CategoryReader>,
    /// Reads orders.
    pub orders: Arc<dyn OrderReader>,
    /// Reads the event log.
    pub events: Arc<dyn EventReader>,
    /// Wakes readers of the event log.
    pub feed: Arc<dyn EventFeed>,
    /// Finds keys.
    pub keys: Arc<dyn KeyReader>,
    /// Lists accounts and keys.
    pub accounts: Arc<dyn AccountDirectory>,
    /// Counts answers that are kept under idempotency keys.
    pub idempotency: Arc<dyn IdempotencyRecords>,
    /// Counts requests.
    pub quotas: Arc<dyn Quotas>,
    /// Counts requests without a valid key.
    pub addresses: Arc<dyn AddressLimits>,
    /// Drops expired records, and stores the usage that was counted.
    pub housekeeping: Arc<dyn Housekeeping>,
    /// Opens further handles of the same store. None for a store in one process, where all callers share this handle.
    pub another: Option<Arc<dyn AnotherHandle>>,
}

/// A store that has further ports: `P` is one of them, or a structure of several.
#[derive(Clone)]
pub struct SubjectWith<P> {
    /// The further ports. Dropped before the others, among which may be the owner of the store's files.
    pub ports: P,
    /// The ports that every store has.
    pub subject: Subject,
}

/// Further ports, taken from a store that implements them.
pub trait PortsOf<S> {
    /// The ports of a store.
    fn of(store: &Arc<S>) -> Self;
}

impl<P> SubjectWith<P> {
    /// The ports of a store that implements them all.
    pub fn of<S: StorePorts + Housekeeping + 'static>(store: &Arc<S>) -> Self
    where
        P: PortsOf<S>,
    {
        Self { subject: Subject::of(store), ports: P::of(store) }
    }
}

/// A store that several processes can work on at once, such as one behind a network.
#[async_trait]
pub trait AnotherHandle: Send + Sync {
    /// Opens a further handle of the store, as another process would: with separate connections, caches and reserved
    /// ids.
    async fn open(&self) -> Subject;
}

/// A durable store, the subject of the cases of [`durable`](crate::durable).
#[async_trait]
pub trait DurableSubject: Send + Sync {
    /// Opens the store on its existing data. The store closes gracefully when the last port of the subject is dropped.
    /// A case never opens the store a second time before that.
    async fn open(&self) -> Subject;

    /// Returns another store with the data that a power cut at this moment would leave. The open store is not affected.
    async fn after_power_cut(&self) -> Box<dyn DurableSubject>;
}

impl Subject {
    /// The ports of a store that implements them all, and has one handle.
    pub fn of<S: StorePorts + Housekeeping + 'static>(store: &Arc<S>) -> Self {
        Self {
            transactor: Arc::clone(store) as _,
            pets: Arc::clone(store) as _,
            categories: Arc::clone(store) as _,
            orders: Arc::clone(store) as _,
            events: Arc::clone(store) as _,
            feed: Arc::clone(store) as _,
            keys: Arc::clone(store) as _,
            accounts: Arc::clone(store) as _,
            idempotency: Arc::clone(store) as _,
            quotas: Arc::clone(store) as _,
            addresses: Arc::clone(store) as _,
            housekeeping: Arc::clone(store) as _,
            another: None,
        }
    }

    /// Another handle of the same store, or this one if the store has only one.
    pub async fn another_handle(&self) -> Self {
        match &self.another {
            Some(another) => another.open().await,
            None => self.clone(),
        }
    }

    /// Runs an operation, and retries it while the store is busy. The retry is safe, because a busy store has changed
    /// nothing.
    pub(crate) async fn try_run<O: Operation + Clone>(
        &self,
        operation: O,
    ) -> Result<Result<O::Output, O::Rejection>, StoreError> {
        loop {
            match run(&*self.transactor, operation.clone(), Timestamp::EPOCH).await {
                Err(error) if error.kind() == StoreErrorKind::Busy => tokio::task::yield_now().await,
                answer => return answer,
            }
        }
    }

    /// Runs an operation on a healthy store.
    pub(crate) async fn run<O: Operation + Clone>(&self, operation: O) -> Result<O::Output, O::Rejection> {
        self.try_run(operation).await.expect("a healthy store runs every transition")
    }

    /// Runs all parts of the housekeeping of a healthy store once.
    pub(crate) async fn keep_house(&self, now: Timestamp) {
        self.note_usage().await;
        self.drop_expired(now).await;
        self.housekeeping.watch(now).await.expect("a healthy store answers");
    }

    /// Lets a healthy store write the counted usage to its storage.
    pub(crate) async fn note_usage(&self) {
        self.housekeeping.note_usage().await.expect("a healthy store notes usage");
    }

    /// Lets a healthy store drop expired records. Returns the number of records that the call dropped.
    pub(crate) async fn drop_expired(&self, now: Timestamp) -> usize {
        self.housekeeping.drop_expired(now).await.expect("a healthy store drops what has expired")
    }

    /// Reads a pet.
    pub(crate) async fn pet(&self, id: PetId) -> Option<PetRecord> {
        self.pets.pet(id).await.expect("a healthy store reads pets")
    }

    /// Reads a category.
    pub(crate) async fn category(&self, id: CategoryId) -> Option<CategoryRecord> {
        self.categories.category(id).await.expect("a healthy store reads categories")
    }

    /// Reads an order.
    pub(crate) async fn order(&self, id: OrderId) -> Option<OrderRecord> {
        self.orders.order(id).await.expect("a healthy store reads orders")
    }

    /// The number of stored answers of an account.
    pub(crate) async fn records_of(&self, account: AccountId) -> u32 {
        self.idempotency.records_of(account).await.expect("a healthy store counts answers")
    }
}
