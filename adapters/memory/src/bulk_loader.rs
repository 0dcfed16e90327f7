//! Loads rows that may contradict each other into empty tables: on opening a journal, on import, and on reset.

use petstore_bulk_checks::{Contradiction, ShopLoader, ShopTables};
use petstore_domain::{
    Account, AccountWebhooks, CategoryId, CategoryRecord, Delivery, FoldedName, IdempotencyRecord, KeyRecord,
    OrderId, OrderRecord, PetId, PetRecord, Progress, WebhookId,
};
use petstore_ports::UsageCount;

use crate::hash_index::HashIndexBuffer;
use crate::slab::{SLOT_MAX, slot};
use crate::tables::Tables;

/// The tables of the shop while rows are loaded.
pub(crate) struct LoadingTables<'a> {
    tables: &'a Tables,
    /// The entries of the name index for the pets so far.
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
        // The id of a deleted pet must not be reissued, because the orders of the deleted pet would then seem to belong
        // to the new pet.
        self.tables.pets.ids.advance_to(pet);
        self.tables.orders.put(slot_of(record.order.id.get()), slot_of(pet), record);
    }
}

/// Loads all records of a journal into tables. A record must come before the records that belong to it. So categories
/// come first, then pets, then orders; and accounts come before their keys and usage.
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

    pub(crate) fn webhooks(&mut self, record: AccountWebhooks) -> Result<(), Contradiction> {
        let (tables, id) = (self.tables, record.account.get());
        if tables.webhooks.get(record.account).is_some() {
            return Err(Contradiction::Twice { kind: "the webhooks of account", id });
        }
        if tables.accounts.read(record.account, |_| ()).is_none() {
            return Err(orphan("the webhooks of account", id, "account", id));
        }
        if record.webhooks.iter().any(|webhook| tables.webhooks.owner(webhook.id).is_some()) {
            return Err(taken("the webhooks of account", id, "id of another webhook"));
        }
        tables.webhooks.put(record);
        Ok(())
    }

    /// Adds the progress of a webhook. A journal may have kept that of a webhook that was deleted just before a crash.
    pub(crate) fn progress(&mut self, webhook: WebhookId, progress: Progress) {
        self.tables.deliveries.load_progress(
            webhook,
            progress,
            self.tables.webhooks.owner(webhook).is_some(),
        );
    }

    /// Adds a delivery. See [`BulkLoader::progress`].
    pub(crate) fn delivery(&mut self, delivery: Delivery) {
        let is_known = self.tables.webhooks.owner(delivery.webhook).is_some();
        self.tables.deliveries.load_delivery(delivery, is_known);
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
