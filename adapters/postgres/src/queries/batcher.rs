//! Reads of one runtime that are sent together.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::{Reply, StoreError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use super::{Link, Lookup, Pool};
use crate::calls::Calls;

/// The maximum number of keys of one statement.
const BATCH_MAX: usize = 256;

/// The maximum number of reads that wait for their statement.
const WAITING_MAX: usize = 16_384;

/// The maximum number of statements that are under way at once.
const FLIGHTS_MAX: u32 = 2;

/// The number of waiting reads at which a second statement is sent while one is under way. Without a second statement a
/// node and its database would work in turns: while one works, the other one waits. With a lower number the statements
/// would be smaller, and each read would cost the database more.
const NEXT_FLIGHT: usize = 24;

/// The time for which the first reads wait for the connection of a runtime while a spare one is open. Later ones use the spare
/// one until it is there. It is shorter than the time that a caller waits for the look-up of a key.
const OPENING_TIME: Duration = Duration::from_millis(250);

/// The part of the time limit of a read after whose end no spare connection is used any more.
const SPARE_PART: u32 = 3;

type Answer<L> = Result<Option<<L as Lookup>::Found>, StoreError>;

/// A read that waits for its answer.
struct Waiting<L: Lookup> {
    key: L::Key,
    answer: oneshot::Sender<Answer<L>>,
}

/// Sends the reads of one turn of a runtime as one statement. While it is under way, the next batch forms.
pub(crate) struct Batcher<L: Lookup> {
    link: Arc<Link>,
    /// The connections that are used while that of `link` cannot be opened.
    spare: Pool,
    calls: Arc<Calls>,
    sql: String,
    state: Mutex<State<L>>,
}

struct State<L: Lookup> {
    waiting: Vec<Waiting<L>>,
    /// The number of tasks that send batches.
    flights: u32,
}

impl<L: Lookup> Batcher<L> {
    pub(crate) fn new(link: Arc<Link>, spare: Pool, calls: Arc<Calls>) -> Arc<Self> {
        let state = State { waiting: Vec::new(), flights: 0 };
        Arc::new(Self { link, spare, calls, sql: L::sql(), state: Mutex::new(state) })
    }

    /// Reads the row of a key. If a new statement is needed, a task on `runtime` sends it.
    pub(crate) fn load(self: &Arc<Self>, key: L::Key, runtime: &Handle) -> Reply<Answer<L>> {
        let (answer, answered) = oneshot::channel();
        let starts = {
            let mut state = self.state.lock();
            if state.waiting.len() >= WAITING_MAX {
                return Reply::now(Err(StoreError::busy("too many reads wait for PostgreSQL")));
            }
            state.waiting.push(Waiting { key, answer });
            let starts = starts_flight(state.flights, state.waiting.len());
            state.flights += u32::from(starts);
            starts
        };
        if starts {
            // A new task runs after the tasks that are ready now, whose reads join the batch.
            runtime.spawn(Flying { batcher: Arc::clone(self), has_ended: false }.run());
        }
        Reply::later(async move {
            answered.await.unwrap_or_else(|_| Err(StoreError::unavailable("the read was abandoned")))
        })
    }

    /// Moves the next batch into `batch`, which is empty. Returns `false` if no read waits, and the task then ends.
    fn take(&self, batch: &mut Vec<Waiting<L>>) -> bool {
        let mut state = self.state.lock();
        if state.waiting.len() <= BATCH_MAX {
            std::mem::swap(&mut state.waiting, batch);
        } else {
            batch.extend(state.waiting.drain(..BATCH_MAX));
        }
        state.flights -= u32::from(batch.is_empty());
        !batch.is_empty()
    }

    async fn send(&self, batch: &mut Vec<Waiting<L>>) {
        batch.sort_unstable_by(|left, right| left.key.cmp(&right.key));
        let rows = self.rows(batch).await;
        self.calls.lookups.note(&rows);
        match rows {
            Ok(rows) => deliver(batch.drain(..), &rows),
            Err(error) => {
                // The reads that came meanwhile have waited for the same connection, so they fail with it.
                batch.append(&mut self.state.lock().waiting);
                for waiting in batch.drain(..) {
                    let _: Result<(), _> = waiting.answer.send(Err(error.clone()));
                }
            }
        }
    }
}

impl<L: Lookup> Batcher<L> {
    async fn rows(&self, batch: &[Waiting<L>]) -> Result<Vec<Row>, StoreError> {
        let keys = || -> L::Columns { batch.iter().map(|waiting| L::column(&waiting.key)).collect() };
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

/// Returns whether a read that joins the queue starts another statement. `flights` statements are under way, and
/// `waiting` reads wait, with the new one.
const fn starts_flight(flights: u32, waiting: usize) -> bool {
    match flights {
        0 => true,
        FLIGHTS_MAX.. => false,
        // The number may be passed while the maximum of statements is under way.
        _ => waiting >= NEXT_FLIGHT,
    }
}

/// The task that sends batches until no read waits.
struct Flying<L: Lookup> {
    batcher: Arc<Batcher<L>>,
    has_ended: bool,
}

impl<L: Lookup> Flying<L> {
    async fn run(mut self) {
        let mut batch = Vec::new();
        while self.batcher.take(&mut batch) {
            self.batcher.send(&mut batch).await;
        }
        self.has_ended = true;
    }
}

/// A runtime that shuts down drops the task before its end. Then the reads that wait fail, and the next read starts a
/// task on its own runtime.
impl<L: Lookup> Drop for Flying<L> {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut state = self.batcher.state.lock();
            state.flights -= 1;
            state.waiting.clear();
        }
    }
}

/// Answers the reads from the rows. Both are sorted by key.
fn deliver<L: Lookup>(batch: impl Iterator<Item = Waiting<L>>, rows: &[Row]) {
    let mut batch = batch.peekable();
    let mut rows = rows.iter().map(read::<L>).peekable();
    while let Some(Waiting { key, answer }) = batch.next() {
        while rows.next_if(|row| row.as_ref().is_ok_and(|(found, _)| *found < key)).is_some() {}
        let result = match rows.peek() {
            Some(Ok((found, row))) if *found == key => L::found(row).map(Some),
            Some(Err(error)) => Err(error.clone()),
            _ => Ok(None),
        };
        // A reader may be gone.
        while let Some(same) = batch.next_if(|next| next.key == key) {
            let _: Result<(), _> = same.answer.send(result.clone());
        }
        let _: Result<(), _> = answer.send(result);
    }
}

fn read<L: Lookup>(row: &Row) -> Result<(L::Key, &Row), StoreError> {
    let column =
        row.try_get(0).map_err(|error| StoreError::corrupt("a key cannot be read").with_source(error))?;
    Ok((L::key(column)?, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_statement_starts_once_enough_reads_wait() {
        for (flights, waiting, starts) in [
            (0, 1, true),
            (1, NEXT_FLIGHT - 1, false),
            (1, NEXT_FLIGHT, true),
            (1, NEXT_FLIGHT + 1, true),
            (FLIGHTS_MAX, WAITING_MAX, false),
        ] {
            assert_eq!(starts_flight(flights, waiting), starts, "{flights} statements, {waiting} reads");
        }
    }
}
