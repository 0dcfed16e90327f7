//! Reads: records by id in batches, and pages.

mod by_id;
mod categories;
mod loaders;
mod orders;
mod page_text;
mod pages;
mod pets;
#[cfg(test)]
mod plans;

pub(crate) use loaders::Loaders;
pub(crate) use page_text::{Direction, keyset};
pub(crate) use pages::bounds;
