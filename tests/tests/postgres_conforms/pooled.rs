//! The suite on nodes without prepared statements, behind a pooler that gives each transaction another connection.

use petstore_tests::{reset_conformance, store_conformance};

use super::shop::Shop;

store_conformance!(match Shop::pooled() {
    Some(shop) => Some(shop.open().await),
    None => None,
});

reset_conformance!(match Shop::pooled() {
    Some(shop) => Some(shop.open_with_reset().await),
    None => None,
});
