//! The time that a store waits for a database that hangs.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use petstore_domain::{CategoryId, Timestamp};
use petstore_ports::{CategoryFilter, CategoryReader, EventReader, PageOrder, PageRequest, StoreError, run};
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
            let request = PageRequest { order: PageOrder::Ascending, after: None, limit: 10 };
            page.categories(&CategoryFilter::default(), &request, &mut |_| ()).await.map(drop)
        }),
        Box::pin(async move { log.bounds().await.map(drop) }),
        Box::pin(async move {
            run(&*write, create_category(name), Timestamp::EPOCH).await.map(|made| drop(made.unwrap()))
        }),
    ]
}

#[test]
fn a_store_waits_for_a_database_that_hangs_as_long_as_it_was_told() {
    let Some(server) = Postgres::shared() else { return };
    let proxy = FaultProxy::before(server.port());
    let schema = server.new_schema();
    let open = |seed, time| {
        let url = format!("postgres://petstore@127.0.0.1:{}/petstore", proxy.port());
        let mut target = Target::parse(&url).unwrap();
        target.set_answer_time(time);
        Arc::new(PostgresStore::open(target, Options { schema: schema.clone(), seed }).unwrap())
    };
    // The first one has the least time that a store has.
    let (short, long) = (open(1, Duration::ZERO), open(2, Duration::from_secs(60)));
    block_on(async {
        for call in calls(&short, "Dogs").into_iter().chain(calls(&long, "Cats")) {
            call.await.expect("the database answers");
        }
        proxy.set_mode(Mode::Blackhole);
        let mut waiting = calls(&long, "Newts").map(tokio::spawn);
        for failed in calls(&short, "Birds").map(tokio::spawn) {
            failed.await.unwrap().expect_err("the database hangs");
        }
        assert!(waiting.iter_mut().all(|call| call.now_or_never().is_none()), "the other one still waits");
        proxy.set_mode(Mode::Pass);
        for call in waiting {
            call.await.unwrap().expect("the database answers after all");
        }
    });
}
