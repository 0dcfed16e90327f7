//! The loaders of the runtimes that read.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use petstore_domain::{CategoryRecord, OrderRecord, PetRecord};
use petstore_ports::{Reply, StoreError};
use tokio::runtime::{Handle, Id};

use crate::calls::Calls;
use crate::connection::{Connector, Role};
use crate::idempotency_counts::CountOfAccount;
use crate::keys::{CredentialByDigest, CredentialById};
use crate::queries::{Batcher, Link, Lookup, Pool};

/// The maximum number of loaders. Further runtimes use that of the background thread.
const LOADERS_MAX: usize = 256;

/// Reads single rows, those of each runtime on a connection that the runtime itself drives. A thread of the server has
/// a separate runtime, so a read does not change threads.
pub(crate) struct Loaders {
    connector: Arc<Connector>,
    background: Handle,
    /// The connections that are used while that of a runtime cannot be opened.
    spare: Pool,
    calls: Arc<Calls>,
    by_runtime: RwLock<HashMap<Id, Arc<Loader>>>,
}

/// The reads of one runtime, which share one connection.
pub(crate) struct Loader {
    pub(crate) pets: Arc<Batcher<PetRecord>>,
    pub(crate) categories: Arc<Batcher<CategoryRecord>>,
    pub(crate) orders: Arc<Batcher<OrderRecord>>,
    pub(crate) digests: Arc<Batcher<CredentialByDigest>>,
    pub(crate) keys: Arc<Batcher<CredentialById>>,
    pub(crate) counts: Arc<Batcher<CountOfAccount>>,
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

fn batcher<L: Lookup>(link: &Arc<Link>, spare: &Pool, calls: &Arc<Calls>) -> Arc<Batcher<L>> {
    Batcher::new(Arc::clone(link), spare.clone(), Arc::clone(calls))
}

impl Loaders {
    pub(crate) fn new(connector: Arc<Connector>, background: Handle, spare: Pool, calls: Arc<Calls>) -> Self {
        Self { connector, background, spare, calls, by_runtime: RwLock::default() }
    }

    /// Reads the row of a key with one of the current runtime's batchers.
    pub(crate) fn load<L: Lookup>(
        &self,
        batcher: impl FnOnce(&Loader) -> &Arc<Batcher<L>>,
        key: L::Key,
    ) -> Reply<Result<Option<L::Found>, StoreError>> {
        // A thread without a runtime cannot drive a connection.
        let mut runtime = Handle::try_current().unwrap_or_else(|_| self.background.clone());
        let loader = self.loader(runtime.id()).unwrap_or_else(|| {
            runtime = self.background.clone();
            self.insert(runtime.id())
        });
        batcher(&loader).load(key, &runtime)
    }

    /// The loader of a runtime, which is created at the first call. None if it does not exist and there are too many.
    fn loader(&self, runtime: Id) -> Option<Arc<Loader>> {
        let (known, count) = {
            let loaders = self.by_runtime.read();
            (loaders.get(&runtime).cloned(), loaders.len())
        };
        known.or_else(|| (count < LOADERS_MAX).then(|| self.insert(runtime)))
    }

    fn insert(&self, runtime: Id) -> Arc<Loader> {
        let mut loaders = self.by_runtime.write();
        let link = || Link::new(Arc::clone(&self.connector), Role::Reader);
        let new = || Arc::new(Loader::new(link(), &self.spare, &self.calls));
        Arc::clone(loaders.entry(runtime).or_insert_with(new))
    }
}
