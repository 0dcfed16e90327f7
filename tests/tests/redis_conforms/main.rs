//! The cases about quotas and bans with the quotas in Redis. Accounts and keys are in memory. Each case has its own prefix.

mod failover;
mod links;
mod planted;

use std::sync::Arc;

use petstore_memory::MemoryStore;
use petstore_redis::RedisQuotas;
use petstore_test_servers::Redis;
use petstore_tests::{Subject, quota_conformance};

use links::{Fault, Links};

quota_conformance!(subject(None));

/// A store in memory with its quotas in Redis. None without Redis, after the case was reported as skipped.
#[track_caller]
fn subject(fault: Option<Fault>) -> Option<Subject> {
    let server = Redis::shared()?;
    let background = tokio::runtime::Handle::current();
    let links = Arc::new(Links { url: server.url(), fault });
    let quotas = RedisQuotas::new(links, &format!("{}:", server.new_prefix()), background);
    Some(Subject { quotas: Arc::new(quotas), ..Subject::of(&Arc::new(MemoryStore::new())) })
}
