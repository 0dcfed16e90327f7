//! Reads of one runtime that are sent together.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use petstore_ports::StoreError;
use petstore_remote_connection::{Batcher, Exchange, Waiting};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use super::{Link, Lookup, Pool};
use crate::calls::Calls;

/// The time for which the first reads wait for the connection of a runtime while a spare one is open. Later ones use the spare
/// one until it is there. It is shorter than the time that a caller waits for the look-up of a key.
const OPENING_TIME: Duration = Duration::from_millis(250);

/// The part of the time limit of a read after whose end no spare connection is used any more.
const SPARE_PART: u32 = 3;

/// A read that waits for its row.
type Read<L> = Waiting<<L as Lookup>::Key, Option<<L as Lookup>::Found>>;

/// Reads the rows of a batch of keys with one statement.
pub(crate) struct Rows<L> {
    link: Arc<Link>,
    /// The connections that are used while that of `link` cannot be opened.
    spare: Pool,
    calls: Arc<Calls>,
    sql: String,
    lookup: PhantomData<fn() -> L>,
}

/// Returns the batcher of one kind of reads of a runtime.
pub(crate) fn batcher<L: Lookup>(
    link: &Arc<Link>,
    spare: &Pool,
    calls: &Arc<Calls>,
) -> Arc<Batcher<Rows<L>>> {
    let (link, spare, calls) = (Arc::clone(link), spare.clone(), Arc::clone(calls));
    Arc::new(Batcher::new(Rows { link, spare, calls, sql: L::sql(), lookup: PhantomData }))
}

impl<L: Lookup> Exchange for Rows<L> {
    type Request = L::Key;
    type Answer = Option<L::Found>;

    const BUSY: &'static str = "too many reads wait for PostgreSQL";
    const ABANDONED: &'static str = "the read was abandoned";

    async fn send(&self, batch: &mut Vec<Read<L>>) -> Result<(), StoreError> {
        batch.sort_unstable_by(|left, right| left.request.cmp(&right.request));
        let rows = self.rows(batch).await;
        self.calls.lookups.note(&rows);
        // Before the batch is drained: its reads fail with the error of the rows.
        let rows = rows?;
        deliver::<L>(batch.drain(..), &rows, &self.calls);
        Ok(())
    }
}

impl<L: Lookup> Rows<L> {
    async fn rows(&self, batch: &[Read<L>]) -> Result<Vec<Row>, StoreError> {
        let keys = || -> L::Columns { batch.iter().map(|waiting| L::column(&waiting.request)).collect() };
        let (began, time) = (Instant::now(), self.link.read_time());
        let spare_until = began + time / SPARE_PART;
        let spare = || timeout_at(spare_until, self.spare.rows(self.sql.clone(), vec![Box::new(keys())]));
        let has_spare = !self.link.is_open() && self.spare.has_open();
        if has_spare
            && self.link.open_within(OPENING_TIME).await.is_err()
            && let Ok(Ok(rows)) = spare().await
        {
            return Ok(rows);
        }
        // Waits for the connection, if it is still being opened.
        match self.link.rows(&self.sql, &[&keys()], began + time).await {
            // The callers still wait, and the server may refuse only further connections.
            Err(error) if !has_spare && !self.link.is_open() && Instant::now() < spare_until => {
                match spare().await {
                    Ok(Ok(rows)) => Ok(rows),
                    Ok(Err(_)) | Err(_) => Err(error),
                }
            }
            rows => rows,
        }
    }
}

/// Answers the reads from the rows. Both are sorted by key.
fn deliver<L: Lookup>(batch: impl Iterator<Item = Read<L>>, rows: &[Row], calls: &Calls) {
    let mut batch = batch.peekable();
    let mut rows = rows.iter().map(read::<L>).peekable();
    while let Some(first) = batch.next() {
        let key = &first.request;
        while rows.next_if(|row| row.as_ref().is_ok_and(|(found, _)| found < key)).is_some() {}
        let result = match rows.peek() {
            Some(Ok((found, row))) if found == key => L::found(row).map(Some),
            Some(Err(error)) => Err(error.clone()),
            _ => Ok(None),
        };
        if let Err(error) = &result {
            calls.lookups.failed(error);
        }
        while let Some(same) = batch.next_if(|next| next.request == *key) {
            same.answer(result.clone());
        }
        first.answer(result);
    }
}

fn read<L: Lookup>(row: &Row) -> Result<(L::Key, &Row), StoreError> {
    let column =
        row.try_get(0).map_err(|error| StoreError::corrupt("a key cannot be read").with_source(error))?;
    Ok((L::key(column)?, row))
}
