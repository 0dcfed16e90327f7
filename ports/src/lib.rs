//! The ports of the hexagonal architecture: the traits between the rules of the shop, its transports and its stores.
//!
//! [`api`] holds the driving ports, which a transport calls. All other traits are driven ports, which an adapter implements.
//! They are object-safe and used as `Arc<dyn Port>`, and a [`Journal`] as `Box<dyn Journal>`. Their contracts are in their
//! documentation. The suite of `petstore-tests` tests an adapter against its contract. Only [`Clock`], [`Timer`],
//! [`Entropy`], [`StoreHealth`], [`Courier`], [`Signer`] and [`ShopText`] have no such test.
//!
//! Most methods are ordinary async methods. Those of the hot path return a [`Reply`]: a store in memory replies at once,
//! without a future on the heap. The caller bounds the time of each call, so an adapter needs no deadline of its own.

pub mod api;
mod bulk;
mod clock;
mod courier;
mod damage;
mod entropy;
mod error;
mod event_journal;
mod event_text;
mod events;
mod idempotency;
pub mod journal;
mod keys;
mod progress;
mod quotas;
mod read;
mod reply;
mod reset;
mod shop_text;
mod signer;
mod stats;
mod store;
mod timer;
mod transact;
mod webhooks;

pub use bulk::{Bulk, BulkImport, ImportError};
pub use clock::Clock;
pub use courier::{Courier, WebhookRequest};
pub use damage::StoreDamage;
pub use entropy::Entropy;
pub use error::{StoreError, StoreErrorKind};
pub use event_journal::{EventBatch, EventBatchReader, EventLimits, EventRange, EventsPruned};
pub use event_text::EventText;
pub use events::{EventBounds, EventFeed, EventPage, EventQuery, EventRead, EventReader, LogEnd};
pub use idempotency::IdempotencyRecords;
pub use journal::{Batch, BatchNumber, BulkLoad, DeliveryNote, Header, Journal, LastIds, Row, UsageCount};
pub use keys::{AccountDirectory, Credential, KeyLookup, KeyReader, RecordedBan, ScopeReader};
pub use progress::{Unwatched, WorkPhase, WorkProgress, WorkUnit};
pub use quotas::{AddressLimits, AddressVerdict, Ask, Cost, Quotas, Verdict};
pub use read::{
    CategoryFilter, CategoryReader, CategorySink, OrderFilter, OrderReader, OrderSink, PageEnd, PageRequest,
    PetFilter, PetReader, PetSink, SortDirection, StatusSet,
};
pub use reply::{LaterReply, Reply, ScopedReply};
pub use reset::Resettable;
pub use shop_text::{ShopText, ShopTextFault};
pub use signer::{BodyChange, SignatureVerdict, SignedRequest, Signer, WebhookSecret};
pub use stats::{StoreCounts, StoreStats};
pub use store::{Housekeeping, StoreHealth, StorePorts};
pub use timer::Timer;
pub use transact::{Transactor, Transition, run};
pub use webhooks::{
    ClaimedWebhook, DELIVERY_LEASE, DeliveryLease, DeliveryLog, DeliveryQuery, LeaseState, SETTLED_KEPT,
    SETTLED_KEPT_FOR, WebhookChanges, WebhookReader,
};

#[cfg(feature = "mock")]
pub use {
    clock::MockClock, courier::MockCourier, entropy::MockEntropy, events::MockEventFeed,
    events::MockEventReader, idempotency::MockIdempotencyRecords, keys::MockAccountDirectory,
    keys::MockKeyReader, keys::MockScopeReader, quotas::MockAddressLimits, quotas::MockQuotas,
    read::MockCategoryReader, read::MockOrderReader, read::MockPetReader, reset::MockResettable,
    store::MockHousekeeping, store::MockStoreHealth, timer::MockTimer, transact::MockTransactor,
    webhooks::MockDeliveryLog, webhooks::MockWebhookReader,
};
