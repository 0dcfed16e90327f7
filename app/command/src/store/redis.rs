//! Quotas in Redis, which all nodes of a database share.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::Timestamp;
use petstore_ports::{Clock, Resettable, Row, StoreError, StoreHealth};
use petstore_redis::{
    PrefixOwner, RedisConnections, RedisOptions, RedisQuotas, RedisServer, RedisStats, RedisTarget,
    examine_redis,
};
use petstore_service::{LiveNodes, OnQuotaOutage, Ports, QuotaShares};
use tokio::runtime::Handle;

use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::settings::{QuotaFallback, ServeArgs};
use crate::tls;

/// The quotas in Redis, with the connections of this node.
pub(crate) struct RedisStore {
    connections: Arc<RedisConnections>,
    quotas: Arc<RedisQuotas>,
    fallback: QuotaFallback,
    /// The runtime that drives the connections of threads without one.
    background: Handle,
}

impl RedisStore {
    /// Connects to the server of the settings. Keys begin with `default_prefix` if the settings have no prefix. A server that is not suitable ends the start; one
    /// that cannot be reached does not. Returns the properties of the server, if it was reached.
    pub(crate) async fn open(
        args: &ServeArgs,
        target: &RedisTarget,
        default_prefix: String,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, Option<RedisServer>), Failure> {
        let target = with_roots(target)?;
        let prefix = args.redis_prefix.clone().unwrap_or(default_prefix);
        let options = RedisOptions {
            prefix: prefix.clone(),
            owner: if args.sandbox { PrefixOwner::Sandbox } else { PrefixOwner::Shop },
            allows_eviction: args.redis_allow_eviction,
            seed: SystemEntropy::number().map_err(|error| Failure::because(error.report()))?,
        };
        let name = target.to_string();
        let connections = RedisConnections::new(target, options, clock);
        let started = connections.start().await;
        let server = started.map_err(|error| unusable(&name, &error))?;
        let links = Arc::new(Arc::clone(&connections));
        let quotas = Arc::new(RedisQuotas::new(links, &format!("{prefix}:"), Handle::current()));
        tokio::spawn(Arc::clone(&connections).run());
        let background = Handle::current();
        Ok((Self { connections, quotas, fallback: args.quota_fallback, background }, server))
    }

    /// The same ports with the quotas in Redis. While Redis is down, the settings decide whether the quotas of `ports` count
    /// instead, each node its share.
    pub(super) fn count_for(&self, ports: Ports, nodes: Box<LiveNodes>) -> Ports {
        let refuses = self.fallback == QuotaFallback::Closed;
        let on_quota_outage = if refuses {
            OnQuotaOutage::Refuse
        } else {
            OnQuotaOutage::CountWith(Arc::new(QuotaShares::new(ports.quotas, nodes)))
        };
        let health = Health { connections: Arc::clone(&self.connections), refuses };
        let quota_health = Some(Arc::new(health) as _);
        Ports { quotas: Arc::clone(&self.quotas) as _, on_quota_outage, quota_health, ..ports }
    }

    /// Uses the password of a target that is the same otherwise. Returns whether it has changed.
    pub(super) fn renew_password(&self, from: &RedisTarget) -> bool {
        self.connections.renew_password(from)
    }

    /// The quotas, with the bans that they have begun.
    pub(super) const fn quotas(&self) -> &Arc<RedisQuotas> {
        &self.quotas
    }

    /// A reset that also forgets the counts in Redis.
    pub(super) fn reset_with(&self, shop: Arc<dyn Resettable>) -> Arc<dyn Resettable> {
        Arc::new(Reset {
            shop,
            connections: Arc::clone(&self.connections),
            background: self.background.clone(),
        })
    }

    /// The reason why Redis is not used; none while it is.
    pub(super) fn fault(&self) -> Option<StoreError> {
        self.connections.fault()
    }

    /// The reason why this node should not be used although Redis works; none if there is no such reason.
    pub(super) fn warning(&self) -> Option<StoreError> {
        self.connections.warning()
    }

    pub(super) fn stats(&self) -> RedisStats {
        self.connections.stats()
    }
}

/// The health of the server for `/ready`.
struct Health {
    connections: Arc<RedisConnections>,
    /// `true` if requests are refused while the server is down.
    refuses: bool,
}

#[async_trait]
impl StoreHealth for Health {
    async fn check(&self, _now: Timestamp) -> Result<(), StoreError> {
        let fault = self.connections.fault().filter(|_| self.refuses);
        fault.or_else(|| self.connections.warning()).map_or(Ok(()), Err)
    }
}

struct Reset {
    shop: Arc<dyn Resettable>,
    connections: Arc<RedisConnections>,
    background: Handle,
}

impl Resettable for Reset {
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError> {
        self.shop.reset(shop, epoch)?;
        self.background.block_on(self.connections.forget())
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        self.shop.forget_usage()?;
        self.background.block_on(self.connections.forget())
    }
}

/// Checks the server of the settings without changing it, and whether its user may use the keys that begin with `prefix`.
pub(crate) async fn check_server(
    target: &RedisTarget,
    prefix: &str,
    allows_eviction: bool,
) -> Result<RedisServer, Failure> {
    let target = with_roots(target)?;
    let examined = examine_redis(&target, prefix).await;
    let server = examined.map_err(|error| unusable(&target.to_string(), &error))?;
    match server.unfit(allows_eviction) {
        Some(unfit) => Err(Failure::because(format!("{target} cannot be used: {unfit}"))),
        None => Ok(server),
    }
}

/// Returns the target with the certificates that its connections need.
fn with_roots(target: &RedisTarget) -> Result<RedisTarget, Failure> {
    let mut target = target.clone();
    let roots = tls::client::roots(target.roots(), "cacert in the URL of redis-url")?;
    target.set_tls(tls::provider(), roots).map_err(|error| tls::client::unusable(&error))?;
    Ok(target)
}

fn unusable(name: &str, error: &StoreError) -> Failure {
    Failure::because(format!("{name} cannot be used: {}", error.reason()))
}
