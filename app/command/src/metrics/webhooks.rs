//! The metrics of webhooks. No label names a single webhook.

use std::fmt;

use petstore_domain::Timestamp;
use petstore_service::DispatchStats;
use prometheus_client::registry::Unit;

use super::Families;

/// The outcome of an attempt that succeeded. The other outcomes are the errors of attempts.
const DELIVERED: &str = "delivered";

/// Encodes the statistics of the deliveries of this node.
pub(super) fn encode(stats: &DispatchStats, now: Timestamp, families: &mut Families<'_>) -> fmt::Result {
    let failed = stats.failed().map(|(error, count)| (error.as_str(), count));
    let outcomes = std::iter::once((DELIVERED, stats.delivered())).chain(failed);
    let counts = outcomes.map(|(outcome, count)| ([("outcome", outcome)], count));
    families.counters("petstore_webhook_attempts", "Attempts to send an event to a webhook", counts)?;
    let help = "Attempts that are in flight";
    families.gauge("petstore_webhook_attempts_in_flight", help, stats.in_flight() as u64)?;
    let webhooks = stats.webhooks();
    let by_status = [
        ("active", webhooks.active),
        ("failing", webhooks.failing),
        ("withheld", webhooks.withheld),
        ("disabled", webhooks.disabled),
        ("key", webhooks.without_key),
    ];
    let values = by_status.map(|(status, count)| ([("status", status)], count as u64));
    let help = "Webhooks; active, failing and withheld (no valid key of the account has the scope webhooks) are those that this \
                node delivers, key are those without their master key";
    families.gauges("petstore_webhook_endpoints", help, values)?;
    let help = "Age of the oldest event that a webhook of this node has not got; 0 if each has got all";
    let lags = [("active", stats.active_lag(now)), ("failing", stats.failing_lag(now))];
    let values = lags.map(|(status, lag)| ([("status", status)], lag.as_secs_f64()));
    families.gauges_of("petstore_webhook_lag", help, &Unit::Seconds, values)
}
