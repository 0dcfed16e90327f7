//! Pets: their fields, and the rules that tie status, stock and open orders together.

mod operations;

pub use operations::{
    CreatePet, CreatePetRejection, DeletePet, DeletePetRejection, UpdatePet, UpdatePetRejection,
};

use crate::inventory::InventoryItem;
use crate::members::members;
use crate::text::name_type;
use crate::{CategoryId, OrderQuantity, PetId, StockLevel, Version, Versioned};

name_type! {
    /// A pet's name.
    PetName
}

/// The status of a pet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PetStatus {
    /// It can be ordered.
    Available,
    /// It is on hold, or its last unit is in an open order.
    Pending,
    /// No unit is left and no order is open.
    Sold,
}

impl PetStatus {
    /// Each status, in the specification's order.
    pub const ALL: [Self; 3] = [Self::Available, Self::Pending, Self::Sold];

    /// The word of each status, in the same order.
    pub const WORDS: [&str; 3] = [Self::Available.as_str(), Self::Pending.as_str(), Self::Sold.as_str()];

    /// The specification's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Pending => "pending",
            Self::Sold => "sold",
        }
    }

    /// Takes the specification's word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

impl std::fmt::Display for PetStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The input form of a pet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPet {
    /// Its name.
    pub name: PetName,
    /// The category it belongs to.
    pub category_id: CategoryId,
    /// Its status; available if none is given.
    pub status: Option<PetStatus>,
}

impl NewPet {
    /// Returns the input of a pet with the members that are required, and no others.
    pub const fn new(name: PetName, category_id: CategoryId) -> Self {
        Self { name, category_id, status: None }
    }
}

/// A pet, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pet {
    /// The id that the store gave it, which is never used again.
    pub id: PetId,
    /// Its name.
    pub name: PetName,
    /// The category it belongs to.
    pub category_id: CategoryId,
    /// Its status.
    pub status: PetStatus,
    /// The name before the last change of the name, or the first name. Only a build for the tests of rolling upgrades has
    /// this member, see `app/cli/tests/planted_member`.
    #[cfg(petstore_planted_member)]
    pub former_name: Option<PetName>,
}

impl Pet {
    /// Returns a pet with the members that are required, and no others.
    pub const fn new(id: PetId, name: PetName, category_id: CategoryId, status: PetStatus) -> Self {
        Self {
            id,
            name,
            category_id,
            status,
            #[cfg(petstore_planted_member)]
            former_name: None,
        }
    }
}

members! {
    Pet {
        id: PetId = "id", fixed;
        name: PetName = "name", indexed;
        category_id: CategoryId = "categoryId", indexed;
        status: PetStatus = "status", own_event;
        #[cfg(petstore_planted_member)]
        former_name: Option<PetName> = "formerName", since 200;
    }
}

impl From<Pet> for NewPet {
    /// Returns the input from which such a pet can be made again, under another id.
    fn from(pet: Pet) -> Self {
        let Pet {
            id: _,
            name,
            category_id,
            status,
            #[cfg(petstore_planted_member)]
                former_name: _,
        } = pet;
        Self { name, category_id, status: Some(status) }
    }
}

/// The fields of a pet that a caller changes; an absent field stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PetPatch {
    /// The new name; if absent, the name stays.
    pub name: Option<PetName>,
    /// The category that it moves to, which must exist.
    pub category_id: Option<CategoryId>,
    /// The new status, as far as the status table allows the move.
    pub status: Option<PetStatus>,
}

impl PetPatch {
    /// Returns a patch of members that every pet has. All other members stay.
    pub const fn new(
        name: Option<PetName>,
        category_id: Option<CategoryId>,
        status: Option<PetStatus>,
    ) -> Self {
        Self { name, category_id, status }
    }

    /// Sets the members that a caller is free to change. The category and the status have rules of their own.
    pub(crate) fn apply(&self, pet: &mut Pet) {
        let Self { name, category_id: _, status: _ } = self;
        if let Some(name) = name {
            pet.name = name.clone();
        }
    }
}

impl From<NewPet> for PetPatch {
    /// Returns a patch that sets every field, except that a replacement without a status keeps the status.
    fn from(new: NewPet) -> Self {
        Self { name: Some(new.name), category_id: Some(new.category_id), status: new.status }
    }
}

/// A change of status that the status table does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a pet that is {from} (free units: {stock}, open orders: {open_orders}) cannot become {to}")]
pub struct InvalidTransition {
    /// The status it has.
    pub from: PetStatus,
    /// The status that was asked for.
    pub to: PetStatus,
    /// The number of its orders that are not complete.
    pub open_orders: u32,
    /// The units that no open order holds.
    pub stock: u64,
}

/// A pet as a store keeps it: with its stock and the number of its open orders, since all three change in one step.
///
/// After every change: available implies free units, sold implies neither free units nor open orders, and pending
/// without free units implies an open order. The pet and its inventory item have a version each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PetRecord {
    /// The part that clients see.
    pub pet: Pet,
    /// The pet's version.
    pub version: Version,
    /// Free units, without the units in open orders.
    pub stock: u64,
    /// The inventory item's version.
    pub item_version: Version,
    /// Orders that are not complete.
    pub open_orders: u32,
}

members! {
    PetRecord of pet: Pet {
        version: Version = "version";
        stock: u64 = "stock";
        item_version: Version = "itemVersion";
        open_orders: u32 = "openOrders";
    }
}

impl PetRecord {
    /// A new pet: one free unit, or none if it is sold already.
    pub fn new(id: PetId, new: NewPet) -> Self {
        let status = new.status.unwrap_or(PetStatus::Available);
        Self {
            pet: Pet {
                id,
                #[cfg(petstore_planted_member)]
                former_name: Some(new.name.clone()),
                name: new.name,
                category_id: new.category_id,
                status,
            },
            version: Version::FIRST,
            stock: u64::from(status != PetStatus::Sold),
            item_version: Version::FIRST,
            open_orders: 0,
        }
    }

    /// The inventory item that tracks this pet.
    pub fn item(&self) -> InventoryItem {
        InventoryItem { pet_id: self.pet.id, quantity: self.stock, status: self.pet.status }
    }

    /// Returns whether status, stock and open orders agree. They must agree after every change.
    pub fn is_sound(&self) -> bool {
        match self.pet.status {
            PetStatus::Available => self.stock > 0,
            PetStatus::Pending => self.stock > 0 || self.open_orders > 0,
            PetStatus::Sold => self.stock == 0 && self.open_orders == 0,
        }
    }

    /// The pet with its version.
    pub fn versioned_pet(&self) -> Versioned<Pet> {
        Versioned { value: self.pet.clone(), version: self.version }
    }

    /// The inventory item with its version.
    pub fn versioned_item(&self) -> Versioned<InventoryItem> {
        Versioned { value: self.item(), version: self.item_version }
    }

    /// Changes the status and, with it, the free units. Fails if the status table does not allow the change.
    pub(crate) fn move_to(&mut self, to: PetStatus) -> Result<(), InvalidTransition> {
        let from = self.pet.status;
        let refused = InvalidTransition { from, to, open_orders: self.open_orders, stock: self.stock };
        self.stock = match (from, to) {
            // The status stays, or a hold begins or continues. The units stay.
            (PetStatus::Available, PetStatus::Available | PetStatus::Pending)
            | (PetStatus::Pending, PetStatus::Pending)
            | (PetStatus::Sold, PetStatus::Sold) => self.stock,
            (PetStatus::Pending, PetStatus::Available) if self.stock > 0 => self.stock,
            (PetStatus::Available | PetStatus::Pending, PetStatus::Sold) if self.open_orders == 0 => 0,
            // The pet was returned to the shop: it has one unit again, free or on hold.
            (PetStatus::Sold, PetStatus::Available | PetStatus::Pending) => 1,
            (PetStatus::Pending, PetStatus::Available)
            | (PetStatus::Available | PetStatus::Pending, PetStatus::Sold) => return Err(refused),
        };
        self.pet.status = to;
        Ok(())
    }

    /// Takes units for an order. The caller has checked that the pet is available and has the units.
    pub(crate) fn take(&mut self, quantity: OrderQuantity) {
        self.stock = self.stock.saturating_sub(u64::from(quantity.get()));
        self.open_orders = self.open_orders.saturating_add(1);
        if self.stock == 0 {
            self.pet.status = PetStatus::Pending;
        }
    }

    /// Gives the units of a cancelled order back.
    pub(crate) fn give_back(&mut self, quantity: OrderQuantity) {
        if self.stock == 0 {
            self.pet.status = PetStatus::Available;
        }
        self.stock = self.stock.saturating_add(u64::from(quantity.get()));
        self.open_orders = self.open_orders.saturating_sub(1);
    }

    /// Counts one open order as fulfilled. The pet is sold if that was the last one and no unit is free.
    pub(crate) fn fulfil(&mut self) {
        self.open_orders = self.open_orders.saturating_sub(1);
        if self.stock == 0 && self.open_orders == 0 {
            self.pet.status = PetStatus::Sold;
        }
    }

    /// Sets the free units to the level that a request gave.
    pub(crate) fn set_stock(&mut self, level: StockLevel) {
        self.restock(u64::from(level.get()));
    }

    /// Sets the free units and the status that follows from them.
    pub(crate) fn restock(&mut self, stock: u64) {
        if stock == 0 {
            self.pet.status = if self.open_orders > 0 { PetStatus::Pending } else { PetStatus::Sold };
        } else if self.stock == 0 {
            self.pet.status = PetStatus::Available;
        }
        self.stock = stock;
    }

    /// Returns the record after a change: the pet and its item each get a new version if their representation
    /// has changed.
    pub(crate) fn succeeded_by(&self, mut next: Self) -> Self {
        #[cfg(petstore_planted_member)]
        if next.pet.name != self.pet.name {
            next.pet.former_name = Some(self.pet.name.clone());
        }
        if next.pet != self.pet {
            next.version = self.version.next();
        }
        if next.stock != self.stock || next.pet.status != self.pet.status {
            next.item_version = self.item_version.next();
        }
        next
    }
}
