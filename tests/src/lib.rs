//! The conformance suite for stores of the petstore.
//!
//! The author of a store adds this crate as a dev-dependency, and one macro defines a test for each case:
//!
//! ```
//! use std::sync::Arc;
//! use petstore_tests::{ReferenceStore, Subject, store_conformance};
//!
//! store_conformance!(Subject::of(&Arc::new(ReferenceStore::new())));
//! ```
//!
//! A case is a public async function over a [`Subject`]: the driven ports of a new, empty store. It panics with a
//! message that names the broken guarantee. Cases use only the ports, so they apply to any store. The time is an
//! argument; only the cases in which a reader must keep waiting let 30 ms pass.
//!
//! The suite tests itself: [`ReferenceStore`] is small, slow and simple enough to be correct by inspection, and it
//! passes every case. If a [`Bug`] is planted in it, the case that the self-test names for this bug must fail. The
//! reference store is also the example of how to write a store.
//!
//! A durable store has further cases, defined by [`durable_conformance!`] on a [`DurableSubject`]. [`Disk`] is a
//! journal in memory for these cases. It can simulate power cuts and faults, and can have a [`DiskBug`].
//!
//! A store that a tester can reset has further cases, defined by [`reset_conformance!`] on a [`ResetSubject`]. A store
//! that can import a shop has the cases that [`import_conformance!`] defines on an [`ImportSubject`].
//!
//! Deliberately absent: speed (benchmarks measure it), and bounds of one adapter, such as the length of its
//! queue or of its table of addresses; and [`StoreHealth`](petstore_ports::StoreHealth), which is about a
//! failing store.

pub mod addresses;
pub mod agreement;
pub mod bans;
pub mod between;
pub mod crowd;
pub mod directory;
pub mod durable;
pub mod event_epochs;
pub mod event_feed;
pub mod event_order;
pub mod event_pages;
pub mod events;
pub mod handles;
pub mod hot_pet;
pub mod idempotency_limits;
pub mod ids;
pub mod imports;
pub mod keys;
pub mod operations;
pub mod pages;
pub mod quotas;
pub mod races;
pub mod reads;
pub mod resets;
pub mod retries;
pub mod scopes;
pub mod transactions;
pub mod values;
pub mod walks;
pub mod webhooks;

mod disk;
mod event_fold;
mod event_histories;
mod event_reading;
mod further_stamps;
mod history;
mod listing;
mod make;
mod meanwhile;
mod probe;
mod quota_model;
mod random;
mod reference;
mod run_case;
mod stamp;
mod subject;
mod together;

pub use disk::{Disk, DiskBug, Fault};
pub use imports::ImportSubject;
pub use random::Random;
pub use reference::{Bug, ReferenceStore};
pub use resets::ResetSubject;
pub use run_case::{run_case, run_case_apart};
pub use subject::{AnotherHandle, DurableSubject, PortsOf, Subject, SubjectWith};
pub use webhooks::{WebhookPorts, WebhookSubject};

/// The pages about stores and about embedding. The examples on these pages are compiled and run.
#[cfg(doctest)]
mod examples {
    #[doc = include_str!("../../docs/embed.md")]
    mod embed {}
    #[doc = include_str!("../../docs/store.md")]
    mod store {}
}
