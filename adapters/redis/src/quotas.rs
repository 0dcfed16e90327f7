//! The port: passes each request to the batcher of its runtime.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use petstore_domain::{AccountId, KeyId, Limits, Timestamp, Usage};
use petstore_ports::{Ask, Quotas, Reply, StoreError, Verdict};
use tokio::runtime::{Handle, Id};

use crate::batcher::Batcher;
use crate::begun_bans::BegunBans;
use crate::link::RedisLinks;
use crate::request::Request;
use crate::script::Script;

/// The maximum number of batchers. Further runtimes use that of the background runtime.
const BATCHERS_MAX: usize = 256;

/// Quotas in Redis.
///
/// All accesses to an account, from any number of nodes, are executed by one script in Redis, one after the other.
/// The requests of one turn of a runtime are sent together, and equal ones among them as a number of requests.
pub struct RedisQuotas {
    links: Arc<dyn RedisLinks>,
    script: Arc<Script>,
    bans: Arc<BegunBans>,
    background: Handle,
    by_runtime: RwLock<HashMap<Id, Arc<Batcher>>>,
}

impl RedisQuotas {
    /// Quotas in the hashes whose names begin with `prefix`. Requests from threads without a runtime are sent by the
    /// `background` runtime.
    pub fn new(links: Arc<dyn RedisLinks>, prefix: &str, background: Handle) -> Self {
        let script = Arc::new(Script::new(prefix));
        Self { links, script, bans: Arc::default(), background, by_runtime: RwLock::default() }
    }

    /// The number of bans that requests of this node began. A ban is counted by one node only.
    pub fn bans(&self) -> u64 {
        self.bans.number()
    }

    /// The bans that requests of this node began or met before they were recorded, each with its key and its start. A reset
    /// of the store that has the keys uses this list to void these bans.
    pub fn begun_bans(&self) -> Vec<(KeyId, Timestamp)> {
        self.bans.all()
    }

    fn decide(&self, request: Request) -> Reply<Result<Verdict, StoreError>> {
        // A thread without a runtime cannot drive a link.
        let mut runtime = Handle::try_current().unwrap_or_else(|_| self.background.clone());
        let batcher = self.batcher(runtime.id()).unwrap_or_else(|| {
            runtime = self.background.clone();
            self.insert(runtime.id())
        });
        batcher.decide(request, &runtime)
    }

    /// The batcher of a runtime, which is created at the first call. None if it does not exist and there are too many.
    fn batcher(&self, runtime: Id) -> Option<Arc<Batcher>> {
        let (known, count) = {
            let batchers = self.by_runtime.read();
            (batchers.get(&runtime).cloned(), batchers.len())
        };
        known.or_else(|| (count < BATCHERS_MAX).then(|| self.insert(runtime)))
    }

    fn insert(&self, runtime: Id) -> Arc<Batcher> {
        let mut batchers = self.by_runtime.write();
        let new =
            || Arc::new(Batcher::new(self.links.open(), Arc::clone(&self.script), Arc::clone(&self.bans)));
        Arc::clone(batchers.entry(runtime).or_insert_with(new))
    }
}

impl Quotas for RedisQuotas {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        let now = self.links.corrected(ask.now);
        // A ban that every node reads in the key's record needs no call of Redis.
        if let Some(until) = ask.recorded_ban.until.filter(|until| now < *until) {
            return Reply::now(Ok(Verdict::Banned { until, unrecorded: None }));
        }
        self.decide(Request::take(ask, now, self.links.agrees(ask.now)))
    }

    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>> {
        let look = Request::look(account, limits, self.links.corrected(now), self.links.agrees(now));
        self.decide(look).map(|verdict| match verdict? {
            Verdict::Admitted(usage) | Verdict::Exceeded(usage) => Ok(usage),
            Verdict::Banned { .. } => {
                Err(StoreError::corrupt("Redis has returned a ban for a look at the usage"))
            }
        })
    }
}
