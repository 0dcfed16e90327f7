//! The housekeeping of the writer: expired records and events are dropped, and changed usage is written to the journal,
//! in bounded passes between the batches.

use petstore_domain::Timestamp;
use petstore_ports::{EventsPruned, StoreError};

use super::Committer;
use crate::queue::HousekeepingPart;

/// Maximum number of accounts whose usage is written in one call of the journal. No batch is committed during the
/// call.
const WRITE_BEHIND_MAX: usize = 1_000;

/// Maximum number of webhooks whose progress is written in one call of the journal.
const NOTES_MAX: usize = 100;

/// Maximum number of passes for one request of housekeeping. The first pass follows the batch of the request, and each
/// later batch is followed by another pass. The bound is high enough, because all passes together handle more accounts
/// and expiring records than there are requests in a second.
const PASSES_MAX: u32 = 300;

impl Committer {
    /// Continues the housekeeping that earlier passes have left, and then does the requested parts.
    pub(super) fn keep_house(&mut self, parts: Vec<HousekeepingPart>) {
        // The callers were answered after the first pass, so the result of a later pass is ignored. An error is kept in
        // the state.
        if let Some(passes) = self.notes_left.take() {
            let _ = self.note_usage(passes);
        }
        if let Some((now, passes)) = self.drops_left.take() {
            let _ = self.drop_expired(now, passes);
        }
        for part in parts {
            match part {
                HousekeepingPart::NoteUsage { sender } => sender.send(self.note_usage(PASSES_MAX)),
                HousekeepingPart::NoteDeliveries { sender } => sender.send(self.note_deliveries()),
                HousekeepingPart::DropExpired { now, sender } => {
                    sender.send(self.drop_expired(now, PASSES_MAX));
                }
                HousekeepingPart::Watch { sender, .. } => {
                    sender.send(self.watch());
                    self.queue.watch_done();
                }
            }
        }
    }

    /// Drops a bounded number of expired records and events. If more are left, further passes follow after the next
    /// batches, at most `passes` of them. Returns the number of records dropped. The tables and the journal may drop
    /// different numbers of records in one pass; the larger number is returned.
    fn drop_expired(&mut self, now: Timestamp, passes: u32) -> Result<usize, StoreError> {
        self.check_healthy()?;
        let of_journal = self.journal.prune(now).map_err(|error| self.fail(error, None))?;
        let dropped = of_journal.max(self.tables.idempotency_records.prune(&self.stripes, now));
        let has_more_events = self.prune_events(now)?;
        if dropped > 0 || has_more_events {
            self.drops_left = passes.checked_sub(1).map(|left| (now, left));
        }
        Ok(dropped)
    }

    /// Writes the usage of a bounded number of accounts to the journal. If more is left, further passes follow after
    /// the next batches, at most `passes` of them.
    fn note_usage(&mut self, passes: u32) -> Result<(), StoreError> {
        self.check_healthy()?;
        if self.write_behind()? {
            self.notes_left = passes.checked_sub(1);
        }
        Ok(())
    }

    /// Writes the progress of webhooks to the journal that has changed since it was last written.
    pub(super) fn note_deliveries(&mut self) -> Result<(), StoreError> {
        self.check_healthy()?;
        loop {
            let notes = self.tables.deliveries.take_dirty(NOTES_MAX);
            if notes.is_empty() {
                return Ok(());
            }
            if let Err(error) = self.journal.note_deliveries(&notes) {
                self.tables.deliveries.mark_dirty(notes);
                return Err(self.fail(error, None));
            }
        }
    }

    /// Checks that the journal still answers.
    fn watch(&mut self) -> Result<(), StoreError> {
        self.check_healthy()?;
        self.journal.check().map_err(|error| self.fail(error, None))
    }

    fn check_healthy(&self) -> Result<(), StoreError> {
        self.state.error().map_or(Ok(()), Err)
    }

    /// Drops a bounded number of events that are too old or too many from the journal. Returns true if more are left.
    fn prune_events(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        match self.journal.prune_events(&self.tables.events.limits(now)) {
            Ok(EventsPruned { bounds, has_more }) => {
                self.tables.events.set_pruned(&bounds);
                Ok(has_more)
            }
            Err(error) => Err(self.fail(error, None)),
        }
    }

    /// Writes changed usage to the journal, of a bounded number of accounts. Returns true if more may be left.
    pub(super) fn write_behind(&mut self) -> Result<bool, StoreError> {
        let counts = self.tables.accounts.take_dirty_usage(WRITE_BEHIND_MAX);
        if !counts.is_empty()
            && let Err(error) = self.journal.note_usage(&counts)
        {
            self.tables.accounts.mark_dirty(&counts);
            return Err(self.fail(error, None));
        }
        Ok(counts.len() == WRITE_BEHIND_MAX)
    }
}
