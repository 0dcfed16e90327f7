//! Query strings. They are percent-decoded once, unknown parameters are refused, and all faults are reported.

use std::borrow::Cow;

use petstore_domain::{CategoryId, CategoryName, PetId, PetName, PetStatus, RangeError};
use petstore_ports::{CategoryFilter, OrderFilter, PageRequest, PetFilter, SortDirection, StatusSet};

use super::bodies::unknown_status;
use super::cursor::{Bind, List, Walk};
use super::links;
use crate::wire::error::ApiError;
pub(crate) use parameters::{Parameters, number};

use super::faults::FieldFault;

mod event_stream;
mod events;
mod parameters;
mod webhooks;

pub(crate) use event_stream::{EventStreamQuery, LAST_EVENT_ID, stream_events};
pub(crate) use events::{EventListQuery, list_events, wait};
pub(crate) use webhooks::{list_deliveries, list_webhooks};

/// The maximum number of items of a page.
const LIMIT_MAX: usize = 100;

/// The default page size of pets. Other lists use the maximum.
const PETS_LIMIT: usize = 20;

/// The parameters of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing<F> {
    /// The filter of the items.
    pub(crate) filter: F,
    /// The page of the filtered items.
    pub(crate) page: PageRequest,
    walk: Walk,
    /// The parameters except the cursor, for the links to other pages.
    query: String,
}

impl<F> Listing<F> {
    /// Returns the `Link` value of the page: to the first page, and to the page after the id `next` if there is one.
    ///
    /// `origin` is `http://host` without a trailing slash, `path` the path of the list including the base path.
    pub(crate) fn links(&self, origin: &str, path: &str, next: Option<u64>) -> String {
        let cursor = next.map(|id| self.walk.cursor(id));
        links::page_links(origin, path, &self.query, cursor.as_deref())
    }
}

/// Checks the query of an operation without query parameters.
pub(crate) fn no_parameters(query: Option<&str>) -> Result<(), ApiError> {
    if query.is_none() {
        return Ok(());
    }
    Parameters::of(query).finish().map(drop)
}

/// `GET /pets`. Cursors are valid only for the store with this epoch.
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

/// `GET /inventory`: the filter selects pets.
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
    let order = parameters.one("sort", order).unwrap_or(SortDirection::Ascending);
    let filter = filter(&mut parameters);
    let query = parameters.finish()?;
    // The cursor is read last, because its checksum depends on all other parameters.
    let walk = Walk::new(list, order, &filter, epoch);
    let after = cursor.map(|cursor| walk.read(&cursor)).transpose()?;
    Ok(Listing { filter, page: PageRequest { order, after, limit }, walk, query })
}

fn limit(text: &str) -> Result<usize, FieldFault> {
    let out_of_range = || FieldFault::from(RangeError { min: 1, max: 100, but_not_zero: false });
    // A number that does not fit its type is out of range too.
    number(text)?.filter(|limit| (1..=LIMIT_MAX).contains(limit)).ok_or_else(out_of_range)
}

fn order(text: &str) -> Result<SortDirection, FieldFault> {
    match text {
        "id" => Ok(SortDirection::Ascending),
        "-id" => Ok(SortDirection::Descending),
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

/// Decodes `%XX` and `+`; `None` if the result is not UTF-8.
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
