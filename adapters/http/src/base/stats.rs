//! The counts of a server, as its owner reads them.

use std::time::Duration;

/// What the transport has counted since its start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportStats {
    /// Answers by route template, method and status, where there were any.
    pub requests: Vec<Requests>,
    /// How long answers took, by route template, where there were any.
    pub latencies: Vec<Latencies>,
    /// What the gate decided about requests of accounts.
    pub decisions: Vec<Decisions>,
    /// Requests that are being answered.
    pub in_flight: u64,
    /// Connections that were accepted.
    pub accepted: u64,
    /// Connections that are open.
    pub connections: u64,
    /// Handlers that panicked.
    pub panics: u64,
    /// Requests that were refused because others had waited too long for their turn.
    pub shed: u64,
    /// Values in forwarding headers of trusted proxies that were ignored, because they were not valid or not served.
    pub forwarded_ignored: u64,
}

/// How many answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    /// The route's template; `-` for a path that is none.
    pub route: &'static str,
    /// The method; `-` for one that is not HTTP's.
    pub method: &'static str,
    /// The status.
    pub status: u16,
    /// How many.
    pub count: u64,
}

/// How long answers took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    /// The route's template.
    pub route: &'static str,
    /// All of them together.
    pub sum: Duration,
    /// How many took up to so long, and longer than the bound before. The last has no bound.
    pub buckets: Vec<(Duration, u64)>,
}

/// How often the gate decided so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decisions {
    /// The account's plan.
    pub plan: &'static str,
    /// What was decided.
    pub decision: &'static str,
    /// How often.
    pub count: u64,
}
