//! Transactions that the server rolls back because of conflicts with others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use petstore_test_servers::Postgres;

use crate::outage::{fault_time, node_count, run};
use crate::scene::{PETS, Scene};

#[test]
fn deadlocks_and_serialization_failures_of_three_per_cent() {
    let Some(server) = Postgres::start() else { return };
    let mut scene = Scene::on(server, "undone", node_count());
    let begin = |scene: &Scene| {
        scene.server.sql(
            "set search_path = petstore; create sequence undone; create sequence batches;
             create function undo() returns trigger language plpgsql as $$ begin
                 perform nextval('petstore.batches');
                 if random() < 0.03 then perform nextval('petstore.undone');
                     raise exception 'planted' using errcode = case when random() < 0.5 then '40001' else '40P01' end;
                 end if; return null; end $$;
             create trigger undo before insert on orders for each statement execute function undo()",
        );
    };
    let end = |scene: &Scene| {
        scene.server.sql("drop trigger undo on petstore.orders");
    };
    let report = run(&mut scene, fault_time(3), begin, end);
    assert_eq!(report.refused, 0, "each is run again");
    let undone = scene.server.sql("select last_value from petstore.undone where is_called");
    assert!(undone.parse::<u64>().is_ok_and(|count| count > 0), "{undone}");
}

#[test]
fn a_foreign_program_that_locks_pets_in_another_order() {
    let Some(server) = Postgres::start() else { return };
    let mut scene = Scene::on(server, "foreign", node_count());
    // Each transaction locks two pets, the higher id first, and the nodes lock the lower one first.
    let foreign = format!(
        "do $$ begin for round in 1..20 loop
             for pet in 2..{PETS} loop
                 perform 1 from petstore.pets where id = pet for update;
                 perform pg_sleep(0.003);
                 perform 1 from petstore.pets where id = pet - 1 for update;
                 commit;
             end loop;
         end loop; end $$"
    );
    let (is_over, url) = (AtomicBool::new(false), scene.server.url());
    let server = Postgres::shared().expect("PostgreSQL is installed");
    thread::scope(|scope| {
        let program = scope.spawn(|| {
            let mut runs = 0;
            while !is_over.load(Ordering::SeqCst) {
                // A deadlock may be resolved at the cost of this program.
                let _ = server.psql(&url, &foreign);
                runs += 1;
            }
            runs
        });
        run(&mut scene, fault_time(2), |_| (), |_| ());
        is_over.store(true, Ordering::SeqCst);
        assert!(program.join().unwrap() > 0);
    });
}
