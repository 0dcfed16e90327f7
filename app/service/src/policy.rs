//! Settings of the service, and its treatment of an outage of the quota store.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{BanPolicy, Limit, PlanTable};
use petstore_ports::Quotas;

/// The limits, lifetimes and deadlines of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The limits of the named plans.
    pub plans: PlanTable,
    /// The rule for banning a key whose requests continue after refusals.
    pub bans: BanPolicy,
    /// The maximum number of requests of one account in flight at once, in this process.
    pub in_flight_max: u32,
    /// The number of requests without a valid key that one peer address may send in a minute.
    pub address_limit: Limit,
    /// The time for which the answer to a request under an idempotency key is stored.
    pub idempotency_lifetime: Duration,
    /// The maximum number of answers stored for one account. At this number, requests under a new idempotency key are
    /// refused. An expired answer counts until
    /// [`Housekeeping::drop_expired`](petstore_ports::Housekeeping::drop_expired) removes it.
    pub idempotency_records_max: u32,
    /// The time that a request may wait for the store: a quarter of it for the look-up of its key, the rest for its
    /// operation. When either passes, the request fails; the outcome of a change is unknown then.
    pub store_timeout: Duration,
    /// The deadline of a call to the quota store. When the deadline passes, [`OnQuotaOutage`] applies to the request.
    pub quota_timeout: Duration,
}

impl Policy {
    /// The values that the contract states.
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

/// The treatment of requests while the quota store is down. No request is admitted without being counted.
pub enum OnQuotaOutage {
    /// Requests are refused with 503 until the quotas can be counted again.
    Refuse,
    /// Requests are counted by these quotas instead. If several nodes count for themselves, these are
    /// [`QuotaShares`](crate::QuotaShares).
    CountWith(Arc<dyn Quotas>),
}
