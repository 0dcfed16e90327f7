//! Statistics of the transport, as its owner reads them.

use std::time::Duration;

/// The counts of the transport since its start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportStats {
    /// Answers by route template, method and status, without zero counts.
    pub requests: Vec<Requests>,
    /// Latencies by route template, without routes that had no answer.
    pub latencies: Vec<Latencies>,
    /// Decisions of the gate about requests of accounts.
    pub decisions: Vec<Decisions>,
    /// Requests that are being answered.
    pub in_flight: u64,
    /// Connections that were accepted since the start.
    pub accepted: u64,
    /// Connections that are open now.
    pub connections: u64,
    /// Open streams of events.
    pub streams: u64,
    /// Requests since the start whose handler panicked, and which were answered with 500.
    pub panics: u64,
    /// Requests that were refused by load shedding.
    pub shed: u64,
    /// Values in forwarding headers of trusted proxies that were ignored, because they are invalid or not served.
    pub forwarded_ignored: u64,
}

/// The number of answers with one route, method and status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    /// The route template; `-` for an unknown path.
    pub route: &'static str,
    /// The method; `-` for an unknown one.
    pub method: &'static str,
    /// The status code of the answers.
    pub status: u16,
    /// The number of answers.
    pub count: u64,
}

/// A histogram of the latencies of one route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    /// The template of the route, such as `/pets/{petId}`.
    pub route: &'static str,
    /// The sum of the latencies.
    pub sum: Duration,
    /// The buckets in ascending order. Each has its upper bound and the number of answers that are above the previous
    /// bound and not above this bound. The last bound is [`Duration::MAX`].
    pub buckets: Vec<(Duration, u64)>,
}

/// The number of equal decisions of the gate for one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decisions {
    /// The word of the account's plan, such as `free`.
    pub plan: &'static str,
    /// The decision of the gate, as a label of the metric.
    pub decision: &'static str,
    /// The number of decisions.
    pub count: u64,
}
