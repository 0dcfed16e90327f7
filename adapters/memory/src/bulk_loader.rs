//! Loads rows that may contradict each other into empty tables: on opening a journal, on import, and on reset.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use petstore_domain::{
    Account, CategoryId, CategoryRecord, IdempotencyRecord, KeyRecord, OrderRecord, PetId, PetRecord,
    PetStatus,
};
use petstore_ports::UsageCount;

use crate::hash_index::HashIndexBuffer;
use crate::slab::{SLOT_MAX, slot};
use crate::tables::Tables;

/// A fault of a row, by itself or with respect to other rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// Two rows have the same id, or the same name where a record has no id.
    #[error("{kind} {id} occurs twice")]
    Twice {
        /// The kind of the record.
        kind: &'static str,
        /// Its id.
        id: u64,
    },
    /// An id exceeds the size of the tables.
    #[error("{kind} {id} is above {SLOT_MAX}, the highest id that the tables hold")]
    NoRoom {
        /// The kind of the record.
        kind: &'static str,
        /// Its id.
        id: u64,
    },
    /// An id was not issued yet, so that another record would get it.
    #[error("{kind} {id} is above {last}, the last id that was issued")]
    NotIssued {
        /// The kind of the record.
        kind: &'static str,
        /// Its id.
        id: u64,
        /// The last id that was issued.
        last: u64,
    },
    /// A value that must be unique belongs to another record.
    #[error("{kind} {id} has the {what}")]
    Taken {
        /// The kind of the record.
        kind: &'static str,
        /// Its id.
        id: u64,
        /// The value.
        what: &'static str,
    },
    /// Two categories have equivalent names.
    #[error("category {id} has a name that is equivalent to that of category {of}")]
    Namesake {
        /// The category that came later.
        id: u64,
        /// The earlier category.
        of: u64,
    },
    /// A row belongs to a record that does not exist.
    #[error("{kind} {id} belongs to {owner} {missing}, which does not exist")]
    Orphan {
        /// The kind of the record.
        kind: &'static str,
        /// Its id.
        id: u64,
        /// The kind of the record that it belongs to.
        owner: &'static str,
        /// The id of that record.
        missing: u64,
    },
    /// A count in a row differs from the number of the rows that it counts.
    #[error("{kind} {id} states {stated} {what}, but has {counted}")]
    Miscounted {
        /// The kind of the record.
        kind: &'static str,
        /// Its id.
        id: u64,
        /// The kind of the counted records.
        what: &'static str,
        /// The count in the row.
        stated: u64,
        /// The number of the counted records.
        counted: u64,
    },
    /// An inventory item has another status than its pet.
    #[error("inventory item {id} is {listed}, but its pet is {status}")]
    OtherStatus {
        /// The pet.
        id: PetId,
        /// The item's status.
        listed: PetStatus,
        /// The pet's status.
        status: PetStatus,
    },
    /// A pet's status does not follow from its units and orders.
    #[error("pet {id} is {status} (free units: {stock}, open orders: {open_orders})")]
    Unsound {
        /// The pet.
        id: PetId,
        /// Its status.
        status: PetStatus,
        /// Its free units.
        stock: u64,
        /// Its open orders.
        open_orders: u32,
    },
    /// A pet has no inventory item.
    #[error("pet {id} has no inventory item")]
    NoItem {
        /// The pet.
        id: PetId,
    },
}

/// Loads rows into tables. A record must come before the records that belong to it: categories, then pets, then
/// orders; accounts, then their keys and usage.
pub(crate) struct BulkLoader<'a> {
    tables: &'a Tables,
    open_orders: HashMap<PetId, u32, RandomState>,
    /// The entries of the name index for the pets so far.
    names: HashIndexBuffer,
}

impl<'a> BulkLoader<'a> {
    pub(crate) fn of(tables: &'a Tables) -> Self {
        Self { tables, open_orders: HashMap::default(), names: HashIndexBuffer::default() }
    }

    pub(crate) fn category(&mut self, record: CategoryRecord) -> Result<(), Contradiction> {
        let (categories, id) = (&self.tables.categories, record.category.id);
        let slot = new_slot("category", id.get(), categories.read(id, |_| ()).is_some())?;
        if let Some(of) = categories.named(&record.category.name.folded()) {
            return Err(Contradiction::Namesake { id: id.get(), of: of.get() });
        }
        categories.put(slot, record);
        Ok(())
    }

    pub(crate) fn pet(&mut self, record: PetRecord) -> Result<(), Contradiction> {
        let (id, category) = (record.pet.id, record.pet.category_id);
        let slot = new_slot("pet", id.get(), self.tables.pets.holds(id))?;
        if self.tables.categories.read(category, |_| ()).is_none() {
            return Err(orphan("pet", id.get(), "category", category.get()));
        }
        self.tables.pets.load(slot, record, &mut self.names);
        Ok(())
    }

    pub(crate) fn order(&mut self, record: OrderRecord) -> Result<(), Contradiction> {
        let (id, pet) = (record.order.id, record.order.pet_id);
        let slot_of_order = new_slot("order", id.get(), self.tables.orders.holds(id))?;
        let slot_of_pet = new_slot("pet", pet.get(), false)?;
        // A complete order outlives its pet.
        if !record.order.complete {
            if !self.tables.pets.holds(pet) {
                return Err(orphan("order", id.get(), "pet", pet.get()));
            }
            *self.open_orders.entry(pet).or_default() += 1;
        }
        // The id of a deleted pet must not be reissued, because its orders would then be taken for those of another
        // pet.
        self.tables.pets.ids.advance_to(pet.get());
        self.tables.orders.put(slot_of_order, slot_of_pet, record);
        Ok(())
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

    /// The number of open orders for a pet so far.
    pub(crate) fn open_orders_of(&self, pet: PetId) -> u32 {
        self.open_orders.get(&pet).copied().unwrap_or(0)
    }

    /// Writes the number of its pets into each category.
    pub(crate) fn count_pets(&self) {
        for CategoryRecord { category, .. } in self.tables.categories.all() {
            self.tables.categories.update(category.id, |record| record.pets = self.pets_of(category.id));
        }
    }

    /// Adds all pets to the name index. To be called after the last pet.
    pub(crate) fn index_names(&mut self) {
        self.tables.pets.index_names(std::mem::take(&mut self.names));
    }

    /// Checks the counts in all records, and the status of each pet.
    pub(crate) fn check(&self) -> Result<(), Contradiction> {
        for CategoryRecord { category, pets, .. } in self.tables.categories.all() {
            check_count("category", category.id.get(), "pets", pets, self.pets_of(category.id))?;
        }
        for record in self.tables.pets.all() {
            let (id, open_orders) = (record.pet.id, record.open_orders);
            let counted = self.open_orders_of(id);
            check_count("pet", id.get(), "open orders", open_orders.into(), counted.into())?;
            check_sound(&record)?;
        }
        Ok(())
    }

    fn pets_of(&self, category: CategoryId) -> u64 {
        self.tables.pets.count_in(category)
    }
}

/// Returns the slot of a new record.
fn new_slot(kind: &'static str, id: u64, is_taken: bool) -> Result<u32, Contradiction> {
    if is_taken {
        return Err(Contradiction::Twice { kind, id });
    }
    slot(id).ok_or(Contradiction::NoRoom { kind, id })
}

const fn taken(kind: &'static str, id: u64, what: &'static str) -> Contradiction {
    Contradiction::Taken { kind, id, what }
}

const fn orphan(kind: &'static str, id: u64, owner: &'static str, missing: u64) -> Contradiction {
    Contradiction::Orphan { kind, id, owner, missing }
}

/// Checks that a pet's status follows from its units and its open orders.
pub(crate) fn check_sound(record: &PetRecord) -> Result<(), Contradiction> {
    if record.is_sound() {
        return Ok(());
    }
    let PetRecord { pet, stock, open_orders, .. } = record;
    Err(Contradiction::Unsound { id: pet.id, status: pet.status, stock: *stock, open_orders: *open_orders })
}

fn check_count(
    kind: &'static str,
    id: u64,
    what: &'static str,
    stated: u64,
    counted: u64,
) -> Result<(), Contradiction> {
    if stated == counted {
        Ok(())
    } else {
        Err(Contradiction::Miscounted { kind, id, what, stated, counted })
    }
}
