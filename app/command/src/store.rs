//! The store of a command: in memory, in a file, or in a PostgreSQL database. Only this module and those below it name the
//! type of a store.

mod commits;
mod data_file;
mod file;
mod health;
mod postgres;
#[cfg(test)]
mod progress_tests;
mod redis;
mod servers;

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_http::{Epoch, IdleTime, TokioTimer};
use petstore_memory::{CommitPause, EventRetention, MemoryStore};
use petstore_ports::{
    Bulk, Clock, Courier, Entropy, EventText, Housekeeping, Resettable, Signer, StoreCounts, StoreError,
    StoreStats, WorkPhase, WorkProgress, WorkUnit,
};
pub(crate) use petstore_postgres::{ClockFault, ClockFaultKind, DatabaseStats, Node, Notice};
use petstore_postgres::{PostgresStore, StartLock};
use petstore_service::{DispatcherPorts, Ports};
use petstore_sqlite::{
    CheckpointHealth, LogPosition, MissingBatches, OpenFiles, OpenOptions, RepairedValues,
};

use self::commits::CommitCounters;
pub(crate) use self::commits::CommitStats;
pub(crate) use self::data_file::DataFile;
pub(crate) use self::file::{IF_LOG_DAMAGED, check_readable, check_usable, open_readable};
pub(crate) use self::postgres::{check_made, examine, nodes_of};
pub(crate) use self::redis::{RedisStore, check_server};
use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::migration_report;
use crate::progress::unwatched;
use crate::settings::Db;
use crate::terminal::notify;

/// The advice for a command that finds no server although another process uses the data file.
pub(crate) const NAME_ITS_SOCKET: &str =
    "if that process is a server, name its --admin-socket, else wait until it ends";

/// The store behind the ports.
enum Kind {
    /// In memory, perhaps with a journal in a file.
    Local(Arc<MemoryStore>),
    /// In a database that other nodes share. `meters` counts the quotas of this node, and its requests without a key.
    Shared { store: Arc<PostgresStore>, meters: Arc<MemoryStore> },
}

/// The options for opening a store.
#[derive(Debug, Clone, Default)]
pub(crate) struct BackendOptions {
    /// The options for opening a data file.
    pub(crate) file: OpenOptions,
    /// `true` to open the store for a sandbox. A schema must then be new, or must have been used only by sandboxes.
    pub(crate) is_sandbox: bool,
}

/// An open store as its ports, and its data file.
pub(crate) struct Backend {
    kind: Kind,
    /// The epoch in entity tags and cursors. A store that nodes share may change it.
    pub(crate) epoch: Epoch,
    /// Counters of commits to the file or to the database; none in memory.
    pub(crate) commits: Option<Arc<CommitCounters>>,
    /// The data file, which can be read while the store is open; none without a file.
    files: Option<OpenFiles>,
    /// The state of checkpoints; none without a file.
    checkpoints: Option<CheckpointHealth>,
    /// The place where the log was damaged, if the changes after that place were dropped.
    pub(crate) dropped: Option<LogPosition>,
    /// The batches that the data file and its log lacked, if the store was opened without them.
    pub(crate) missing: Option<MissingBatches>,
    /// Values of an older version that were corrected.
    pub(crate) mended: RepairedValues,
    /// The quotas in Redis; none if this process counts for itself.
    redis: Option<RedisStore>,
    /// The display of long work on the store.
    progress: Arc<dyn WorkProgress>,
}

impl Backend {
    /// Opens the store for a command, and creates it if it is missing. The events of a data file are checked only before the
    /// file is migrated, because a long log takes seconds. `if_in_use` is the advice for the case that another process
    /// uses the store. `idle` receives the idle time of the server's threads. Corrected values are reported on standard
    /// error. Blocks, so it must not be called on a thread of a runtime.
    pub(crate) fn open(
        db: &Db,
        if_in_use: &str,
        idle: IdleTime,
        progress: &Arc<dyn WorkProgress>,
    ) -> Result<Self, Failure> {
        let opened = Self::open_with(db, if_in_use, idle, &BackendOptions::default(), progress)?;
        if let Kind::Local(store) = &opened.kind {
            store.accept_unread().map_err(|error| unusable(db, &error))?;
        }
        for line in migration_report::lines(&opened.mended) {
            notify(&line);
        }
        for notice in opened.take_notices() {
            notify(&notice.text);
        }
        Ok(opened)
    }

    /// Opens the store with options. The caller accepts it, and reports corrected values. Blocks like [`Backend::open`].
    pub(crate) fn open_with(
        db: &Db,
        if_in_use: &str,
        idle: IdleTime,
        options: &BackendOptions,
        progress: &Arc<dyn WorkProgress>,
    ) -> Result<Self, Failure> {
        let seed = SystemEntropy::number().map_err(|error| Failure::because(error.report()))?;
        let opened = match db {
            Db::Memory => Self::in_memory(seed),
            Db::File(file) => file::open_file(file, seed, if_in_use, idle, options.file, progress)?,
            Db::Postgres(target) => postgres::open(target, seed, options.is_sandbox, &**progress)?,
        };
        Ok(Self { progress: Arc::clone(progress), ..opened })
    }

    /// Makes the migration of a data file durable. Until then a refused start leaves the file as it was. A database is
    /// migrated when it is opened. Blocks.
    pub(crate) fn accept(&self, db: &Db) -> Result<(), Failure> {
        let Kind::Local(store) = &self.kind else { return Ok(()) };
        let name = "checking the events of the data file";
        self.progress.begin(WorkPhase { name, unit: WorkUnit::Time, total: None });
        let accepted = store.accept();
        self.progress.end();
        accepted.map_err(|error| unusable(db, &error))
    }

    /// Returns an empty store in memory, in which a shop is checked or made before it is used.
    pub(crate) fn scratch() -> Box<dyn Bulk> {
        Box::new(MemoryStore::new())
    }

    /// Returns an empty store in memory.
    pub(crate) fn in_memory(epoch: u64) -> Self {
        Self::of(Kind::Local(Arc::new(MemoryStore::with_epoch(epoch))), epoch)
    }

    fn of(kind: Kind, epoch: impl Into<Epoch>) -> Self {
        Self {
            kind,
            epoch: epoch.into(),
            commits: None,
            files: None,
            checkpoints: None,
            dropped: None,
            missing: None,
            mended: RepairedValues::default(),
            redis: None,
            progress: unwatched(),
        }
    }

    /// Sets how long events are kept, and the maximum size of all events in bytes. Without `bytes`, the default size
    /// for this kind of store applies.
    pub(crate) fn set_event_retention(&self, age: Duration, bytes: Option<u64>) {
        match &self.kind {
            Kind::Local(store) => {
                let default =
                    if self.files.is_some() { EventRetention::IN_JOURNAL } else { EventRetention::IN_MEMORY };
                let bytes = bytes.unwrap_or(default.bytes);
                store.set_event_retention(EventRetention { age, bytes });
            }
            Kind::Shared { store, .. } => postgres::set_event_retention(store, age, bytes),
        }
    }

    /// The clock by which records of this store expire: the database's, if nodes share the store, else the machine's. From
    /// now on the machine's clock is compared with the database's.
    pub(crate) fn clock(&self, machine: Arc<dyn Clock>) -> Arc<dyn Clock> {
        match &self.kind {
            Kind::Local(_) => machine,
            Kind::Shared { store, .. } => store.clock(machine),
        }
    }

    /// The ports for a service.
    pub(crate) fn ports(&self, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Ports {
        let timer = Arc::new(TokioTimer::new());
        match &self.kind {
            Kind::Local(store) => Ports::of_one_store(Arc::clone(store), clock, entropy, timer),
            Kind::Shared { store, meters } => {
                let ports = postgres::ports(store, meters, clock, entropy, timer);
                match &self.redis {
                    Some(redis) => {
                        let store = Arc::clone(store);
                        redis.count_for(ports, Box::new(move || store.live_nodes()))
                    }
                    None => ports,
                }
            }
        }
    }

    /// The ports of a dispatcher of webhooks.
    pub(crate) fn dispatcher_ports(
        &self,
        courier: Arc<dyn Courier>,
        signer: Arc<dyn Signer>,
        text: Arc<dyn EventText>,
        clock: Arc<dyn Clock>,
    ) -> DispatcherPorts {
        let timer = Arc::new(TokioTimer::new());
        match &self.kind {
            Kind::Local(store) => DispatcherPorts::of_one_store(store, courier, signer, text, clock, timer),
            Kind::Shared { store, .. } => {
                DispatcherPorts::of_one_store(store, courier, signer, text, clock, timer)
            }
        }
    }

    /// The number of the shop in a database, which all nodes share and which stays the same; none if it has none.
    pub(crate) fn shop_number(&self) -> Option<&str> {
        match &self.kind {
            Kind::Local(_) => None,
            Kind::Shared { store, .. } => store.shop_number(),
        }
    }

    /// Counts quotas in Redis from now on, for the ports that are made afterwards.
    pub(crate) fn set_redis(&mut self, redis: RedisStore) {
        self.redis = Some(redis);
    }

    /// The port for import and export.
    pub(crate) fn bulk(&self) -> &dyn Bulk {
        match &self.kind {
            Kind::Local(store) => &**store,
            Kind::Shared { store, .. } => &**store,
        }
    }

    /// The port for import and export, for an owner that outlives the caller.
    pub(crate) fn shared_bulk(&self) -> Arc<dyn Bulk> {
        match &self.kind {
            Kind::Local(store) => Arc::clone(store) as _,
            Kind::Shared { store, .. } => Arc::clone(store) as _,
        }
    }

    /// The display of long work on the store.
    pub(crate) fn progress(&self) -> &Arc<dyn WorkProgress> {
        &self.progress
    }

    /// The counts of the store, with the bans that this process has begun.
    pub(crate) fn counts(&self) -> StoreCounts {
        match &self.kind {
            Kind::Local(store) => store.counts(),
            Kind::Shared { store, meters } => {
                let in_redis = self.redis.as_ref().map_or(0, |redis| redis.quotas().bans());
                StoreCounts { bans: meters.counts().bans + in_redis, ..store.counts() }
            }
        }
    }

    /// The port for housekeeping.
    pub(crate) fn housekeeping(&self) -> &dyn Housekeeping {
        match &self.kind {
            Kind::Local(store) => &**store,
            Kind::Shared { store, .. } => &**store,
        }
    }

    /// The port for resets.
    pub(crate) fn resettable(&self) -> Arc<dyn Resettable> {
        match &self.kind {
            Kind::Local(store) => Arc::clone(store) as _,
            Kind::Shared { store, meters } => {
                let quotas = self.redis.as_ref().map(RedisStore::quotas);
                let shared = postgres::resettable(store, meters, quotas);
                match &self.redis {
                    Some(redis) => redis.reset_with(shared),
                    None => shared,
                }
            }
        }
    }

    /// Begins a new epoch of a shop that nodes share. Blocks.
    pub(crate) fn begin_epoch(&self) -> Result<(), StoreError> {
        match &self.kind {
            Kind::Local(_) => {
                Err(StoreError::unavailable("only a database has an epoch that can be renewed"))
            }
            Kind::Shared { store, .. } => store.begin_epoch().map(drop),
        }
    }

    /// Pauses commits, so that the whole store can be read as of one moment; none if other nodes share the store. Blocks.
    pub(crate) fn pause_commits(&self) -> Option<Result<CommitPause<'_>, StoreError>> {
        match &self.kind {
            Kind::Local(store) => Some(store.pause_commits()),
            Kind::Shared { .. } => None,
        }
    }

    /// Returns whether an export through [`Self::bulk`] blocks writes.
    pub(crate) fn export_blocks_writes(&self) -> bool {
        matches!(self.kind, Kind::Local(_))
    }

    /// Forgets usage and bans that are dated later than `now`. Returns the number of accounts with such usage.
    pub(crate) fn forget_usage_after(&self, now: Timestamp) -> Result<usize, StoreError> {
        match &self.kind {
            Kind::Local(store) => store.forget_usage_after(now),
            // The usage that a node counts begins at zero when the node starts, so there is nothing to forget.
            Kind::Shared { .. } => Ok(0),
        }
    }

    /// Returns whether only sandboxes have used the schema; none for a store that no other node shares. (A data file
    /// has its mark in a file beside it.)
    pub(crate) fn is_sandbox_schema(&self) -> Option<bool> {
        match &self.kind {
            Kind::Local(_) => None,
            Kind::Shared { store, .. } => Some(store.is_sandbox()),
        }
    }

    /// Removes the mark of a sandbox from a schema. Blocks.
    pub(crate) fn disclaim_schema(&self) -> Result<(), StoreError> {
        match &self.kind {
            Kind::Local(_) => Ok(()),
            Kind::Shared { store, .. } => store.disclaim_sandbox(),
        }
    }

    /// Takes the lock that only one node of a store holds while it makes the first key. Blocks.
    pub(crate) fn lock_start(&self) -> Result<Option<StartLock>, StoreError> {
        match &self.kind {
            Kind::Local(_) => Ok(None),
            Kind::Shared { store, .. } => store.lock_start().map(Some),
        }
    }

    /// Registers the server as a node of the database, with the address at which it serves and the settings that should be
    /// the same on all nodes. Returns the nodes that were registered before. Blocks.
    pub(crate) fn join(&self, address: String, settings: Vec<String>) -> Result<Vec<Node>, Failure> {
        match &self.kind {
            Kind::Local(_) => Ok(Vec::new()),
            Kind::Shared { store, .. } => postgres::join(store, address, settings),
        }
    }

    /// Replaces the settings with which the server is registered as a node.
    pub(crate) fn set_node_settings(&self, settings: Vec<String>) {
        if let Kind::Shared { store, .. } = &self.kind {
            store.set_node_settings(settings);
        }
    }

    /// Statistics of the database and its connections; none if no other node shares the store.
    pub(crate) fn database_stats(&self) -> Option<DatabaseStats> {
        match &self.kind {
            Kind::Local(_) => None,
            Kind::Shared { store, .. } => Some(store.database_stats()),
        }
    }

    /// Returns whether other nodes may share the store.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.kind, Kind::Shared { .. })
    }

    /// Closes the store. Queued writes are committed, and usage and bans are stored. Blocks until that is done.
    pub(crate) fn close(&self) {
        match &self.kind {
            Kind::Local(store) => store.close(),
            // After the last answer a node has no queued writes, and it stores no usage. It only removes its row.
            Kind::Shared { store, .. } => store.leave(),
        }
    }

    /// The data file; none without a file.
    pub(crate) fn file(&self) -> Option<DataFile<'_>> {
        self.files.as_ref().map(DataFile::new)
    }
}

fn unusable(db: &Db, error: &StoreError) -> Failure {
    Failure::because(format!("{db} cannot be used: {}", error.report()))
}
