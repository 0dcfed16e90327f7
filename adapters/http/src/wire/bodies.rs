//! Request bodies, parsed into types of the domain.
//!
//! This module defines the members of each body, and which of them may be absent or null. The types of the domain
//! define the values.

mod webhooks;

use petstore_domain::{
    CategoryId, CategoryName, CategoryPatch, Description, NewCategory, NewOrder, NewPet, OrderPatch,
    OrderQuantity, PetId, PetName, PetPatch, PetStatus, StockDelta, StockLevel, Timestamp,
};

use super::faults::{FieldFault, listed};
use super::fields::{Fields, boolean, integer, text};
use super::json::Node;
use crate::wire::error::ApiError;

pub(crate) use webhooks::{new_webhook, replay, rotation, webhook_patch, webhook_test};

/// The maximum number of characters of a date. RFC 3339 allows any number of digits in a fraction. This maximum has
/// room for the 24 characters of a date in milliseconds and for the further digits that a more precise clock gives.
const DATE_MAX: usize = 64;

/// `POST /pets`.
pub(crate) fn new_pet(body: &[u8]) -> Result<NewPet, ApiError> {
    let mut fields = Fields::of(body)?;
    let name = fields.required("name", pet_name);
    let category_id = fields.required("categoryId", category_id);
    let status = fields.optional("status", status);
    fields.read_only(&["id"]);
    fields.finish(|| Some(NewPet { name: name?, category_id: category_id?, status }))
}

/// `PUT /pets/{petId}`: the members of a new pet, or a pet as a GET returned it, with its id. `id` is `None` if the id
/// in the path is out of range.
pub(crate) fn pet_replacement(body: &[u8], id: Option<PetId>) -> Result<PetPatch, ApiError> {
    let mut fields = Fields::of(body)?;
    let _same_id = fields.optional("id", |node| same_id(node, id.map(PetId::get)));
    let name = fields.required("name", pet_name);
    let category_id = fields.required("categoryId", category_id);
    let status = fields.optional("status", status);
    fields.finish(|| Some(NewPet { name: name?, category_id: category_id?, status }.into()))
}

/// `PATCH /pets/{petId}`.
pub(crate) fn pet_patch(body: &[u8]) -> Result<PetPatch, ApiError> {
    let mut fields = Fields::of(body)?;
    let name = fields.optional("name", pet_name);
    let category_id = fields.optional("categoryId", category_id);
    let status = fields.optional("status", status);
    fields.read_only(&["id"]);
    fields.finish(|| Some(PetPatch { name, category_id, status }))
}

/// `POST /categories`.
pub(crate) fn new_category(body: &[u8]) -> Result<NewCategory, ApiError> {
    let mut fields = Fields::of(body)?;
    let name = fields.required("name", category_name);
    let description = fields.optional("description", description);
    fields.read_only(&["id"]);
    fields.finish(|| Some(NewCategory { name: name?, description }))
}

/// `PUT /categories/{categoryId}`: the members of a new category, or a category as a GET returned it, with its id.
/// `id` is `None` if the id in the path is out of range.
pub(crate) fn category_replacement(body: &[u8], id: Option<CategoryId>) -> Result<CategoryPatch, ApiError> {
    let mut fields = Fields::of(body)?;
    let _same_id = fields.optional("id", |node| same_id(node, id.map(CategoryId::get)));
    let name = fields.required("name", category_name);
    let description = fields.optional("description", description);
    fields.finish(|| Some(NewCategory { name: name?, description }.into()))
}

/// `PATCH /categories/{categoryId}`.
pub(crate) fn category_patch(body: &[u8]) -> Result<CategoryPatch, ApiError> {
    let mut fields = Fields::of(body)?;
    let name = fields.optional("name", category_name);
    let description = fields.deletable("description", description);
    fields.read_only(&["id"]);
    fields.finish(|| Some(CategoryPatch { name, description }))
}

/// `POST /store/orders`.
pub(crate) fn new_order(body: &[u8]) -> Result<NewOrder, ApiError> {
    let mut fields = Fields::of(body)?;
    let pet_id = fields.required("petId", pet_id);
    let quantity = fields.optional("quantity", |node| Ok(OrderQuantity::new(integer(node)?)?));
    let ship_date = fields.optional("shipDate", date);
    fields.read_only(&["id", "complete"]);
    fields.finish(|| {
        Some(NewOrder { pet_id: pet_id?, quantity: quantity.unwrap_or(OrderQuantity::ONE), ship_date })
    })
}

/// `PATCH /store/orders/{orderId}`.
pub(crate) fn order_patch(body: &[u8]) -> Result<OrderPatch, ApiError> {
    let mut fields = Fields::of(body)?;
    let ship_date = fields.deletable("shipDate", date);
    let complete = fields.optional("complete", boolean);
    fields.read_only(&["id", "petId", "quantity"]);
    fields.finish(|| Some(OrderPatch { ship_date, complete }))
}

/// `PATCH /inventory/{petId}`.
pub(crate) fn inventory_update(body: &[u8]) -> Result<StockLevel, ApiError> {
    let mut fields = Fields::of(body)?;
    let quantity = fields.required("quantity", |node| Ok(StockLevel::new(integer(node)?)?));
    fields.read_only(&["petId", "status"]);
    fields.finish(|| quantity)
}

/// `POST /inventory/{petId}/adjustments`.
pub(crate) fn stock_adjustment(body: &[u8]) -> Result<StockDelta, ApiError> {
    let mut fields = Fields::of(body)?;
    let delta = fields.required("delta", |node| Ok(StockDelta::new(integer(node)?)?));
    fields.finish(|| delta)
}

/// The fault of an unknown status.
pub(super) fn unknown_status() -> FieldFault {
    FieldFault::new("unknown_value", format!("must be one of {}", listed(PetStatus::ALL)))
}

fn pet_name(node: &Node<'_>) -> Result<PetName, FieldFault> {
    Ok(PetName::parse(text(node)?)?)
}

fn category_name(node: &Node<'_>) -> Result<CategoryName, FieldFault> {
    Ok(CategoryName::parse(text(node)?)?)
}

fn description(node: &Node<'_>) -> Result<Description, FieldFault> {
    Ok(Description::parse(text(node)?)?)
}

fn pet_id(node: &Node<'_>) -> Result<PetId, FieldFault> {
    Ok(PetId::new(not_negative(integer(node)?))?)
}

fn category_id(node: &Node<'_>) -> Result<CategoryId, FieldFault> {
    Ok(CategoryId::new(not_negative(integer(node)?))?)
}

fn status(node: &Node<'_>) -> Result<PetStatus, FieldFault> {
    PetStatus::parse(text(node)?).ok_or_else(unknown_status)
}

pub(crate) fn date(node: &Node<'_>) -> Result<Timestamp, FieldFault> {
    let text = text(node)?;
    if text.chars().nth(DATE_MAX).is_some() {
        return Err(FieldFault::new("too_long", format!("must have at most {DATE_MAX} characters")));
    }
    Ok(Timestamp::parse(text)?)
}

fn same_id(node: &Node<'_>, id: Option<u64>) -> Result<(), FieldFault> {
    let given = u64::try_from(integer(node)?);
    if id.is_none_or(|id| given == Ok(id)) {
        return Ok(());
    }
    Err(FieldFault::new("id_mismatch", "must equal the id in the path"))
}

/// Returns the number, or 0 for a negative one. 0 is not a valid id, so it is refused later.
fn not_negative(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod members;
#[cfg(test)]
mod tests;
