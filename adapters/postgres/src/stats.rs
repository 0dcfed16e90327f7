//! The number of records, for monitoring. The counts of tables are read now and then, the others are known to this handle.

use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::{EventFeed, StoreCounts, StoreError, StoreStats};
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::records::Fields;

/// The maximum age of the counts while housekeeping runs.
const COUNTS_AGE_MAX: Duration = Duration::from_secs(10);

/// The highest number of records that is counted row by row. For a larger table the number is PostgreSQL's estimate.
const COUNTED_MAX: u32 = 10_000;

/// The last counts.
#[derive(Default)]
pub(crate) struct Stats(Mutex<State>);

#[derive(Default)]
struct State {
    counts: StoreCounts,
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
        StoreCounts { waiting: self.writes.waiting(), last_event: EventFeed::end(self).last.get(), ..counts }
    }
}

impl PostgresStore {
    /// Reads the counts, if they are due.
    pub(crate) async fn refresh_counts(&self) -> Result<(), StoreError> {
        if self.stats.begin(Instant::now()) {
            let rows = self.pages.rows(text(), Vec::new()).await?;
            let row = rows.first().ok_or_else(|| StoreError::corrupt("the counts are missing"))?;
            let counts = parse(row)?;
            self.stats.0.lock().counts = counts;
        }
        Ok(())
    }
}

fn text() -> String {
    let tables = ["pets", "categories", "orders", "accounts", "keys"].map(count);
    format!(
        "select {}, (select first_at from event_batches \
         where last_position > (select pruned_position from event_log where one) order by last_position limit 1)",
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
        last_event: 0,
        oldest_event_at: fields.optional_time()?,
        waiting: 0,
        bans: 0,
    })
}
