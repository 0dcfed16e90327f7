//! The store in the memory of one process, and its quotas.
//!
//! [`MemoryStore`] implements every driven port of `petstore-ports` that a store implements. It contains no business
//! rule: it loads the records that an operation names, calls the operation, and writes its changes. The time comes with
//! each call; only the writer's thread measures the time of its own batches, for group commit. With a
//! [`Journal`](petstore_ports::Journal) the store is durable; the store itself does no I/O.
//!
//! Layers, from the bottom up:
//! - Tables: ids are dense and ascending (`ids`), so a table is a slab addressed by id (`slab`, on `directory`). A read
//!   is two loads (four for ids above a million) and one short lock, whatever the table's size.
//! - Listings: candidates come from indexes (`state_index`, `hash_index`, `owner_index`; as sets, `slot_set`), which
//!   `index_search` intersects; `page` then compares the records. **An index covers every visible record**: entries are
//!   added before a record is written, and removed afterwards. So an index may have too many candidates but never too
//!   few. A client that pages through a listing therefore finds every record that is not deleted meanwhile.
//! - Writes without a journal (`transact`, `load`, `apply`) lock the stripes of their footprint (`stripes`) in
//!   ascending order: writes with a common record run one after the other, all others in parallel.
//! - Writes with a journal wait in a bounded queue (`queue`, `oneshot`, `group_commit`) for the one writer (`writer`).
//!   The writer decides a batch of writes (`batch`), commits the batch, and only then makes it visible
//!   (`committer`). While the journal fails, reads continue and writes are refused (`recovery`, `backoff`).
//! - Visibility: the changes of one decision become visible together (`write_epochs`), and in one place,
//!   `Tables::publish`. A shop that is loaded or replaced is hidden meanwhile (`visibility`).
//! - Events: the events of a decision are added to the log when it becomes visible (`event_log`). With a journal, the
//!   log in memory holds only the latest events, and older events are read from the journal on a separate thread
//!   (`older_events`).
//! - Gate: each account's windows are one small value under its own lock (`usage_meters`, `quotas`), beside the
//!   credential fields that every request reads (`packed_credentials`). Counting never waits for the journal, because
//!   usage is written to the journal later (`dirty_set`).
//! - Whole shops: opening (`open`), import and export (`import`, `export`, `bulk`) and reset (`reset`, `new_shop`) load
//!   rows with the same checks (`bulk_loader`). They exclude writes (`write_block`). A backup copies a store between
//!   two commits (`commit_pause`).
//!
//! Lock order: the lock that excludes writes, the committer, stripes, then one lock within a table. A lock within a
//! table is held only to copy or write a few words, and never while foreign code runs. Two functions hold several such
//! locks at once; their comments say why that is safe.

mod accounts;
mod addresses;
mod apply;
mod backoff;
mod batch;
mod bulk;
mod bulk_loader;
mod categories;
mod commit_pause;
mod committer;
mod deliveries;
mod directory;
mod dirty_set;
mod event_log;
mod event_retention;
mod events;
mod export;
mod group_commit;
mod hash_index;
mod idempotency_records;
mod ids;
mod import;
mod index_search;
mod keys;
mod load;
mod meters;
mod new_shop;
mod older_events;
mod oneshot;
mod open;
mod orders;
mod owner_index;
mod packed_credentials;
mod page;
mod pets;
mod queue;
mod quotas;
mod read;
mod recovery;
mod reset;
mod slab;
mod slot_set;
mod state_index;
mod stats;
mod store;
mod stripes;
mod tables;
mod transact;
mod usage_meters;
mod visibility;
mod webhook_ports;
mod webhooks;
mod write_block;
mod write_epochs;
mod writer;

pub use commit_pause::CommitPause;
pub use committer::Step;
pub use event_retention::EventRetention;
pub use import::Import;
pub use open::Opened;
pub use petstore_bulk_checks::Contradiction;
pub use store::MemoryStore;
pub use writer::Writer;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
