//! A store whose server refuses further connections.

use std::time::Duration;

use petstore_domain::{PetId, Timestamp};
use petstore_ports::{PageRequest, PetFilter, PetReader, SortDirection, StoreError, StoreHealth};
use petstore_postgres::{Options, PostgresStore, Target};
use petstore_test_servers::Postgres;

use crate::common::{Shop, runtime};

/// A store as a role whose connections the test limits. It has those that it keeps: for writes, for events, and for the regular
/// check.
fn limited(shop: &Shop<'_>) -> PostgresStore {
    shop.server
        .sql(&format!("create role limited login; create schema {} authorization limited", shop.schema));
    let url = shop.server.url().replace("petstore@", "limited@");
    let target = Target::parse(&url).expect("a URL");
    let options = Options { schema: shop.schema.clone(), seed: 3 };
    let store = PostgresStore::open(target, options).expect("the store can be opened");
    shop.wait_for("(select count(*) from pg_stat_activity where usename = 'limited') >= 3");
    store
}

/// The connections that the role has.
fn used(server: &Postgres) -> u32 {
    let used = server.sql("select count(*) from pg_stat_activity where usename = 'limited'");
    used.parse().expect("a number")
}

/// Sets how many connections the role may have beyond those that it has.
fn allow(server: &Postgres, further: Option<u32>) {
    let limit = match further {
        Some(further) => used(server) + further,
        None => 100,
    };
    server.sql(&format!("alter role limited connection limit {limit}"));
}

async fn page(store: &PostgresStore) -> Result<usize, StoreError> {
    let mut count = 0;
    let request = PageRequest { order: SortDirection::Ascending, after: None, limit: 10 };
    store.pets(&PetFilter::default(), &request, &mut |_| count += 1).await?;
    Ok(count)
}

async fn check(store: &PostgresStore) -> Result<(), String> {
    store.check(Timestamp::EPOCH).await.map_err(|error| error.report())
}

#[test]
fn a_store_is_not_healthy_while_all_pages_fail_and_recovers_without_requests() {
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let store = limited(&shop);
    shop.add_pets(3);
    allow(&server, Some(0));
    runtime().block_on(async {
        let mut found = Ok(());
        for _ in 0..100 {
            page(&store).await.expect_err("no connection is left");
            found = check(&store).await;
            if found.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let report = found.expect_err("pages have failed for a second");
        assert!(report.contains("reads fail, and changes do not"), "{report}");
        assert!(report.contains("too many connections"), "{report}");
        assert!(store.fault().is_some(), "the log tells it");
        allow(&server, None);
        for _ in 0..200 {
            if check(&store).await.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!((check(&store).await, page(&store).await), (Ok(()), Ok(3)));
    });
}

#[test]
fn a_server_that_does_not_tell_its_timeline_to_the_role_is_no_obstacle() {
    let Some(server) = Postgres::start() else { return };
    server.sql("revoke execute on function pg_control_system(), pg_walfile_name(pg_lsn) from public");
    let shop = Shop::on(&server);
    let store = limited(&shop);
    assert_eq!(store.shop_number(), None);
    assert_eq!(runtime().block_on(check(&store)), Ok(()));
    assert_eq!(shop.sql("select server_history is null from shop"), "t");
}

#[test]
fn statements_use_the_connections_that_are_open_if_no_further_one_can_be_opened() {
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let store = limited(&shop);
    shop.add_pets(3);
    runtime().block_on(async {
        assert_eq!(page(&store).await, Ok(3));
        allow(&server, Some(0));
        // More pages at once than connections that are open.
        for answer in futures_util::future::join_all((0..20).map(|_| page(&store))).await {
            assert_eq!(answer, Ok(3));
        }
        // The connection of this thread cannot be opened.
        assert!(store.pet(PetId::FIRST).await.expect("another connection is used").is_some());
        assert_eq!(check(&store).await, Ok(()));
    });
}
