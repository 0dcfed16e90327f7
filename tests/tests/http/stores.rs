//! The store under the petstore of a test: in memory, or the same schema of a PostgreSQL database for one node or for two.
//!
//! The variable `PETSTORE_TEST_STORE` chooses the store for the whole run: `memory` (the default), `postgres`, `two-nodes`,
//! or `two-nodes-redis`, where the quotas are in Redis. With two nodes the tests talk to a proxy that gives its connections
//! to the two nodes in turn.

mod redis;

use std::env;
use std::sync::Arc;
use std::thread;

use petstore_http::{JsonEvents, TokioTimer};
use petstore_memory::MemoryStore;
use petstore_ports::{Clock, Courier, Entropy, Quotas, Resettable, Signer};
use petstore_postgres::{Options, PostgresStore, Target};
use petstore_service::{DispatcherPorts, OnQuotaOutage, Ports};
use petstore_test_servers::Postgres;

/// The variable that chooses the store.
const VARIABLE: &str = "PETSTORE_TEST_STORE";

/// The store of each node, and the port that resets all of them.
pub(crate) struct Nodes {
    pub(crate) stores: Vec<NodeStore>,
    pub(crate) resettable: Arc<dyn Resettable>,
}

/// The store of one node.
pub(crate) enum NodeStore {
    Memory(Arc<MemoryStore>),
    /// A handle on the shared schema, the quotas, and the meters that count addresses.
    Postgres {
        store: Arc<PostgresStore>,
        quotas: Arc<dyn Quotas>,
        meters: Arc<MemoryStore>,
    },
}

impl Nodes {
    /// Opens the chosen store once for each node. The store is empty. `epoch` is the epoch of its event log.
    pub(crate) fn open(epoch: u64) -> Self {
        match env::var(VARIABLE).as_deref() {
            Err(env::VarError::NotPresent) | Ok("memory") => {
                let store = Arc::new(MemoryStore::with_epoch(epoch));
                Self { stores: vec![NodeStore::Memory(Arc::clone(&store))], resettable: store }
            }
            Ok("postgres") => Self::on_postgres(epoch, 1),
            Ok("two-nodes") => Self::on_postgres(epoch, 2),
            Ok("two-nodes-redis") => Self::on_redis(epoch, 2),
            other => {
                panic!("{VARIABLE} is {other:?}; set it to memory, postgres, two-nodes or two-nodes-redis")
            }
        }
    }

    fn on_postgres(epoch: u64, count: u64) -> Self {
        let server = Postgres::shared().expect("the chosen store needs PostgreSQL");
        let schema = server.new_schema();
        let open = |node| {
            // The first node creates the tables, and its seed becomes the epoch of the store. This seed is `epoch`,
            // because its `node` is 0.
            let options = Options { schema: schema.clone(), seed: epoch ^ node };
            let target = Target::parse(&server.url()).expect("the URL of the server");
            // The store is opened on another thread, because the test may run on a thread of a runtime, which must not
            // be blocked.
            let opened = thread::spawn(move || PostgresStore::open(target, options)).join();
            Arc::new(opened.expect("opening does not panic").expect("the store can be opened"))
        };
        let stores: Vec<_> = (0..count).map(open).collect();
        let resettable = Arc::clone(&stores[0]) as _;
        // All nodes share one store that counts the quotas, so that the tests of quotas also pass with two nodes.
        let meters = Arc::<MemoryStore>::default();
        let node = |store| NodeStore::Postgres {
            store,
            quotas: Arc::clone(&meters) as _,
            meters: Arc::clone(&meters),
        };
        Self { stores: stores.into_iter().map(node).collect(), resettable }
    }

    /// Nodes whose quotas are in Redis. Each node has its own connections.
    fn on_redis(epoch: u64, count: u64) -> Self {
        let prefix = redis::new_prefix();
        let mut nodes = Self::on_postgres(epoch, count);
        for node in &mut nodes.stores {
            if let NodeStore::Postgres { quotas, .. } = node {
                *quotas = redis::quotas(&prefix);
            }
        }
        nodes
    }
}

impl NodeStore {
    /// The ports of the node.
    pub(crate) fn ports(&self, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Ports {
        let timer = Arc::new(TokioTimer::new());
        let (store, quotas, meters) = match self {
            Self::Memory(store) => return Ports::of_one_store(Arc::clone(store), clock, entropy, timer),
            Self::Postgres { store, quotas, meters } => (store, quotas, meters),
        };
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
            quotas: Arc::clone(quotas),
            addresses: Arc::clone(meters) as _,
            on_quota_outage: OnQuotaOutage::Refuse,
            health: Arc::clone(store) as _,
            quota_health: None,
            clock,
            entropy,
            timer,
        }
    }

    /// The ports of the node's webhooks.
    pub(crate) fn webhook_ports(
        &self,
        courier: Arc<dyn Courier>,
        signer: Arc<dyn Signer>,
        clock: Arc<dyn Clock>,
    ) -> DispatcherPorts {
        let (text, timer) = (Arc::new(JsonEvents), Arc::new(TokioTimer::new()));
        match self {
            Self::Memory(store) => DispatcherPorts::of_one_store(store, courier, signer, text, clock, timer),
            Self::Postgres { store, .. } => {
                DispatcherPorts::of_one_store(store, courier, signer, text, clock, timer)
            }
        }
    }
}
