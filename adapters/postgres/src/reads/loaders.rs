//! The loaders of the runtimes that read.

use std::sync::Arc;

use petstore_domain::{CategoryRecord, OrderRecord, PetRecord};
use petstore_ports::{Reply, StoreError};
use petstore_remote_connection::{Batcher, ByRuntime};
use tokio::runtime::Handle;

use crate::calls::Calls;
use crate::connection::{Connector, Role};
use crate::idempotency_counts::CountOfAccount;
use crate::keys::{CredentialByDigest, CredentialById};
use crate::queries::{Link, Lookup, Pool, Rows, batcher};

/// Reads single rows, those of each runtime on a connection that the runtime itself drives.
pub(crate) struct Loaders {
    connector: Arc<Connector>,
    /// The connections that are used while that of a runtime cannot be opened.
    spare: Pool,
    calls: Arc<Calls>,
    by_runtime: ByRuntime<Loader>,
}

/// The reads of one runtime, which share one connection.
pub(crate) struct Loader {
    pub(crate) pets: Arc<Batcher<Rows<PetRecord>>>,
    pub(crate) categories: Arc<Batcher<Rows<CategoryRecord>>>,
    pub(crate) orders: Arc<Batcher<Rows<OrderRecord>>>,
    pub(crate) digests: Arc<Batcher<Rows<CredentialByDigest>>>,
    pub(crate) keys: Arc<Batcher<Rows<CredentialById>>>,
    pub(crate) counts: Arc<Batcher<Rows<CountOfAccount>>>,
}

impl Loader {
    fn new(link: Link, spare: &Pool, calls: &Arc<Calls>) -> Self {
        let link = Arc::new(link);
        Self {
            pets: batcher(&link, spare, calls),
            categories: batcher(&link, spare, calls),
            orders: batcher(&link, spare, calls),
            digests: batcher(&link, spare, calls),
            keys: batcher(&link, spare, calls),
            counts: batcher(&link, spare, calls),
        }
    }
}

impl Loaders {
    pub(crate) fn new(connector: Arc<Connector>, background: Handle, spare: Pool, calls: Arc<Calls>) -> Self {
        Self { connector, spare, calls, by_runtime: ByRuntime::new(background) }
    }

    /// Reads the row of a key with one of the current runtime's batchers.
    pub(crate) fn load<L: Lookup>(
        &self,
        batcher: impl FnOnce(&Loader) -> &Arc<Batcher<Rows<L>>>,
        key: L::Key,
    ) -> Reply<Result<Option<L::Found>, StoreError>> {
        let (loader, runtime) = self.by_runtime.get(|| {
            let link = Link::new(Arc::clone(&self.connector), Role::Reader);
            Loader::new(link, &self.spare, &self.calls)
        });
        batcher(&loader).send(key, &runtime)
    }
}
