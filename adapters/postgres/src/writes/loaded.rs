//! The records that a batch has read from the database.

use std::collections::HashMap;

use petstore_domain::{RecordKind, RecordRef, View};
use petstore_ports::StoreError;
use tokio_postgres::Row;

use crate::records::Record;

/// Records that were asked for, each with its value or its absence.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    rows: View,
    /// The records whose rows cannot be read. They count as absent in `rows`.
    damaged: HashMap<RecordRef, StoreError>,
}

impl Loaded {
    /// Returns a result in which each of these records is absent until it is added.
    pub(super) fn absent<'r>(references: impl Iterator<Item = &'r RecordRef>) -> Self {
        let mut loaded = Self::default();
        references.for_each(|reference| loaded.rows.load_absence(reference));
        loaded
    }

    /// Returns whether a record was asked for, or came with one that was.
    pub(super) fn holds(&self, reference: &RecordRef) -> bool {
        self.rows.holds(reference)
    }

    /// Loads a record, or its absence, into a view. A record that was not asked for is not loaded.
    pub(super) fn show(&self, reference: &RecordRef, view: &mut View) -> Result<(), StoreError> {
        if let Some(damage) = self.damaged.get(reference) {
            return Err(damage.clone());
        }
        view.copy(reference, &self.rows);
        Ok(())
    }

    /// The row of a record; none if it is absent, is damaged, or was not asked for.
    pub(super) fn row<R: RecordKind>(&self, key: &R::Key) -> Option<&R> {
        R::seen(&self.rows, key)
    }

    /// Adds the rows of one table, as they were read. `id` makes the id of a record from the first column.
    ///
    /// If a row is damaged and its id is not, only the transitions that need this row fail. If the id is damaged, too, the
    /// whole call fails.
    pub(super) fn add<R: Record + RecordKind>(
        &mut self,
        rows: &[Row],
        id: fn(u64) -> Option<R::Key>,
    ) -> Result<(), StoreError> {
        for row in rows {
            match R::parse(row) {
                Ok(record) => self.insert(record),
                Err(damage) => {
                    let number = row.try_get::<_, i64>(0).ok().and_then(|id| u64::try_from(id).ok());
                    let reference = number.and_then(id).map(R::reference);
                    let Some(reference) = reference.filter(|reference| self.holds(reference)) else {
                        return Err(damage);
                    };
                    self.damaged.insert(reference, damage);
                }
            }
        }
        Ok(())
    }

    /// Adds a record, and the index entry of its name. Its row may have been asked for by its id or by its name, and what
    /// was not asked for is locked with it.
    pub(super) fn insert<R: RecordKind>(&mut self, record: R) {
        let reference = R::reference(record.key());
        record.load(&mut self.rows);
        if let Some(entry) = self.rows.entry(&reference) {
            self.rows.load_owner(&entry, Some(&reference));
        }
    }
}
