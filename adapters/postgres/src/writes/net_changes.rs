//! The net change of a batch: at most one statement for each row, however often the batch has changed it.

use petstore_domain::{
    Account, AccountWebhooks, CategoryRecord, Change, IdempotencyRecord, KeyRecord, OrderRecord, Overlay,
    PetRecord, RecordKind,
};

use super::loaded::Loaded;
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

impl<'r, R: RecordKind> Rows<'r, R> {
    pub(super) fn is_empty(&self) -> bool {
        self.inserted.is_empty() && self.updated.is_empty() && self.deleted.is_empty()
    }

    /// Adds a record that the batch has written. Its row may be as it was.
    fn write(&mut self, loaded: &Loaded, after: &'r R) {
        match loaded.row::<R>(&after.key()) {
            None => self.inserted.push(after),
            Some(before) if before != after => self.updated.push(after),
            Some(_) => {}
        }
    }

    /// Adds a record that the batch has deleted. The same batch may have inserted it.
    fn delete(&mut self, loaded: &Loaded, key: &R::Key, id: u64) {
        if loaded.row::<R>(key).is_some() {
            self.deleted.push(signed(id));
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

impl<'r> NetChanges<'r> {
    /// Compares the last values of a batch with the rows that it has locked.
    pub(super) fn of(loaded: &Loaded, overlay: &'r Overlay) -> Self {
        let mut net = Self::default();
        for change in overlay.latest() {
            match change {
                Change::Pet(after) => {
                    net.moves_pets |= moves(loaded.row(&after.pet.id), after);
                    net.pets.write(loaded, after);
                }
                Change::PetDeleted(id) => net.pets.delete(loaded, id, id.get()),
                Change::Category(after) => net.categories.write(loaded, after),
                Change::CategoryDeleted(id) => net.categories.delete(loaded, id, id.get()),
                Change::Order(after) => net.orders.write(loaded, after),
                Change::OrderDeleted(id) => net.orders.delete(loaded, id, id.get()),
                Change::Account(after) => net.accounts.write(loaded, after),
                Change::Key(after) => net.keys.write(loaded, after),
                Change::Idempotency(after) => net.idempotency.write(loaded, after),
                Change::Webhooks(after) => net.webhooks.write(loaded, after),
                Change::WebhooksDeleted(account) => net.webhooks.delete(loaded, account, account.get()),
            }
        }
        net
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

fn moves(before: Option<&PetRecord>, after: &PetRecord) -> bool {
    before.is_some_and(|before| members::is_moved(&before.pet, &after.pet))
}

#[cfg(test)]
mod tests {
    use petstore_domain::{CategoryId, Changes, NewPet, PetId, PetName};

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
            loaded.insert(record.clone());
        }
        let mut overlay = Overlay::default();
        for change in decisions {
            overlay.add(Changes::from([change.clone()]), |record, view| loaded.show(record, view));
        }
        let NetChanges { pets, moves_pets, .. } = NetChanges::of(&loaded, &overlay);
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
