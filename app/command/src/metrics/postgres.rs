//! Metrics of a node on PostgreSQL.

use std::fmt;

use prometheus_client::registry::Unit;

use super::Families;
use crate::store::DatabaseStats;

/// Encodes the statistics of a node and of its database.
pub(super) fn encode(stats: &DatabaseStats, families: &mut Families<'_>) -> fmt::Result {
    let help = "Nodes that have renewed their row within 30 s, this one included";
    families.gauge("petstore_postgres_nodes", help, stats.nodes.into())?;
    let help = "Connections to PostgreSQL that are open";
    families.gauge("petstore_postgres_connections", help, stats.connections)?;
    let help = "Connections to PostgreSQL that were opened";
    families.counter("petstore_postgres_connects", help, stats.connects)?;
    let help = "Attempts to connect to PostgreSQL that failed";
    families.counter("petstore_postgres_connect_failures", help, stats.connect_failures)?;
    let help = "Statements for pages and counts that execute or wait for a connection";
    families.gauge("petstore_postgres_statements", help, stats.statements)?;
    let help = "Attempts to run a batch of writes that failed; most are repeated";
    families.counters("petstore_postgres_batch_failures", help, by("cause", &stats.batch_failures))?;
    let help = "Commits whose answer was lost, by the outcome that was found out";
    families.counters("petstore_postgres_commits_unknown", help, by("outcome", &stats.commits_unknown))?;
    let help = "Events that were left out because an older node does not know their kind";
    families.counter("petstore_postgres_events_held_back", help, stats.events_held_back)?;
    let help = "Times that this node gave positions to events";
    families.counter("petstore_postgres_sequencer_runs", help, stats.sequencer_runs)?;
    let help = "Times that this node failed to give positions to events";
    families.counter("petstore_postgres_sequencer_failures", help, stats.sequencer_failures)?;
    let help = "Time that this node needed to give positions to events";
    families.seconds_counter("petstore_postgres_sequencer", help, stats.sequencer_time.as_secs_f64())?;
    let Some(server) = &stats.server else { return Ok(()) };
    let standbys = [("synchronous", server.synchronous_standbys), ("other", server.other_standbys)];
    let counts = standbys.map(|(kind, count)| ([("kind", kind)], count));
    families.gauges("petstore_postgres_standbys", "Standbys that are connected", counts)?;
    let help = "Time by which the last standby is behind the server";
    let lag = server.standby_lag.as_secs_f64();
    families.gauge_of("petstore_postgres_standby_lag", help, &Unit::Seconds, lag)?;
    let help = "Bytes of the server's log that the last standby has not replayed";
    families.gauge("petstore_postgres_standby_behind_bytes", help, server.standby_lag_bytes)?;
    let help = "Age of the oldest transaction on the server";
    let age = server.oldest_transaction.as_secs_f64();
    families.gauge_of("petstore_postgres_oldest_transaction", help, &Unit::Seconds, age)?;
    let help = "Transactions since the oldest snapshot; what they replaced cannot be removed";
    families.gauge("petstore_postgres_oldest_snapshot_transactions", help, server.oldest_snapshot)
}

fn by<'s>(
    label: &'static str,
    counts: &'s [(&'static str, u64)],
) -> impl Iterator<Item = ([(&'static str, &'static str); 1], u64)> + 's {
    counts.iter().map(move |(name, count)| ([(label, *name)], *count))
}
