//! Faulty journals.

use std::ops::ControlFlow;
use std::time::Duration;

use petstore_domain::{Change, Changes, Timestamp};
use petstore_ports::{
    Batch, BatchNumber, BulkLoad, DeliveryNote, EventBatch, EventBatchReader, EventBounds, EventLimits,
    EventRange, EventsPruned, Header, Journal, Row, StoreError, UsageCount,
};

use super::{Bug, events};

pub(crate) struct Wrong {
    bug: Bug,
    inner: Box<dyn Journal>,
    acknowledged: BatchNumber,
}

impl Wrong {
    pub(crate) fn new(bug: Bug, inner: Box<dyn Journal>) -> Self {
        Self { bug, inner, acknowledged: BatchNumber::default() }
    }
}

impl Journal for Wrong {
    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
        let bug = self.bug;
        let header = self.inner.load(&mut |row| match row {
            Row::Usage(_) if bug == Bug::ForgetsUsage => Ok(()),
            Row::Progress(..) if bug == Bug::ForgetsDeliveries => Ok(()),
            row => into(row),
        })?;
        self.acknowledged = header.last_batch;
        Ok(header)
    }

    fn read_events(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        self.inner.read_events(range, into)
    }

    fn accept(&mut self) -> Result<(), StoreError> {
        self.inner.accept()
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let without_bans: Vec<Changes>;
        let mut written = *batch;
        if self.bug == Bug::ForgetsBans {
            without_bans = batch.changes.iter().map(without_ban).collect();
            written.changes = &without_bans;
        }
        self.inner.append(&written)?;
        self.acknowledged = batch.number;
        Ok(())
    }

    fn recover(&mut self) -> Result<BatchNumber, StoreError> {
        let last = self.inner.recover()?;
        Ok(if self.bug == Bug::IgnoresBatchInDoubt { self.acknowledged } else { last })
    }

    fn check(&mut self) -> Result<(), StoreError> {
        self.inner.check()
    }

    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError> {
        self.inner.note_usage(counts)
    }

    fn note_deliveries(&mut self, notes: &[DeliveryNote]) -> Result<(), StoreError> {
        self.inner.note_deliveries(notes)
    }

    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        let early =
            if self.bug == Bug::PrunesLiveRecords { Duration::from_hours(12) } else { Duration::ZERO };
        self.inner.prune(now.plus(early))
    }

    fn prune_events(&mut self, limits: &EventLimits) -> Result<EventsPruned, StoreError> {
        self.inner.prune_events(limits)
    }

    fn event_reader(&self) -> Box<dyn EventBatchReader> {
        let inner = self.inner.event_reader();
        if self.bug == Bug::LosesOlderEvents { Box::new(events::LateReader(inner)) } else { inner }
    }

    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
        self.inner.bulk(bulk, rows)
    }
}

/// The changes, without the bans of keys.
fn without_ban(changes: &Changes) -> Changes {
    let mut wrong = Changes::none();
    for change in changes.as_slice() {
        let mut change = change.clone();
        if let Change::Key(record) = &mut change {
            record.ban = None;
        }
        wrong.push(change);
    }
    wrong
}
