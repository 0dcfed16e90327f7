//! The time that a store waits for a database that hangs.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use petstore_domain::{CategoryId, Timestamp};
use petstore_ports::{
    CategoryFilter, CategoryReader, EventReader, PageRequest, SortDirection, StoreError, run,
};
use petstore_postgres::{Options, PostgresStore, Target};
use petstore_test_servers::{FaultProxy, Mode, Postgres};

use crate::shop::{block_on, create_category};

type Call = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// One call of each kind that has a time limit: a read by id, a page, the event log, and a write.
fn calls(store: &Arc<PostgresStore>, name: &'static str) -> [Call; 4] {
    let [by_id, page, log, write] = [(); 4].map(|()| Arc::clone(store));
    [
        Box::pin(async move { by_id.category(CategoryId::FIRST).await.map(drop) }),
        Box::pin(async move {
            let request = PageRequest { order: SortDirection::Ascending, after: None, limit: 10 };
            page.categories(&CategoryFilter::default(), &request, &mut |_| ()).await.map(drop)
        }),
        Box::pin(async move { log.bounds().await.map(drop) }),
        Box::pin(async move {
            run(&*write, create_category(name), Timestamp::EPOCH).await.map(|made| drop(made.unwrap()))
        }),
    ]
}

/// Checks that a store with a long time waits for a database that hangs, and one with the shortest time does not. `is_open`:
/// whether the stores have opened their connections before.
fn check_waits(server: &Postgres, is_open: bool) {
    let proxy = FaultProxy::before(server.port());
    let schema = server.new_schema();
    let open = |seed, time| {
        let url = format!("postgres://petstore@127.0.0.1:{}/petstore", proxy.port());
        let mut target = Target::parse(&url).unwrap();
        target.set_answer_time(time);
        Arc::new(PostgresStore::open(target, Options { schema: schema.clone(), seed }).unwrap())
    };
    let (short, long) = (open(1, Duration::ZERO), open(2, Duration::from_mins(1)));
    block_on(async {
        if is_open {
            for call in calls(&short, "Dogs").into_iter().chain(calls(&long, "Cats")) {
                call.await.expect("the database answers");
            }
        }
        proxy.set_mode(Mode::Blackhole);
        let mut waiting = calls(&long, "Newts").map(tokio::spawn);
        for failed in calls(&short, "Birds").map(tokio::spawn) {
            failed.await.unwrap().expect_err("the database hangs");
        }
        for call in &mut waiting {
            if let Some(ended) = call.now_or_never() {
                panic!("it waits no more: {ended:?}");
            }
        }
        proxy.set_mode(Mode::Pass);
        for call in waiting {
            call.await.unwrap().expect("the database answers after all");
        }
    });
}

#[test]
fn a_store_waits_for_a_database_that_hangs_as_long_as_it_was_told() {
    let Some(server) = Postgres::shared() else { return };
    check_waits(server, true);
}

#[test]
fn a_store_waits_for_new_connections_to_a_database_that_hangs_as_long_as_it_was_told() {
    let Some(server) = Postgres::shared() else { return };
    check_waits(server, false);
}
