//! The inventory.

use hyper::StatusCode;
use petstore_domain::{IdError, PetId};

use super::{Handled, OperationCall, path_id};
use crate::wire;

/// Estimated bytes of an item on a page, for the initial capacity.
const ITEM_BYTES: usize = 64;

pub(super) async fn list(call: &OperationCall<'_>) -> Handled {
    let listing = wire::list_inventory(call.query(), call.epoch())?;
    let known = call.known()?;
    let mut page = wire::Page::new(Vec::with_capacity(listing.page.limit * ITEM_BYTES), call.epoch());
    let end = call.api().list_items(&listing.filter, &listing.page, &mut |record| page.item(record)).await?;
    Ok(call.paged(page.finish(end), &listing, &known))
}

pub(super) async fn get(call: &OperationCall<'_>, id: Result<PetId, IdError>) -> Handled {
    let id = path_id("petId", id)?;
    wire::no_parameters(call.query())?;
    let known = call.known()?;
    let id = id.ok_or_else(|| call.not_found())?;
    let found = call.api().item(id).await?;
    call.shown(found, &known, wire::push_item)
}

pub(super) async fn set(call: &OperationCall<'_>, id: Result<PetId, IdError>) -> Handled {
    let id = path_id("petId", id)?;
    wire::no_parameters(call.query())?;
    let precondition = call.precondition()?;
    let level = wire::inventory_update(call.body)?;
    let id = id.ok_or_else(|| call.not_found())?;
    let changed = call.api().set_stock(id, level, precondition).await;
    call.changed(changed, wire::push_item)
}

pub(super) async fn adjust(call: &OperationCall<'_>, id: Result<PetId, IdError>) -> Handled {
    let id = path_id("petId", id)?;
    wire::no_parameters(call.query())?;
    call.no_precondition()?;
    let key = call.idempotency_key()?;
    let delta = wire::stock_adjustment(call.body)?;
    let id = id.ok_or_else(|| call.not_found())?;
    let adjusted = call.api().adjust_stock(id, delta, call.retry(key.as_ref())).await;
    Ok(call.repeated(adjusted, StatusCode::OK, wire::push_item, |_| None))
}
