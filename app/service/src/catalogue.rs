//! Pets and categories.

use async_trait::async_trait;
use petstore_domain::{
    Category, CategoryId, CategoryPatch, CreateCategory, CreateCategoryRejection, CreatePet,
    CreatePetRejection, DeleteCategory, DeleteCategoryRejection, DeletePet, DeletePetRejection, NewCategory,
    NewPet, Pet, PetId, PetPatch, Precondition, UpdateCategory, UpdateCategoryRejection, UpdatePet,
    UpdatePetRejection, Versioned,
};
use petstore_ports::api::{Categories, Failure, IdempotentRequest, Pets, Repeated};
use petstore_ports::{
    CategoryFilter, CategorySink, PageEnd, PageRequest, PetFilter, PetSink, Reply, StoreError,
};

use crate::service::Service;

#[async_trait]
impl Pets for Service {
    fn pet(&self, id: PetId) -> Reply<Result<Option<Versioned<Pet>>, StoreError>> {
        self.deadlines.reply(self.pets.pet(id)).map(|found| {
            let record = found?;
            Ok(record.map(|record| Versioned { version: record.version, value: record.pet }))
        })
    }

    async fn list_pets(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'_>,
    ) -> Result<PageEnd, StoreError> {
        self.deadlines.read(self.pets.pets(filter, page, sink)).await
    }

    async fn create_pet(
        &self,
        new: NewPet,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<Pet>, CreatePetRejection> {
        self.submit_once(CreatePet { new }, retry).await
    }

    async fn update_pet(
        &self,
        id: PetId,
        patch: PetPatch,
        precondition: Precondition,
    ) -> Result<Versioned<Pet>, Failure<UpdatePetRejection>> {
        self.submit(UpdatePet { id, patch, precondition }).await
    }

    async fn delete_pet(
        &self,
        id: PetId,
        precondition: Precondition,
    ) -> Result<(), Failure<DeletePetRejection>> {
        self.submit(DeletePet { id, precondition }).await
    }
}

#[async_trait]
impl Categories for Service {
    fn category(&self, id: CategoryId) -> Reply<Result<Option<Versioned<Category>>, StoreError>> {
        self.deadlines
            .reply(self.categories.category(id))
            .map(|found| Ok(found?.map(|record| record.versioned())))
    }

    async fn list_categories(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'_>,
    ) -> Result<PageEnd, StoreError> {
        self.deadlines.read(self.categories.categories(filter, page, sink)).await
    }

    async fn create_category(
        &self,
        new: NewCategory,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<Category>, CreateCategoryRejection> {
        self.submit_once(CreateCategory { new }, retry).await
    }

    async fn update_category(
        &self,
        id: CategoryId,
        patch: CategoryPatch,
        precondition: Precondition,
    ) -> Result<Versioned<Category>, Failure<UpdateCategoryRejection>> {
        self.submit(UpdateCategory { id, patch, precondition }).await
    }

    async fn delete_category(
        &self,
        id: CategoryId,
        precondition: Precondition,
    ) -> Result<(), Failure<DeleteCategoryRejection>> {
        self.submit(DeleteCategory { id, precondition }).await
    }
}
