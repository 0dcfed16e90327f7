//! The checks of a bulk load: rows that may contradict each other are added to empty tables one by one.
//!
//! A store implements [`ShopTables`] for the place where it collects the rows. [`ShopLoader`] checks complete records,
//! as journals and resets contain them. [`ImportChecks`] checks the rows of a
//! [`BulkImport`](petstore_ports::BulkImport), and puts records together from them. So the rules that the rows of a
//! shop must fulfil are written once for all stores.

mod contradiction;
mod import;
mod loader;
mod tables;

pub use contradiction::Contradiction;
pub use import::ImportChecks;
pub use loader::ShopLoader;
pub use tables::ShopTables;
