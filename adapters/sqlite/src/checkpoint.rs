//! Checkpoints: copying the write-ahead log back into the database, beside the writer.
//!
//! The log is begun anew only when all of it has been copied and nobody has added to it meanwhile. A writer that never
//! pauses would make it grow for ever, so a round ends with a short copy under the [`Log`]'s gate, which the writer holds
//! for each of its transactions: most of the log has been copied by then, and the writer waits for the rest alone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::error::reason;
use crate::{OpenError, connection};

/// Pages in the log that call for a round: 32 MiB, which a start after a crash reads in 60 ms. On one processor a batch
/// beside a round takes two to five times as long as others. A longer log holds the same pages more often, so it is copied
/// for less: with rounds of 16 MiB more than 1% of the orders of 64 connections met one, and their p99 was a fifth longer.
const ROUND_PAGES: u32 = 65_536;

/// Pages in the log from which on the writer waits for the whole round: 64 MiB. So the log outgrows that by what is
/// written in one round at most, unless somebody reads an old state of the file for long.
const LOG_PAGES_MAX: u32 = 131_072;

/// Pages that may be left for the copy that the writer waits for: 128 KiB.
const REST_PAGES: u32 = 256;

/// Copies beside the writer in one round; each leaves less than the one before.
const COPIES_MAX: usize = 4;

/// How long after a round that went wrong it is tried again, though nothing calls for it: what was in its way may have gone
/// while hardly anybody writes, and until then it is told.
const RETRY: Duration = Duration::from_mins(1);

/// What the writer and the checkpoints know of the log together.
#[derive(Debug, Default)]
pub(crate) struct Log {
    gate: Mutex<()>,
    /// Pages in the log after the last commit.
    pages: AtomicU32,
    /// Pages, beyond a round's, that the last round had to leave: a reader still needs the state before them.
    stuck: AtomicU32,
    fault: Mutex<Option<String>>,
    /// Whether what is in the log is not to be trusted.
    is_halted: AtomicBool,
}

impl Log {
    /// Held by the writer for each of its transactions.
    pub(crate) fn pass(&self) -> MutexGuard<'_, ()> {
        self.gate.lock()
    }

    /// The log has been emptied, and what was wrong with it is over.
    pub(crate) fn begin_anew(&self) {
        self.pages.store(0, Ordering::Relaxed);
        self.stuck.store(0, Ordering::Relaxed);
        *self.fault.lock() = None;
    }

    /// Nothing of the log is copied any more: it has been damaged.
    pub(crate) fn halt(&self) {
        self.is_halted.store(true, Ordering::Relaxed);
    }

    /// Pages in the log after the last commit.
    pub(crate) fn pages(&self) -> u32 {
        self.pages.load(Ordering::Relaxed)
    }

    fn is_due(&self) -> bool {
        self.pages() >= self.stuck.load(Ordering::Relaxed).saturating_add(ROUND_PAGES)
    }
}

/// Whether checkpoints succeed. While they do not, nothing is lost and writes go on, but the log grows.
#[derive(Debug, Clone)]
pub struct CheckpointHealth(Arc<Log>);

impl CheckpointHealth {
    pub(crate) fn of(log: &Arc<Log>) -> Self {
        Self(Arc::clone(log))
    }

    /// What went wrong in the last round; none if it went well.
    pub fn fault(&self) -> Option<String> {
        self.0.fault.lock().clone()
    }

    /// Pages in the log, of the size that the file has, after the last commit.
    pub fn log_pages(&self) -> u32 {
        self.0.pages()
    }
}

/// Starts the thread that runs the checkpoints of what this connection writes. It ends when the connection does.
pub(crate) fn start(
    writer: &mut Connection,
    path: &Path,
    log: &Arc<Log>,
) -> Result<JoinHandle<()>, OpenError> {
    let connection = connection::checkpointer(path)?;
    let woken = watch(writer, log).map_err(OpenError::engine(path))?;
    let log = Arc::clone(log);
    std::thread::Builder::new()
        .name("checkpoints".into())
        .spawn(move || run(&connection, &log, &woken, RETRY))
        .map_err(|source| OpenError::File { path: path.into(), source })
}

/// Keeps count of the log, and wakes the receiver when a round is due.
fn watch(writer: &mut Connection, log: &Arc<Log>) -> rusqlite::Result<Receiver<()>> {
    let (wake, woken) = sync_channel(1);
    let log = Arc::clone(log);
    let on_commit = move |_: &mut Wal, pages: i32| {
        log.pages.store(pages.unsigned_abs(), Ordering::Relaxed);
        if log.is_due() {
            // Full means: it has been woken already.
            let _ = wake.try_send(());
        }
        Ok(())
    };
    writer.wal_hook(Some(on_commit))?;
    Ok(woken)
}

/// Lets the thread of [`start`] end.
pub(crate) fn stop(writer: &mut Connection, thread: JoinHandle<()>) {
    let none = None::<fn(&mut Wal, i32) -> rusqlite::Result<()>>;
    if writer.wal_hook(none).is_ok() {
        // An error would be its panic, which has been reported where it happened.
        let _ = thread.join();
    }
}

fn run(connection: &Connection, log: &Log, woken: &Receiver<()>, retry: Duration) {
    let mut is_well = log.fault.lock().is_none();
    while is_called(woken, (!is_well).then_some(retry)) {
        if (log.is_due() || !is_well) && !log.is_halted.load(Ordering::Relaxed) {
            let fault = round(connection, log).err();
            is_well = fault.is_none();
            *log.fault.lock() = fault;
        }
    }
}

/// Waits until there may be something to do, for this long if a time is given. `false`: nobody writes any more.
fn is_called(woken: &Receiver<()>, at_most: Option<Duration>) -> bool {
    match at_most {
        None => woken.recv().is_ok(),
        Some(time) => !matches!(woken.recv_timeout(time), Err(RecvTimeoutError::Disconnected)),
    }
}

fn round(connection: &Connection, log: &Log) -> Result<(), String> {
    for _ in 0..COPIES_MAX {
        let _waiting = (log.pages() > LOG_PAGES_MAX).then(|| log.pass());
        let done = copy(connection, "PASSIVE")?;
        if log.pages().saturating_sub(done.copied) <= REST_PAGES {
            break;
        }
    }
    let _waiting = log.pass();
    let done = copy(connection, "FULL")?;
    let left = done.pages.saturating_sub(done.copied);
    log.stuck.store(if left == 0 { 0 } else { done.pages }, Ordering::Relaxed);
    if left > LOG_PAGES_MAX {
        return Err(format!("a reader of the file holds back more than {LOG_PAGES_MAX} pages of the log"));
    }
    Ok(())
}

/// What becomes of a log that is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It is empty.
    Emptied,
    /// All that counts of it is in the database too, but somebody reads, so it is still there.
    Copied,
    /// Some of it is nowhere else.
    Partly,
}

/// Copies all that can be copied now, and empties the log if nobody else needs it.
pub(crate) fn settle(connection: &Connection) -> rusqlite::Result<Settled> {
    let done = checkpoint(connection, "TRUNCATE")?;
    Ok(match done {
        Done { is_busy: false, .. } => Settled::Emptied,
        Done { is_refused: false, pages, copied, .. } if copied >= pages => Settled::Copied,
        Done { .. } => Settled::Partly,
    })
}

/// How many pages are in the log, whoever has written them.
pub(crate) fn pages_in_log(connection: &Connection) -> rusqlite::Result<u32> {
    checkpoint(connection, "NOOP").map(|found| found.pages)
}

/// The same for who must not take a log that cannot be asked for an empty one.
pub(crate) fn frames(connection: &Connection) -> Option<u32> {
    checkpoint(connection, "NOOP").ok().filter(|found| !found.is_busy).map(|found| found.pages)
}

/// Ends what counts of a log that could not be emptied. Behind its last page there may be those of a transaction that has
/// failed, its commit among them: a start that has to read the log, after a crash, would take that for done. A commit that
/// changes nothing is written over its beginning, and the rest of it no longer follows from what is before it.
pub(crate) fn cut(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("BEGIN IMMEDIATE; PRAGMA user_version = {version}; COMMIT"))
}

struct Done {
    /// Somebody else copies, or reads what could be ended otherwise.
    is_busy: bool,
    /// Nothing was done, since somebody else copies.
    is_refused: bool,
    pages: u32,
    copied: u32,
}

fn copy(connection: &Connection, mode: &str) -> Result<Done, String> {
    checkpoint(connection, mode).map_err(|error| format!("checkpoint: {}", reason(&error)))
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Done> {
    connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?.query_row([], |row| {
        let (is_busy, pages, copied): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // -1 stands for a file without a log, and for one that is being copied by somebody else.
        let count = |pages| u32::try_from(pages).unwrap_or(0);
        Ok(Done { is_busy, is_refused: is_busy && pages < 0, pages: count(pages), copied: count(copied) })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::SyncSender;

    use super::*;
    use crate::IfNamesakes;

    /// A database, what it is written with, and what checks it.
    struct Pair {
        writer: Connection,
        beside: Connection,
        log: Arc<Log>,
        woken: Receiver<()>,
    }

    impl Pair {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("petstore-checkpoint-{name}-{}", std::process::id()));
            let _ = std::fs::remove_file(&path);
            crate::files::create(&path).unwrap();
            let (mut writer, _) = connection::writer(&path, Some(1), IfNamesakes::Refuse).unwrap();
            let beside = connection::checkpointer(&path).unwrap();
            let log = Arc::default();
            let woken = watch(&mut writer, &log).unwrap();
            writer.execute_batch("CREATE TABLE ballast (bytes)").unwrap();
            Self { writer, beside, log, woken }
        }

        /// Writes this many pages at least, in one commit.
        fn write(&self, pages: u32) {
            self.writer.execute("INSERT INTO ballast VALUES (zeroblob(?1 * 512))", [pages]).unwrap();
        }

        /// The thread of the checkpoints, which does not rest between tries, and what wakes it. It ends without that.
        fn rounds(&self) -> (SyncSender<()>, JoinHandle<()>) {
            let (wake, woken) = sync_channel(1);
            let beside = connection::checkpointer(Path::new(self.writer.path().unwrap())).unwrap();
            let log = Arc::clone(&self.log);
            (wake, std::thread::spawn(move || run(&beside, &log, &woken, Duration::ZERO)))
        }
    }

    impl Drop for Pair {
        fn drop(&mut self) {
            let path = self.writer.path().map(std::path::PathBuf::from);
            if let Some(path) = path {
                for end in ["", "-wal", "-shm"] {
                    let _ = std::fs::remove_file(format!("{}{end}", path.display()));
                }
            }
        }
    }

    #[test]
    fn a_round_is_due_when_the_log_has_grown_and_begins_it_anew() {
        let pair = Pair::new("due");
        pair.write(ROUND_PAGES / 2);
        assert!(pair.woken.try_recv().is_err());
        pair.write(ROUND_PAGES / 2);
        assert!(pair.woken.try_recv().is_ok() && pair.log.is_due());

        assert_eq!(round(&pair.beside, &pair.log), Ok(()));
        pair.write(1);
        assert!(pair.log.pages() < 10, "{}", pair.log.pages());
        assert!(!pair.log.is_due());
    }

    #[test]
    fn a_reader_holds_the_log_back_and_is_not_waited_for_again_and_again() {
        let pair = Pair::new("reader");
        let path = pair.writer.path().unwrap().to_owned();
        let reader = Connection::open(path).unwrap();
        let old = reader.unchecked_transaction().unwrap();
        let _count: u64 = old.query_row("SELECT count(*) FROM ballast", [], |row| row.get(0)).unwrap();

        pair.write(ROUND_PAGES);
        assert!(pair.log.is_due());
        assert_eq!(round(&pair.beside, &pair.log), Ok(()));
        pair.write(1);
        assert!(pair.log.pages() > ROUND_PAGES && !pair.log.is_due(), "{}", pair.log.pages());
        pair.write(LOG_PAGES_MAX);
        assert!(pair.log.is_due());
        let fault = round(&pair.beside, &pair.log).unwrap_err();
        assert!(fault.starts_with("a reader of the file holds back"), "{fault}");

        drop(old);
        pair.write(ROUND_PAGES);
        assert_eq!(round(&pair.beside, &pair.log), Ok(()));
        pair.write(1);
        assert!(pair.log.pages() < 10, "{}", pair.log.pages());
    }

    #[test]
    fn a_round_that_went_wrong_is_tried_again_though_nobody_writes() {
        let pair = Pair::new("again");
        let path = pair.writer.path().unwrap().to_owned();
        let reader = Connection::open(&path).unwrap();
        let old = reader.unchecked_transaction().unwrap();
        let _count: u64 = old.query_row("SELECT count(*) FROM ballast", [], |row| row.get(0)).unwrap();
        pair.write(LOG_PAGES_MAX + ROUND_PAGES);

        let health = CheckpointHealth::of(&pair.log);
        let (wake, thread) = pair.rounds();
        wake.send(()).unwrap();
        while health.fault().is_none() {
            std::thread::yield_now();
        }
        drop(old);
        while health.fault().is_some() {
            std::thread::yield_now();
        }
        drop(wake);
        thread.join().unwrap();
    }

    #[test]
    fn a_round_that_went_wrong_is_tried_again_when_the_journal_has_been_opened_anew() {
        let pair = Pair::new("anew");
        let health = CheckpointHealth::of(&pair.log);
        *pair.log.fault.lock() = Some("as the thread of before left it".to_owned());
        let (wake, thread) = pair.rounds();
        while health.fault().is_some() {
            std::thread::yield_now();
        }
        drop(wake);
        thread.join().unwrap();
    }

    #[test]
    fn a_log_that_somebody_else_is_copying_is_not_settled() {
        static WAITS: AtomicBool = AtomicBool::new(false);
        static GIVES_UP: AtomicBool = AtomicBool::new(false);
        let pair = Pair::new("copied");
        let path = pair.writer.path().unwrap().to_owned();
        let reader = Connection::open(&path).unwrap();
        let old = reader.unchecked_transaction().unwrap();
        let _count: u64 = old.query_row("SELECT count(*) FROM ballast", [], |row| row.get(0)).unwrap();
        pair.write(10);
        // It has the lock of who copies, and waits for the reader.
        let mut tool = Connection::open(&path).unwrap();
        let wait = |_| {
            WAITS.store(true, Ordering::Relaxed);
            !GIVES_UP.load(Ordering::Relaxed)
        };
        tool.busy_handler(Some(wait)).unwrap();
        let copies = std::thread::spawn(move || checkpoint(&tool, "FULL").map(drop));
        while !WAITS.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let settled = settle(&pair.beside);
        GIVES_UP.store(true, Ordering::Relaxed);
        copies.join().unwrap().unwrap();
        assert_eq!(settled, Ok(Settled::Partly));
        drop(old);
        assert_eq!(settle(&pair.beside), Ok(Settled::Emptied));
    }
}
