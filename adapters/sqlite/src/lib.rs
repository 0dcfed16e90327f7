//! The petstore's journal in one SQLite file.
//!
//! [`SqliteJournal`] keeps batches of changes on disk for a store in memory, as ordinary tables that any SQLite tool can
//! read while the petstore runs. It contains no business rule and reads no clock. Its rows are read only once, at the
//! start. Its calls block, so it is used on a separate thread.
//!
//! The guarantees of the journal, and the modules that provide them:
//! - Durability: with a write-ahead log and `synchronous=FULL` a commit returns when its pages in the log are on disk.
//! - Little write amplification: pages are small (`connection`), because a batch changes rows all over the file.
//! - No pauses: checkpoints run on a separate thread and connection, while the writer continues (`checkpoint`).
//! - One writer: a process holds a lock on a lock file, which contains its process id (`lock_file`), and a lock on the
//!   data file itself, which covers all aliases (`aliases`). SQLite's exclusive mode is not used, because it would
//!   exclude readers, too, and SQLite's own locks are released when any descriptor of the file is closed.
//! - Complete files: a data file that is a mount point is refused, because its log would be stored elsewhere (`mount`).
//! - Crash recovery: a log is checked before SQLite reads it (`crash_recovery`, `wal`), so that SQLite never drops
//!   acknowledged changes as a torn end. An attribute of the data file remembers the last batch, so that an emptied or
//!   missing log is noticed (`batch_mark`). A log that does not continue the data file is refused (`log_base`).
//! - Detection of changed files: while the files are in use, they are checked for removal and replacement (`file_identity`,
//!   `data_file`, `log_file`) and read again (`scrubber`). After damage nothing more is written.
//! - Validated content: constraints of the tables check each row (`schema`), and each row is parsed like any input
//!   (`table`, `tables`). Triggers and views never run, and a file that contains any is refused (`schema_check`).
//! - Atomic migrations: the schema (`schema`), values that are no longer valid (`repair`) and folded names (`name_folding`)
//!   change in one transaction.
//! - Events: the events of a batch are one row, written in the transaction of the batch (`event_batches`). They are
//!   read while the writer continues (`event_reader`).
//!
//! [`read_snapshot`], [`backup`] and [`EventFile`] read a file that may be in use. A copy is a [`PartialFile`] until it is complete.

mod aliases;
mod batch_mark;
mod checkpoint;
mod coalesced_batch;
mod connection;
mod copy;
mod crash_recovery;
mod data_file;
mod data_lock;
mod epoch_text;
mod error;
mod event_batches;
mod event_file;
mod event_reader;
mod file_identity;
mod files;
mod journal;
mod load;
mod lock_file;
mod log_base;
mod log_file;
mod members;
mod meta;
mod mount;
mod name_folding;
mod open_database;
mod open_files;
mod open_options;
mod partial_file;
mod repair;
mod repaired_values;
mod schema;
mod schema_check;
mod scrubber;
mod snapshot;
mod table;
mod tables;
mod wal;

pub use checkpoint::CheckpointHealth;
pub use copy::{copy_of, keep_copy};
pub use crash_recovery::{DamagedLog, MissingBatches, check_log_of};
pub use error::{BackupError, EngineError, OpenError};
pub use event_file::EventFile;
pub use files::{COMPANIONS, companion, is_database};
pub use journal::SqliteJournal;
pub use open_files::OpenFiles;
pub use open_options::OpenOptions;
pub use partial_file::PartialFile;
pub use repaired_values::{NameCollisions, RepairedValues};
pub use snapshot::{Copied, backup, read_snapshot};
pub use wal::LogPosition;
