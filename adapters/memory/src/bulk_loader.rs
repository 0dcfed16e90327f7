//! BulkLoader tables that are empty with rows that may contradict each other: on opening a journal, and on import.

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

/// What is wrong with a row, by itself or beside the others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// Two rows have one id, or one name where that is all they have.
    #[error("{kind} {id} is there twice")]
    Twice {
        /// What it is.
        kind: &'static str,
        /// Its id.
        id: u64,
    },
    /// An id is larger than the tables are.
    #[error("{kind} {id} is above {SLOT_MAX}, the last id that there is room for")]
    NoRoom {
        /// What it is.
        kind: &'static str,
        /// Its id.
        id: u64,
    },
    /// An id is still to be given to another record.
    #[error("{kind} {id} is above {last}, the last id that was given")]
    NotGiven {
        /// What it is.
        kind: &'static str,
        /// Its id.
        id: u64,
        /// The last id that was given.
        last: u64,
    },
    /// What must be unique belongs to another record.
    #[error("{kind} {id} has the {what}")]
    Taken {
        /// What it is.
        kind: &'static str,
        /// Its id.
        id: u64,
        /// What is another one's.
        what: &'static str,
    },
    /// Two categories have names that read the same.
    #[error("category {id} has a name that reads the same as that of category {of}")]
    Namesake {
        /// The category that came later.
        id: u64,
        /// The one that has the name.
        of: u64,
    },
    /// A row belongs to another one that is not there.
    #[error("{kind} {id} belongs to {owner} {missing}, which is not there")]
    Orphan {
        /// What it is.
        kind: &'static str,
        /// Its id.
        id: u64,
        /// What it belongs to.
        owner: &'static str,
        /// The id that is not there.
        missing: u64,
    },
    /// A number that a row carries is not what the other rows add up to.
    #[error("{kind} {id} should have {noted} {what}, and has {counted}")]
    Miscounted {
        /// What it is.
        kind: &'static str,
        /// Its id.
        id: u64,
        /// What is counted.
        what: &'static str,
        /// What the row says.
        noted: u64,
        /// How many there are.
        counted: u64,
    },
    /// An inventory item shows another status than its pet.
    #[error("inventory item {id} is {shown}, and its pet is {status}")]
    OtherStatus {
        /// The pet.
        id: PetId,
        /// The item's status.
        shown: PetStatus,
        /// The pet's.
        status: PetStatus,
    },
    /// A pet's status does not agree with its units and orders.
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
    /// A pet came without its inventory item.
    #[error("pet {id} has no inventory item")]
    NoItem {
        /// The pet.
        id: PetId,
    },
}

/// Tables that are being filled. Whatever a row belongs to must come before it: categories, pets, orders; accounts,
/// then their keys.
pub(crate) struct BulkLoader<'a> {
    tables: &'a Tables,
    open_orders: HashMap<PetId, u32, RandomState>,
    /// The names of the pets that came, for their index.
    names: HashIndexBuffer,
}

impl<'a> BulkLoader<'a> {
    pub(crate) fn of(tables: &'a Tables) -> Self {
        Self { tables, open_orders: HashMap::default(), names: HashIndexBuffer::default() }
    }

    pub(crate) fn category(&mut self, record: CategoryRecord) -> Result<(), Contradiction> {
        let (categories, id) = (&self.tables.categories, record.category.id);
        let slot = place("category", id.get(), categories.read(id, |_| ()).is_some())?;
        if let Some(of) = categories.named(&record.category.name.folded()) {
            return Err(Contradiction::Namesake { id: id.get(), of: of.get() });
        }
        categories.put(slot, record);
        Ok(())
    }

    pub(crate) fn pet(&mut self, record: PetRecord) -> Result<(), Contradiction> {
        let (id, category) = (record.pet.id, record.pet.category_id);
        let slot = place("pet", id.get(), self.tables.pets.holds(id))?;
        if self.tables.categories.read(category, |_| ()).is_none() {
            return Err(orphan("pet", id.get(), "category", category.get()));
        }
        self.tables.pets.fill(slot, record, &mut self.names);
        Ok(())
    }

    pub(crate) fn order(&mut self, record: OrderRecord) -> Result<(), Contradiction> {
        let (id, pet) = (record.order.id, record.order.pet_id);
        let slot_of_order = place("order", id.get(), self.tables.orders.holds(id))?;
        let slot_of_pet = place("pet", pet.get(), false)?;
        // A complete order outlives its pet.
        if !record.order.complete {
            if !self.tables.pets.holds(pet) {
                return Err(orphan("order", id.get(), "pet", pet.get()));
            }
            *self.open_orders.entry(pet).or_default() += 1;
        }
        // The id of a pet that is gone is not given again: another pet would have its orders.
        self.tables.pets.ids.skip_to(pet.get());
        self.tables.orders.put(slot_of_order, slot_of_pet, record);
        Ok(())
    }

    pub(crate) fn account(&mut self, account: Account) -> Result<(), Contradiction> {
        let (accounts, id) = (&self.tables.accounts, account.id);
        let slot = place("account", id.get(), accounts.read(id, |_| ()).is_some())?;
        if accounts.id_of(&account.name.folded()).is_some() {
            return Err(taken("account", id.get(), "name of another one"));
        }
        accounts.put(slot, account);
        Ok(())
    }

    pub(crate) fn key(&mut self, record: KeyRecord) -> Result<(), Contradiction> {
        let (keys, id) = (&self.tables.keys, record.id);
        let slot = place("key", id.get(), keys.read(id, |_| ()).is_some())?;
        if keys.id_of(&record.digest).is_some() {
            return Err(taken("key", id.get(), "secret of another one"));
        }
        if self.tables.accounts.read(record.account, |_| ()).is_none() {
            return Err(orphan("key", id.get(), "account", record.account.get()));
        }
        keys.put(slot, record);
        Ok(())
    }

    pub(crate) fn retry(&mut self, record: IdempotencyRecord) -> Result<(), Contradiction> {
        if self.tables.idempotency_records.holds(&record.name) {
            return Err(Contradiction::Twice { kind: "an answer to account", id: record.name.account.get() });
        }
        self.tables.idempotency_records.put(record);
        Ok(())
    }

    pub(crate) fn usage(&mut self, count: UsageCount) -> Result<(), Contradiction> {
        let id = count.account.get();
        let slot = place("account", id, false)?;
        if self.tables.accounts.read(count.account, |_| ()).is_none() {
            return Err(orphan("the usage of account", id, "account", id));
        }
        self.tables.accounts.restore_usage(slot, count);
        Ok(())
    }

    /// The open orders for a pet that have come so far.
    pub(crate) fn open_orders_of(&self, pet: PetId) -> u32 {
        self.open_orders.get(&pet).copied().unwrap_or(0)
    }

    /// Writes into each category how many pets have come.
    pub(crate) fn count_pets(&self) {
        for CategoryRecord { category, .. } in self.tables.categories.all() {
            self.tables.categories.update(category.id, |record| record.pets = self.pets_of(category.id));
        }
    }

    /// Makes the pets known by their names. To be called once all have come.
    pub(crate) fn index_names(&mut self) {
        self.tables.pets.index_names(std::mem::take(&mut self.names));
    }

    /// Whether each record says what the other rows add up to, and every pet is sound.
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

/// The place of a new record.
fn place(kind: &'static str, id: u64, is_taken: bool) -> Result<u32, Contradiction> {
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

/// Whether a pet's status agrees with its units and its open orders.
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
    noted: u64,
    counted: u64,
) -> Result<(), Contradiction> {
    if noted == counted { Ok(()) } else { Err(Contradiction::Miscounted { kind, id, what, noted, counted }) }
}
