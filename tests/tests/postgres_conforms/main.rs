//! The suite on PostgreSQL. Each case has its own schema, and further handles of the schema represent other nodes. Each
//! node counts quotas in memory.
//!
//! With `PETSTORE_TEST_STORE=pooler` the nodes use a pooler that gives each transaction another connection, without prepared
//! statements (`bash tests/deep pooler`).

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
