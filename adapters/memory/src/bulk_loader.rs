//! Loads rows that may contradict each other into empty tables: on opening a journal, on import, and on reset.

use petstore_bulk_checks::{Contradiction, ShopLoader, ShopTables};
use petstore_domain::{
    Account, CategoryId, CategoryRecord, FoldedName, IdempotencyRecord, KeyRecord, OrderId, OrderRecord,
    PetId, PetRecord,
};
use petstore_ports::UsageCount;

use crate::hash_index::HashIndexBuffer;
use crate::slab::{SLOT_MAX, slot};
use crate::tables::Tables;

/// The tables of the shop while rows are loaded.
pub(crate) struct LoadingTables<'a> {
    tables: &'a Tables,
    /// The name index's entries of the pets so far.
    names: HashIndexBuffer,
}

impl<'a> LoadingTables<'a> {
    pub(crate) fn of(tables: &'a Tables) -> Self {
        Self { tables, names: HashIndexBuffer::default() }
    }

    /// Adds all pets to the name index. Call it after the last pet was loaded.
    pub(crate) fn index_names(&mut self) {
        self.tables.pets.index_names(std::mem::take(&mut self.names));
    }
}

/// The slot of an id that was checked against [`ShopTables::ID_MAX`].
fn slot_of(id: u64) -> u32 {
    slot(id).expect("the loader checks that the tables hold each id")
}

impl ShopTables for LoadingTables<'_> {
    const ID_MAX: u64 = SLOT_MAX as u64;

    fn has_category(&self, id: CategoryId) -> bool {
        self.tables.categories.read(id, |_| ()).is_some()
    }

    fn category_named(&self, name: &FoldedName) -> Option<CategoryId> {
        self.tables.categories.named(name)
    }

    fn put_category(&mut self, record: CategoryRecord) {
        self.tables.categories.put(slot_of(record.category.id.get()), record);
    }

    fn update_category(&mut self, id: CategoryId, change: impl FnOnce(&mut CategoryRecord)) {
        self.tables.categories.update(id, change);
    }

    fn categories(&self) -> impl Iterator<Item = CategoryRecord> {
        self.tables.categories.all()
    }

    fn pets_in(&self, category: CategoryId) -> u64 {
        self.tables.pets.count_in(category)
    }

    fn read_pet<R>(&self, id: PetId, read: impl FnOnce(&PetRecord) -> R) -> Option<R> {
        self.tables.pets.read(id, read)
    }

    fn add_pet(&mut self, record: PetRecord) {
        self.tables.pets.load(slot_of(record.pet.id.get()), record, &mut self.names);
    }

    fn update_pet(&mut self, id: PetId, change: impl FnOnce(&mut PetRecord)) {
        self.tables.pets.update(id, change);
    }

    fn pets(&self) -> impl Iterator<Item = PetRecord> {
        self.tables.pets.all()
    }

    fn has_order(&self, id: OrderId) -> bool {
        self.tables.orders.holds(id)
    }

    fn add_order(&mut self, record: OrderRecord) {
        let pet = record.order.pet_id.get();
        // The id of a deleted pet is not reissued: its orders would be taken for those of another pet.
        self.tables.pets.ids.advance_to(pet);
        self.tables.orders.put(slot_of(record.order.id.get()), slot_of(pet), record);
    }
}

/// Loads all records of a journal into tables. A record must come before those that belong to it: categories, pets, orders;
/// accounts, then their keys and usage.
pub(crate) struct BulkLoader<'a> {
    tables: &'a Tables,
    shop: ShopLoader<LoadingTables<'a>>,
}

impl<'a> BulkLoader<'a> {
    pub(crate) fn of(tables: &'a Tables) -> Self {
        Self { tables, shop: ShopLoader::new(LoadingTables::of(tables)) }
    }

    /// The part for categories, pets and orders.
    pub(crate) const fn shop(&mut self) -> &mut ShopLoader<LoadingTables<'a>> {
        &mut self.shop
    }

    pub(crate) fn account(&mut self, account: Account) -> Result<(), Contradiction> {
        let (accounts, id) = (&self.tables.accounts, account.id);
        let slot = new_slot("account", id.get(), accounts.read(id, |_| ()).is_some())?;
        if accounts.id_of(&account.name.folded()).is_some() {
            return Err(taken("account", id.get(), "name of another account"));
        }
        accounts.put(slot, account);
        Ok(())
    }

    pub(crate) fn key(&mut self, record: KeyRecord) -> Result<(), Contradiction> {
        let (keys, id) = (&self.tables.keys, record.id);
        let slot = new_slot("key", id.get(), keys.read(id, |_| ()).is_some())?;
        if keys.id_of(&record.digest).is_some() {
            return Err(taken("key", id.get(), "secret of another key"));
        }
        if self.tables.accounts.read(record.account, |_| ()).is_none() {
            return Err(orphan("key", id.get(), "account", record.account.get()));
        }
        keys.put(slot, record);
        Ok(())
    }

    pub(crate) fn idempotency_record(&mut self, record: IdempotencyRecord) -> Result<(), Contradiction> {
        if self.tables.idempotency_records.holds(&record.id) {
            return Err(Contradiction::Twice {
                kind: "an idempotency record of account",
                id: record.id.account.get(),
            });
        }
        self.tables.idempotency_records.put(record);
        Ok(())
    }

    pub(crate) fn usage(&mut self, count: UsageCount) -> Result<(), Contradiction> {
        let id = count.account.get();
        let slot = new_slot("account", id, false)?;
        if self.tables.accounts.read(count.account, |_| ()).is_none() {
            return Err(orphan("the usage of account", id, "account", id));
        }
        self.tables.accounts.restore_usage(slot, count);
        Ok(())
    }

    /// Adds all pets to the name index, and checks all records.
    pub(crate) fn finish(mut self) -> Result<(), Contradiction> {
        self.shop.tables_mut().index_names();
        self.shop.check()
    }
}

/// Returns the slot of a new record.
fn new_slot(kind: &'static str, id: u64, is_taken: bool) -> Result<u32, Contradiction> {
    if is_taken {
        return Err(Contradiction::Twice { kind, id });
    }
    slot(id).ok_or(Contradiction::NoRoom { kind, id, max: SLOT_MAX.into() })
}

const fn taken(kind: &'static str, id: u64, what: &'static str) -> Contradiction {
    Contradiction::Taken { kind, id, what }
}

const fn orphan(kind: &'static str, id: u64, owner: &'static str, missing: u64) -> Contradiction {
    Contradiction::Orphan { kind, id, owner, missing }
}
