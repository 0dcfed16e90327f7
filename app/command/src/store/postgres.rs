//! The store in a PostgreSQL database.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{KeyId, Timestamp};
use petstore_http::TokioTimer;
use petstore_memory::MemoryStore;
use petstore_ports::{Clock, Entropy, Resettable, Row, StoreError, WorkProgress};
use petstore_postgres::{
    CommitObserver, EventRetention, Examined, NewNode, Node, OpenError, Options, PostgresStore, SchemaState,
    Target,
};
use petstore_redis::RedisQuotas;
use petstore_service::{OnQuotaOutage, Ports};

use super::commits::CommitCounters;
use super::{Backend, Kind};
use crate::environment::host_name;
use crate::failure::Failure;
use crate::settings::Db;
use crate::{tls, version};

/// Opens the schema, and creates or migrates it.
pub(super) fn open(
    target: &Target,
    seed: u64,
    is_sandbox: bool,
    progress: &dyn WorkProgress,
) -> Result<Backend, Failure> {
    let target = with_tls(target)?;
    let options = Options { schema: target.schema().to_owned(), seed };
    let name = target.to_string();
    let opened = PostgresStore::open_watched(target, options, is_sandbox, progress);
    let store = opened.map_err(|error| unusable(&name, &error))?;
    let epoch = Arc::clone(store.live_epoch());
    let meters = Arc::new(MemoryStore::with_epoch(store.epoch()));
    let commits = Arc::<CommitCounters>::default();
    store.observe_commits(Arc::clone(&commits) as _);
    let backend = Backend::of(Kind::Shared { store: Arc::new(store), meters }, epoch);
    Ok(Backend { commits: Some(commits), ..backend })
}

impl CommitObserver for CommitCounters {
    fn committed(&self, operations: usize, took: Duration) {
        self.add(operations, took, true);
    }

    fn failed(&self) {
        self.add(0, Duration::ZERO, false);
    }
}

/// Registers a server as a node of the database. Returns the nodes that were registered before.
pub(super) fn join(
    store: &PostgresStore,
    address: String,
    settings: Vec<String>,
) -> Result<Vec<Node>, Failure> {
    // The other nodes are read only for warnings.
    let others = store.nodes().unwrap_or_default();
    let node = NewNode { version: version::NUMBER.to_owned(), host: host_name(), address, settings };
    store.join(node).map_err(|error| Failure::because(report(&error)))?;
    Ok(others)
}

/// Lists the nodes of a database without changing it; none if it has no table of nodes.
pub(crate) fn nodes_of(target: &Target) -> Result<Option<Vec<Node>>, Failure> {
    petstore_postgres::nodes(with_tls(target)?).map_err(|error| unusable(&target.to_string(), &error))
}

/// Checks a database for a server or for a sandbox, without changing it.
pub(crate) fn examine(target: &Target, is_sandbox: bool) -> Result<Examined, Failure> {
    let examine = if is_sandbox { petstore_postgres::examine_sandbox } else { petstore_postgres::examine };
    examine(with_tls(target)?).map_err(|error| unusable(&target.to_string(), &error))
}

/// Refuses a schema without tables. A command that only reads or changes records must not create tables, because the
/// name of the schema may be misspelt.
pub(crate) fn check_made(db: &Db) -> Result<(), Failure> {
    let Db::Postgres(target) = db else { return Ok(()) };
    match examine(target, false)?.schema {
        SchemaState::Made { .. } => Ok(()),
        SchemaState::New => Err(Failure::because(format!(
            "the schema {} of {target} has no tables: start a server with `petstore serve`, or name another schema in the URL",
            target.schema()
        ))),
    }
}

/// Returns the target with the TLS configuration that its connections need.
fn with_tls(target: &Target) -> Result<Target, Failure> {
    let roots = tls::client::roots(target.roots(), "sslrootcert in the URL of db")?;
    let mut target = target.clone();
    target.set_tls(tls::provider(), roots).map_err(|error| tls::client::unusable(&error))?;
    Ok(target)
}

fn unusable(name: &str, error: &OpenError) -> Failure {
    // The driver says so before it asks the server.
    const MISSING: &str = "password missing";
    match error {
        error if report(error).contains(MISSING) => Failure::because(format!(
            "{name} cannot be used: the role needs a password: set PETSTORE_DB_PASSWORD, or name a file that holds it in \
             db-password-file"
        )),
        OpenError::NotASandbox { .. } => Failure::usage(format!("{name}: {error}")),
        error => Failure::because(format!("{name} cannot be used: {}", report(error))),
    }
}

/// The message of an error, followed by the messages of all its sources.
fn report(error: &OpenError) -> String {
    match error {
        OpenError::Store(error) => error.report(),
        error => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

/// Sets how long events are kept, and the maximum number of bytes of all events.
pub(super) fn set_event_retention(store: &PostgresStore, age: Duration, bytes: Option<u64>) {
    let bytes = bytes.unwrap_or(EventRetention::DEFAULT.bytes);
    store.set_event_retention(EventRetention { age, bytes });
}

/// The ports of a node. Quotas are counted in its memory.
pub(super) fn ports(
    store: &Arc<PostgresStore>,
    meters: &Arc<MemoryStore>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    timer: Arc<TokioTimer>,
) -> Ports {
    Ports {
        transactor: Arc::clone(store) as _,
        pets: Arc::clone(store) as _,
        categories: Arc::clone(store) as _,
        orders: Arc::clone(store) as _,
        events: Arc::clone(store) as _,
        feed: Arc::clone(store) as _,
        keys: Arc::clone(store) as _,
        directory: Arc::clone(store) as _,
        idempotency: Arc::clone(store) as _,
        quotas: Arc::clone(meters) as _,
        addresses: Arc::clone(meters) as _,
        on_quota_outage: OnQuotaOutage::Refuse,
        health: Arc::clone(store) as _,
        quota_health: None,
        clock,
        entropy,
        timer,
    }
}

/// The port for resets. It resets the schema and the counts of this node, and voids the bans that this node or `redis` has
/// begun.
pub(super) fn resettable(
    store: &Arc<PostgresStore>,
    meters: &Arc<MemoryStore>,
    redis: Option<&Arc<RedisQuotas>>,
) -> Arc<dyn Resettable> {
    Arc::new(Reset { store: Arc::clone(store), meters: Arc::clone(meters), redis: redis.cloned() })
}

struct Reset {
    store: Arc<PostgresStore>,
    meters: Arc<MemoryStore>,
    redis: Option<Arc<RedisQuotas>>,
}

impl Reset {
    /// The bans that have begun and may not be recorded, each with its key and its start.
    fn begun_bans(&self) -> Vec<(KeyId, Timestamp)> {
        let mut begun = self.meters.begun_bans();
        begun.extend(self.redis.iter().flat_map(|redis| redis.begun_bans()));
        begun
    }
}

impl Resettable for Reset {
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError> {
        self.store.reset_with_bans(&shop, epoch, self.begun_bans())?;
        self.meters.forget_meters();
        Ok(())
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        self.store.forget_usage_with_bans(self.begun_bans())?;
        self.meters.forget_meters();
        Ok(())
    }
}
