//! The suite on the store in memory with its journal in a SQLite file, on this machine's own disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use petstore_domain::Timestamp;
use petstore_memory::MemoryStore;
use petstore_ports::{Housekeeping, StoreError};
use petstore_sqlite::SqliteJournal;
use petstore_tests::{
    DurableSubject, ImportSubject, PortsOf, ResetSubject, Subject, WebhookSubject, durable_conformance,
    import_conformance, reset_conformance, store_conformance, webhook_conformance,
};

store_conformance!(open(&Folder::new()));
reset_conformance!({
    let folder = Folder::new();
    let store = open_store(&folder);
    ResetSubject { subject: subject_of(&store, &folder), ports: store }
});
import_conformance!({
    let folder = Folder::new();
    let store = open_store(&folder);
    ImportSubject { subject: subject_of(&store, &folder), ports: store }
});
webhook_conformance!({
    let folder = Folder::new();
    let store = open_store(&folder);
    WebhookSubject { subject: subject_of(&store, &folder), ports: PortsOf::of(&store) }
});
durable_conformance!(Box::new(DurableStore(Folder::new())));

/// A temporary folder, removed with its last user.
#[derive(Clone)]
struct Folder(Arc<RemovedOnDrop>);

struct RemovedOnDrop(PathBuf);

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        let removed = std::fs::remove_dir_all(&self.0);
        assert!(removed.is_ok() || std::thread::panicking(), "{}: {removed:?}", self.0.display());
    }
}

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("petstore-suite-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(Arc::new(RemovedOnDrop(path)))
    }

    fn file(&self) -> PathBuf {
        self.path().join("petstore.db")
    }

    fn path(&self) -> &Path {
        &self.0.0
    }
}

fn open_store(folder: &Folder) -> Arc<MemoryStore> {
    let journal = SqliteJournal::open(folder.file(), 0x5EED).expect("the file can be opened");
    let opened = MemoryStore::open(Box::new(journal)).expect("the journal can be opened");
    Arc::new(opened.store)
}

fn open(folder: &Folder) -> Subject {
    subject_of(&open_store(folder), folder)
}

/// The ports of a store. They keep its folder, because a store whose file was removed accepts no writes.
fn subject_of(store: &Arc<MemoryStore>, folder: &Folder) -> Subject {
    let store_with_folder = StoreWithFolder { store: Arc::clone(store), _folder: folder.clone() };
    Subject { housekeeping: Arc::new(store_with_folder), ..Subject::of(store) }
}

/// A store that keeps its folder from being removed.
struct StoreWithFolder {
    store: Arc<MemoryStore>,
    _folder: Folder,
}

#[async_trait]
impl Housekeeping for StoreWithFolder {
    async fn drop_expired(&self, now: Timestamp) -> Result<usize, StoreError> {
        self.store.drop_expired(now).await
    }

    async fn note_usage(&self) -> Result<(), StoreError> {
        self.store.note_usage().await
    }

    async fn watch(&self, now: Timestamp) -> Result<(), StoreError> {
        self.store.watch(now).await
    }
}

/// A store in memory with its journal in a file.
struct DurableStore(Folder);

#[async_trait]
impl DurableSubject for DurableStore {
    async fn open(&self) -> Subject {
        open(&self.0)
    }

    /// Copies the files as a kill of the process at this moment would leave them. The tests of the binary check, call
    /// by call, that every acknowledged write is also synced.
    async fn after_power_cut(&self) -> Box<dyn DurableSubject> {
        let copy = Folder::new();
        for name in ["petstore.db", "petstore.db-wal"] {
            let from = self.0.path().join(name);
            if from.exists() {
                std::fs::copy(from, copy.path().join(name)).unwrap();
            }
        }
        Box::new(Self(copy))
    }
}
