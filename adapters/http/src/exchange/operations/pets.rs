//! Pets.

use hyper::StatusCode;
use petstore_domain::{IdError, PetId};

use super::{Handled, OperationCall, path_id};
use crate::response::answer::{Collection, Location};
use crate::response::deprecation::SUNSET_MILLIS;
use crate::wire;
use crate::wire::error::{ApiError, Code};

/// Estimated bytes of a pet on a page, for the initial capacity.
const PET_BYTES: usize = 80;

pub(super) async fn get(call: &OperationCall<'_>, id: Result<PetId, IdError>) -> Handled {
    if call.settings().enforce_sunset && call.admission.now.as_millis() >= SUNSET_MILLIS {
        let message = "This operation is no longer available; use listPets with id (GET /pets?id=) instead.";
        return Err(ApiError::new(Code::OperationSunset, message).into());
    }
    let id = path_id("petId", id)?;
    wire::no_parameters(call.query())?;
    let known = call.known()?;
    let id = id.ok_or_else(|| call.not_found())?;
    let found = call.api().pet(id).await?;
    call.shown(found, &known, wire::push_pet)
}

pub(super) async fn list(call: &OperationCall<'_>) -> Handled {
    let listing = wire::list_pets(call.query(), call.epoch())?;
    let known = call.known()?;
    let mut page = wire::Page::new(Vec::with_capacity(listing.page.limit * PET_BYTES), call.epoch());
    let end = call.api().list_pets(&listing.filter, &listing.page, &mut |record| page.pet(record)).await?;
    Ok(call.paged(page.finish(end), &listing, &known))
}

pub(super) async fn create(call: &OperationCall<'_>) -> Handled {
    wire::no_parameters(call.query())?;
    call.no_precondition()?;
    let key = call.idempotency_key()?;
    let new = wire::new_pet(call.body)?;
    let made = call.api().create_pet(new, call.retry(key.as_ref())).await;
    Ok(call.repeated(made, StatusCode::CREATED, wire::push_pet, |pet| {
        Some(Location::new(Collection::Pets, pet.id.get()))
    }))
}

pub(super) async fn replace(call: &OperationCall<'_>, id: Result<PetId, IdError>) -> Handled {
    let id = path_id("petId", id)?;
    wire::no_parameters(call.query())?;
    let precondition = call.precondition()?;
    let patch = wire::pet_replacement(call.body, id)?;
    let id = id.ok_or_else(|| call.not_found())?;
    let changed = call.api().update_pet(id, patch, precondition).await;
    call.changed(changed, wire::push_pet)
}

pub(super) async fn update(call: &OperationCall<'_>, id: Result<PetId, IdError>) -> Handled {
    let id = path_id("petId", id)?;
    wire::no_parameters(call.query())?;
    let precondition = call.precondition()?;
    let patch = wire::pet_patch(call.body)?;
    let id = id.ok_or_else(|| call.not_found())?;
    let changed = call.api().update_pet(id, patch, precondition).await;
    call.changed(changed, wire::push_pet)
}

pub(super) async fn delete(call: &OperationCall<'_>, id: Result<PetId, IdError>) -> Handled {
    let id = path_id("petId", id)?;
    wire::no_parameters(call.query())?;
    let precondition = call.precondition()?;
    let id = id.ok_or_else(|| call.not_found())?;
    call.gone(call.api().delete_pet(id, precondition).await)
}
