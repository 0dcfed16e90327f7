//! Creating, changing and deleting categories.

use super::{Category, CategoryPatch, CategoryRecord, NewCategory};
use crate::record::{Change, RecordRef, View};
use crate::state::{Changes, Footprint};
use crate::{CategoryId, Operation, Precondition, PreconditionError, Versioned};

/// Creates a category, whose name no other one may have.
#[derive(Debug, Clone)]
pub struct CreateCategory {
    /// The category to create.
    pub new: NewCategory,
}

/// The reason why a category was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CreateCategoryRejection {
    /// Another category has this name.
    #[error("category {0} has this name")]
    NameTaken(CategoryId),
}

impl Operation for CreateCategory {
    type Output = Versioned<Category>;
    type Rejection = CreateCategoryRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::NextCategory, RecordRef::CategoryName(self.new.name.folded())])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        if let Some(other) = view.category_named(&self.new.name.folded()) {
            return Err(CreateCategoryRejection::NameTaken(other));
        }
        let record = CategoryRecord::new(view.next_category(), self.new.clone());
        let output = record.versioned();
        Ok((Changes::from([Change::Category(record)]), output))
    }
}

/// Replaces or patches a category.
#[derive(Debug, Clone)]
pub struct UpdateCategory {
    /// The category to change.
    pub id: CategoryId,
    /// The members that change.
    pub patch: CategoryPatch,
    /// The caller's condition on the category's version.
    pub precondition: Precondition,
}

/// The reason why a category was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpdateCategoryRejection {
    /// There is no such category.
    #[error("there is no such category")]
    NotFound,
    /// The precondition does not hold.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
    /// Another category has this name.
    #[error("category {0} has this name")]
    NameTaken(CategoryId),
}

impl Operation for UpdateCategory {
    type Output = Versioned<Category>;
    type Rejection = UpdateCategoryRejection;

    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = Footprint::from([RecordRef::Category(self.id)]);
        if let (Some(name), Some(record)) = (&self.patch.name, seen.category(self.id)) {
            // The old name is part of the footprint too, because the change frees it.
            footprint.add(RecordRef::CategoryName(record.category.name.folded()));
            footprint.add(RecordRef::CategoryName(name.folded()));
        }
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let before = view.category(self.id).ok_or(UpdateCategoryRejection::NotFound)?;
        self.precondition.check(before.version)?;
        let mut after = before.clone();
        if let Some(name) = &self.patch.name {
            // The category's own name in another letter case is no conflict.
            if let Some(other) = view.category_named(&name.folded()).filter(|other| *other != self.id) {
                return Err(UpdateCategoryRejection::NameTaken(other));
            }
        }
        self.patch.apply(&mut after.category);
        if after == *before {
            return Ok((Changes::none(), before.versioned()));
        }
        after.version = before.version.next();
        let output = after.versioned();
        Ok((Changes::from([Change::Category(after)]), output))
    }
}

/// Deletes a category without pets.
#[derive(Debug, Clone)]
pub struct DeleteCategory {
    /// The category to delete.
    pub id: CategoryId,
    /// The caller's condition on the category's version.
    pub precondition: Precondition,
}

/// The reason why a category was not deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeleteCategoryRejection {
    /// There is no such category.
    #[error("there is no such category")]
    NotFound,
    /// The precondition does not hold.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
    /// Pets belong to it.
    #[error("pets in this category: {pets}")]
    InUse {
        /// The number of its pets.
        pets: u64,
    },
}

impl Operation for DeleteCategory {
    type Output = ();
    type Rejection = DeleteCategoryRejection;

    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = Footprint::from([RecordRef::Category(self.id)]);
        if let Some(record) = seen.category(self.id) {
            footprint.add(RecordRef::CategoryName(record.category.name.folded()));
        }
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let record = view.category(self.id).ok_or(DeleteCategoryRejection::NotFound)?;
        self.precondition.check(record.version)?;
        if record.pets > 0 {
            return Err(DeleteCategoryRejection::InUse { pets: record.pets });
        }
        Ok((Changes::from([Change::CategoryDeleted(self.id)]), ()))
    }
}
