//! Reads: records by id in batches, and pages.

mod batcher;
mod by_id;
mod categories;
mod link;
mod loaders;
mod lookup;
mod orders;
mod page_text;
mod pages;
mod pets;
#[cfg(test)]
mod plans;
mod pool;

pub(crate) use by_id::stored as stored_id;
pub(crate) use link::Link;
pub(crate) use loaders::Loaders;
pub(crate) use lookup::Lookup;
pub(crate) use page_text::{Direction, keyset};
pub(crate) use pages::bounds;
pub(crate) use pool::{Parameters, Pool};
