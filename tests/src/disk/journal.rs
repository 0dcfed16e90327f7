//! The journal on the disk: every write is synced at once.

use petstore_domain::{Change, Changes, Timestamp};
use petstore_ports::{
    Batch, BatchNumber, BulkLoad, DeliveryNote, EventBatchReader, EventLimits, EventsPruned, Header, Journal,
    Row, StoreError, UsageCount,
};

use super::contents::Contents;
use super::events::{DiskReader, StoredEvents};
use super::fault::planned_error;
use super::{Disk, DiskBug, DiskState, EPOCH, Entry, Fault};
use crate::reference::narrow;

pub(super) struct DiskJournal {
    disk: Disk,
    /// `true` if a call has failed since the journal was opened or recovered.
    in_doubt: bool,
    /// Entries that a bug holds back until the next call.
    late: Vec<Entry>,
}

impl DiskJournal {
    pub(super) fn on(disk: Disk) -> Self {
        Self { disk, in_doubt: false, late: Vec::new() }
    }

    /// Writes and syncs entries, unless a fault is planned for this call.
    fn write(&mut self, entries: Vec<Entry>) -> Result<(), StoreError> {
        assert!(!self.in_doubt, "after an error a journal is recovered before anything else");
        let state = &mut *self.disk.lock();
        let fault = state.faults.call();
        if matches!(fault, None | Some(Fault::After)) {
            state.unsynced.append(&mut self.late);
            state.unsynced.extend(entries);
            state.sync();
        }
        self.in_doubt = fault.is_some();
        assert!(fault != Some(Fault::Panic), "planned: the journal panics");
        fault.map_or(Ok(()), |_| Err(planned_error()))
    }

    fn write_with(&mut self, bug: DiskBug, batch: Entry) -> Result<(), StoreError> {
        let Entry::Batch { number, mut changes, last_ids, events } = batch else {
            unreachable!("only batches are wrong")
        };
        let mut events = events;
        // If a bug writes a batch in several parts, the first part has all events.
        let mut entry = |changes| Entry::Batch { number, changes, last_ids, events: events.take() };
        match bug {
            DiskBug::RepliesBeforeCommit => {
                self.write(Vec::new())?;
                self.late.push(entry(changes));
            }
            DiskBug::CommitsWithoutSync => {
                let state = &mut *self.disk.lock();
                state.unsynced.push(entry(changes));
            }
            DiskBug::TearsBatches => {
                for change in changes {
                    self.write(vec![entry(vec![change])])?;
                    // The pause lets a power cut happen between two changes.
                    std::thread::sleep(std::time::Duration::from_micros(300));
                }
            }
            DiskBug::SplitsAnswers => {
                let is_answer = |change: &Change| matches!(change, Change::Idempotency(_));
                let (answers, effects) = changes.into_iter().partition(is_answer);
                self.write(vec![entry(effects)])?;
                self.late.push(entry(answers));
            }
            DiskBug::ForgetsLifts => {
                for change in &mut changes {
                    if let Change::Key(record) = change {
                        record.ban_lifted_at = None;
                    }
                }
                self.write(vec![entry(changes)])?;
            }
            DiskBug::NarrowColumns => {
                changes.iter_mut().for_each(narrow);
                self.write(vec![entry(changes)])?;
            }
            DiskBug::ForgetsEvents => {
                self.write(vec![Entry::Batch { number, changes, last_ids, events: None }])?;
            }
            DiskBug::SplitsEvents => {
                let late = entry(Vec::new());
                self.write(vec![Entry::Batch { number, changes, last_ids, events: None }])?;
                self.late.push(late);
            }
            DiskBug::ReusesIds | DiskBug::MinuteNotedAsDay | DiskBug::NotesUsageOnce | DiskBug::AddsUsage => {
                self.write(vec![entry(changes)])?;
            }
        }
        Ok(())
    }
}

impl DiskState {
    fn sync(&mut self) {
        for entry in self.unsynced.drain(..) {
            self.synced.write(&entry);
        }
    }

    /// The contents that a reader finds without a power cut.
    pub(super) fn contents(&self) -> Contents {
        let mut contents = self.synced.clone();
        for entry in &self.unsynced {
            contents.write(entry);
        }
        contents
    }

    fn last_batch(&self) -> BatchNumber {
        let number = |entry: &Entry| match entry {
            Entry::Batch { number, .. } | Entry::Bulk { number, .. } => Some(*number),
            Entry::Usage(_) | Entry::Deliveries(_) | Entry::Pruned(_) | Entry::EventsPruned(_) => None,
        };
        self.unsynced.iter().rev().find_map(number).unwrap_or(self.synced.last_batch)
    }
}

impl Journal for DiskJournal {
    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
        let (contents, bug) = {
            let state = self.disk.lock();
            (state.contents(), state.bug)
        };
        let last_batch = contents.last_batch;
        let last_ids =
            if bug == Some(DiskBug::ReusesIds) { contents.highest_ids() } else { contents.last_ids };
        let epoch = contents.epoch.unwrap_or(EPOCH);
        let events = contents.events.bounds();
        contents.into_rows().try_for_each(into)?;
        Ok(Header { last_batch, last_ids, epoch, events })
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let changes: Vec<Change> = batch.changes.iter().flat_map(Changes::as_slice).cloned().collect();
        assert!(!changes.is_empty(), "a batch that changes nothing is not written");
        let bug = self.disk.lock().bug;
        let events = batch.events.as_ref().map(StoredEvents::of);
        let entry = Entry::Batch { number: batch.number, changes, last_ids: batch.last_ids, events };
        if let Some(bug) = bug {
            return self.write_with(bug, entry);
        }
        let last = self.disk.lock().last_batch();
        assert_eq!(batch.number, last.next(), "numbers of batches rise by one");
        self.write(vec![entry])
    }

    fn recover(&mut self) -> Result<BatchNumber, StoreError> {
        let state = &mut *self.disk.lock();
        if let Some(fault) = state.faults.call() {
            assert!(fault != Fault::Panic, "planned: the journal panics");
            return Err(planned_error());
        }
        state.unsynced.clear();
        self.in_doubt = false;
        Ok(state.last_batch())
    }

    fn check(&mut self) -> Result<(), StoreError> {
        self.write(Vec::new())
    }

    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError> {
        let mut counts = counts.to_vec();
        let state = self.disk.lock();
        state.bug.into_iter().for_each(|bug| state.synced.miscount(bug, &mut counts));
        drop(state);
        self.write(vec![Entry::Usage(counts)])
    }

    fn note_deliveries(&mut self, notes: &[DeliveryNote]) -> Result<(), StoreError> {
        self.write(vec![Entry::Deliveries(notes.to_vec())])
    }

    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        let expired = self.disk.lock().synced.expired(now);
        self.write(vec![Entry::Pruned(now)]).map(|()| expired)
    }

    fn prune_events(&mut self, limits: &EventLimits) -> Result<EventsPruned, StoreError> {
        let mut after = self.disk.lock().contents().events;
        let has_more = after.prune(limits);
        self.write(vec![Entry::EventsPruned(*limits)])?;
        Ok(EventsPruned { bounds: after.bounds(), has_more })
    }

    fn event_reader(&self) -> Box<dyn EventBatchReader> {
        Box::new(DiskReader(self.disk.clone()))
    }

    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
        let BulkLoad { number, last_ids, new_epoch, event_epoch } = *bulk;
        self.write(vec![Entry::Bulk { number, new_epoch, event_epoch, rows: rows.collect(), last_ids }])
    }
}
