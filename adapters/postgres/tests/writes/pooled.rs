//! Handles without prepared statements, behind a pooler that gives each transaction another connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use petstore_domain::{EventFilter, PetId};
use petstore_ports::{EventQuery, EventRead, EventReader, PageRequest, PetFilter, PetReader, SortDirection};
use petstore_postgres::{Options, PostgresStore, Target};
use petstore_test_servers::{PgBouncer, Postgres};

use crate::shop::{Shop, block_on, order};

/// A store behind a pooler.
fn open(pooler: &PgBouncer, schema: &str) -> Arc<PostgresStore> {
    static SEED: AtomicU64 = AtomicU64::new(1_000);
    let mut target = Target::parse(&pooler.url()).unwrap();
    target.set_prepares(false);
    let options = Options { schema: schema.to_owned(), seed: SEED.fetch_add(1, Ordering::Relaxed) };
    Arc::new(PostgresStore::open(target, options).expect("the store opens"))
}

#[test]
fn two_shops_share_the_connections_of_a_pooler_and_leave_nothing_on_them() {
    // A separate cluster, so that the pooler's connections to it are the only ones.
    let Some(server) = Postgres::start() else { return };
    let Some(pooler) = PgBouncer::start(&server, 4) else { return };
    let shops = [(); 2].map(|()| {
        let schema = server.new_schema();
        let store = open(&pooler, &schema);
        Shop { server: &server, schema, store }
    });
    block_on(async {
        for shop in &shops {
            let pet = shop.add_pet(300).await;
            let orders = shop.together((0..200).map(|_| order(pet, 1)));
            let reads = futures_util::future::join_all((0..200).map(|_| shop.store.pet(PetId::FIRST)));
            let (orders, reads) = futures_util::future::join(orders, reads).await;
            assert!(orders.into_iter().all(|placed| placed.unwrap().is_ok()));
            assert!(reads.into_iter().all(|read| read.unwrap().is_some()));
            let page = PageRequest { order: SortDirection::Ascending, after: None, limit: 10 };
            let mut count = 0;
            shop.store.pets(&PetFilter::default(), &page, &mut |_| count += 1).await.unwrap();
            assert_eq!(count, 1);
            let all = EventQuery {
                epoch: None,
                order: SortDirection::Ascending,
                after: None,
                filter: EventFilter::ALL,
                events_max: 1_000,
                positions_max: 10_000,
            };
            let EventRead::Page(events) = shop.store.read(all).await.unwrap() else { panic!("a page") };
            assert!(events.events.len() > 200, "{}", events.events.len());
        }
    });
    for shop in &shops {
        assert_eq!(shop.orders_and_stock(), (200, 100));
    }
    drop(shops);
    // Each of these transactions may run on another connection of the pooler.
    let kept =
        "select current_setting('search_path'), current_setting('jit'), current_setting('enable_seqscan'),
        current_setting('lock_timeout'), (select count(*) from pg_prepared_statements)";
    for _ in 0..20 {
        let found = server.psql(&pooler.url(), kept).unwrap();
        assert_eq!(found, "\"$user\", public\ton\ton\t0\t0");
    }
}
