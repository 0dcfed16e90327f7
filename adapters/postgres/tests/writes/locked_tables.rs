//! Tables that another session has locked.

use petstore_domain::{PetId, Timestamp};
use petstore_ports::{EventReader as _, PetReader as _, StoreErrorKind, StoreHealth as _};
use petstore_test_servers::Postgres;

use crate::epochs::wait_until;
use crate::shop::{Shop, block_on, create_category, order};

/// Holds a lock while a test runs. `lock`: the statement that takes it.
fn while_locked(shop: &Shop<'_>, lock: &str, test: impl FnOnce()) {
    let hold = format!("set search_path = {}; begin; {lock}; select pg_sleep(60)", shop.schema);
    let holder = format!(
        "from pg_stat_activity where wait_event = 'PgSleep' and query like '%{}; begin%'",
        shop.schema
    );
    std::thread::scope(|scope| {
        // It is ended, so it fails.
        scope.spawn(|| shop.server.psql(&shop.server.url(), &hold).unwrap_err());
        wait_until("the lock is held", || shop.server.sql(&format!("select count(*) {holder}")) == "1");
        let ended = Ends(shop.server, format!("select pg_terminate_backend(pid) {holder}"));
        test();
        drop(ended);
    });
}

/// Ends the session that holds the lock, also if the test fails.
struct Ends<'s>(&'s Postgres, String);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.sql(&self.1);
    }
}

fn healthy(shop: &Shop<'_>) -> Result<(), String> {
    block_on(shop.store.check(Timestamp::EPOCH)).map_err(|error| error.report())
}

#[test]
fn a_store_whose_changes_all_wait_for_a_locked_table_is_not_healthy_and_recovers_without_requests() {
    for (lock, is_idle) in [
        ("lock table shop_lock in exclusive mode", false),
        ("lock table shop_lock in access exclusive mode", true),
        ("lock table categories in share mode", true),
        ("lock table commits in exclusive mode", true),
    ] {
        let Some(shop) = Shop::new() else { return };
        while_locked(&shop, lock, || {
            let failure = block_on(shop.run(create_category("Dogs"))).unwrap_err();
            assert_eq!(failure.kind(), StoreErrorKind::Busy, "{}", failure.report());
            wait_until("changes fail", || {
                if !is_idle {
                    let _ = block_on(shop.run(create_category("Dogs")));
                }
                healthy(&shop).is_err_and(|why| {
                    why.contains("changes fail, and reads do not") && why.contains("lock timeout")
                })
            });
            assert!(shop.store.refuses_changes());
        });
        wait_until("the store is healthy", || healthy(&shop).is_ok());
        assert!(!shop.store.refuses_changes());
        block_on(shop.run(create_category("Dogs"))).unwrap().unwrap();
    }
}

#[test]
fn a_store_is_healthy_while_only_a_record_is_locked() {
    let Some(shop) = Shop::new() else { return };
    let pet = block_on(shop.add_pet(10));
    while_locked(&shop, &format!("select from pets where id = {pet} for update"), || {
        // Each attempt waits for the lock.
        for _ in 0..6 {
            let failure = block_on(shop.run(order(pet, 1))).unwrap_err();
            assert_eq!(failure.kind(), StoreErrorKind::Busy, "{}", failure.report());
            assert_eq!(healthy(&shop), Ok(()));
        }
    });
}

#[test]
fn changes_are_not_said_to_be_refused_while_only_reads_fail() {
    let Some(shop) = Shop::new() else { return };
    // The regular check reads this table, and no change does. Nothing is changed meanwhile.
    while_locked(&shop, "lock table event_log in access exclusive mode", || {
        wait_until("the check fails", || healthy(&shop).is_err());
        for _ in 0..3 {
            block_on(shop.store.bounds()).unwrap_err();
            assert!(healthy(&shop).is_err() && !shop.store.refuses_changes());
        }
        block_on(shop.run(create_category("Dogs"))).unwrap().unwrap();
    });
    wait_until("the store is healthy", || healthy(&shop).is_ok());
}

#[test]
fn a_store_whose_reads_all_wait_for_a_locked_table_is_not_healthy() {
    let Some(shop) = Shop::new() else { return };
    block_on(shop.add_pet(10));
    while_locked(&shop, "lock table pets in access exclusive mode", || {
        wait_until("reads fail", || {
            let read = block_on(async { shop.store.pet(PetId::FIRST).await.map(drop) });
            assert_eq!(read.map_err(|error| error.kind()), Err(StoreErrorKind::Unavailable));
            healthy(&shop).is_err_and(|why| why.contains("reads fail, and changes do not"))
        });
        assert!(!shop.store.refuses_changes());
    });
    wait_until("the store is healthy", || healthy(&shop).is_ok());
}
