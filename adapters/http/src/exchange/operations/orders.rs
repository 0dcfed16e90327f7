//! Orders.

use hyper::StatusCode;
use petstore_domain::{IdError, OrderId};

use super::{Handled, OperationCall, path_id};
use crate::response::answer::{Collection, Location};
use crate::wire;

/// Estimated bytes of an order on a page, for the initial capacity.
const ORDER_BYTES: usize = 100;

pub(super) async fn list(call: &OperationCall<'_>) -> Handled {
    let listing = wire::list_orders(call.query(), call.epoch())?;
    let known = call.known()?;
    let mut page = wire::Page::new(Vec::with_capacity(listing.page.limit * ORDER_BYTES), call.epoch());
    let end =
        call.api().list_orders(&listing.filter, &listing.page, &mut |record| page.order(record)).await?;
    Ok(call.paged(page.finish(end), &listing, &known))
}

pub(super) async fn place(call: &OperationCall<'_>) -> Handled {
    wire::no_parameters(call.query())?;
    call.no_precondition()?;
    let key = call.idempotency_key()?;
    let new = wire::new_order(call.body)?;
    let placed = call.api().place_order(new, call.retry(key.as_ref())).await;
    Ok(call.repeated(placed, StatusCode::CREATED, wire::push_order, |order| {
        Some(Location::new(Collection::Orders, order.id.get()))
    }))
}

pub(super) async fn get(call: &OperationCall<'_>, id: Result<OrderId, IdError>) -> Handled {
    let id = path_id("orderId", id)?;
    wire::no_parameters(call.query())?;
    let known = call.known()?;
    let id = id.ok_or_else(|| call.not_found())?;
    let found = call.api().order(id).await?;
    call.shown(found, &known, wire::push_order)
}

pub(super) async fn update(call: &OperationCall<'_>, id: Result<OrderId, IdError>) -> Handled {
    let id = path_id("orderId", id)?;
    wire::no_parameters(call.query())?;
    let precondition = call.precondition()?;
    let patch = wire::order_patch(call.body)?;
    let id = id.ok_or_else(|| call.not_found())?;
    let changed = call.api().update_order(id, patch, precondition).await;
    call.changed(changed, wire::push_order)
}

pub(super) async fn cancel(call: &OperationCall<'_>, id: Result<OrderId, IdError>) -> Handled {
    let id = path_id("orderId", id)?;
    wire::no_parameters(call.query())?;
    let precondition = call.precondition()?;
    let id = id.ok_or_else(|| call.not_found())?;
    call.gone(call.api().cancel_order(id, precondition).await)
}
