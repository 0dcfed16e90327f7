//! The epoch after a failover, with nodes of which some are gone.

use std::sync::Arc;
use std::time::Duration;

use petstore_ports::EventReader;
use petstore_postgres::{NewNode, PostgresStore};
use petstore_test_servers::{Postgres, Stop};
use tokio::time::Instant;

use crate::shop::{Shop, block_on, open, order};

/// The name of the standby.
const STANDBY: &str = "one";

/// Waits until a condition holds. A decision takes five seconds, and connecting again two.
#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1_500 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}");
}

/// Waits until each node has looked at the database, which it does four times a second.
fn let_all_look() {
    std::thread::sleep(Duration::from_secs(1));
}

/// A cluster, its standby, and two nodes. The one that stays can reach both servers.
struct Scene {
    primary: Postgres,
    standby: Postgres,
    schema: String,
    /// The URL of both servers.
    url: String,
    stays: Arc<PostgresStore>,
    other: Arc<PostgresStore>,
}

fn new_node(host: &str) -> NewNode {
    let (version, host) = ("1.2.3".to_owned(), host.to_owned());
    NewNode { version, host, address: String::new(), settings: vec![] }
}

impl Scene {
    /// `other_reaches_both`: false if the other node can only reach the primary.
    #[track_caller]
    fn new(other_reaches_both: bool) -> Option<Self> {
        let primary = Postgres::start()?;
        let standby = primary.standby(STANDBY)?;
        let hosts = [primary.port(), standby.port()].map(|port| format!("127.0.0.1:{port}"));
        let both = format!("postgres://petstore@{}/petstore", hosts.join(","));
        let schema = primary.new_schema();
        let stays = open(&both, &schema);
        let other = open(&if other_reaches_both { both.clone() } else { primary.url() }, &schema);
        for (store, host) in [(&stays, "stays"), (&other, "other")] {
            store.join(new_node(host)).expect("it is registered");
        }
        Some(Self { primary, standby, schema, url: both, stays, other })
    }

    fn shop<'s>(&self, server: &'s Postgres, store: &Arc<PostgresStore>) -> Shop<'s> {
        Shop { server, schema: self.schema.clone(), store: Arc::clone(store) }
    }

    fn of_standby(&self, sql: &str) -> String {
        self.standby.sql(&format!("set search_path = {}; {sql}", self.schema))
    }

    /// Waits until a query has this answer on the standby.
    fn wait_for(&self, sql: &str, answer: &str) {
        wait_until(sql, || self.of_standby(sql) == answer);
    }

    fn losses(&self) -> usize {
        let notices = [&self.stays, &self.other].map(|store| store.take_notices());
        notices.iter().flatten().filter(|notice| notice.is_loss).count()
    }
}

#[test]
fn nothing_is_written_under_the_old_epoch_while_a_node_that_may_know_of_a_loss_is_away() {
    let Some(scene) = Scene::new(false) else { return };
    let pet = block_on(scene.shop(&scene.primary, &scene.other).add_pet(100));
    scene.wait_for("select stock from pets", "100");
    scene.wait_for("select count(*) from nodes", "2");
    let before = scene.stays.epoch();
    scene.standby.stop(Stop::Fast);
    // The node that stays does not see this change.
    block_on(scene.shop(&scene.primary, &scene.other).run(order(pet, 1))).unwrap().unwrap();
    scene.primary.stop(Stop::Immediate);
    scene.standby.start_again();
    scene.standby.promote();
    let of_standby = scene.shop(&scene.standby, &scene.stays);
    let mut refusals = Vec::new();
    wait_until("writes go on", || match block_on(of_standby.run(order(pet, 1))) {
        Ok(placed) => placed.is_ok(),
        Err(error) => {
            refusals.push(error.report());
            false
        }
    });
    assert_ne!(scene.stays.epoch(), before, "a new epoch began before the first change");
    assert!(refusals.iter().any(|report| report.contains("after a failover the nodes look")), "{refusals:?}");
    assert_eq!((scene.losses(), scene.of_standby("select epoch_number from event_log")), (1, "2".to_owned()));
}

#[test]
fn a_node_that_joined_just_before_a_failover_is_awaited() {
    for is_reached in [false, true] {
        let Some(scene) = Scene::new(true) else { return };
        let pet = block_on(scene.shop(&scene.primary, &scene.other).add_pet(100));
        scene.wait_for("select stock from pets", "100");
        scene.wait_for("select count(*) from nodes", "2");
        // A node that starts gives positions to the events that have none, which the standby would lack.
        let last = block_on(scene.other.bounds()).expect("the server runs").last;
        scene.wait_for("select last_position from event_log", &last.to_string());
        let before = scene.stays.epoch();
        scene.standby.stop(Stop::Fast);
        // The standby does not receive the row of this node.
        let url = if is_reached { scene.url.clone() } else { scene.primary.url() };
        let joined = open(&url, &scene.schema);
        joined.join(new_node("joined")).expect("it is registered");
        wait_until("the other nodes see it", || {
            scene.stays.live_nodes() == 3 && scene.other.live_nodes() == 3
        });
        scene.primary.stop(Stop::Immediate);
        scene.standby.start_again();
        assert_eq!(scene.of_standby("select count(*) from nodes"), "2");
        scene.standby.promote();
        let shop = scene.shop(&scene.standby, &scene.stays);
        wait_until("writes go on", || block_on(shop.run(order(pet, 1))).is_ok_and(|placed| placed.is_ok()));
        assert_eq!(scene.stays.epoch() == before, is_reached, "the epoch stays if all nodes confirm it");
        if is_reached {
            scene.wait_for("select host from nodes where host <> '' order by host limit 1", "joined");
        }
    }
}

#[test]
fn planned_switchovers_in_a_row_keep_the_epoch() {
    let Some(scene) = Scene::new(true) else { return };
    let pet = block_on(scene.shop(&scene.primary, &scene.other).add_pet(100));
    for store in [&scene.stays, &scene.other] {
        block_on(scene.shop(&scene.primary, store).run(order(pet, 1))).unwrap().unwrap();
    }
    scene.wait_for("select count(*) from nodes", "2");
    let (before, server) = (scene.stays.epoch(), scene.of_standby("select server_history from shop"));
    // A primary that stops in order sends everything to its standby first.
    scene.primary.stop(Stop::Fast);
    scene.standby.promote();
    for store in [&scene.stays, &scene.other] {
        let shop = scene.shop(&scene.standby, store);
        wait_until("writes go on", || block_on(shop.run(order(pet, 1))).is_ok_and(|placed| placed.is_ok()));
    }
    assert_eq!((scene.stays.epoch(), scene.other.epoch(), scene.losses()), (before, before, 0));
    assert_ne!(scene.of_standby("select server_history from shop"), server);
    assert_eq!(scene.of_standby("select count(*) from orders"), "4");
    // The next one, back to the first server.
    scene.primary.start_again_as_standby_of(&scene.standby);
    wait_until("the first server follows", || scene.standby.is_followed_by("old_primary"));
    scene.standby.stop(Stop::Fast);
    scene.primary.promote();
    for store in [&scene.stays, &scene.other] {
        let shop = scene.shop(&scene.primary, store);
        wait_until("writes go on", || block_on(shop.run(order(pet, 1))).is_ok_and(|placed| placed.is_ok()));
    }
    assert_eq!((scene.stays.epoch(), scene.other.epoch(), scene.losses()), (before, before, 0));
    assert_eq!(scene.shop(&scene.primary, &scene.stays).sql("select count(*) from orders"), "6");
}

#[test]
fn a_failover_to_a_synchronous_standby_keeps_the_epoch_although_a_node_is_gone() {
    let Some(scene) = Scene::new(false) else { return };
    wait_until("the standby follows", || scene.primary.is_followed_by(STANDBY));
    scene.primary.wait_for_standbys(STANDBY);
    scene.wait_for("select is_synchronous from shop", "t");
    let_all_look();
    let pet = block_on(scene.shop(&scene.primary, &scene.other).add_pet(100));
    scene.wait_for("select count(*) from nodes", "2");
    let before = scene.stays.epoch();
    scene.primary.stop(Stop::Immediate);
    scene.standby.promote();
    let shop = scene.shop(&scene.standby, &scene.stays);
    wait_until("writes go on", || block_on(shop.run(order(pet, 1))).is_ok_and(|placed| placed.is_ok()));
    assert_eq!((scene.stays.epoch(), scene.losses()), (before, 0));
    // A node that starts finds the server that the epoch was decided for.
    let started = open(&scene.standby.url(), &scene.schema);
    assert_eq!(started.epoch(), before);
}

#[test]
fn a_standby_that_was_away_when_commits_ceased_to_wait_for_it_does_not_keep_the_epoch() {
    let Some(scene) = Scene::new(false) else { return };
    wait_until("the standby follows", || scene.primary.is_followed_by(STANDBY));
    scene.primary.wait_for_standbys(STANDBY);
    scene.wait_for("select is_synchronous from shop", "t");
    scene.wait_for("select count(*) from nodes", "2");
    let before = scene.stays.epoch();
    scene.standby.stop(Stop::Fast);
    scene.primary.wait_for_standbys("");
    let of_primary = scene.shop(&scene.primary, &scene.stays);
    wait_until("a node records it", || of_primary.sql("select is_synchronous from shop") == "f");
    let_all_look();
    scene.primary.stop(Stop::Immediate);
    scene.standby.start_again();
    scene.standby.promote();
    wait_until("a new epoch", || scene.stays.epoch() != before);
    assert_eq!(scene.of_standby("select epoch_number from event_log"), "2");
}

#[test]
fn a_node_that_starts_after_a_failover_waits_for_those_that_ran() {
    let Some(scene) = Scene::new(false) else { return };
    scene.wait_for("select count(*) from nodes", "2");
    let before = scene.stays.epoch();
    let Scene { primary, standby, schema, stays, other, .. } = scene;
    // Both nodes die with the primary.
    primary.stop(Stop::Immediate);
    drop((stays, other));
    standby.promote();
    let since = Instant::now();
    let started = open(&standby.url(), &schema);
    assert!(started.epoch() != before && since.elapsed() >= Duration::from_secs(4), "{:?}", since.elapsed());
    assert_eq!(open(&standby.url(), &schema).epoch(), started.epoch());
}

#[test]
fn a_node_that_starts_after_a_failover_does_not_trust_a_server_that_knows_of_no_node() {
    let Some(scene) = Scene::new(true) else { return };
    let pet = block_on(scene.shop(&scene.primary, &scene.other).add_pet(100));
    scene.wait_for("select stock from pets", "100");
    let Scene { primary, standby, schema, url, stays, other } = scene;
    stays.leave();
    other.leave();
    drop((stays, other));
    wait_until("the standby knows of no node", || {
        standby.sql(&format!("select count(*) from {schema}.nodes")) == "0"
    });
    standby.stop(Stop::Fast);
    // The standby receives neither the row of this node nor its change.
    let store = open(&url, &schema);
    store.join(new_node("late")).expect("it is registered");
    let before = store.epoch();
    let shop = Shop { server: &primary, schema: schema.clone(), store: Arc::clone(&store) };
    block_on(shop.run(order(pet, 1))).unwrap().unwrap();
    primary.stop(Stop::Immediate);
    drop((shop, store));
    standby.start_again();
    standby.promote();
    assert_ne!(open(&standby.url(), &schema).epoch(), before);
}
