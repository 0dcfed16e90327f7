//! The net change of a batch: at most one statement for each row, however often the batch has changed it.

use petstore_domain::{
    Account, AccountWebhooks, CategoryRecord, IdempotencyRecord, KeyRecord, OrderRecord, PetRecord, RecordRef,
};
use petstore_ports::StoreError;

use super::any_record::AnyRecord;
use super::loaded::Loaded;
use super::overlay::Overlay;
use super::wanted::signed;
use crate::members;

/// The rows of one table that are written, in the order of their ids.
#[derive(Debug)]
pub(super) struct Rows<'r, R> {
    pub(super) inserted: Vec<&'r R>,
    pub(super) updated: Vec<&'r R>,
    pub(super) deleted: Vec<i64>,
}

impl<R> Default for Rows<'_, R> {
    fn default() -> Self {
        Self { inserted: Vec::new(), updated: Vec::new(), deleted: Vec::new() }
    }
}

impl<'r, R: PartialEq> Rows<'r, R> {
    pub(super) fn is_empty(&self) -> bool {
        self.inserted.is_empty() && self.updated.is_empty() && self.deleted.is_empty()
    }

    fn add(&mut self, id: u64, before: Option<&R>, after: Option<&'r R>) {
        match (before, after) {
            (None, Some(after)) => self.inserted.push(after),
            (Some(before), Some(after)) if before != after => self.updated.push(after),
            (Some(_), None) => self.deleted.push(signed(id)),
            // The row is unchanged, or the same batch has inserted and deleted it.
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}

/// The rows of all tables that are written.
#[derive(Debug, Default)]
pub(super) struct NetChanges<'r> {
    pub(super) pets: Rows<'r, PetRecord>,
    /// True if an indexed member of some pet changes.
    pub(super) moves_pets: bool,
    pub(super) categories: Rows<'r, CategoryRecord>,
    pub(super) orders: Rows<'r, OrderRecord>,
    pub(super) accounts: Rows<'r, Account>,
    pub(super) keys: Rows<'r, KeyRecord>,
    pub(super) idempotency: Rows<'r, IdempotencyRecord>,
    pub(super) webhooks: Rows<'r, AccountWebhooks>,
}

macro_rules! add {
    ($rows:expr, $id:expr, $before:ident, $after:ident, $variant:ident) => {
        $rows.add(
            $id,
            $before.and_then(|one| if let AnyRecord::$variant(one) = one { Some(&*one) } else { None }),
            $after.and_then(|one| if let AnyRecord::$variant(one) = one { Some(&*one) } else { None }),
        )
    };
}

impl<'r> NetChanges<'r> {
    /// Compares the last values of a batch with the rows that it has locked.
    pub(super) fn of(loaded: &Loaded, overlay: &'r Overlay) -> Result<Self, StoreError> {
        let mut net = Self::default();
        for (reference, after) in overlay.latest() {
            let (before, after) = (loaded.value(reference)?, after.as_ref());
            match reference {
                RecordRef::Pet(id) => {
                    net.moves_pets |= moves(before, after);
                    add!(net.pets, id.get(), before, after, Pet);
                }
                RecordRef::Category(id) => add!(net.categories, id.get(), before, after, Category),
                RecordRef::Order(id) => add!(net.orders, id.get(), before, after, Order),
                RecordRef::Account(id) => add!(net.accounts, id.get(), before, after, Account),
                RecordRef::Key(id) => net.keys.add(id.get(), key(before), key(after)),
                RecordRef::Idempotency(_) => net.idempotency.add(0, idempotency(before), idempotency(after)),
                RecordRef::Webhooks(account) => {
                    net.webhooks.add(account.get(), webhooks(before), webhooks(after));
                }
                RecordRef::CategoryName(_)
                | RecordRef::AccountName(_)
                | RecordRef::NextPet
                | RecordRef::NextCategory
                | RecordRef::NextOrder
                | RecordRef::NextAccount
                | RecordRef::NextKey => {}
            }
        }
        Ok(net)
    }

    /// Returns whether no row is written.
    pub(super) fn is_empty(&self) -> bool {
        self.pets.is_empty()
            && self.categories.is_empty()
            && self.orders.is_empty()
            && self.accounts.is_empty()
            && self.keys.is_empty()
            && self.idempotency.is_empty()
            && self.webhooks.is_empty()
    }
}

fn key(record: Option<&AnyRecord>) -> Option<&KeyRecord> {
    match record {
        Some(AnyRecord::Key(record)) => Some(record),
        _ => None,
    }
}

fn idempotency(record: Option<&AnyRecord>) -> Option<&IdempotencyRecord> {
    match record {
        Some(AnyRecord::Idempotency(record)) => Some(record),
        _ => None,
    }
}

fn webhooks(record: Option<&AnyRecord>) -> Option<&AccountWebhooks> {
    match record {
        Some(AnyRecord::Webhooks(record)) => Some(record),
        _ => None,
    }
}

fn moves(before: Option<&AnyRecord>, after: Option<&AnyRecord>) -> bool {
    match (before, after) {
        (Some(AnyRecord::Pet(before)), Some(AnyRecord::Pet(after))) => {
            members::is_moved(&before.pet, &after.pet)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::{CategoryId, Change, Changes, NewPet, PetId, PetName};

    use super::*;

    fn pet(id: u64, name: &str, stock: u64) -> PetRecord {
        let new = NewPet::new(PetName::parse(name).unwrap(), CategoryId::FIRST);
        PetRecord { stock, ..PetRecord::new(PetId::new(id).unwrap(), new) }
    }

    /// The net change of decisions about pets, some of which are in the database: the ids of the inserted, updated and
    /// deleted ones, and whether a name or category changes.
    fn net(in_database: &[PetRecord], decisions: &[Change]) -> (Vec<u64>, Vec<u64>, Vec<i64>, bool) {
        let mut loaded = Loaded::default();
        for record in in_database {
            loaded.insert(RecordRef::Pet(record.pet.id), Some(AnyRecord::Pet(record.clone())));
        }
        let mut overlay = Overlay::default();
        for change in decisions {
            overlay.add(&loaded, Changes::from([change.clone()]));
        }
        let NetChanges { pets, moves_pets, .. } = NetChanges::of(&loaded, &overlay).unwrap();
        let ids = |records: &[&PetRecord]| records.iter().map(|record| record.pet.id.get()).collect();
        (ids(&pets.inserted), ids(&pets.updated), pets.deleted, moves_pets)
    }

    #[test]
    fn a_row_is_written_once_however_often_it_changes() {
        // The ids that are inserted, updated and deleted.
        type Written = (Vec<u64>, Vec<u64>, Vec<i64>);
        let (one, two) = (pet(1, "Rex", 5), pet(2, "Tom", 5));
        let change = |id, stock| Change::Pet(pet(id, if id == 1 { "Rex" } else { "Tom" }, stock));
        let deleted = |id| Change::PetDeleted(PetId::new(id).unwrap());
        let cases: [(&str, Vec<Change>, Written); 6] = [
            ("updated twice", vec![change(1, 4), change(1, 3)], (vec![], vec![1], vec![])),
            ("changed and changed back", vec![change(1, 4), change(1, 5)], (vec![], vec![], vec![])),
            ("updated and deleted", vec![change(2, 4), deleted(2)], (vec![], vec![], vec![2])),
            ("inserted and updated", vec![change(7, 1), change(7, 2)], (vec![7], vec![], vec![])),
            ("inserted and deleted", vec![change(7, 1), deleted(7)], (vec![], vec![], vec![])),
            (
                "in the order of the ids",
                vec![change(9, 1), change(8, 1), change(2, 1)],
                (vec![8, 9], vec![2], vec![]),
            ),
        ];
        for (case, decisions, (inserted, updated, deleted)) in cases {
            let expected = (inserted, updated, deleted, false);
            assert_eq!(net(&[one.clone(), two.clone()], &decisions), expected, "{case}");
        }
    }

    #[test]
    fn a_new_name_writes_the_indexed_columns_too() {
        let renamed = Change::Pet(pet(1, "Max", 5));
        assert_eq!(net(&[pet(1, "Rex", 5)], &[renamed]), (vec![], vec![1], vec![], true));
    }
}
