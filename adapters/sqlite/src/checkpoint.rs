//! Checkpoints copy the write-ahead log into the database, while the writer continues.
//!
//! SQLite restarts the log only when all of the log has been copied and nothing was added meanwhile. With a writer that
//! never pauses, the log would grow without bound. So a checkpoint runs as a round. The round first copies most of the
//! log while the writer continues. Then it takes the lock of [`LogState`], which the writer holds during each
//! transaction, and copies the short rest.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::error::EngineError;
use crate::{OpenError, connection};

/// Number of pages in the log from which a round is due: 32 MiB. A larger number makes rounds rarer and cheaper,
/// because a longer log contains the same pages more often. But a start after a crash reads the whole log
/// (PERFORMANCE.md, "SQLite").
const ROUND_PAGES: u32 = 65_536;

/// Number of pages in the log from which the writer waits for the whole round: 64 MiB. The log exceeds this number at
/// most by the pages that are added during one round, unless a reader needs an old state for a long time.
const LOG_PAGES_MAX: u32 = 131_072;

/// Maximum number of pages that should be left for the last copy of a round, during which the writer waits: 128 KiB.
const BLOCKING_COPY_PAGES: u32 = 256;

/// Maximum number of copies in one round during which the writer continues. Each copy leaves fewer pages than the
/// previous copy.
const COPIES_MAX: usize = 4;

/// The delay after which a failed round is repeated even if nothing was written. Without a repetition, the fault would
/// still be reported after its cause has gone, until enough writes make another round due.
const RETRY_DELAY: Duration = Duration::from_mins(1);

/// The state of the log, shared by the writer, the checkpoints and the scrubber.
#[derive(Debug, Default)]
pub(crate) struct LogState {
    writes: Mutex<()>,
    /// The number of pages in the log after the last commit.
    pages: AtomicU32,
    /// The number of pages in the log at the last round if the round could not copy all of them, because a reader needs
    /// an older state; otherwise 0.
    held_back: AtomicU32,
    fault: Mutex<Option<String>>,
    /// `true` once checkpoints have ended because the log is damaged.
    is_halted: AtomicBool,
}

impl LogState {
    /// Blocks other writes until the guard is dropped. The writer holds this lock for each of its transactions.
    pub(crate) fn lock_writes(&self) -> MutexGuard<'_, ()> {
        self.writes.lock()
    }

    /// Resets the state after the log has been emptied.
    pub(crate) fn reset(&self) {
        self.pages.store(0, Ordering::Relaxed);
        self.held_back.store(0, Ordering::Relaxed);
        *self.fault.lock() = None;
    }

    /// Ends checkpoints, because the log is damaged.
    pub(crate) fn halt(&self) {
        self.is_halted.store(true, Ordering::Relaxed);
    }

    /// The number of pages in the log after the last commit.
    pub(crate) fn pages(&self) -> u32 {
        self.pages.load(Ordering::Relaxed)
    }

    fn is_due(&self) -> bool {
        self.pages() >= self.held_back.load(Ordering::Relaxed).saturating_add(ROUND_PAGES)
    }
}

/// The health of the checkpoints. While checkpoints fail, writes continue and no data is lost, but the log grows.
#[derive(Debug, Clone)]
pub struct CheckpointHealth(Arc<LogState>);

impl CheckpointHealth {
    pub(crate) fn of(log: &Arc<LogState>) -> Self {
        Self(Arc::clone(log))
    }

    /// The fault of the last round; none if it succeeded.
    pub fn fault(&self) -> Option<String> {
        self.0.fault.lock().clone()
    }

    /// The number of pages in the log after the last commit.
    pub fn log_pages(&self) -> u32 {
        self.0.pages()
    }
}

/// Starts the thread that checkpoints the writes of this connection. The thread ends when the connection is closed.
pub(crate) fn start(
    writer: &mut Connection,
    path: &Path,
    log: &Arc<LogState>,
) -> Result<JoinHandle<()>, OpenError> {
    let connection = connection::checkpointer(path)?;
    let woken = count_commits(writer, log).map_err(OpenError::engine(path))?;
    let log = Arc::clone(log);
    std::thread::Builder::new()
        .name("checkpoints".into())
        .spawn(move || run(&connection, &log, &woken, RETRY_DELAY))
        .map_err(|source| OpenError::File { path: path.into(), source })
}

/// Counts the pages in the log at each commit, and wakes the receiver when a round is due.
fn count_commits(writer: &mut Connection, log: &Arc<LogState>) -> rusqlite::Result<Receiver<()>> {
    let (wake, woken) = sync_channel(1);
    let log = Arc::clone(log);
    let on_commit = move |_: &mut Wal, pages: i32| {
        log.pages.store(pages.unsigned_abs(), Ordering::Relaxed);
        if log.is_due() {
            // If the channel is full, it already contains a wake-up.
            let _ = wake.try_send(());
        }
        Ok(())
    };
    writer.wal_hook(Some(on_commit))?;
    Ok(woken)
}

/// Stops the thread of [`start`].
pub(crate) fn stop(writer: &mut Connection, thread: JoinHandle<()>) {
    let none = None::<fn(&mut Wal, i32) -> rusqlite::Result<()>>;
    if writer.wal_hook(none).is_ok() {
        // An error means that the thread has panicked, which has been reported already.
        let _ = thread.join();
    }
}

fn run(connection: &Connection, log: &LogState, woken: &Receiver<()>, retry_delay: Duration) {
    let mut is_well = log.fault.lock().is_none();
    while wait(woken, (!is_well).then_some(retry_delay)) {
        if (log.is_due() || !is_well) && !log.is_halted.load(Ordering::Relaxed) {
            let fault = round(connection, log).err();
            is_well = fault.is_none();
            *log.fault.lock() = fault;
        }
    }
}

/// Waits for a wake-up, but not longer than `at_most`. Returns false if the writer has gone.
fn wait(woken: &Receiver<()>, at_most: Option<Duration>) -> bool {
    match at_most {
        None => woken.recv().is_ok(),
        Some(time) => !matches!(woken.recv_timeout(time), Err(RecvTimeoutError::Disconnected)),
    }
}

fn round(connection: &Connection, log: &LogState) -> Result<(), String> {
    for _ in 0..COPIES_MAX {
        let _blocked = (log.pages() > LOG_PAGES_MAX).then(|| log.lock_writes());
        let done = copy(connection, "PASSIVE")?;
        if log.pages().saturating_sub(done.copied) <= BLOCKING_COPY_PAGES {
            break;
        }
    }
    let _blocked = log.lock_writes();
    let done = copy(connection, "FULL")?;
    let left = done.pages.saturating_sub(done.copied);
    log.held_back.store(if left == 0 { 0 } else { done.pages }, Ordering::Relaxed);
    if left > LOG_PAGES_MAX {
        return Err(format!(
            "a reader of the data file keeps more than {LOG_PAGES_MAX} pages in the log: end the program that reads it"
        ));
    }
    Ok(())
}

/// The result of copying a log into the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogCopy {
    /// The log is empty.
    Emptied,
    /// All committed pages are in the database, but the log is not empty, because a reader needs it.
    Complete,
    /// Some committed pages are only in the log.
    Partial,
}

/// Copies all pages that can be copied now, and empties the log unless a reader needs it.
pub(crate) fn copy_and_empty(connection: &Connection) -> rusqlite::Result<LogCopy> {
    let done = checkpoint(connection, "TRUNCATE")?;
    Ok(match done {
        Checkpoint { is_busy: false, .. } => LogCopy::Emptied,
        Checkpoint { is_refused: false, pages, copied, .. } if copied >= pages => LogCopy::Complete,
        Checkpoint { .. } => LogCopy::Partial,
    })
}

/// Returns the number of pages in the log, whichever process has written them.
pub(crate) fn pages_in_log(connection: &Connection) -> rusqlite::Result<u32> {
    checkpoint(connection, "NOOP").map(|found| found.pages)
}

/// Returns the number of frames in the log; none if the number cannot be determined. None does not mean that the log is
/// empty.
pub(crate) fn frame_count(connection: &Connection) -> Option<u32> {
    checkpoint(connection, "NOOP").ok().filter(|found| !found.is_busy).map(|found| found.pages)
}

/// Invalidates the frames after the last commit of a log that could not be emptied. These frames may belong to a failed
/// transaction and may include its commit mark. Crash recovery would then treat the failed transaction as committed. So
/// this function commits a transaction without changes, which overwrites the first of these frames. The other frames
/// then no longer continue the checksum chain.
pub(crate) fn invalidate_tail(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("BEGIN IMMEDIATE; PRAGMA user_version = {version}; COMMIT"))
}

struct Checkpoint {
    /// Another connection is in a checkpoint, or a reader needs a part of the log.
    is_busy: bool,
    /// Nothing was done, because another connection is in a checkpoint.
    is_refused: bool,
    pages: u32,
    copied: u32,
}

fn copy(connection: &Connection, mode: &str) -> Result<Checkpoint, String> {
    checkpoint(connection, mode).map_err(|error| format!("checkpoint: {}", EngineError::of(&error)))
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Checkpoint> {
    connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?.query_row([], |row| {
        let (is_busy, pages, copied): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // SQLite returns -1 if the file has no log, or if another connection is in a checkpoint.
        let count = |pages| u32::try_from(pages).unwrap_or(0);
        Ok(Checkpoint {
            is_busy,
            is_refused: is_busy && pages < 0,
            pages: count(pages),
            copied: count(copied),
        })
    })
}

#[cfg(test)]
mod tests;
