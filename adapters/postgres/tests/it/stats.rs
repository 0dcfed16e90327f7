//! Counts for monitoring.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use petstore_domain::{CategoryName, CreateCategory, NewCategory, Timestamp};
use petstore_ports::{Housekeeping, StoreCounts, StoreStats, run};
use petstore_postgres::{CommitObserver, DatabaseStats, Options, PostgresStore, Target};
use petstore_test_servers::{Postgres, Stop};

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

/// Creates a category.
fn write(store: &PostgresStore, name: &str) {
    let name = CategoryName::parse(name).expect("a name");
    let create = CreateCategory { new: NewCategory::new(name) };
    runtime().block_on(run(store, create, Timestamp::EPOCH)).expect("it is answered").expect("it is free");
}

#[test]
fn a_lost_connection_is_counted_and_the_observer_hears_of_each_commit() {
    #[derive(Default)]
    struct Observed(Mutex<(Vec<usize>, u32)>);

    impl CommitObserver for Observed {
        fn committed(&self, operations: usize, _took: Duration) {
            self.0.lock().unwrap().0.push(operations);
        }

        fn failed(&self) {
            self.0.lock().unwrap().1 += 1;
        }
    }

    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let (store, observed) = (shop.open(), Arc::<Observed>::default());
    store.observe_commits(Arc::clone(&observed) as _);
    write(&store, "Dogs");
    let before = store.database_stats();
    assert!(before.connections >= 2 && before.connects >= before.connections, "{before:?}");
    assert_eq!(before.batch_failures.iter().map(|(_, count)| count).sum::<u64>(), 0, "{before:?}");
    shop.end_connections();
    write(&store, "Cats");
    let after = store.database_stats();
    let count = |stats: &DatabaseStats, cause| {
        stats.batch_failures.iter().find(|(name, _)| *name == cause).map(|(_, count)| *count)
    };
    // If the end was noticed before the write, the connection was replaced at once, and no batch failed.
    let lost = count(&after, "lost").expect("a cause");
    assert!(lost <= 1 && after.connects > before.connects, "{after:?}");
    assert_eq!(*observed.0.lock().unwrap(), (vec![1, 1], u32::try_from(lost).unwrap()));
    server.stop(Stop::Fast);
    while store.database_stats().connect_failures == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn the_statistics_of_the_server_need_their_privilege() {
    let Some(server) = Postgres::shared() else { return };
    let shop = Shop::on(server);
    let role = format!("{}_role", shop.schema);
    server.sql(&format!("create role {role} login; create schema {} authorization {role}", shop.schema));
    let url = format!("postgres://{role}@127.0.0.1:{}/petstore", server.port());
    let options = Options { schema: shop.schema.clone(), seed: 9 };
    let store = PostgresStore::open(Target::parse(&url).unwrap(), options).unwrap();
    runtime().block_on(store.watch(Timestamp::EPOCH)).unwrap();
    assert_eq!(store.database_stats().server, None);
    server.sql(&format!("grant pg_monitor to {role}"));
    let again = shop.open();
    runtime().block_on(again.watch(Timestamp::EPOCH)).unwrap();
    let stats = again.database_stats().server.expect("a superuser reads them");
    assert_eq!((stats.synchronous_standbys, stats.other_standbys, stats.standby_lag_bytes), (0, 0, 0));
    assert_eq!(store.counts().pets, 0);
    let options = Options { schema: shop.schema.clone(), seed: 10 };
    let monitor = PostgresStore::open(Target::parse(&url).unwrap(), options).unwrap();
    runtime().block_on(monitor.watch(Timestamp::EPOCH)).unwrap();
    assert!(monitor.database_stats().server.is_some(), "a member of pg_monitor reads them");
}
