//! The traits on the hexagon's edge.
//!
//! [`api`] holds the driving ports: what a transport calls. Everything else is a driven port: what an adapter
//! implements. All are object-safe and used as `Arc<dyn Port>`, a [`Journal`] as `Box<dyn Journal>`; their contracts are
//! in their docs, and the suite of `petstore-tests` proves them of an adapter, but for the health, the clock and the
//! randomness.
//!
//! Most methods are async in the ordinary way. Those of the hot path return a [`Reply`]: a store in memory answers at
//! once, without a future on the heap.

pub mod api;
mod bulk;
mod clock;
mod entropy;
mod error;
mod event_journal;
mod events;
mod idempotency;
mod journal;
mod keys;
mod quotas;
mod read;
mod reply;
mod reset;
mod stats;
mod store;
mod timer;
mod transact;

pub use bulk::{Bulk, BulkImport, ImportError};
pub use clock::Clock;
pub use entropy::Entropy;
pub use error::{StoreError, StoreErrorKind};
pub use event_journal::{EventBatch, EventBatchReader, EventLimits, EventRange, EventsPruned};
pub use events::{EventBounds, EventFeed, EventPage, EventQuery, EventRead, EventReader, LogEnd};
pub use idempotency::IdempotencyRecords;
pub use journal::{Batch, BatchNumber, BulkLoad, Header, Journal, LastIds, Row, UsageCount};
pub use keys::{AccountDirectory, Credential, KeyLookup, KeyReader, RecordedBan};
pub use quotas::{AddressLimits, AddressVerdict, Ask, Cost, Quotas, Verdict};
pub use read::{
    CategoryFilter, CategoryReader, CategorySink, OrderFilter, OrderReader, OrderSink, PageEnd, PageOrder,
    PageRequest, PetFilter, PetReader, PetSink, StatusSet,
};
pub use reply::{LaterReply, Reply, ScopedReply};
pub use reset::Resettable;
pub use stats::{StoreCounts, StoreStats};
pub use store::{Housekeeping, StoreHealth};
pub use timer::Timer;
pub use transact::{Transactor, Transition, run};

#[cfg(feature = "mock")]
pub use {
    clock::MockClock, entropy::MockEntropy, events::MockEventFeed, events::MockEventReader,
    idempotency::MockIdempotencyRecords, keys::MockAccountDirectory, keys::MockKeyReader,
    quotas::MockAddressLimits, quotas::MockQuotas, read::MockCategoryReader, read::MockOrderReader,
    read::MockPetReader, reset::MockResettable, store::MockHousekeeping, store::MockStoreHealth,
    timer::MockTimer, transact::MockTransactor,
};
