//! Pets and categories.

use async_trait::async_trait;
use petstore_domain::{
    Category, CategoryId, CategoryPatch, CreateCategoryRejection, CreatePetRejection,
    DeleteCategoryRejection, DeletePetRejection, NewCategory, NewPet, Pet, PetId, PetPatch, Precondition,
    UpdateCategoryRejection, UpdatePetRejection, Versioned,
};

use super::{Failure, IdempotentRequest, Repeated};
use crate::{CategoryFilter, CategorySink, PageEnd, PageRequest, PetFilter, PetSink, Reply, StoreError};

/// The animals of the shop.
#[async_trait]
pub trait Pets: Send + Sync {
    /// One pet.
    fn pet(&self, id: PetId) -> Reply<Result<Option<Versioned<Pet>>, StoreError>>;

    /// A page of pets.
    async fn list_pets(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'_>,
    ) -> Result<PageEnd, StoreError>;

    /// Creates a pet.
    async fn create_pet(
        &self,
        new: NewPet,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<Pet>, CreatePetRejection>;

    /// Replaces or patches a pet.
    async fn update_pet(
        &self,
        id: PetId,
        patch: PetPatch,
        precondition: Precondition,
    ) -> Result<Versioned<Pet>, Failure<UpdatePetRejection>>;

    /// Deletes a pet.
    async fn delete_pet(
        &self,
        id: PetId,
        precondition: Precondition,
    ) -> Result<(), Failure<DeletePetRejection>>;
}

/// The categories that group the animals.
#[async_trait]
pub trait Categories: Send + Sync {
    /// One category.
    fn category(&self, id: CategoryId) -> Reply<Result<Option<Versioned<Category>>, StoreError>>;

    /// A page of categories.
    async fn list_categories(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'_>,
    ) -> Result<PageEnd, StoreError>;

    /// Creates a category.
    async fn create_category(
        &self,
        new: NewCategory,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<Category>, CreateCategoryRejection>;

    /// Replaces or patches a category.
    async fn update_category(
        &self,
        id: CategoryId,
        patch: CategoryPatch,
        precondition: Precondition,
    ) -> Result<Versioned<Category>, Failure<UpdateCategoryRejection>>;

    /// Deletes a category without pets.
    async fn delete_category(
        &self,
        id: CategoryId,
        precondition: Precondition,
    ) -> Result<(), Failure<DeleteCategoryRejection>>;
}
