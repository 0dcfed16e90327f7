//! Counts for monitoring.

use petstore_domain::Timestamp;
use petstore_ports::{Housekeeping, StoreCounts, StoreStats};

use crate::common::{Shop, runtime};

#[test]
fn few_records_are_counted_and_many_are_estimated() {
    let Some(shop) = Shop::shared() else { return };
    let store = shop.open();
    assert_eq!(store.counts(), StoreCounts::default(), "nothing is counted yet");
    shop.add_pets(30_000);
    shop.sql("analyze; insert into orders select n, 1, 1, null, false, 1 from generate_series(1, 7) as n");
    runtime().block_on(store.watch(Timestamp::EPOCH)).expect("the server runs");
    let counts = store.counts();
    assert!((29_000..31_000).contains(&counts.pets), "{counts:?}");
    assert_eq!((counts.categories, counts.orders, counts.accounts), (1, 7, 0));
}
