//! Housekeeping by several nodes at once.

use petstore_domain::{AccountId, Timestamp};
use petstore_ports::{Housekeeping, IdempotencyRecords};

use crate::common::{Shop, runtime};

#[test]
fn several_nodes_drop_each_expired_record_once() {
    let Some(shop) = Shop::shared() else { return };
    let stores = [shop.open(), shop.open(), shop.open()];
    shop.sql(
        "insert into idempotency_records
         select n % 3 + 1, 'place_order', 'key-' || n, decode(repeat('00', 32), 'hex'), '{}',
             case when n <= 4000 then timestamptz '2030-01-01' else timestamptz '2030-01-03' end
         from generate_series(1, 4500) as n;
         insert into idempotency_counts select n, 0, 1500 from generate_series(1, 3) as n",
    );
    let now = Timestamp::parse("2030-01-02T00:00:00Z").expect("a time");
    let dropped: usize = std::thread::scope(|scope| {
        let drop_all = |store| {
            runtime().block_on(async move {
                let store: &petstore_postgres::PostgresStore = store;
                let mut dropped = 0;
                loop {
                    match store.drop_expired(now).await.expect("the server runs") {
                        0 => return dropped,
                        some => dropped += some,
                    }
                }
            })
        };
        let nodes = stores.each_ref().map(|store| scope.spawn(move || drop_all(store)));
        nodes.into_iter().map(|node| node.join().expect("no node panics")).sum()
    });
    assert_eq!(dropped, 4_000);
    assert_eq!(
        shop.sql("select count(*), min(expires_at)::date from idempotency_records"),
        "500\t2030-01-03"
    );
    runtime().block_on(async {
        let mut counts = Vec::new();
        for number in 1..=3 {
            let account = AccountId::new(number).expect("an id");
            counts.push(stores[0].records_of(account).await.expect("the server runs"));
        }
        assert_eq!(counts.iter().sum::<u32>(), 500, "{counts:?}");
    });
}

#[test]
fn old_tokens_are_dropped() {
    let Some(shop) = Shop::shared() else { return };
    let store = shop.open();
    shop.sql(
        "insert into commits (token, at) select decode(lpad(to_hex(n), 32, '0'), 'hex'), clock_timestamp() - n * interval '1 minute'
         from generate_series(1, 30) as n",
    );
    runtime().block_on(store.drop_expired(Timestamp::EPOCH)).expect("the server runs");
    let left = shop.sql("select count(*) from commits where at > clock_timestamp() - interval '1 hour'");
    assert_eq!(left, "9", "those of the last ten minutes");
}

#[test]
fn rows_of_nodes_that_are_gone_are_dropped() {
    let Some(shop) = Shop::shared() else { return };
    let stores = [shop.open(), shop.open()];
    shop.sql(
        "insert into nodes select lpad(to_hex(n), 16, '0'), '1.0.0', 1, 'host', '127.0.0.1:80',
             clock_timestamp() - interval '1 day', clock_timestamp() - n * interval '1 minute', '{}'
         from generate_series(1, 20) as n",
    );
    for store in &stores {
        runtime().block_on(store.drop_expired(Timestamp::EPOCH)).expect("the server runs");
    }
    assert_eq!(
        shop.sql("select count(*), max(id) from nodes"),
        "9\t0000000000000009",
        "of the last ten minutes"
    );
}
