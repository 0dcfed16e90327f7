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
    /// Reads a pet with its version; none if there is no pet with this id.
    fn pet(&self, id: PetId) -> Reply<Result<Option<Versioned<Pet>>, StoreError>>;

    /// A page of pets.
    async fn list_pets(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'_>,
    ) -> Result<PageEnd, StoreError>;

    /// Creates a pet in a category that exists, and its inventory item.
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

    /// Deletes a pet and its inventory item, unless open orders need it.
    async fn delete_pet(
        &self,
        id: PetId,
        precondition: Precondition,
    ) -> Result<(), Failure<DeletePetRejection>>;
}

/// The categories that group the animals.
#[async_trait]
pub trait Categories: Send + Sync {
    /// Reads a category with its version; none if there is no category with this id.
    fn category(&self, id: CategoryId) -> Reply<Result<Option<Versioned<Category>>, StoreError>>;

    /// A page of categories.
    async fn list_categories(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'_>,
    ) -> Result<PageEnd, StoreError>;

    /// Creates a category whose name no other one has.
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
