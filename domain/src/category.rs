//! Categories: kinds of animals that group pets.

mod operations;

pub use operations::{
    CreateCategory, CreateCategoryRejection, DeleteCategory, DeleteCategoryRejection, UpdateCategory,
    UpdateCategoryRejection,
};

use crate::members::members;
use crate::text::{DESCRIPTION_MAX, ShortText, TextError, name_type};
use crate::{CategoryId, Patch, Version, Versioned};

name_type! {
    /// A category's name; unique after folding.
    CategoryName
}

/// A category's description: at most [`DESCRIPTION_MAX`] characters, no control character but line feed.
#[derive(Clone, PartialEq, Eq)]
pub struct Description(ShortText);

impl Description {
    /// Takes the text as it is; it may be empty.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        if text.chars().any(|c| c.is_control() && c != '\n') {
            return Err(TextError::ControlCharacter);
        }
        if text.len() > DESCRIPTION_MAX && text.chars().count() > DESCRIPTION_MAX {
            return Err(TextError::TooLong { max: DESCRIPTION_MAX });
        }
        Ok(Self(ShortText::new(text)))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The text's UTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::fmt::Debug for Description {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The input form of a category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCategory {
    /// Its name.
    pub name: CategoryName,
    /// Its description.
    pub description: Option<Description>,
}

impl NewCategory {
    /// Returns the input of a category with the members that are required, and no others.
    pub const fn new(name: CategoryName) -> Self {
        Self { name, description: None }
    }
}

/// A category, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// The id that the store gave it, which is never used again.
    pub id: CategoryId,
    /// Its name.
    pub name: CategoryName,
    /// Its description.
    pub description: Option<Description>,
}

impl Category {
    /// Returns a category with the members that are required, and no others.
    pub const fn new(id: CategoryId, name: CategoryName) -> Self {
        Self { id, name, description: None }
    }
}

members! {
    Category {
        id: CategoryId = "id", fixed;
        name: CategoryName = "name", indexed;
        description: Option<Description> = "description";
    }
}

impl From<Category> for NewCategory {
    /// Returns the input from which such a category can be made again, under another id.
    fn from(Category { id: _, name, description }: Category) -> Self {
        Self { name, description }
    }
}

/// The fields of a category that a caller changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CategoryPatch {
    /// The new name; if absent, the name stays.
    pub name: Option<CategoryName>,
    /// The new description, or none.
    pub description: Patch<Description>,
}

impl From<NewCategory> for CategoryPatch {
    /// Returns a patch that sets every field. A replacement without a description clears the description.
    fn from(new: NewCategory) -> Self {
        Self { name: Some(new.name), description: new.description.into() }
    }
}

impl CategoryPatch {
    /// Returns a patch of members that every category has. All other members stay.
    pub const fn new(name: Option<CategoryName>) -> Self {
        Self { name, description: Patch::Keep }
    }

    /// Sets the members. The caller has checked that no other category has the name.
    pub(crate) fn apply(&self, category: &mut Category) {
        let Self { name, description } = self;
        if let Some(name) = name {
            category.name = name.clone();
        }
        description.apply(&mut category.description);
    }
}

/// A category as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategoryRecord {
    /// The part that clients see.
    pub category: Category,
    /// The version of its representation, which rises with each change.
    pub version: Version,
    /// The number of pets that belong to it. It is stored and not derived from the pets, so that the deletion
    /// of a category and the creation of a pet in it conflict in the same record.
    pub pets: u64,
}

members! {
    CategoryRecord of category: Category {
        version: Version = "version";
        pets: u64 = "pets";
    }
}

impl CategoryRecord {
    /// A new category, without pets.
    pub(crate) fn new(id: CategoryId, new: NewCategory) -> Self {
        let NewCategory { name, description } = new;
        Self { category: Category { id, name, description }, version: Version::FIRST, pets: 0 }
    }

    /// The category with its version.
    pub fn versioned(&self) -> Versioned<Category> {
        Versioned { value: self.category.clone(), version: self.version }
    }
}
