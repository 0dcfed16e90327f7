//! The bounded store of records.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::record::{RecordedAnswer, RecordedRequest, RequestRecord};

/// The bounds of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalBounds {
    /// The maximum number of records.
    pub records: usize,
    /// The maximum number of bytes of all records, computed from the length of their parts.
    pub bytes: usize,
    /// The maximum number of bytes that are kept of one body.
    pub body: usize,
}

impl JournalBounds {
    /// The defaults: 1,000 records, 16 MiB, and 64 KiB of each body.
    pub const DEFAULT: Self = Self { records: 1_000, bytes: 16 * 1024 * 1024, body: 64 * 1024 };
}

/// The latest requests and their answers. When a bound is exceeded, the oldest records are dropped.
pub struct RequestJournal {
    bounds: JournalBounds,
    ring: Mutex<Ring>,
}

/// Identifies a record for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordTicket {
    /// The number of times that the journal had been cleared when the record was added.
    clears: u64,
    sequence: u64,
}

impl RecordTicket {
    /// Returns the number of the record.
    pub const fn sequence(self) -> u64 {
        self.sequence
    }
}

/// The records of a journal at one moment.
#[derive(Debug, Clone)]
pub struct JournalPage {
    /// The records, the oldest first.
    pub records: Vec<RequestRecord>,
    /// The number of records that were dropped since the journal was cleared.
    pub dropped: u64,
    /// The number of times that the journal was cleared.
    pub clears: u64,
    /// The number of the latest change. Pass it to [`RequestJournal::changes`] to get the changes after this moment.
    pub revision: u64,
}

struct Ring {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The number of the first entry.
    first: u64,
    clears: u64,
    /// Counts the changes of records.
    revision: u64,
}

struct Entry {
    request: Arc<RecordedRequest>,
    answer: Option<Arc<RecordedAnswer>>,
    bytes: usize,
    /// The revision of the last change of the entry.
    revision: u64,
}

impl RequestJournal {
    /// Returns an empty journal.
    pub fn new(bounds: JournalBounds) -> Self {
        let ring = Ring { entries: VecDeque::new(), bytes: 0, first: 1, clears: 0, revision: 0 };
        Self { bounds, ring: Mutex::new(ring) }
    }

    /// Returns the bounds of the records and of their bodies.
    pub const fn bounds(&self) -> &JournalBounds {
        &self.bounds
    }

    /// Adds a request that has arrived.
    pub fn add(&self, request: RecordedRequest) -> RecordTicket {
        let bytes = request_bytes(&request);
        let request = Arc::new(request);
        let mut ring = self.ring.lock();
        ring.revision += 1;
        let revision = ring.revision;
        ring.bytes += bytes;
        ring.entries.push_back(Entry { request, answer: None, bytes, revision });
        let ticket =
            RecordTicket { clears: ring.clears, sequence: ring.first + ring.entries.len() as u64 - 1 };
        let dropped = ring.enforce(&self.bounds);
        drop(ring);
        // The memory of dropped records is freed after the lock.
        drop(dropped);
        ticket
    }

    /// Sets the answer of a record, or replaces it. Does nothing if the record was dropped meanwhile.
    pub fn answer(&self, ticket: RecordTicket, answer: RecordedAnswer) {
        let bytes = answer.bytes();
        let answer = Some(Arc::new(answer));
        let mut ring = self.ring.lock();
        if ring.clears != ticket.clears {
            return;
        }
        let revision = ring.revision + 1;
        let place = ticket.sequence.checked_sub(ring.first).and_then(|place| usize::try_from(place).ok());
        let Some(entry) = place.and_then(|place| ring.entries.get_mut(place)) else { return };
        let before = entry.bytes;
        entry.bytes = request_bytes(&entry.request) + bytes;
        entry.revision = revision;
        let former = std::mem::replace(&mut entry.answer, answer);
        let after = entry.bytes;
        ring.revision = revision;
        ring.bytes = ring.bytes - before + after;
        let dropped = ring.enforce(&self.bounds);
        drop(ring);
        drop((former, dropped));
    }

    /// Deletes all records. The numbers begin at 1 again. Requests that are being answered are not recorded any more.
    pub fn clear(&self) {
        let mut ring = self.ring.lock();
        let entries = std::mem::take(&mut ring.entries);
        (ring.bytes, ring.first) = (0, 1);
        ring.clears += 1;
        ring.revision += 1;
        drop(ring);
        drop(entries);
    }

    /// Returns the record with a number, if the journal still has it and was not cleared since it had been cleared `clears`
    /// times.
    pub fn record(&self, clears: u64, sequence: u64) -> Option<RequestRecord> {
        let ring = self.ring.lock();
        let place = sequence.checked_sub(ring.first).and_then(|place| usize::try_from(place).ok());
        let entry = place.and_then(|place| ring.entries.get(place)).filter(|_| ring.clears == clears)?;
        Some(RequestRecord { sequence, request: Arc::clone(&entry.request), answer: entry.answer.clone() })
    }

    /// Returns all records.
    pub fn page(&self) -> JournalPage {
        self.changes(0)
    }

    /// Returns the records that were added or answered after a revision.
    pub fn changes(&self, since: u64) -> JournalPage {
        let ring = self.ring.lock();
        let changed = ring.entries.iter().zip(ring.first..).filter(|(entry, _)| entry.revision > since);
        let records = changed.map(|(entry, sequence)| RequestRecord {
            sequence,
            request: Arc::clone(&entry.request),
            answer: entry.answer.clone(),
        });
        JournalPage {
            records: records.collect(),
            dropped: ring.first - 1,
            clears: ring.clears,
            revision: ring.revision,
        }
    }
}

impl Ring {
    /// Removes the oldest entries until the bounds hold. Usually it is one, for which no vector is allocated.
    fn enforce(&mut self, bounds: &JournalBounds) -> (Option<Entry>, Vec<Entry>) {
        let mut excess = std::iter::from_fn(|| self.remove_excess(bounds));
        (excess.next(), excess.collect())
    }

    /// Removes the oldest entry if a bound is exceeded.
    fn remove_excess(&mut self, bounds: &JournalBounds) -> Option<Entry> {
        if self.entries.len() <= bounds.records && self.bytes <= bounds.bytes {
            return None;
        }
        let entry = self.entries.pop_front()?;
        self.bytes -= entry.bytes;
        self.first += 1;
        Some(entry)
    }
}

fn request_bytes(request: &RecordedRequest) -> usize {
    size_of::<Entry>() + request.bytes()
}

#[cfg(test)]
mod tests;
