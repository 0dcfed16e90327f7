//! The checks of a bulk load: rows that may contradict each other are added to empty tables one by one.
//!
//! A store implements [`ShopTables`] for the place where it collects the rows. [`ShopLoader`] checks complete records, as a
//! journal and a reset have them; [`ImportChecks`] checks the rows of [`BulkImport`](petstore_ports::BulkImport), from which
//! records are put together. What the rows of a shop must fulfil is written here once, for every store.

mod contradiction;
mod import;
mod loader;
mod tables;

pub use contradiction::Contradiction;
pub use import::ImportChecks;
pub use loader::ShopLoader;
pub use tables::ShopTables;
