//! The store, and its parts.

use std::fmt;
use std::sync::Arc;

use petstore_ports::StoreError;
use tokio_postgres::Config;

use crate::background::Background;
use crate::connection::{Connector, Role};
use crate::error::{OpenError, failed};
use crate::random::Random;
use crate::schema;
use crate::writes::{AfterCommit, Writes};

/// The options of a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// The schema of the tables. It is created if it does not exist.
    pub schema: String,
    /// A random number. A new shop has it as its epoch, and this handle draws its own random numbers from it.
    pub seed: u64,
}

/// A store on PostgreSQL. Several handles on one schema, in one process or in several, are one store.
pub struct PostgresStore {
    pub(crate) connector: Arc<Connector>,
    pub(crate) writes: Writes,
    pub(crate) background: Background,
    epoch: u64,
}

impl PostgresStore {
    /// Opens the store, and creates its schema if it does not exist. Blocks: it must not be called on a runtime's thread.
    ///
    /// # Errors
    /// The database cannot be reached, or does not suit.
    pub fn open(config: Config, options: Options) -> Result<Self, OpenError> {
        let background = Background::start().map_err(OpenError::Thread)?;
        let connector = Arc::new(Connector::new(config, options.schema));
        let epoch = background.handle().block_on(prepare(&connector, options.seed))?;
        let random = Random::of_handle(options.seed);
        let writes = Writes::start(background.handle(), Arc::clone(&connector), random, Arc::new(Hooks));
        Ok(Self { connector, writes, background, epoch })
    }

    /// The epoch of the shop, for entity tags and cursors.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// The parts of a handle that hear of its commits.
struct Hooks;

impl AfterCommit for Hooks {
    fn events_committed(&self) {}

    fn keys_changed(&self) {}
}

/// Creates the schema if it does not exist. Returns the epoch of the shop.
async fn prepare(connector: &Connector, seed: u64) -> Result<u64, StoreError> {
    let session = connector.connect(Role::Writer).await?;
    schema::create(&session, connector.schema(), seed).await?;
    let row = session.client().query_one("select epoch from shop", &[]).await;
    let row = row.map_err(|error| failed("read the epoch", error))?;
    u64::from_str_radix(row.get(0), 16)
        .map_err(|_| StoreError::corrupt("shop: the column epoch is not a number"))
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}
