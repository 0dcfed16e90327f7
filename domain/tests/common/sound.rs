//! Invariants of every shop after every change.

use std::collections::BTreeSet;

use petstore_domain::*;

use super::Shop;

impl Shop {
    /// Asserts the invariants of the current state.
    pub(crate) fn assert_sound(&self) {
        for record in self.pets.values() {
            self.assert_pet_is_sound(record);
        }
        for record in self.categories.values() {
            let pets = self.pets.values().filter(|pet| pet.pet.category_id == record.category.id).count();
            assert_eq!(record.pets, pets as u64, "the pets of {record:?}");
        }
        for record in self.orders.values().filter(|record| !record.order.complete) {
            assert!(self.pets.contains_key(&record.order.pet_id), "the pet of {record:?}");
        }
        for key in self.keys.values() {
            assert!(self.accounts.contains_key(&key.account), "the account of {key:?}");
        }
        let folded: BTreeSet<FoldedName> =
            self.categories.values().map(|record| record.category.name.folded()).collect();
        assert_eq!(folded.len(), self.categories.len(), "each category has a unique name");
        let names: BTreeSet<FoldedName> =
            self.accounts.values().map(|account| account.name.folded()).collect();
        assert_eq!(names.len(), self.accounts.len(), "each account has a unique name");
    }

    fn assert_pet_is_sound(&self, record: &PetRecord) {
        let sound = match record.pet.status {
            PetStatus::Available => record.stock > 0,
            PetStatus::Pending => record.stock > 0 || record.open_orders > 0,
            PetStatus::Sold => record.stock == 0 && record.open_orders == 0,
        };
        assert!(sound, "the status of {record:?}");
        let open =
            self.orders.values().filter(|one| one.order.pet_id == record.pet.id && !one.order.complete);
        assert_eq!(record.open_orders as usize, open.count(), "the open orders of {record:?}");
        assert!(self.categories.contains_key(&record.pet.category_id), "the category of {record:?}");
    }

    /// Asserts that a version is one higher if its representation has changed, and the same otherwise.
    pub(crate) fn assert_versions_follow(&self, before: &Self) {
        for (id, new) in &self.pets {
            match before.pets.get(id) {
                Some(old) => {
                    assert_follows(old.version, new.version, old.pet != new.pet);
                    assert_follows(old.item_version, new.item_version, old.item() != new.item());
                }
                None => assert_eq!((new.version, new.item_version), (Version::FIRST, Version::FIRST)),
            }
        }
        for (id, new) in &self.categories {
            match before.categories.get(id) {
                Some(old) => assert_follows(old.version, new.version, old.category != new.category),
                None => assert_eq!(new.version, Version::FIRST),
            }
        }
        for (id, new) in &self.orders {
            match before.orders.get(id) {
                Some(old) => assert_follows(old.version, new.version, old.order != new.order),
                None => assert_eq!(new.version, Version::FIRST),
            }
        }
    }
}

fn assert_follows(old: Version, new: Version, changed: bool) {
    assert_eq!(new.get() - old.get(), u64::from(changed), "from version {old:?} to {new:?}");
}
