//! Faults of the database and of the way to it.

use std::time::Duration;

use petstore_test_servers::{Mode, Postgres, Stop};

use crate::outage::{fault_time, node_count, run};
use crate::scene::Scene;

/// Starts nodes on a separate cluster, if PostgreSQL is installed.
#[track_caller]
fn scene(name: &str) -> Option<Scene> {
    Some(Scene::on(Postgres::start()?, name, node_count()))
}

#[test]
fn a_database_that_is_down() {
    let Some(mut scene) = scene("down") else { return };
    let report = run(
        &mut scene,
        fault_time(2),
        |scene| scene.server.stop(Stop::Immediate),
        |scene| scene.server.start_again(),
    );
    assert!(report.refused > 0);
}

#[test]
fn a_database_that_is_restarted() {
    let Some(mut scene) = scene("restarted") else { return };
    run(
        &mut scene,
        Duration::ZERO,
        |scene| scene.server.stop(Stop::Fast),
        |scene| scene.server.start_again(),
    );
}

#[test]
fn a_database_that_hangs() {
    let Some(mut scene) = scene("hangs") else { return };
    let report = run(&mut scene, fault_time(3), |scene| scene.server.pause(), |scene| scene.server.resume());
    assert!(report.refused > 0);
}

#[test]
fn a_network_that_swallows_everything_and_delivers_it_late() {
    let Some(mut scene) = scene("blackholed") else { return };
    let report = run(
        &mut scene,
        fault_time(3),
        |scene| scene.proxy.set_mode(Mode::Blackhole),
        |scene| scene.proxy.set_mode(Mode::Pass),
    );
    assert!(report.refused > 0);
}

#[test]
fn a_network_that_cuts_all_connections_and_refuses_new_ones() {
    let Some(mut scene) = scene("refused") else { return };
    let begin = |scene: &Scene| {
        scene.proxy.set_mode(Mode::Refuse);
        scene.proxy.cut_all();
    };
    let report = run(&mut scene, fault_time(2), begin, |scene| scene.proxy.set_mode(Mode::Pass));
    assert!(report.refused > 0);
}

#[test]
fn a_database_that_is_read_only() {
    let Some(mut scene) = scene("read-only") else { return };
    let set = |scene: &Scene, value: &str| scene.server.set("default_transaction_read_only", value);
    let report = run(&mut scene, fault_time(2), |scene| set(scene, "on"), |scene| set(scene, "off"));
    assert!(report.refused > 0);
}

#[test]
fn a_database_out_of_connections() {
    let Some(server) = Postgres::start() else { return };
    server.sql("create role clerk login; grant create on database petstore to clerk");
    let hosts = |proxy: u16| format!("127.0.0.1:{proxy}");
    let mut scene = Scene::with_hosts(server, "no-connections", node_count(), "clerk", "petstore", hosts);
    let begin = |scene: &Scene| {
        scene.server.sql("alter role clerk connection limit 0");
        scene.server.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'clerk'");
    };
    let end = |scene: &Scene| {
        scene.server.sql("alter role clerk connection limit -1");
    };
    let report = run(&mut scene, fault_time(2), begin, end);
    assert!(report.refused > 0);
}

#[test]
fn a_database_whose_disk_is_full() {
    let Some(server) = Postgres::start() else { return };
    let Some(disk) = server.database_on_small_disk("shop", 32) else { return };
    let hosts = |proxy: u16| format!("127.0.0.1:{proxy}");
    let mut scene = Scene::with_hosts(server, "full", node_count(), "petstore", "shop", hosts);
    let report = run(&mut scene, fault_time(3), |_| disk.fill(), |_| disk.free());
    assert!(report.refused > 0);
}
