//! The figures that an owner may set.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{BanPolicy, Limit, PlanTable};
use petstore_ports::Quotas;

/// What the service admits, keeps and forgives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The limits of the plans that have a name.
    pub plans: PlanTable,
    /// What becomes of a key that keeps asking after it has been refused.
    pub bans: BanPolicy,
    /// Requests of one account that may be in flight at once.
    pub in_flight_max: u32,
    /// Requests without a valid key that one peer address may make in a minute.
    pub address_limit: Limit,
    /// How long the answer to a request under an idempotency key is kept.
    pub idempotency_lifetime: Duration,
    /// Answers that are kept for one account at once: while there are as many, its next request under an idempotency key
    /// is refused. Those that have expired count until [`Housekeeping::prune`](petstore_ports::Housekeeping::prune).
    pub idempotency_records_max: u32,
    /// Time for the store to answer a request; then the request fails, and what becomes of a change is open.
    pub store_timeout: Duration,
    /// Time for the quota store to judge a request; then the request is treated as one while the quota store is down.
    pub quota_timeout: Duration,
}

impl Policy {
    /// The contract's figures.
    pub const DEFAULT: Self = Self {
        plans: PlanTable::SPECIFICATION,
        bans: BanPolicy::DEFAULT,
        in_flight_max: 100,
        address_limit: Limit::new(300).expect("between 1 and Limit::MAX"),
        idempotency_lifetime: Duration::from_hours(24),
        idempotency_records_max: 100_000,
        store_timeout: Duration::from_secs(2),
        quota_timeout: Duration::from_millis(100),
    };
}

/// The treatment of requests while the quota store is down. None of them is ever admitted without a count.
pub enum OnQuotaOutage {
    /// They are refused.
    Refuse,
    /// They are counted here instead, with the same figures.
    CountWith(Arc<dyn Quotas>),
}
