//! Commits about which the server warns.

use std::sync::atomic::{AtomicBool, Ordering};

use petstore_ports::StoreErrorKind;
use petstore_test_servers::Postgres;

use crate::shop::{Shop, block_on, open, order};

/// Ends the wait of each commit that waits for a standby. Returns whether there was one.
fn end_waits(server: &Postgres, how: &str) -> bool {
    let sql = format!("select {how}(pid) from pg_stat_activity where wait_event = 'SyncRep'");
    server.sql(&sql).contains('t')
}

#[test]
fn a_commit_whose_wait_for_a_standby_is_cancelled_is_reported_as_unknown() {
    let Some(server) = Postgres::start() else { return };
    // A role that asks for no warnings must not hide them from the store.
    server.sql("alter role petstore set client_min_messages = error");
    for how in ["pg_cancel_backend", "pg_terminate_backend"] {
        let shop = Shop::on(&server);
        let pet = block_on(shop.add_pet(100));
        server.wait_for_standbys("nowhere");
        let is_answered = AtomicBool::new(false);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_answered.load(Ordering::Relaxed) {
                    end_waits(&server, how);
                }
            });
            let answer = block_on(shop.run(order(pet, 1)));
            is_answered.store(true, Ordering::Relaxed);
            answer.expect_err("no standby has it")
        });
        assert_eq!(error.kind(), StoreErrorKind::Indeterminate, "{how}: {}", error.report());
        assert_eq!(shop.orders_and_stock(), (1, 99), "{how}: the primary has it");
        server.wait_for_standbys("");
    }
}

#[test]
fn a_commit_whose_wait_is_cancelled_is_answered_once_a_later_one_is_confirmed() {
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let pet = block_on(shop.add_pet(100));
    server.wait_for_standbys("nowhere");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !end_waits(&server, "pg_cancel_backend") {}
            server.wait_for_standbys("");
        });
        for answer in block_on(shop.together([order(pet, 1), order(pet, 2)])) {
            answer.expect("it is confirmed").expect("units are left");
        }
    });
    assert_eq!(shop.orders_and_stock(), (2, 97));
}

#[test]
fn warnings_of_other_statements_than_the_commit_leave_it_confirmed() {
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let pet = block_on(shop.add_pet(100));
    shop.sql(
        "create function warn() returns trigger language plpgsql as $$ begin raise warning 'planted'; return null; end $$;
         create trigger warns after insert on orders execute function warn();
         create trigger warns after insert on commits execute function warn()",
    );
    for answer in block_on(shop.together((0..8).map(|_| order(pet, 1)))) {
        answer.expect("it is confirmed").expect("units are left");
    }
    assert_eq!(shop.orders_and_stock(), (8, 92));
}

#[test]
fn a_node_starts_on_another_server_while_all_standbys_are_away() {
    let Some(server) = Postgres::start() else { return };
    let Shop { schema, store, .. } = Shop::on(&server);
    let before = store.epoch();
    drop(store);
    let moved = |was_synchronous: bool| {
        server.sql(&format!(
            "set synchronous_commit = local;
             update {schema}.shop set server_history = '1/00000001', is_synchronous = {was_synchronous}"
        ));
    };
    moved(true);
    server.wait_for_standbys("nowhere");
    for was_synchronous in [true, false] {
        moved(was_synchronous);
        let store = open(&server.url(), &schema);
        assert_eq!(store.epoch() == before, was_synchronous, "no node is left that ran before");
        assert_eq!(server.sql(&format!("select server_history <> '1/00000001' from {schema}.shop")), "t");
    }
}
