//! The interface between the rules and a store: the records that operations read, and the changes that they make.

use crate::Timestamp;
use crate::event::Happening;
use crate::record::{Change, RecordRef};

/// References to all records that an operation may read: sorted, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint(Vec<RecordRef>);

impl Footprint {
    /// Adds a reference, if it is not there yet.
    pub fn add(&mut self, record: RecordRef) {
        if let Err(place) = self.0.binary_search(&record) {
            self.0.insert(place, record);
        }
    }

    /// The references, sorted.
    pub fn records(&self) -> &[RecordRef] {
        &self.0
    }
}

impl<const N: usize> From<[RecordRef; N]> for Footprint {
    fn from(records: [RecordRef; N]) -> Self {
        let mut records = Vec::from(records);
        records.sort_unstable();
        records.dedup();
        Self(records)
    }
}

/// The changes of one decision, applied together or not at all, with the events that they cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    records: Vec<Change>,
    happenings: Vec<Happening>,
    at: Timestamp,
}

impl Changes {
    /// Returns the changes of an operation that leaves everything as it is.
    pub const fn none() -> Self {
        Self::of(Vec::new())
    }

    const fn of(records: Vec<Change>) -> Self {
        Self { records, happenings: Vec::new(), at: Timestamp::EPOCH }
    }

    /// Adds a change behind the others.
    pub fn push(&mut self, change: Change) {
        self.records.push(change);
    }

    /// Adds the events that the changes cause, and the time of the decision.
    #[must_use]
    pub fn with_events(self, happenings: Vec<Happening>, at: Timestamp) -> Self {
        Self { happenings, at, ..self }
    }

    /// The changes, in the order in which they were added.
    pub fn as_slice(&self) -> &[Change] {
        &self.records
    }

    /// The events that the changes cause, in the order of the log.
    pub fn happenings(&self) -> &[Happening] {
        &self.happenings
    }

    /// The time of the events, which is the time of the operation.
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// Returns whether there are no changes, and so no events.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl Default for Changes {
    fn default() -> Self {
        Self::none()
    }
}

impl<const N: usize> From<[Change; N]> for Changes {
    fn from(changes: [Change; N]) -> Self {
        Self::of(Vec::from(changes))
    }
}

impl IntoIterator for Changes {
    type Item = Change;
    type IntoIter = std::vec::IntoIter<Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.records.into_iter()
    }
}
