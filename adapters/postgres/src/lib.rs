//! The store on PostgreSQL: any number of nodes share one database.
//!
//! [`PostgresStore`] implements the driven ports of `petstore-ports` except the quotas. It contains no business rule: it
//! loads the records that an operation names, calls the operation, and writes its changes. All truth is in the database. A
//! node keeps only credentials in memory, for at most a second beyond their last check.
//!
//! Layers, from the bottom up:
//! - Connections (`connection`): opened with the settings that the store relies on, and discarded after any failure.
//! - The schema (`schema`) and the conversion between rows and records (`records`).
//! - Statements that may be repeated (`queries`): batched on the runtime that reads, or on a few connections.
//! - Reads (`reads`): records by id, those of a turn in one statement, and pages. Credentials (`keys`), accounts and keys for
//!   operators (`directory`), counts, health and housekeeping are read and written with the same connections.
//! - The clock of the database (`clock`), by which everything expires that nodes share.
//! - Writes (`writes`): transitions in batches that share a commit.
//! - Nodes (`nodes`): the table of nodes, and the form of events that all of them know (`event_forms`).

mod background;
mod bulk;
mod calls;
mod clock;
mod commit_hooks;
mod connection;
mod directory;
mod error;
mod event_forms;
mod events;
mod examine;
mod health;
mod housekeeping;
mod idempotency_counts;
mod keys;
mod members;
mod nodes;
mod queries;
mod reads;
mod records;
mod schema;
mod start_lock;
mod stats;
mod store;
mod tables;
mod trial;
mod watch;
mod webhooks;
mod writes;

pub use clock::{ClockFault, ClockFaultKind};
pub use commit_hooks::CommitObserver;
pub use connection::continuity::Notice;
pub use connection::{CONNECTIONS_A_SECOND_MAX, Server, Target};
pub use error::OpenError;
pub use events::EventRetention;
pub use examine::{Examined, SchemaState, examine, examine_sandbox};
pub use nodes::{NewNode, Node, nodes};
pub use petstore_remote_connection::{Roots, TargetError};
pub use start_lock::StartLock;
pub use stats::{DatabaseStats, ServerStats};
pub use store::{Options, PostgresStore};
