//! The shop of a case: a separate schema, and handles on the schema like those of nodes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use petstore_memory::MemoryStore;
use petstore_ports::{Resettable, Row, StoreError};
use petstore_postgres::{Options, PostgresStore, Target};
use petstore_test_servers::{PgBouncer, Postgres};
use petstore_tests::{AnotherHandle, PortsOf, ResetSubject, Subject, WebhookSubject};

/// The shop of one case.
pub(crate) struct Shop {
    server: &'static Postgres,
    /// The pooler that the stores use; none if they use the server itself.
    pooler: Option<&'static PgBouncer>,
    schema: String,
}

/// The connections of the pooler to the server. They are fewer than the clients of a case, so that clients share them.
const POOLED_CONNECTIONS: u32 = 12;

/// The time that a store of the suite waits for an answer. The suite judges the contract, and the machine may be busy with
/// other tests.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// The pooler that all cases share.
static POOLER: OnceLock<Option<PgBouncer>> = OnceLock::new();

impl Shop {
    /// A new shop. None without PostgreSQL or a pooler that was chosen, after the case was reported as skipped.
    #[track_caller]
    pub(crate) fn new() -> Option<Arc<Self>> {
        let server = Postgres::shared()?;
        let pooler = match std::env::var("PETSTORE_TEST_STORE").as_deref() {
            Ok("pooler") => {
                Some(POOLER.get_or_init(|| PgBouncer::start(server, POOLED_CONNECTIONS)).as_ref()?)
            }
            _ => None,
        };
        Some(Arc::new(Self { server, pooler, schema: server.new_schema() }))
    }

    /// Runs SQL in the schema, as a superuser.
    pub(crate) fn sql(&self, sql: &str) {
        self.server.sql(&format!("set search_path = {}; {sql}", self.schema));
    }

    /// Runs one statement, which may commit, as a superuser. `{schema}` in the statement stands for the schema.
    pub(crate) fn statement(&self, sql: &str) {
        self.server.sql(&sql.replace("{schema}", &self.schema));
    }

    /// Opens a store on the schema, as a node does at its start.
    async fn open_store(&self) -> Arc<PostgresStore> {
        static SEED: AtomicU64 = AtomicU64::new(0x5EED);
        let url = self.pooler.map_or_else(|| self.server.url(), PgBouncer::url);
        let mut target = Target::parse(&url).expect("the URL of the server");
        target.set_prepares(self.pooler.is_none());
        target.set_answer_time(ANSWER_TIME);
        let options = Options { schema: self.schema.clone(), seed: SEED.fetch_add(1, Ordering::Relaxed) };
        let opened = tokio::task::spawn_blocking(move || PostgresStore::open(target, options)).await;
        Arc::new(opened.expect("opening does not panic").expect("the store can be opened"))
    }

    /// Opens the store, and further handles on demand.
    pub(crate) async fn open(self: &Arc<Self>) -> Subject {
        subject(&self.open_store().await, &Arc::default(), self)
    }

    /// Opens the store like [`open`](Self::open), together with the port that resets it.
    pub(crate) async fn open_with_reset(self: &Arc<Self>) -> ResetSubject {
        let (store, meters) = (self.open_store().await, Arc::default());
        let subject = subject(&store, &meters, self);
        ResetSubject { subject, ports: Arc::new(StoreAndMeters { store, meters }) }
    }
}

impl Shop {
    /// Opens the store like [`open`](Self::open), together with the ports of webhooks.
    pub(crate) async fn open_with_webhooks(self: &Arc<Self>) -> WebhookSubject {
        let store = self.open_store().await;
        let subject = subject(&store, &Arc::default(), self);
        WebhookSubject { subject, ports: PortsOf::of(&store) }
    }
}

#[async_trait]
impl AnotherHandle for Shop {
    async fn open(&self) -> Subject {
        let another =
            Arc::new(Self { server: self.server, pooler: self.pooler, schema: self.schema.clone() });
        subject(&self.open_store().await, &Arc::default(), &another)
    }
}

/// The reset of a node: its meters are reset with the shop.
struct StoreAndMeters {
    store: Arc<PostgresStore>,
    meters: Arc<MemoryStore>,
}

impl Resettable for StoreAndMeters {
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError> {
        self.store.reset_with_bans(&shop, epoch, self.meters.begun_bans())?;
        self.meters.forget_meters();
        Ok(())
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        self.store.forget_usage_with_bans(self.meters.begun_bans())?;
        self.meters.forget_meters();
        Ok(())
    }
}

/// The ports of one node.
fn subject(store: &Arc<PostgresStore>, meters: &Arc<MemoryStore>, shop: &Arc<Shop>) -> Subject {
    Subject {
        transactor: Arc::clone(store) as _,
        pets: Arc::clone(store) as _,
        categories: Arc::clone(store) as _,
        orders: Arc::clone(store) as _,
        events: Arc::clone(store) as _,
        feed: Arc::clone(store) as _,
        keys: Arc::clone(store) as _,
        accounts: Arc::clone(store) as _,
        idempotency: Arc::clone(store) as _,
        quotas: Arc::clone(meters) as _,
        addresses: Arc::clone(meters) as _,
        housekeeping: Arc::clone(store) as _,
        another: Some(Arc::clone(shop) as _),
    }
}
