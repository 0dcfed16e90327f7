//! Quotas of one node of several, for an outage of the store that all of them share.

use std::sync::Arc;

use petstore_domain::{AccountId, Limits, Timestamp, Usage};
use petstore_ports::{Ask, Quotas, Reply, StoreError, Verdict};

/// The number of live nodes.
pub type LiveNodes = dyn Fn() -> u32 + Send + Sync;

/// Quotas that admit this node's share of each limit ([`Limits::share_of`]), so that all nodes together admit no more than
/// the limit while each of them counts for itself.
pub struct QuotaShares {
    local: Arc<dyn Quotas>,
    nodes: Box<LiveNodes>,
}

impl QuotaShares {
    /// The shares of nodes that count in `local`, each in its own.
    pub fn new(local: Arc<dyn Quotas>, nodes: Box<LiveNodes>) -> Self {
        Self { local, nodes }
    }

    fn share(&self, limits: Limits) -> Limits {
        limits.share_of((self.nodes)())
    }
}

impl Quotas for QuotaShares {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        self.local.take(&Ask { limits: self.share(ask.limits), ..*ask })
    }

    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>> {
        self.local.usage(account, self.share(limits), now)
    }
}
