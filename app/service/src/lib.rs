//! The petstore's use cases, for embedding: the operations of the domain over the ports, behind the gate.
//!
//! The crate has no transport, no async runtime and no database. An embedder provides a store, a clock, a timer and
//! randomness, and gets a [`Service`], which implements every driving port except the sandbox's
//! ([`petstore_ports::api::Petstore`], [`petstore_ports::api::Administration`]).
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use petstore_domain::{CategoryName, NewCategory, Timestamp};
//! use petstore_memory::MemoryStore;
//! use petstore_ports::{Clock, Entropy, Reply, StoreError, Timer, api::Categories};
//! use petstore_service::{Policy, Ports, Service};
//!
//! struct NoonClock;
//! impl Clock for NoonClock {
//!     fn now(&self) -> Timestamp {
//!         Timestamp::parse("2030-01-01T12:00:00Z").unwrap()
//!     }
//! }
//!
//! struct NoKeys;
//! impl Entropy for NoKeys {
//!     fn bits(&self) -> Result<[u8; 32], StoreError> {
//!         Err(StoreError::unavailable("this program makes no keys"))
//!     }
//! }
//!
//! /// Without deadlines, since a store in memory never waits.
//! struct NoDeadlines;
//! impl Timer for NoDeadlines {
//!     fn elapsed(&self) -> Duration {
//!         Duration::ZERO
//!     }
//!     fn sleep(&self, _duration: Duration) -> Reply<()> {
//!         Reply::later(std::future::pending())
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let store = Arc::new(MemoryStore::new());
//! let ports = Ports::of_one_store(store, Arc::new(NoonClock), Arc::new(NoKeys), Arc::new(NoDeadlines));
//! let service = Service::new(ports, Policy::DEFAULT);
//!
//! let new = NewCategory::new(CategoryName::parse("Rabbits").unwrap());
//! let rabbits = service.create_category(new, None).await.unwrap().result.unwrap();
//! assert_eq!(rabbits.value.name.as_str(), "Rabbits");
//! # });
//! ```

mod administration;
mod call_deadlines;
mod catalogue;
mod circuit_breaker;
mod digest;
mod dispatch;
mod events;
mod gate;
mod gatekeeper;
mod in_flight;
mod outcomes;
mod pending_bans;
mod plans;
mod policy;
mod quota_port;
mod quota_shares;
mod reservations;
mod service;
mod shop;
mod webhooks;

pub use dispatch::{
    DispatchNotice, DispatchStats, Dispatcher, DispatcherPorts, WebhookCounts, WebhookTester,
};
pub use outcomes::OutcomeCounts;
pub use pending_bans::BanWrites;
pub use policy::{OnQuotaOutage, Policy};
pub use quota_shares::{LiveNodes, QuotaShares};
pub use service::{Ports, Service};
pub use webhooks::WebhookService;
