//! Reads while connections end or hang.

use std::time::Duration;

use petstore_domain::{PetId, Timestamp};
use petstore_ports::{
    PageRequest, PetFilter, PetReader, SortDirection, StoreError, StoreErrorKind, StoreHealth,
};
use petstore_postgres::PostgresStore;
use petstore_test_servers::{Postgres, Stop};

use crate::common::{Shop, runtime};

async fn read(store: &PostgresStore) -> Result<bool, StoreError> {
    Ok(store.pet(PetId::FIRST).await?.is_some())
}

async fn page(store: &PostgresStore) -> Result<usize, StoreError> {
    let mut count = 0;
    let request = PageRequest { order: SortDirection::Ascending, after: None, limit: 10 };
    store.pets(&PetFilter::default(), &request, &mut |_| count += 1).await?;
    Ok(count)
}

#[test]
fn reads_survive_the_end_of_their_connections() {
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let store = shop.open();
    shop.add_pets(3);
    runtime().block_on(async {
        for _ in 0..3 {
            assert_eq!((read(&store).await, page(&store).await), (Ok(true), Ok(3)));
            shop.end_connections();
        }
        assert_eq!((read(&store).await, page(&store).await), (Ok(true), Ok(3)));
    });
}

#[test]
fn a_read_that_hangs_fails_at_its_deadline_and_the_next_one_has_a_new_connection() {
    let Some(shop) = Shop::shared() else { return };
    let store = shop.open();
    shop.add_pets(3);
    runtime().block_on(async {
        assert_eq!(read(&store).await, Ok(true));
        let config: tokio_postgres::Config = shop.server.url().parse().expect("a URL");
        let (lock, connection) = config.connect(tokio_postgres::NoTls).await.expect("the server runs");
        tokio::spawn(connection);
        let begin = format!("begin; lock table {}.pets in access exclusive mode", shop.schema);
        lock.batch_execute(&begin).await.expect("the table can be locked");
        // The paused clock jumps to the next time limit as soon as this runtime only waits.
        tokio::time::pause();
        let error = read(&store).await.expect_err("the table is locked");
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        tokio::time::resume();
        lock.batch_execute("rollback").await.expect("the server runs");
        assert_eq!(read(&store).await, Ok(true));
    });
}

#[test]
fn a_server_that_is_gone_makes_reads_unavailable_and_the_store_unhealthy() {
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let store = shop.open();
    shop.add_pets(3);
    runtime().block_on(async {
        assert_eq!(read(&store).await, Ok(true));
        assert_eq!(store.check(Timestamp::EPOCH).await, Ok(()));
        server.stop(Stop::Immediate);
        for error in [read(&store).await.map(drop), page(&store).await.map(drop)] {
            let error = error.expect_err("no server");
            assert_eq!(error.kind(), StoreErrorKind::Unavailable);
            // The reason is named even while the next attempt to connect waits.
            assert!(error.report().contains("refused"), "{}", error.report());
        }
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(3)).await;
        let report = store.check(Timestamp::EPOCH).await.expect_err("no server").report();
        assert!(report.contains("PostgreSQL has not answered for 2 s"), "{report}");
    });
}
