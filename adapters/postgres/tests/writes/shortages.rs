//! A server that lacks a resource, accepts no writes, or has no standby.

use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_ports::{StoreErrorKind, StoreHealth};
use petstore_postgres::{Options, PostgresStore, Target};
use petstore_test_servers::Postgres;

use crate::epochs::wait_until;
use crate::shop::{Shop, block_on, create_category};

/// Connects that a handle has made or tried.
fn connects(store: &PostgresStore) -> u64 {
    let stats = store.database_stats();
    stats.connects + stats.connect_failures
}

#[test]
fn a_full_disk_makes_writes_fail_at_once_and_keeps_the_connections() {
    let Some(shop) = Shop::new() else { return };
    block_on(shop.run(create_category("Dogs"))).unwrap().unwrap();
    shop.sql(
        "create function full_disk() returns trigger language plpgsql as $$ begin
             raise exception 'could not extend file' using errcode = 'disk_full'; end $$;
         create trigger full_disk before insert on categories for each row execute function full_disk()",
    );
    let before = connects(&shop.store);
    for number in 0..50 {
        let name = format!("Category {number}");
        let failure = block_on(shop.run(create_category(&name))).unwrap_err();
        assert_eq!(failure.kind(), StoreErrorKind::Unavailable, "{}", failure.report());
    }
    assert_eq!(connects(&shop.store), before);
    // Readiness and the log tell it.
    let healthy = || block_on(shop.store.check(Timestamp::EPOCH)).map_err(|error| error.report());
    wait_until("the store is not healthy", || {
        let _ = block_on(shop.run(create_category("One more")));
        // A change that is refused writes nothing.
        block_on(shop.run(create_category("Dogs"))).unwrap().unwrap_err();
        healthy().is_err_and(|report| report.contains("changes fail, and reads do not"))
    });
    assert!(shop.store.fault().is_some_and(|error| error.report().contains("could not extend file")));
    shop.sql("drop trigger full_disk on categories");
    block_on(shop.run(create_category("Cats"))).unwrap().unwrap();
    assert_eq!(healthy(), Ok(()));
}

#[test]
fn a_database_that_is_read_only_is_unavailable_without_a_storm_and_is_used_again_afterwards() {
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let set = |value: &str| server.set("default_transaction_read_only", value);
    set("on");
    let failure = block_on(shop.run(create_category("Dogs"))).unwrap_err();
    assert_eq!(failure.kind(), StoreErrorKind::Unavailable, "{}", failure.report());
    let before = connects(&shop.store);
    for _ in 0..60 {
        let _ = block_on(shop.run(create_category("Dogs")));
        std::thread::sleep(Duration::from_millis(10));
    }
    let made = connects(&shop.store) - before;
    assert!(made < 100, "{made}");
    // The regular check of the database has noticed it, too.
    wait_until("the check fails", || {
        let checked = block_on(shop.store.check(Timestamp::EPOCH)).map_err(|error| error.report());
        checked.is_err_and(|report| report.contains("has not answered"))
    });
    set("off");
    wait_until("the database is used again", || {
        block_on(shop.run(create_category("Dogs"))).is_ok_and(|made| made.is_ok())
    });
}

#[test]
fn a_store_that_requires_a_synchronous_standby_is_not_healthy_without_one() {
    let Some(server) = Postgres::start() else { return };
    let mut target = Target::parse(&server.url()).unwrap();
    target.set_requires_sync(true);
    let store = PostgresStore::open(target, Options { schema: server.new_schema(), seed: 5 }).unwrap();
    let checked = |expected: &dyn Fn(&Result<(), String>) -> bool| {
        (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            expected(&block_on(store.check(Timestamp::EPOCH)).map_err(|error| error.report()))
        })
    };
    assert!(checked(&|found| found.as_ref().is_err_and(|why| why.contains("synchronous_standby_names"))));
    server.wait_for_standbys("one");
    assert!(checked(&|found| found.is_ok()));
}
