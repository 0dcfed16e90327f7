//! The records that a batch has read from the database.

use std::collections::HashMap;

use petstore_domain::{Account, AccountWebhooks, CategoryId, CategoryRecord, PetId, RecordRef};
use petstore_domain::{AccountId, IdempotencyRecord, KeyId, KeyRecord, OrderId, OrderRecord, PetRecord};
use petstore_ports::StoreError;
use tokio_postgres::Row;

use super::any_record::AnyRecord;
use super::table::Table;
use crate::records::Record;

/// Records that were asked for, each with its value or its absence.
#[derive(Debug, Default)]
pub(super) struct Loaded(HashMap<RecordRef, Option<Result<AnyRecord, StoreError>>>);

impl Loaded {
    /// Returns a result in which each of these records is absent until it is added.
    pub(super) fn absent<'r>(references: impl Iterator<Item = &'r RecordRef>) -> Self {
        Self(references.map(|reference| (reference.clone(), None)).collect())
    }

    /// Returns whether a record was asked for.
    pub(super) fn holds(&self, reference: &RecordRef) -> bool {
        self.0.contains_key(reference)
    }

    /// The value of a record; none if it is absent or was not asked for.
    pub(super) fn value(&self, reference: &RecordRef) -> Result<Option<&AnyRecord>, StoreError> {
        match self.0.get(reference) {
            Some(Some(Ok(record))) => Ok(Some(record)),
            Some(Some(Err(damage))) => Err(damage.clone()),
            Some(None) | None => Ok(None),
        }
    }

    /// Adds a record, or its absence.
    #[cfg(test)]
    pub(super) fn insert(&mut self, reference: RecordRef, record: Option<AnyRecord>) {
        self.0.insert(reference, record.map(Ok));
    }

    /// Adds the rows of one table, as they were read.
    pub(super) fn add(&mut self, table: Table, rows: &[Row]) -> Result<(), StoreError> {
        for row in rows {
            match table {
                Table::Pets => {
                    let key = |id| PetId::new(id).ok().map(RecordRef::Pet);
                    self.add_row(row, key, |one: PetRecord| AnyRecord::Pet(one))?;
                }
                Table::Categories => {
                    let key = |id| CategoryId::new(id).ok().map(RecordRef::Category);
                    self.add_row(row, key, |one: CategoryRecord| AnyRecord::Category(one))?;
                }
                Table::Orders => {
                    let key = |id| OrderId::new(id).ok().map(RecordRef::Order);
                    self.add_row(row, key, |one: OrderRecord| AnyRecord::Order(one))?;
                }
                Table::Accounts => {
                    let key = |id| AccountId::new(id).ok().map(RecordRef::Account);
                    self.add_row(row, key, |one: Account| AnyRecord::Account(one))?;
                }
                Table::Keys => {
                    let key = |id| KeyId::new(id).ok().map(RecordRef::Key);
                    self.add_row(row, key, |one: KeyRecord| AnyRecord::Key(Box::new(one)))?;
                }
                Table::Webhooks => {
                    let key = |id| AccountId::new(id).ok().map(RecordRef::Webhooks);
                    self.add_row(row, key, |one: AccountWebhooks| AnyRecord::Webhooks(Box::new(one)))?;
                }
                Table::IdempotencyRecords => {
                    let one = |one: IdempotencyRecord| AnyRecord::Idempotency(Box::new(one));
                    self.add_row(row, |_| None, one)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a row. If a row is damaged and its id is not, only the transitions that need this row fail. If the id is
    /// damaged, too, the whole call fails.
    fn add_row<R: Record>(
        &mut self,
        row: &Row,
        key: impl FnOnce(u64) -> Option<RecordRef>,
        wrap: impl FnOnce(R) -> AnyRecord,
    ) -> Result<(), StoreError> {
        let record = match R::parse(row) {
            Ok(record) => wrap(record),
            Err(damage) => {
                let id = row.try_get::<_, i64>(0).ok().and_then(|id| u64::try_from(id).ok());
                let reference = id.and_then(key).filter(|reference| self.holds(reference));
                let place = reference.and_then(|reference| self.0.get_mut(&reference));
                let Some(place) = place else { return Err(damage) };
                *place = Some(Err(damage));
                return Ok(());
            }
        };
        let name = match &record {
            AnyRecord::Category(one) => Some((
                RecordRef::CategoryName(one.category.name.folded()),
                AnyRecord::CategoryName(one.category.id),
            )),
            AnyRecord::Account(one) => {
                Some((RecordRef::AccountName(one.name.folded()), AnyRecord::AccountName(one.id)))
            }
            _ => None,
        };
        // A row may have been asked for by its id, by its name, or by both. Only a reference that was asked for has a
        // place.
        let reference = record.reference();
        for (reference, value) in reference.map(|reference| (reference, record)).into_iter().chain(name) {
            if let Some(place) = self.0.get_mut(&reference) {
                *place = Some(Ok(value));
            }
        }
        Ok(())
    }
}
