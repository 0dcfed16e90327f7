//! A foreign transaction that keeps an old snapshot, so that no row version that it may read is removed.
//! `PETSTORE_SNAPSHOT_SECONDS` sets how long it does so: four seconds by default.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use petstore_test_servers::Postgres;

use crate::now;
use crate::outage::number;
use crate::scene::Scene;

const CLIENTS: usize = 8;

/// The pets that are ordered, from this id on. They are many, because PostgreSQL itself reads all versions of a row that the
/// snapshot keeps: of a few pets it would keep thousands each.
const PETS: u64 = 10_000;
const FIRST_PET: u64 = 1_001;

/// The least share of the orders that are placed beside the snapshot.
const SHARE_MIN: f64 = 0.9;

/// The maximum number of rounds, one of which must keep the bounds. Another program may disturb a round.
const ROUNDS_MAX: usize = 6;

/// The longest time after which an event is listed.
const LISTED_MAX: Duration = Duration::from_millis(500);

/// Places orders for a time. Returns their number, and the longest time after which a list of events had the latest one.
fn orders(scene: &Scene, lasts: Duration) -> (u64, Duration) {
    let (count, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let slowest = thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = scene.client(number % scene.nodes.len());
            let (count, is_over) = (&count, &is_over);
            scope.spawn(move || {
                for n in (number as u64 * PETS / CLIENTS as u64).. {
                    if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                    let body = format!("{{\"petId\":{}}}", FIRST_PET + n % PETS);
                    let answer = client.ask("POST", "/v1/store/orders", "", &body).unwrap();
                    assert_eq!(answer.status, 201, "{}", answer.body);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let (mut client, began, mut slowest) = (scene.client(0), now(), Duration::ZERO);
        while began.elapsed() < lasts {
            let asked = now();
            let answer = client.ask("GET", "/v1/events?sort=-id&limit=1", "", "").unwrap();
            assert_eq!(answer.status, 200, "{}", answer.body);
            slowest = slowest.max(asked.elapsed());
            sleep(Duration::from_millis(50));
        }
        is_over.store(true, Ordering::SeqCst);
        slowest
    });
    (count.into_inner(), slowest)
}

/// Compares the orders without a foreign snapshot and beside one, each for this time. Returns the share of the latter, and
/// the slowest list of each half.
fn compare(scene: &Scene, lasts: Duration) -> (f64, [Duration; 2]) {
    let (without, slowest_without) = orders(scene, lasts);
    let hold = format!(
        "begin isolation level repeatable read; select count(*) from petstore.pets; select pg_sleep({}); commit",
        lasts.as_secs() + 60
    );
    let sleeping =
        "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and backend_xmin is not null";
    let (with, slowest_with) = thread::scope(|scope| {
        scope.spawn(|| {
            // The transaction is ended by force.
            let _ = scene.server.psql(&scene.url, &hold);
        });
        while scene.server.sql(sleeping) == "0" {
            sleep(Duration::from_millis(10));
        }
        let measured = orders(scene, lasts);
        assert_eq!(scene.server.sql(sleeping), "1", "the snapshot was held all the time");
        scene
            .server
            .sql("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'");
        measured
    });
    #[expect(clippy::cast_precision_loss, reason = "a ratio of small numbers")]
    let share = with as f64 / without as f64;
    println!(
        "{without} orders without a snapshot and {with} beside one: {share:.2}; slowest list {slowest_without:?} and \
         {slowest_with:?}"
    );
    (share, [slowest_without, slowest_with])
}

#[test]
fn orders_and_events_go_on_beside_a_foreign_snapshot() {
    let Some(server) = Postgres::start() else { return };
    let scene = Scene::on(server, "snapshot", 2);
    scene.server.sql(&format!(
        "with new as (
             insert into petstore.pets (id, name, folded_name, category_id, status, version, stock, item_version, open_orders)
             select {FIRST_PET} + n, 'Rex ' || n, 'rex ' || n, 1, 'available', 1, 1000000, 1, 0
             from generate_series(0, {PETS} - 1) n
         )
         update petstore.categories set pets = pets + {PETS} where id = 1"
    ));
    scene.server.sql("vacuum analyze");
    let lasts = Duration::from_secs(number("PETSTORE_SNAPSHOT_SECONDS").unwrap_or(4));
    orders(&scene, Duration::from_secs(1));
    let is_steady = (0..ROUNDS_MAX).any(|_| {
        let (share, [without, with]) = compare(&scene, lasts);
        share >= SHARE_MIN && with <= LISTED_MAX.max(without * 2)
    });
    assert!(is_steady, "a foreign snapshot slows orders or lists down");
}
