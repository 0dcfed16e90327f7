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
//! - One process owns the file, by a lock on a file beside it (`files`), which names the process, and by one on the file
//!   itself (`names`), which holds whatever the file is called: SQLite's exclusive mode would shut out readers too, and
//!   its own locks on the database are lost when any descriptor of that file is closed.
//! - What SQLite keeps beside the file is stored with it: a file that is a mount of its own is refused (`mount`).
//! - A log that a crash has left is read before SQLite reads it (`after_crash`, `wal`): what was acknowledged is never dropped
//!   as if it were torn.
//! - The files stay those that were opened (`original`): once a second it looks whether they have been removed, replaced or
//!   overwritten, and then it writes no more.
//! - The tables check again what a single row can show (`schema`), and what is read back is parsed like any input
//!   (`table`, `tables`). Triggers and views never run, and a file that holds any is refused (`foreign`).
//! - A migration is one transaction (`schema`). With it, values that older versions have stored and that are not taken any
//!   more are put right (`mend`), and names are folded by the rule of today (`namesakes`).
//!
//! [`read_snapshot`] and [`backup`] read a file that may be in use. A copy is a [`Part`] until it is whole.

mod after_crash;
mod checkpoint;
mod connection;
mod copy;
mod error;
mod files;
mod fold;
mod foreign;
mod journal;
mod load;
mod mend;
mod mended;
mod meta;
mod mount;
mod names;
mod namesakes;
mod open;
mod open_options;
mod original;
mod part;
mod schema;
mod snapshot;
mod table;
mod tables;
mod wal;
mod watch;

pub use after_crash::DamagedLog;
pub use checkpoint::CheckpointHealth;
pub use copy::{copy_of, keep_copy};
pub use error::{BackupError, OpenError};
pub use files::{COMPANIONS, beside, is_database};
pub use journal::SqliteJournal;
pub use mended::{IfNamesakes, Mended};
pub use open_options::OpenOptions;
pub use original::Originals;
pub use part::Part;
pub use snapshot::{Copied, backup, read_snapshot};
pub use wal::Place;
