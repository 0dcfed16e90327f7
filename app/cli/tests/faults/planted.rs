//! The model finds each fault that is planted into a run without faults.

use std::sync::atomic::Ordering;
use std::thread::{self, sleep};
use std::time::Duration;

use petstore_test_servers::Postgres;

use crate::load::{Known, Records, Run};
use crate::now;
use crate::scene::Scene;
use crate::tail::{self, Seen};
use crate::trader::{PAUSE, Trader};
use crate::verdict;

/// The records of a run.
type Told = (Vec<Records>, Vec<Vec<Seen>>);

/// The number of requests after which each client has read a stock that changes, and the longest time for them.
const ENOUGH: u64 = 400;
const TRADE_MAX: Duration = Duration::from_mins(1);

/// Lets clients trade for a short time.
fn trade(scene: &Scene) -> Told {
    let run = Run::new(scene.ports(), std::slice::from_ref(&scene.key));
    let told = thread::scope(|scope| {
        let run = &run;
        let trader = |number| scope.spawn(move || Trader::new(run, number, 0, PAUSE).trade());
        let traders: Vec<_> = (0..4).map(trader).collect();
        let tail = scope.spawn(move || tail::follow(run, 0));
        let begun = now();
        while run.requests.load(Ordering::Relaxed) < ENOUGH && begun.elapsed() < TRADE_MAX {
            sleep(Duration::from_millis(20));
        }
        run.is_over.store(true, Ordering::SeqCst);
        let records = traders.into_iter().map(|trader| trader.join().unwrap()).collect();
        run.is_settled.store(true, Ordering::SeqCst);
        (records, Vec::from([tail.join().unwrap()]))
    });
    assert_eq!(*run.violations.lock().unwrap(), Vec::<String>::new());
    told
}

/// Returns the violations that a check of these records finds.
fn violations(scene: &Scene, (records, tails): &Told) -> Vec<String> {
    let run = Run::new(scene.ports(), std::slice::from_ref(&scene.key));
    verdict::check(&run, records, tails);
    run.violations.into_inner().unwrap()
}

#[test]
fn each_planted_fault_is_found() {
    let Some(server) = Postgres::start() else { return };
    let scene = Scene::on(server, "planted", 2);
    let (records, tails) = trade(&scene);
    assert_eq!(violations(&scene, &(records.clone(), tails.clone())), Vec::<String>::new());
    let planted = |plant: &dyn Fn(&mut Told), sign: &str| {
        let mut told = (records.clone(), tails.clone());
        plant(&mut told);
        let found = violations(&scene, &told);
        assert!(found.iter().any(|text| text.contains(sign)), "{sign}: {found:?}");
    };
    // The readers.
    planted(
        &|told| {
            told.1[0].remove(7);
        },
        "reader 0 saw",
    );
    planted(&|told| told.1[0].swap(7, 8), "reader 0 saw");
    planted(&|told| told.1[0].insert(7, tails[0][7]), "reader 0 saw");
    // The orders.
    let kept = |told: &Told| told.0[0].orders.iter().position(|order| order.cancelled == Known::Not).unwrap();
    planted(
        &|told| {
            let order = kept(told);
            told.0[0].orders.remove(order);
        },
        "no client has it",
    );
    planted(
        &|told| {
            let mut lost = told.0[0].orders[kept(told)].clone();
            lost.id = Some(9_999_999);
            told.0[0].orders.push(lost);
        },
        "was acknowledged as",
    );
    planted(&|told| told.0[0].orders[0].id = told.0[1].orders[0].id, "orders have");
    planted(
        &|told| {
            let order = kept(told);
            told.0[0].orders[order].units += 1;
        },
        "units",
    );
    // The times: the first order was answered before the second one was sent, but is later in the log.
    planted(
        &|told| {
            let orders = &mut told.0[0].orders;
            let (first, second) = (orders[0].placed, orders[1].placed);
            (orders[0].placed, orders[1].placed) = (second, first);
        },
        "before an earlier one was sent",
    );
    // The stocks.
    planted(&|told| told.0[0].stock_reads[0].units += 500, "no event left this stock");
    planted(
        &|told| {
            // The first read of a pet whose stock has changed until the last one of the same client.
            let changed = told.0.iter_mut().find_map(|client| {
                let (first, last) = client.stock_reads.iter().enumerate().find_map(|(place, read)| {
                    let last = client.stock_reads.iter().rfind(|other| other.pet == read.pet)?;
                    (last.units != read.units).then_some((place, last.units))
                })?;
                client.stock_reads.get_mut(first).map(|read| read.units = last)
            });
            changed.expect("a stock changes during the run");
        },
        "is not between",
    );
    // The database.
    let first = scene.server.sql("select min(id) from petstore.orders");
    scene.server.sql(&format!("create table kept as select * from petstore.orders where id = {first}"));
    scene.server.sql(&format!("delete from petstore.orders where id = {first}"));
    planted(&|_| (), "was acknowledged as");
    scene.server.sql("insert into petstore.orders select * from kept");
    scene.server.sql("update petstore.pets set stock = stock - 1 where id = 1");
    planted(&|_| (), "pet 1 should have");
}
