//! Query strings: decoded once, every parameter known, every fault told.

use std::borrow::Cow;

use petstore_domain::{CategoryId, CategoryName, PetId, PetName, PetStatus, RangeError};
use petstore_ports::{CategoryFilter, OrderFilter, PageOrder, PageRequest, PetFilter, StatusSet};

use super::bodies::unknown_status;
use super::cursor::{Bind, List, Walk};
use super::links;
use crate::wire::error::ApiError;
use parameters::{Parameters, number};

use super::faults::FieldFault;

mod parameters;

/// The most items of a page.
const LIMIT_MAX: usize = 100;

/// The items of a page of pets, unless it is asked for otherwise; the pages of other lists are as large as may be.
const PETS_LIMIT: usize = 20;

/// What a list was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing<F> {
    /// Which items.
    pub(crate) filter: F,
    /// Which page of them.
    pub(crate) page: PageRequest,
    walk: Walk,
    /// The parameters but for the cursor, as the links to other pages repeat them.
    query: String,
}

impl<F> Listing<F> {
    /// The `Link` value of the page: to the first page, and to the one after the id `next`, if there is one.
    ///
    /// `origin` is `http://host` without a slash at its end, `path` the list's with the base path.
    pub(crate) fn links(&self, origin: &str, path: &str, next: Option<u64>) -> String {
        let cursor = next.map(|id| self.walk.cursor(id));
        links::page_links(origin, path, &self.query, cursor.as_deref())
    }
}

/// The query of an operation that has no parameters there.
pub(crate) fn no_parameters(query: Option<&str>) -> Result<(), ApiError> {
    if query.is_none() {
        return Ok(());
    }
    Parameters::of(query).finish().map(drop)
}

/// `GET /pets`. The epoch is the store's: its cursors are good for it alone.
pub(crate) fn list_pets(query: Option<&str>, epoch: u64) -> Result<Listing<PetFilter>, ApiError> {
    listing(query, List::Pets, epoch, |parameters| PetFilter {
        statuses: statuses(parameters),
        category_id: parameters.one("categoryId", |text| Ok(CategoryId::parse(text)?)),
        name: parameters.one("name", |text| Ok(PetName::parse(text)?)).map(|name| name.folded()),
        ids: ids(parameters, "id"),
    })
}

/// `GET /categories`.
pub(crate) fn list_categories(query: Option<&str>, epoch: u64) -> Result<Listing<CategoryFilter>, ApiError> {
    listing(query, List::Categories, epoch, |parameters| CategoryFilter {
        name: parameters.one("name", |text| Ok(CategoryName::parse(text)?)).map(|name| name.folded()),
    })
}

/// `GET /store/orders`.
pub(crate) fn list_orders(query: Option<&str>, epoch: u64) -> Result<Listing<OrderFilter>, ApiError> {
    listing(query, List::Orders, epoch, |parameters| OrderFilter {
        pet_id: parameters.one("petId", |text| Ok(PetId::parse(text)?)),
        complete: parameters.one("complete", boolean),
    })
}

/// `GET /inventory`: the items of the pets that the filter admits.
pub(crate) fn list_inventory(query: Option<&str>, epoch: u64) -> Result<Listing<PetFilter>, ApiError> {
    listing(query, List::Inventory, epoch, |parameters| PetFilter {
        statuses: statuses(parameters),
        ids: ids(parameters, "petId"),
        ..PetFilter::default()
    })
}

fn listing<F: Bind>(
    query: Option<&str>,
    list: List,
    epoch: u64,
    filter: impl FnOnce(&mut Parameters<'_>) -> F,
) -> Result<Listing<F>, ApiError> {
    let mut parameters = Parameters::of(query);
    let default = if list == List::Pets { PETS_LIMIT } else { LIMIT_MAX };
    let limit = parameters.one("limit", limit).unwrap_or(default);
    let cursor = parameters.cursor();
    let order = parameters.one("sort", order).unwrap_or(PageOrder::Ascending);
    let filter = filter(&mut parameters);
    let query = parameters.finish()?;
    // Last, since it means something only together with the others.
    let walk = Walk::new(list, order, &filter, epoch);
    let after = cursor.map(|cursor| walk.read(&cursor)).transpose()?;
    Ok(Listing { filter, page: PageRequest { order, after, limit }, walk, query })
}

fn limit(text: &str) -> Result<usize, FieldFault> {
    let out_of_range = || FieldFault::from(RangeError { min: 1, max: 100, but_not_zero: false });
    // More digits than the number holds are out of range too.
    number(text)?.filter(|limit| (1..=LIMIT_MAX).contains(limit)).ok_or_else(out_of_range)
}

fn order(text: &str) -> Result<PageOrder, FieldFault> {
    match text {
        "id" => Ok(PageOrder::Ascending),
        "-id" => Ok(PageOrder::Descending),
        _ => Err(FieldFault::new("unknown_value", "must be id or -id")),
    }
}

fn boolean(text: &str) -> Result<bool, FieldFault> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(FieldFault::new("unknown_value", "must be true or false")),
    }
}

fn statuses(parameters: &mut Parameters<'_>) -> StatusSet {
    let statuses = parameters.many("status", |text| PetStatus::parse(text).ok_or_else(unknown_status));
    statuses.into_iter().flatten().collect()
}

fn ids(parameters: &mut Parameters<'_>, name: &'static str) -> Option<Vec<PetId>> {
    let mut ids = parameters.many(name, |text| Ok(PetId::parse(text)?))?;
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

/// A text with `%XX` and `+` decoded, or none if it is not UTF-8 so encoded.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                u8::try_from(high << 4 | low).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
