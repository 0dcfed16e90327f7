//! Creating, changing and deleting pets.

use super::{InvalidTransition, NewPet, Pet, PetPatch, PetRecord};
use crate::record::{Change, RecordRef, View};
use crate::state::{Changes, Footprint};
use crate::{CategoryId, Operation, PetId, Precondition, PreconditionError, Versioned};

/// Creates a pet, in a category that exists.
#[derive(Debug, Clone)]
pub struct CreatePet {
    /// The pet to create.
    pub new: NewPet,
}

/// The reason why a pet was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CreatePetRejection {
    /// Its category does not exist.
    #[error("there is no category {0}")]
    UnknownCategory(CategoryId),
}

impl Operation for CreatePet {
    type Output = Versioned<Pet>;
    type Rejection = CreatePetRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::NextPet, RecordRef::Category(self.new.category_id)])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let unknown = CreatePetRejection::UnknownCategory(self.new.category_id);
        let mut category = view.category(self.new.category_id).ok_or(unknown)?.clone();
        category.pets = category.pets.saturating_add(1);
        let record = PetRecord::new(view.next_pet(), self.new.clone());
        let output = record.versioned_pet();
        Ok((Changes::from([Change::Pet(record), Change::Category(category)]), output))
    }
}

/// Replaces or patches a pet.
#[derive(Debug, Clone)]
pub struct UpdatePet {
    /// The pet to change.
    pub id: PetId,
    /// The members that change.
    pub patch: PetPatch,
    /// The caller's condition on the pet's version.
    pub precondition: Precondition,
}

/// The reason why a pet was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdatePetRejection {
    /// There is no such pet.
    #[error("there is no such pet")]
    NotFound,
    /// The precondition does not hold.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
    /// The new category does not exist.
    #[error("there is no category {0}")]
    UnknownCategory(CategoryId),
    /// The status table does not allow the move.
    #[error(transparent)]
    InvalidTransition(#[from] InvalidTransition),
}

impl UpdatePet {
    /// The category that the pet leaves and the category that it joins, if its category changes.
    fn removal(&self, record: &PetRecord) -> Option<(CategoryId, CategoryId)> {
        let from = record.pet.category_id;
        self.patch.category_id.filter(|to| *to != from).map(|to| (from, to))
    }
}

impl Operation for UpdatePet {
    type Output = Versioned<Pet>;
    type Rejection = UpdatePetRejection;

    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = Footprint::from([RecordRef::Pet(self.id)]);
        if let Some((from, to)) = seen.pet(self.id).and_then(|record| self.removal(record)) {
            footprint.add(RecordRef::Category(from));
            footprint.add(RecordRef::Category(to));
        }
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let before = view.pet(self.id).ok_or(UpdatePetRejection::NotFound)?;
        self.precondition.check(before.version)?;
        let mut changes = Changes::none();
        let mut after = before.clone();
        if let Some((from, to)) = self.removal(before) {
            let mut joined = view.category(to).ok_or(UpdatePetRejection::UnknownCategory(to))?.clone();
            joined.pets = joined.pets.saturating_add(1);
            changes.push(Change::Category(joined));
            if let Some(left) = view.category(from) {
                let mut left = left.clone();
                left.pets = left.pets.saturating_sub(1);
                changes.push(Change::Category(left));
            }
            after.pet.category_id = to;
        }
        self.patch.apply(&mut after.pet);
        if let Some(status) = self.patch.status {
            after.move_to(status)?;
        }
        let after = before.succeeded_by(after);
        let output = after.versioned_pet();
        if after != *before {
            changes.push(Change::Pet(after));
        }
        Ok((changes, output))
    }
}

/// Deletes a pet together with its inventory item.
#[derive(Debug, Clone)]
pub struct DeletePet {
    /// The pet to delete.
    pub id: PetId,
    /// The caller's condition on the pet's version.
    pub precondition: Precondition,
}

/// The reason why a pet was not deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeletePetRejection {
    /// There is no such pet.
    #[error("there is no such pet")]
    NotFound,
    /// The precondition does not hold.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
    /// Orders for it are open.
    #[error("the pet has {open_orders} open orders")]
    HasOpenOrders {
        /// The number of open orders.
        open_orders: u32,
    },
}

impl Operation for DeletePet {
    type Output = ();
    type Rejection = DeletePetRejection;

    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = Footprint::from([RecordRef::Pet(self.id)]);
        if let Some(record) = seen.pet(self.id) {
            footprint.add(RecordRef::Category(record.pet.category_id));
        }
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let record = view.pet(self.id).ok_or(DeletePetRejection::NotFound)?;
        self.precondition.check(record.version)?;
        if record.open_orders > 0 {
            return Err(DeletePetRejection::HasOpenOrders { open_orders: record.open_orders });
        }
        let mut changes = Changes::from([Change::PetDeleted(self.id)]);
        if let Some(category) = view.category(record.pet.category_id) {
            let mut category = category.clone();
            category.pets = category.pets.saturating_sub(1);
            changes.push(Change::Category(category));
        }
        Ok((changes, ()))
    }
}
