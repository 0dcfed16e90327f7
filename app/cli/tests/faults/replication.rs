//! Failovers, and standbys that stop.

use std::thread::sleep;
use std::time::Duration;

use petstore_test_servers::{Postgres, Stop};

use crate::outage::{fault_time, node_count, run};
use crate::scene::Scene;

/// The name of the standby.
const STANDBY: &str = "one";

/// A cluster and its standby, which each commit waits for.
#[track_caller]
fn with_synchronous_standby() -> Option<(Postgres, Postgres)> {
    let primary = Postgres::start()?;
    let standby = primary.standby(STANDBY)?;
    while !primary.is_followed_by(STANDBY) {
        sleep(Duration::from_millis(20));
    }
    primary.wait_for_standbys(STANDBY);
    Some((primary, standby))
}

#[test]
fn a_failover_to_a_synchronous_standby() {
    let Some((primary, standby)) = with_synchronous_standby() else { return };
    let other = standby.port();
    let hosts = |proxy: u16| format!("127.0.0.1:{proxy},127.0.0.1:{other}");
    let mut scene = Scene::with_hosts(primary, "failover", node_count(), "petstore", "petstore", hosts);
    // For the checks after the run the first host of the URL is the old primary, which has come back and is read-only.
    run(
        &mut scene,
        fault_time(1),
        |scene| scene.server.kill(),
        |scene| {
            standby.promote();
            scene.server.start_again_as_standby_of(&standby);
        },
    );
    assert_eq!(scene.server.sql("select pg_is_in_recovery()"), "t", "the old primary is read-only");
}

#[test]
fn a_primary_that_becomes_read_only_while_the_standby_is_promoted() {
    let Some((primary, standby)) = with_synchronous_standby() else { return };
    let other = standby.port();
    let hosts = |proxy: u16| format!("127.0.0.1:{proxy},127.0.0.1:{other}");
    let mut scene = Scene::with_hosts(primary, "switchover", node_count(), "petstore", "petstore", hosts);
    let begin = |scene: &Scene| {
        scene.server.stop(Stop::Fast);
        scene.server.start_again_as_standby_of(&standby);
    };
    run(&mut scene, fault_time(1), begin, |_| standby.promote());
}

#[test]
fn a_synchronous_standby_that_stops() {
    let Some((primary, standby)) = with_synchronous_standby() else { return };
    let mut scene = Scene::on(primary, "sync-stopped", node_count());
    let report = run(&mut scene, fault_time(3), |_| standby.pause(), |_| standby.resume());
    assert!(report.refused > 0);
}

#[test]
fn a_failover_while_commits_wait_for_the_standby() {
    let Some((primary, standby)) = with_synchronous_standby() else { return };
    let other = standby.port();
    let hosts = |proxy: u16| format!("127.0.0.1:{proxy},127.0.0.1:{other}");
    let mut scene = Scene::with_hosts(primary, "held-failover", node_count(), "petstore", "petstore", hosts);
    // The commits that wait are on the disk of the primary alone, and are lost with it.
    let report = run(
        &mut scene,
        fault_time(2),
        |_| standby.pause(),
        |scene| {
            scene.server.kill();
            standby.resume();
            standby.promote();
        },
    );
    assert!(report.refused > 0);
}

#[test]
fn a_commit_that_is_held_while_other_nodes_write() {
    let Some(server) = Postgres::start() else { return };
    let mut scene = Scene::on(server, "held", node_count());
    // The commit of each order of three units of the first pet takes long, after its events have their numbers.
    let held = fault_time(3).as_secs();
    let begin = |scene: &Scene| {
        scene.server.sql(&format!(
            "set search_path = petstore; create sequence held;
             create function hold() returns trigger language plpgsql as $$ begin
                 if nextval('petstore.held') = 1 then perform pg_sleep({held}); end if; return null; end $$;
             create constraint trigger hold after insert on orders deferrable initially deferred
                 for each row when (new.pet_id = 1) execute function hold()"
        ));
    };
    run(&mut scene, fault_time(3) + Duration::from_secs(1), begin, |_| ());
    assert!(scene.server.sql("select last_value from petstore.held").parse::<u64>().unwrap() > 1);
}
