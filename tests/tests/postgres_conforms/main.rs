//! The suite on PostgreSQL, a schema for each case, and further handles as other nodes have them. Quotas are counted by each
//! node in memory.

mod planted;
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
