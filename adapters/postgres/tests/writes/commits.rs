//! Commits whose answer is lost.

use std::time::Duration;

use petstore_ports::StoreErrorKind;
use petstore_test_servers::Postgres;
use tokio::time::Instant;

use crate::proxy::{Fault, Proxy};
use crate::shop::{Shop, block_on, open, order};

/// A shop behind a proxy; none without PostgreSQL.
#[track_caller]
fn behind_proxy() -> Option<(Shop<'static>, Proxy)> {
    let direct = Shop::new()?;
    let proxy = Proxy::start(direct.server.port());
    let store = open(&proxy.url(), &direct.schema);
    Some((Shop { store, ..direct }, proxy))
}

/// Eight orders are sent, and their commit meets the fault. Each order must be answered with success, and placed once.
#[track_caller]
fn all_orders_are_made_once_after(fault: Fault) {
    let Some((shop, proxy)) = behind_proxy() else { return };
    block_on(async {
        let pet = shop.add_pet(100).await;
        proxy.plant(fault);
        for answer in shop.together((0..8).map(|_| order(pet, 1))).await {
            answer.expect("the outcome is found out").expect("units are left");
        }
    });
    assert!(proxy.has_struck(), "{fault:?}");
    assert_eq!(shop.orders_and_stock(), (8, 92), "{fault:?}");
}

#[test]
fn a_commit_that_never_reached_the_server_is_made_again() {
    all_orders_are_made_once_after(Fault::CutBefore);
}

#[test]
fn a_commit_whose_answer_was_lost_is_found() {
    all_orders_are_made_once_after(Fault::CutAfter);
}

#[test]
fn a_commit_that_is_not_answered_is_found() {
    all_orders_are_made_once_after(Fault::Silence);
}

#[test]
fn a_commit_that_cannot_be_found_out_is_reported_as_unknown() {
    let Some((shop, proxy)) = behind_proxy() else { return };
    block_on(async {
        let pet = shop.add_pet(100).await;
        proxy.plant(Fault::SilenceForAll);
        let error = shop.run(order(pet, 1)).await.expect_err("it cannot be known");
        assert_eq!(error.kind(), StoreErrorKind::Indeterminate, "{}", error.report());
    });
    assert_eq!(shop.orders_and_stock(), (1, 99), "the commit did reach the server");
}

#[test]
fn a_backend_that_is_killed_during_its_commit_leaves_each_order_made_once() {
    // A separate cluster: the test kills each commit that is under way.
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let pet = block_on(shop.add_pet(100));
    shop.sql(
        "create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return null; end $$;
         create constraint trigger slow_commit after insert on orders deferrable initially deferred
             for each row when (new.quantity = 3) execute function wait()",
    );
    let kill =
        "select pg_terminate_backend(pid) from pg_stat_activity where query = 'commit' and state = 'active'";
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| (0..200).any(|_| shop.sql(kill).contains('t')));
        let answers = block_on(shop.together([order(pet, 3), order(pet, 1)]));
        assert!(killer.join().unwrap(), "the commit was under way");
        for answer in answers {
            answer.expect("the outcome is found out").expect("units are left");
        }
    });
    assert_eq!(shop.orders_and_stock(), (2, 96));
}

#[test]
fn a_connection_that_died_between_two_writes_is_replaced() {
    let Some((shop, proxy)) = behind_proxy() else { return };
    block_on(async {
        let pet = shop.add_pet(10).await;
        for _ in 0..5 {
            proxy.cut_all();
            shop.run(order(pet, 1)).await.expect("a new connection is opened").expect("units are left");
        }
    });
    assert_eq!(shop.orders_and_stock(), (5, 5));
}

#[test]
fn while_the_database_is_away_all_callers_are_told_soon_and_afterwards_writes_go_on() {
    let Some((shop, proxy)) = behind_proxy() else { return };
    block_on(async {
        let pet = shop.add_pet(1_000).await;
        proxy.set_away(true);
        let began = Instant::now();
        // More orders than one batch holds.
        for answer in shop.together((0..600).map(|_| order(pet, 1))).await {
            let error = answer.expect_err("there is no database");
            assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", error.report());
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        proxy.set_away(false);
        while shop.run(order(pet, 1)).await.is_err() {}
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    });
    assert_eq!(shop.orders_and_stock(), (1, 999));
}
