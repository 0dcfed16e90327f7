//! The suite on PostgreSQL. Each case has its own schema, and further handles of the schema represent other nodes. Each
//! node counts quotas in memory.
//!
//! The suite runs a second time behind a pooler, without prepared statements.

mod planted;
mod pooled;
mod shop;

use petstore_tests::{reset_conformance, store_conformance};

use shop::Shop;

store_conformance!(match Shop::new() {
    Some(shop) => Some(shop.open().await),
    None => None,
});

reset_conformance!(match Shop::new() {
    Some(shop) => Some(shop.open_with_reset().await),
    None => None,
});
