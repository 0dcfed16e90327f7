//! Tests of the checkpoints.

use std::sync::mpsc::SyncSender;

use super::*;
use crate::NameCollisions;

/// A database with the connections of the writer and of the checkpoints.
struct TestDatabase {
    writer: Connection,
    checkpoints: Connection,
    log: Arc<LogState>,
    woken: Receiver<()>,
}

impl TestDatabase {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("petstore-checkpoint-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        crate::files::create(&path).unwrap();
        let mut writer =
            connection::writer(&path, Some(1), NameCollisions::Refuse, &petstore_ports::Unwatched)
                .unwrap()
                .connection;
        let checkpoints = connection::checkpointer(&path).unwrap();
        let log = Arc::default();
        let woken = count_commits(&mut writer, &log).unwrap();
        writer.execute_batch("CREATE TABLE filler (bytes)").unwrap();
        Self { writer, checkpoints, log, woken }
    }

    /// Writes at least this many pages, in one commit.
    fn write(&self, pages: u32) {
        self.writer.execute("INSERT INTO filler VALUES (zeroblob(?1 * 512))", [pages]).unwrap();
    }

    /// Starts a checkpoint thread that retries without a delay. Returns the sender that wakes it. The thread ends
    /// when the sender is dropped.
    fn rounds(&self) -> (SyncSender<()>, JoinHandle<()>) {
        let (wake, woken) = sync_channel(1);
        let connection = connection::checkpointer(Path::new(self.writer.path().unwrap())).unwrap();
        let log = Arc::clone(&self.log);
        (wake, std::thread::spawn(move || run(&connection, &log, &woken, Duration::ZERO)))
    }
}

impl Drop for TestDatabase {
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
fn a_round_is_due_when_the_log_has_grown_and_restarts_the_log() {
    let database = TestDatabase::new("due");
    database.write(ROUND_PAGES / 2);
    assert!(database.woken.try_recv().is_err());
    database.write(ROUND_PAGES / 2);
    assert!(database.woken.try_recv().is_ok() && database.log.is_due());

    assert_eq!(round(&database.checkpoints, &database.log), Ok(()));
    database.write(1);
    assert!(database.log.pages() < 10, "{}", database.log.pages());
    assert!(!database.log.is_due());
}

#[test]
fn a_reader_keeps_the_log_and_no_round_is_due_before_it_has_grown_again() {
    let database = TestDatabase::new("reader");
    let path = database.writer.path().unwrap().to_owned();
    let reader = Connection::open(path).unwrap();
    let old = reader.unchecked_transaction().unwrap();
    let _count: u64 = old.query_row("SELECT count(*) FROM filler", [], |row| row.get(0)).unwrap();

    database.write(ROUND_PAGES);
    assert!(database.log.is_due());
    assert_eq!(round(&database.checkpoints, &database.log), Ok(()));
    database.write(1);
    assert!(database.log.pages() > ROUND_PAGES && !database.log.is_due(), "{}", database.log.pages());
    database.write(LOG_PAGES_MAX);
    assert!(database.log.is_due());
    let fault = round(&database.checkpoints, &database.log).unwrap_err();
    assert!(fault.starts_with("a reader of the data file keeps"), "{fault}");

    drop(old);
    database.write(ROUND_PAGES);
    assert_eq!(round(&database.checkpoints, &database.log), Ok(()));
    database.write(1);
    assert!(database.log.pages() < 10, "{}", database.log.pages());
}

#[test]
fn a_failed_round_is_retried_without_writes() {
    let database = TestDatabase::new("again");
    let path = database.writer.path().unwrap().to_owned();
    let reader = Connection::open(&path).unwrap();
    let old = reader.unchecked_transaction().unwrap();
    let _count: u64 = old.query_row("SELECT count(*) FROM filler", [], |row| row.get(0)).unwrap();
    database.write(LOG_PAGES_MAX + ROUND_PAGES);

    let health = CheckpointHealth::of(&database.log);
    let (wake, thread) = database.rounds();
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
fn a_failed_round_is_retried_after_a_reopen() {
    let database = TestDatabase::new("reopened");
    let health = CheckpointHealth::of(&database.log);
    *database.log.fault.lock() = Some("left by the previous thread".to_owned());
    let (wake, thread) = database.rounds();
    while health.fault().is_some() {
        std::thread::yield_now();
    }
    drop(wake);
    thread.join().unwrap();
}

#[test]
fn a_log_in_the_checkpoint_of_another_connection_is_not_copied() {
    static WAITS: AtomicBool = AtomicBool::new(false);
    static GIVES_UP: AtomicBool = AtomicBool::new(false);
    let database = TestDatabase::new("copied");
    let path = database.writer.path().unwrap().to_owned();
    let reader = Connection::open(&path).unwrap();
    let old = reader.unchecked_transaction().unwrap();
    let _count: u64 = old.query_row("SELECT count(*) FROM filler", [], |row| row.get(0)).unwrap();
    database.write(10);
    // The tool holds the checkpoint lock and waits for the reader.
    let mut tool = Connection::open(&path).unwrap();
    let wait = |_| {
        WAITS.store(true, Ordering::Relaxed);
        !GIVES_UP.load(Ordering::Relaxed)
    };
    tool.busy_handler(Some(wait)).unwrap();
    let tool = std::thread::spawn(move || checkpoint(&tool, "FULL").map(drop));
    while !WAITS.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    let copied = copy_and_empty(&database.checkpoints);
    GIVES_UP.store(true, Ordering::Relaxed);
    tool.join().unwrap().unwrap();
    assert_eq!(copied, Ok(LogCopy::Partial));
    drop(old);
    assert_eq!(copy_and_empty(&database.checkpoints), Ok(LogCopy::Emptied));
}
