//! The number of records, for monitoring. The counts of tables are read now and then, the others are known to this handle.

use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::{EventFeed, StoreCounts, StoreError, StoreStats};
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::events::HAS_TIME;
use crate::records::Fields;

/// The maximum age of the counts while housekeeping runs.
const COUNTS_AGE_MAX: Duration = Duration::from_secs(10);

/// The highest number of records that is counted row by row. For a larger table the number is PostgreSQL's estimate.
const COUNTED_MAX: u32 = 10_000;

/// Statistics of a handle and of its database, for monitoring. Counts are those since the store was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseStats {
    /// The number of open connections.
    pub connections: u64,
    /// The number of connections that were opened.
    pub connects: u64,
    /// The number of attempts to connect that failed.
    pub connect_failures: u64,
    /// The number of statements for pages and counts that execute or wait for a connection.
    pub statements: u64,
    /// The number of failed attempts to run a batch of writes, by cause.
    pub batch_failures: Vec<(&'static str, u64)>,
    /// The number of commits whose answer was lost, by the outcome that was found out.
    pub commits_unknown: Vec<(&'static str, u64)>,
    /// The number of events that were left out because an older node did not know their kind.
    pub events_held_back: u64,
    /// The number of times that positions were given to events.
    pub sequencer_runs: u64,
    /// The number of times that positions could not be given.
    pub sequencer_failures: u64,
    /// The time that giving positions took, including the failures.
    pub sequencer_time: Duration,
    /// The number of live nodes; 0 if this handle has not joined them.
    pub nodes: u32,
    /// The statistics of the server, as of the last count; none if the role may not read them.
    pub server: Option<ServerStats>,
}

/// Statistics of the database server that need the role `pg_read_all_stats`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerStats {
    /// The number of standbys that commits wait for.
    pub synchronous_standbys: u64,
    /// The number of other standbys.
    pub other_standbys: u64,
    /// The time by which the last standby is behind, as the server measures it.
    pub standby_lag: Duration,
    /// The bytes of the log that the last standby has not replayed.
    pub standby_lag_bytes: u64,
    /// The age of the oldest transaction.
    pub oldest_transaction: Duration,
    /// The number of transactions since the oldest snapshot. Row versions that are newer cannot be removed.
    pub oldest_snapshot: u64,
}

/// The last counts.
#[derive(Default)]
pub(crate) struct Stats(Mutex<LastCounts>);

#[derive(Default)]
struct LastCounts {
    counts: StoreCounts,
    server: Option<ServerStats>,
    /// The time at which the last count began.
    began: Option<Instant>,
}

impl Stats {
    /// Returns `true` and takes note that the counts are read now, if they are due; otherwise returns `false`.
    fn begin(&self, now: Instant) -> bool {
        let mut state = self.0.lock();
        let is_due = state.began.is_none_or(|began| now.saturating_duration_since(began) >= COUNTS_AGE_MAX);
        if is_due {
            state.began = Some(now);
        }
        is_due
    }
}

impl StoreStats for PostgresStore {
    fn counts(&self) -> StoreCounts {
        let counts = self.stats.0.lock().counts;
        StoreCounts {
            waiting: self.writes.waiting(),
            damage: self.damage().contacts(),
            last_event: EventFeed::end(self).last.get(),
            ..counts
        }
    }
}

impl PostgresStore {
    /// Statistics of this handle and of its database.
    pub fn database_stats(&self) -> DatabaseStats {
        let (connections, writes, runs) =
            (self.connector.counts(), self.writes.counters(), self.events.runs());
        DatabaseStats {
            connections: connections.open(),
            connects: connections.opened(),
            connect_failures: connections.failures(),
            statements: self.pages.statements() as u64,
            batch_failures: writes.failures().collect(),
            commits_unknown: writes.unknown().collect(),
            events_held_back: writes.held_back(),
            sequencer_runs: runs.runs(),
            sequencer_failures: runs.failures(),
            sequencer_time: runs.time(),
            nodes: self.live_nodes(),
            server: self.stats.0.lock().server,
        }
    }

    /// Reads the counts, if they are due.
    pub(crate) async fn refresh_counts(&self) -> Result<(), StoreError> {
        if self.stats.begin(Instant::now()) {
            let rows = self.pages.rows(text(), Vec::new()).await?;
            let row = rows.first().ok_or_else(|| StoreError::corrupt("the counts are missing"))?;
            let counts = parse(row)?;
            self.stats.0.lock().counts = counts;
            // A server that refuses this statement, such as one that is read-only now, has no statistics.
            let server = self.pages.rows(SERVER.to_owned(), Vec::new()).await;
            let server = server.ok().and_then(|rows| rows.first().and_then(parse_server));
            self.stats.0.lock().server = server;
        }
        Ok(())
    }
}

/// Reads the statistics of the server. No row if the role may not read those of other roles.
const SERVER: &str = "\
select (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')),
    (select count(*) from pg_stat_replication where sync_state not in ('sync', 'quorum')),
    (select coalesce(max(extract(epoch from replay_lag)), 0)::float8 from pg_stat_replication),
    (select coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::bigint from pg_stat_replication),
    (select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8 from pg_stat_activity),
    greatest(
        (select coalesce(max(age(backend_xmin)), 0) from pg_stat_activity),
        (select coalesce(max(greatest(age(xmin), age(catalog_xmin))), 0) from pg_replication_slots),
        (select coalesce(max(age(transaction)), 0) from pg_prepared_xacts)
    )::bigint
where pg_has_role('pg_read_all_stats', 'usage')";

fn parse_server(row: &Row) -> Option<ServerStats> {
    let number = |column: usize| u64::try_from(row.try_get::<_, i64>(column).ok()?.max(0)).ok();
    let seconds =
        |column: usize| Duration::try_from_secs_f64(row.try_get::<_, f64>(column).ok()?.max(0.0)).ok();
    Some(ServerStats {
        synchronous_standbys: number(0)?,
        other_standbys: number(1)?,
        standby_lag: seconds(2)?,
        standby_lag_bytes: number(3)?,
        oldest_transaction: seconds(4)?,
        oldest_snapshot: number(5)?,
    })
}

fn text() -> String {
    let tables = ["pets", "categories", "orders", "accounts", "keys"].map(count);
    format!(
        "select {}, (select first_at from event_batches \
         where last_position > (select pruned_position from event_log where one) and {HAS_TIME} \
         order by last_position limit 1)",
        tables.join(", ")
    )
}

/// The expression for the number of a table's rows.
fn count(table: &str) -> String {
    format!(
        "(select case when counted <= {COUNTED_MAX} then counted else greatest(counted, estimated) end from \
         (select (select count(*) from (select from {table} limit {COUNTED_MAX} + 1) as bounded) as counted, \
         (select (reltuples / greatest(relpages, 1) * (pg_relation_size(oid) / current_setting('block_size')::bigint))::bigint \
         from pg_class where oid = '{table}'::regclass) as estimated) as both_numbers)"
    )
}

fn parse(row: &Row) -> Result<StoreCounts, StoreError> {
    let mut fields = Fields::of("counts", row);
    let mut number = || fields.number(Ok::<_, &str>);
    Ok(StoreCounts {
        pets: number()?,
        categories: number()?,
        orders: number()?,
        accounts: number()?,
        keys: number()?,
        damage: 0,
        last_event: 0,
        oldest_event_at: fields.optional_time()?,
        waiting: 0,
        bans: 0,
    })
}
