//! The store in the memory of one process, and its quotas.
//!
//! [`MemoryStore`] implements every driven port of `petstore-ports` that a store implements. It knows no business rule:
//! it loads what an operation names, asks it, and applies the answer. The time of day is not read, it comes with each
//! call; only the writer's thread times its own batches, to tell how long the next one may wait for company.
//! It is durable when it is given a [`Journal`](petstore_ports::Journal), and does no I/O of its own.
//!
//! How it is built, from the ground up:
//! - Ids are dense and rising, so a table is a slab addressed by id (`slab`, on `directory`): a read is two loads
//!   (four for ids above a million) and one short lock, whatever the table's size.
//! - Listings find their candidates in indexes (`state_index`, `pairs`, `kin`), joined by `search`, and then judge the records
//!   themselves (`page`). **An index covers every record that can be seen**: it is widened before a record is written
//!   and narrowed after. It may name too many, never too few, and so a walk meets every item that stays.
//! - Without a journal, writes take lock stripes over the names of their footprint (`stripes`), in sorted order: two
//!   writes that share a name run one after the other, all others side by side (`transact`, `load`, `apply`).
//! - With a journal, writes wait in a bounded queue (`queue`, `answer`) for the one writer (`writer`), which decides a batch
//!   of them under what it has decided so far (`overlay`), commits it, and only then shows it (`committer`). While the
//!   journal fails, reads go on and writes are refused (`recovery`).
//! - Each account's windows are one small value under a lock of its own (`meters`, `quotas`), and beside it is a word of
//!   what the gate asks of the account, as of a key (`terms`). Requests never wait for the journal: use and bans are
//!   noted there behind (`unnoted`).
//! - Tables are filled on opening (`open`) and by a bulk load (`import`), with the same checks (`loader`).
//! - All of a store is copied between two batches (`still`), without holding readers up.
//! - A store of a tester's begins anew in one step (`reset`).
//!
//! Locks are taken in this order: the one that holds writes out, the committer, stripes, then one lock inside a table.
//! The last are held to copy or to write a few words, and never while foreign code runs; the two places that hold more
//! than one say why it is safe.

mod accounts;
mod addresses;
mod apply;
mod bulk_loader;
mod categories;
mod commit_pause;
mod committer;
mod directory;
mod export;
mod hash_index;
mod idempotency_records;
mod ids;
mod import;
mod index_search;
mod keys;
mod load;
mod meters;
mod oneshot;
mod open;
mod orders;
mod overlay;
mod owner_index;
mod page;
mod pets;
mod queue;
mod quotas;
mod read;
mod recovery;
mod reset;
mod slab;
mod state_index;
mod stats;
mod store;
mod stripes;
mod tables;
mod terms;
mod transact;
mod unnoted;
mod visibility;
mod write_epochs;
mod writer;

pub use bulk_loader::Contradiction;
pub use commit_pause::CommitPause;
pub use committer::Step;
pub use import::Import;
pub use open::Opened;
pub use store::MemoryStore;
pub use writer::Writer;
