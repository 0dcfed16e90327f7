//! Categories.

use hyper::StatusCode;
use petstore_domain::{CategoryId, IdError};

use super::{Handled, OperationCall, path_id};
use crate::response::answer::{Collection, Location};
use crate::wire;

/// Estimated bytes of a category on a page, for the initial capacity.
const CATEGORY_BYTES: usize = 120;

pub(super) async fn list(call: &OperationCall<'_>) -> Handled {
    let listing = wire::list_categories(call.query(), call.epoch())?;
    let known = call.known()?;
    let mut page = wire::Page::new(Vec::with_capacity(listing.page.limit * CATEGORY_BYTES), call.epoch());
    let mut sink = |record: &_| page.category(record);
    let end = call.api().list_categories(&listing.filter, &listing.page, &mut sink).await?;
    Ok(call.paged(page.finish(end), &listing, &known))
}

pub(super) async fn create(call: &OperationCall<'_>) -> Handled {
    wire::no_parameters(call.query())?;
    call.no_precondition()?;
    let key = call.idempotency_key()?;
    let new = wire::new_category(call.body)?;
    let made = call.api().create_category(new, call.retry(key.as_ref())).await;
    Ok(call.repeated(made, StatusCode::CREATED, wire::push_category, |category| {
        Some(Location::new(Collection::Categories, category.id.get()))
    }))
}

pub(super) async fn get(call: &OperationCall<'_>, id: Result<CategoryId, IdError>) -> Handled {
    let id = path_id("categoryId", id)?;
    wire::no_parameters(call.query())?;
    let known = call.known()?;
    let id = id.ok_or_else(|| call.not_found())?;
    let found = call.api().category(id).await?;
    call.shown(found, &known, wire::push_category)
}

pub(super) async fn replace(call: &OperationCall<'_>, id: Result<CategoryId, IdError>) -> Handled {
    let id = path_id("categoryId", id)?;
    wire::no_parameters(call.query())?;
    let precondition = call.precondition()?;
    let patch = wire::category_replacement(call.body, id)?;
    let id = id.ok_or_else(|| call.not_found())?;
    let changed = call.api().update_category(id, patch, precondition).await;
    call.changed(changed, wire::push_category)
}

pub(super) async fn update(call: &OperationCall<'_>, id: Result<CategoryId, IdError>) -> Handled {
    let id = path_id("categoryId", id)?;
    wire::no_parameters(call.query())?;
    let precondition = call.precondition()?;
    let patch = wire::category_patch(call.body)?;
    let id = id.ok_or_else(|| call.not_found())?;
    let changed = call.api().update_category(id, patch, precondition).await;
    call.changed(changed, wire::push_category)
}

pub(super) async fn delete(call: &OperationCall<'_>, id: Result<CategoryId, IdError>) -> Handled {
    let id = path_id("categoryId", id)?;
    wire::no_parameters(call.query())?;
    let precondition = call.precondition()?;
    let id = id.ok_or_else(|| call.not_found())?;
    call.gone(call.api().delete_category(id, precondition).await)
}
