//! The port: passes each request to the batcher of its runtime.

use std::sync::Arc;

use petstore_domain::{AccountId, KeyId, Limits, Timestamp, Usage};
use petstore_ports::{Ask, Quotas, Reply, StoreError, Verdict};
use petstore_remote_connection::{Batcher, ByRuntime};
use tokio::runtime::Handle;

use crate::begun_bans::BegunBans;
use crate::decisions::Decisions;
use crate::link::RedisLinks;
use crate::request::Request;
use crate::script::Script;

/// Quotas in Redis.
///
/// All accesses to an account, from any number of nodes, are executed by one script in Redis, one after the other.
/// The requests of one turn of a runtime are sent together, and equal ones among them as a number of requests.
pub struct RedisQuotas {
    links: Arc<dyn RedisLinks>,
    script: Arc<Script>,
    bans: Arc<BegunBans>,
    by_runtime: ByRuntime<Batcher<Decisions>>,
}

impl RedisQuotas {
    /// Quotas in the hashes whose names begin with `prefix`. Requests from threads without a runtime are sent by the
    /// `background` runtime.
    pub fn new(links: Arc<dyn RedisLinks>, prefix: &str, background: Handle) -> Self {
        let script = Arc::new(Script::new(prefix));
        Self { links, script, bans: Arc::default(), by_runtime: ByRuntime::new(background) }
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
        let (batcher, runtime) = self.by_runtime.get(|| {
            let (script, bans) = (Arc::clone(&self.script), Arc::clone(&self.bans));
            Batcher::new(Decisions { link: self.links.open(), script, bans })
        });
        batcher.send(request, &runtime)
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
