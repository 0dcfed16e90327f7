//! The connections of a node, as the quotas use them.

use std::sync::Arc;

use petstore_domain::Timestamp;
use tokio::time::Instant;

use super::node::{DEVIATION_MAX, RedisConnections};
use super::owner::PrefixOwner;
use super::runtime_link::RuntimeLink;
use super::server_clock::ServerClock;
use crate::link::{RedisLink, RedisLinks};

/// A handle to the connections of a node.
impl RedisLinks for Arc<RedisConnections> {
    fn open(&self) -> Arc<dyn RedisLink> {
        Arc::new(RuntimeLink::new(Self::clone(self)))
    }

    fn corrected(&self, now: Timestamp) -> Timestamp {
        match (self.options.owner, self.server_clock()) {
            // The node's clock is not used, since it may step at any time. The clock of instants never steps.
            (PrefixOwner::Shop, Some(measured)) => measured.time_at(Instant::now()),
            (PrefixOwner::Shop, None) | (PrefixOwner::Sandbox, _) => now,
        }
    }

    fn agrees(&self, now: Timestamp) -> bool {
        let is_near = |measured: ServerClock| measured.deviation(now, Instant::now()).abs() <= DEVIATION_MAX;
        // The clock of a sandbox can be turned back by its users.
        self.options.owner == PrefixOwner::Shop && self.server_clock().is_some_and(is_near)
    }
}
