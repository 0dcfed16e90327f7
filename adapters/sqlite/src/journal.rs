//! The implementation of the journal port.

mod opening;

use std::fs::File;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use petstore_domain::Timestamp;
use petstore_ports::{
    Batch, BatchNumber, BulkLoad, DeliveryNote, EventBatch, EventBatchReader, EventBounds, EventLimits,
    EventRange, EventsPruned, Header, Journal, Row, StoreError, UsageCount,
};
use rusqlite::{Connection, params};

use crate::batch_mark::Marker;
use crate::checkpoint::{self, CheckpointHealth, LogCopy, LogState};
use crate::coalesced_batch::CoalescedBatch;
use crate::crash_recovery::GivenUp;
use crate::error::{is_busy, is_damage, unreadable};
use crate::event_reader::EventReader;
use crate::file_identity::FileLoss;
use crate::open_database::OpenDatabase;
use crate::open_files::{OpenFiles, batch_lost};
use crate::table::put;
use crate::{
    LogPosition, MissingBatches, OpenError, batch_mark, connection, crash_recovery, event_batches,
    event_reader, load, meta, schema, tables,
};

/// Maximum number of expired idempotency records that one call deletes. It limits the call to a few milliseconds of the
/// writer's time.
const PRUNE_MAX: usize = 1_000;

/// A journal in one SQLite file.
pub struct SqliteJournal {
    path: PathBuf,
    log: Arc<LogState>,
    /// The connection of a file whose content was changed in a transaction that is still open; see [`Journal::accept`].
    tentative: Option<Connection>,
    /// None before [`Journal::accept`] and after a failure. [`Journal::recover`] then opens the database again and reads
    /// the number of its last batch.
    open: Option<OpenDatabase>,
    open_files: OpenFiles,
    /// True if the log may contain a commit that failed.
    may_have_committed: bool,
    /// True if the engine found damage during a write.
    is_suspect: bool,
    given_up: GivenUp,
    /// The mark of the last batch on disk, as far as this use of the file has set it.
    marked: Marker,
    rows_at_most: u64,
    /// The lock must be released last. Fields are dropped in the order of their declaration, so this is the last field.
    _lock: File,
}

impl SqliteJournal {
    /// Begins to use a file whose content was accepted.
    fn start(&mut self, connection: Connection) -> Result<(), OpenError> {
        let (open, copied) = OpenDatabase::start(connection, &self.open_files, &self.log)?;
        open.invalidate_tail(copied, &self.path)?;
        self.open_files.set_log(open.log());
        self.open = Some(open);
        Ok(())
    }

    /// Makes tentative changes durable, if there are any.
    fn accept_changes(&mut self) -> Result<(), StoreError> {
        let Some(connection) = self.tentative.take() else { return Ok(()) };
        // Before the commit: if the process is killed after it, the next start would refuse the file for this mark.
        self.remove_stale_mark();
        let connection = connection::accept(connection, &self.path)?;
        self.start(connection)?;
        Ok(())
    }

    /// Returns an upper bound of the rows of the shop and of its keys when the file was opened. Rows of other kinds are not
    /// counted.
    pub fn rows_at_most(&self) -> u64 {
        self.rows_at_most
    }

    /// Returns the position of the damage in the log, if the changes after it were dropped when the file was opened.
    pub fn dropped(&self) -> Option<LogPosition> {
        self.given_up.dropped
    }

    /// Returns the batches that the file and its log lacked, if the file was opened without them.
    pub fn missing(&self) -> Option<MissingBatches> {
        self.given_up.missing
    }

    /// Returns the health of the checkpoints, which any thread may query at any time.
    pub fn checkpoint_health(&self) -> CheckpointHealth {
        CheckpointHealth::of(&self.log)
    }

    /// Returns the files of the journal, for threads that read them while the journal is written.
    pub fn open_files(&self) -> OpenFiles {
        self.open_files.clone()
    }

    /// Fails if damage has been found. In this case it also closes the database without changing the files.
    fn check_undamaged(&mut self) -> Result<(), StoreError> {
        let Some(damage) = self.open_files.damage() else { return Ok(()) };
        if let Some(open) = self.open.take() {
            open.close_without_cleanup(false);
        }
        Err(damage)
    }

    /// Records that a batch is on disk. The first batch of this use is marked at once, because the log holds changes from
    /// then on. Later batches are marked by [`Journal::check`], so that a batch costs no further call of the system.
    fn record_batch(&mut self, number: BatchNumber) {
        self.open_files.set_kept(number);
        if !self.marked.is_set() {
            self.mark();
        }
    }

    fn mark(&mut self) {
        self.marked.set(self.open_files.data().file(), self.open_files.kept());
    }

    fn remove_stale_mark(&self) {
        self.marked.remove_stale(self.open_files.data().file(), self.open_files.kept());
    }

    fn opened(&mut self) -> Result<&mut OpenDatabase, StoreError> {
        self.open.as_mut().ok_or_else(|| StoreError::unavailable("the journal must be recovered first"))
    }

    /// Runs one transaction. After a failure the connection is not used again. After a failed sync, its view of the
    /// disk may be wrong, and a failed sync is not distinguished from other failures.
    fn write<T>(
        &mut self,
        doing: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.accept_changes()?;
        self.check_undamaged()?;
        let log = Arc::clone(&self.log);
        let open = self.opened()?;
        let written = {
            let _exclusive = log.lock_writes();
            transact(&open.connection, work)
        };
        self.checked(doing, written)
    }

    fn checked<T>(&mut self, doing: &str, done: rusqlite::Result<T>) -> Result<T, StoreError> {
        done.map_err(|error| {
            // The result is ignored, because the recovery reports a change to the files.
            let _ = self.check_files();
            self.open = None;
            self.may_have_committed |= !is_busy(&error);
            self.is_suspect |= is_damage(&error);
            unreadable(doing, &error)
        })
    }

    /// Checks that the files are those that were opened. If they are not, the database is closed and nothing more is
    /// written.
    fn check_files(&mut self) -> Result<(), StoreError> {
        self.check_undamaged()?;
        let Some(Err(loss)) = self.open.as_ref().map(|open| open.check(self.open_files.data())) else {
            return Ok(());
        };
        if let Some(open) = self.open.take() {
            open.close_without_cleanup(matches!(loss, FileLoss::LogPath(_)));
        }
        Err(self.open_files.set_damage(loss.into()))
    }

    /// Checks the whole file after the engine has found damage. If the disk has returned wrong data only once, the
    /// file is sound. If the file itself is damaged, further writes could make the damage worse.
    fn check_integrity(&mut self, open: &OpenDatabase) -> Result<(), StoreError> {
        let damage = schema::damage(&open.connection).map_err(|error| unreadable("the data file", &error))?;
        self.is_suspect = false;
        let Some(damage) = damage else { return Ok(()) };
        Err(self.open_files.set_damage(StoreError::corrupt(format!("the data file: {damage}"))))
    }
}

/// Runs a transaction with prepared statements for its begin and end. After a failure the transaction is rolled back
/// when the connection is closed.
fn transact<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let done = work(connection)?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(done)
}

impl Journal for SqliteJournal {
    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
        match &self.tentative {
            Some(connection) => load::read_all(connection, into),
            None => load::read_all(&self.opened()?.connection, into),
        }
    }

    fn read_events(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        match &self.tentative {
            // Only this connection sees changes that are not accepted yet.
            Some(connection) => event_reader::read_page(connection, range, into),
            None => self.event_reader().read(range, into),
        }
    }

    fn accept(&mut self) -> Result<(), StoreError> {
        self.accept_changes()
    }

    fn awaits_acceptance(&self) -> bool {
        self.tentative.is_some()
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        self.write("append", |connection| {
            CoalescedBatch::of(batch.changes).write(connection)?;
            if let Some(events) = &batch.events {
                event_batches::write(connection, events)?;
            }
            meta::write(connection, batch.number, batch.last_ids)
        })?;
        self.record_batch(batch.number);
        Ok(())
    }

    fn recover(&mut self) -> Result<BatchNumber, StoreError> {
        // The old connections are closed first, so that the new ones share no state with them.
        let _ = self.check_files();
        self.open = None;
        if let Err(what) = self.open_files.data().check() {
            self.open_files.set_damage(FileLoss::Data(what).into());
        }
        if let Some(damage) = self.open_files.damage() {
            return Err(damage);
        }
        let (open, copied) = OpenDatabase::new(&self.open_files, &self.log)?;
        let last = meta::read(&open.connection)?.last_batch;
        let kept = self.open_files.kept();
        if last < kept {
            return Err(self.open_files.set_damage(batch_lost(last, kept)));
        }
        if last > kept && copied == LogCopy::Partial {
            // The batch in doubt is in the log, but its sync may have failed, and a later sync would not report that
            // failure. So the batch counts as committed only after it has been copied into the database. Here a reader
            // of the file has prevented the copy.
            return Err(StoreError::unavailable(
                "the last batch cannot be copied into the data file while another program reads that",
            ));
        }
        if self.may_have_committed {
            open.invalidate_tail(copied, &self.path)?;
        }
        if self.is_suspect {
            self.check_integrity(&open)?;
        }
        self.may_have_committed = false;
        self.open_files.set_kept(last);
        self.open_files.set_log(open.log());
        self.open = Some(open);
        Ok(last)
    }

    fn check(&mut self) -> Result<(), StoreError> {
        self.accept_changes()?;
        self.check_files()?;
        self.opened()?.request_scrub();
        if self.marked.is_set() {
            self.mark();
        }
        Ok(())
    }

    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError> {
        self.write("note usage", |connection| put(connection, counts))
    }

    fn note_deliveries(&mut self, notes: &[DeliveryNote]) -> Result<(), StoreError> {
        self.write("note deliveries", |connection| tables::webhooks::note(connection, notes))
    }

    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        let sql = "DELETE FROM retries WHERE id IN
             (SELECT id FROM retries WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
        self.write("prune", |connection| {
            connection.prepare_cached(sql)?.execute(params![now.to_string(), PRUNE_MAX])
        })
    }

    fn prune_events(&mut self, limits: &EventLimits) -> Result<EventsPruned, StoreError> {
        let has_more = self.write("prune events", |connection| event_batches::prune(connection, limits))?;
        event_batches::pruned(&self.opened()?.connection, has_more)
    }

    fn event_reader(&self) -> Box<dyn EventBatchReader> {
        Box::new(EventReader::of(self.open_files()))
    }

    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
        self.marked.expect_epoch(bulk.new_epoch);
        self.write("bulk load", |connection| {
            if let Some(epoch) = bulk.new_epoch {
                tables::clear(connection)?;
                meta::set_epoch(connection, epoch)?;
            }
            event_batches::restart(connection, bulk.event_epoch)?;
            for row in rows {
                tables::add(connection, &row)?;
            }
            meta::write(connection, bulk.number, bulk.last_ids)
        })?;
        self.record_batch(bulk.number);
        Ok(())
    }
}

impl Drop for SqliteJournal {
    /// Copies the log into the data file and removes the log, unless another program reads the log.
    fn drop(&mut self) {
        // Tentative changes are undone with their connection.
        self.tentative = None;
        let _ = self.check_files();
        if let Some(open) = &mut self.open {
            open.stop();
            if self.open_files.kept() == BatchNumber(0) {
                let _ = crash_recovery::mark_closed_empty(&open.connection);
            }
            // Pages that cannot be copied stay in the log, where they are just as durable.
            if matches!(checkpoint::copy_and_empty(&open.connection), Ok(LogCopy::Emptied)) {
                batch_mark::remove(self.open_files.data().file());
            }
        }
    }
}

#[cfg(test)]
mod tests;
