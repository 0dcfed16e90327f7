//! The sandbox of a petstore, over the ports: a clock that a tester sets, resets of the store to a baseline, and the
//! demonstration shop.
//!
//! The HTTP transport serves a sandbox under `/sandbox/`. A service in production has none, because every client can empty
//! the store through it.
//!
//! ```
//! use std::sync::Arc;
//! use petstore_domain::Timestamp;
//! use petstore_memory::MemoryStore;
//! use petstore_ports::api::{Baseline, ClockChange, NewTime, Sandbox};
//! use petstore_ports::{Clock, Entropy, StoreError};
//! use petstore_sandbox::{SandboxClock, ShopBaseline, StoreSandbox, demo_rows, fill_with_demo};
//! use petstore_shop_lines::ShopLines;
//!
//! struct Machine;
//! impl Clock for Machine {
//!     fn now(&self) -> Timestamp {
//!         Timestamp::parse("2030-01-01T12:00:00Z").unwrap()
//!     }
//! }
//!
//! struct FixedEntropy;
//! impl Entropy for FixedEntropy {
//!     fn bits(&self) -> Result<[u8; 32], StoreError> {
//!         Ok([7; 32])
//!     }
//! }
//!
//! let store = Arc::new(MemoryStore::new());
//! assert!(fill_with_demo(&*store, 100).unwrap());
//! let shop = demo_rows(&MemoryStore::new(), 100).unwrap().into();
//! let clock = Arc::new(SandboxClock::new(Arc::new(Machine)));
//! let text = Arc::new(ShopLines::new(|| Box::new(MemoryStore::new())));
//! let baseline = ShopBaseline::new(shop, Arc::clone(&store) as _, text);
//! let sandbox = StoreSandbox { store, clock: Arc::clone(&clock), entropy: Arc::new(FixedEntropy), baseline };
//!
//! let noon = Timestamp::parse("2031-06-01T12:00:00Z").unwrap();
//! sandbox.set_clock(ClockChange { time: Some(NewTime::Set(noon)), freeze: Some(true) }).unwrap();
//! assert_eq!(clock.now(), noon);
//! sandbox.baseline.give(br#"{"category":{"name":"Rabbits","id":7}}"#).unwrap();
//! sandbox.reset(sandbox.new_epoch().unwrap()).unwrap();
//! ```

mod baseline;
mod clock;
mod demo;
mod fill;
mod store_sandbox;

pub use baseline::ShopBaseline;
pub use clock::{Pace, SandboxClock};
pub use demo::{demo_rows, fill_with_demo};
pub use fill::fill_with_shop;
pub use store_sandbox::StoreSandbox;
