//! The petstore's journal in one SQLite file.
//!
//! [`SqliteJournal`] keeps batches of decisions on disk for a store in memory, as ordinary tables: any SQLite tool can
//! read the file while the petstore runs. It knows no business rule, reads no clock, and serves no reads but the one that
//! fills the memory at the start. Blocking: it belongs to a thread of its own.
//!
//! What it rests on:
//! - Write-ahead log and `synchronous=FULL`: a commit returns when its pages in the log are on disk.
//! - Small pages (`connection`): a batch changes rows all over the file, and writes each page it touches.
//! - Checkpoints run beside the writer (`checkpoint`), on a thread and a connection of their own.
//! - One process owns the file, by a lock on a file beside it (`files`): SQLite's exclusive mode would shut out readers
//!   too, and its own locks on the database are lost when any descriptor of that file is closed.
//! - The files stay those that were opened (`original`): once a second it looks whether they have been removed, replaced or
//!   overwritten, and then it writes no more.
//! - The tables check again what a single row can show (`schema`), and what is read back is parsed like any input
//!   (`table`, `tables`).
//! - A migration is one transaction (`schema`). With it, values that older versions have stored and that are not taken any
//!   more are put right (`mend`), and names are folded by the rule of today (`namesakes`).
//!
//! [`read_snapshot`] and [`backup`] read a file that may be in use. A copy is a [`Part`] until it is whole.

mod checkpoint;
mod connection;
mod error;
mod files;
mod fold;
mod journal;
mod load;
mod mend;
mod mended;
mod meta;
mod namesakes;
mod open;
mod original;
mod part;
mod schema;
mod snapshot;
mod table;
mod tables;

pub use checkpoint::CheckpointHealth;
pub use error::{BackupError, OpenError};
pub use files::{COMPANIONS, beside, is_database};
pub use journal::SqliteJournal;
pub use mended::{IfNamesakes, Mended};
pub use original::Originals;
pub use part::Part;
pub use snapshot::{Copied, backup, read_snapshot};
