//! The faults that tests plant: a proxy that interferes, paused servers, standbys, full disks.

use std::time::{Duration, Instant};

use petstore_test_servers::{Cut, FaultProxy, How, Mode, Postgres, Side, Stop};

#[expect(clippy::disallowed_methods, reason = "the tests measure times")]
fn now() -> Instant {
    Instant::now()
}

/// The time for which psql waits for a connection.
const PATIENCE: &str = "connect_timeout=2";

/// Runs SQL through the proxy.
fn through(server: &Postgres, proxy: &FaultProxy, sql: &str) -> Result<String, String> {
    let target = format!("host=127.0.0.1 port={} user=petstore dbname=petstore {PATIENCE}", proxy.port());
    server.psql(&target, sql)
}

#[track_caller]
fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("never: {what}");
}

#[test]
fn a_proxy_passes_refuses_delays_and_counts() {
    let Some(server) = Postgres::shared() else { return };
    let proxy = FaultProxy::before(server.port());
    let began = now();
    assert_eq!(through(server, &proxy, "select 1").as_deref(), Ok("1"));
    let usual = began.elapsed();
    proxy.set_mode(Mode::Refuse);
    assert!(through(server, &proxy, "select 1").is_err());
    proxy.set_mode(Mode::Delay(Duration::from_millis(100)));
    let began = now();
    assert_eq!(through(server, &proxy, "select 1").as_deref(), Ok("1"));
    assert!(
        began.elapsed() > Duration::from_millis(400),
        "{:?}, and {usual:?} without delay",
        began.elapsed()
    );
    proxy.set_mode(Mode::Drip(1, Duration::from_millis(1)));
    assert_eq!(through(server, &proxy, "select 'drop by drop'").as_deref(), Ok("drop by drop"));
    proxy.set_mode(Mode::Pass);
    let before = proxy.connects().len();
    proxy.limit_connects(Some(2));
    let count = (0..6).filter(|_| through(server, &proxy, "select 1").is_ok()).count();
    assert!((1..6).contains(&count), "{count} of 6 connections are served");
    assert_eq!(proxy.connects().len(), before + 6);
    assert!(proxy.most_connects_in_a_second(began) >= 3);
}

#[test]
fn a_black_hole_is_silent_and_delivers_late() {
    let Some(server) = Postgres::shared() else { return };
    let proxy = FaultProxy::before(server.port());
    let schema = server.new_schema();
    server.sql(&format!("create schema {schema}; create table {schema}.rows (n int)"));
    let insert = format!("insert into {schema}.rows values (1)");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| through(server, &proxy, &format!("select pg_sleep(2); {insert}")));
        let sleeping = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
        await_that("the statement runs", || server.sql(sleeping) == "1" || slow.is_finished());
        proxy.set_mode(Mode::Blackhole);
        assert!(through(server, &proxy, "select 1").is_err(), "a new connection is silent");
        await_that("the statement ends", || server.sql(sleeping) == "0");
        assert!(!slow.is_finished(), "the answer does not arrive");
        proxy.set_mode(Mode::Pass);
        assert_eq!(slow.join().unwrap().as_deref(), Ok(""));
    });
    assert_eq!(server.sql(&format!("select n from {schema}.rows")), "1");
}

#[test]
fn a_planned_cut_meets_its_message() {
    let Some(server) = Postgres::shared() else { return };
    let proxy = FaultProxy::before(server.port());
    let schema = server.new_schema();
    server.sql(&format!("create schema {schema}; create table {schema}.rows (n int)"));
    // The one message begins the transaction and commits it.
    let insert = |n: u32| format!("begin; insert into {schema}.rows values ({n}); commit");
    let made = [(How::Before, 1), (How::Within, 2), (How::After, 3)].map(|(how, n)| {
        proxy.plan(Cut { side: Side::Node, message: 1, how });
        assert!(
            through(server, &proxy, "select 1").is_ok() && proxy.is_planned(),
            "it begins no transaction"
        );
        assert!(through(server, &proxy, &insert(n)).is_err(), "{how:?}");
        assert!(!proxy.is_planned() && !proxy.take_back(), "{how:?}");
        // The server may still execute what has reached it.
        std::thread::sleep(Duration::from_millis(300));
        server.sql(&format!("select count(*) from {schema}.rows where n = {n}")) == "1"
    });
    assert_eq!(made, [false, false, true]);
    proxy.plan(Cut { side: Side::Server, message: 99, how: How::Before });
    assert!(through(server, &proxy, &insert(4)).is_ok());
    assert!(proxy.take_back(), "there is no such message");
}

#[test]
fn a_paused_server_goes_on_and_can_be_stopped_while_it_is_paused() {
    let Some(server) = Postgres::start() else { return };
    let proxy = FaultProxy::before(server.port());
    server.pause();
    assert!(through(&server, &proxy, "select 1").is_err());
    server.resume();
    assert_eq!(through(&server, &proxy, "select 1").as_deref(), Ok("1"));
    server.pause();
    server.stop(Stop::Immediate);
    server.start_again();
    assert_eq!(server.sql("select 1"), "1");
}

#[test]
fn a_standby_takes_over_and_the_old_primary_comes_back_read_only() {
    let Some(primary) = Postgres::start() else { return };
    let Some(standby) = primary.standby("one") else { return };
    await_that("the standby follows", || primary.is_followed_by("one"));
    primary.wait_for_standbys("one");
    primary.sql("create table rows (n int); insert into rows values (1)");
    primary.kill();
    standby.promote();
    standby.sql("insert into rows values (2)");
    assert_eq!(standby.sql("select n from rows order by n"), "1\n2");
    primary.start_again_as_standby_of(&standby);
    assert_eq!(primary.sql("select pg_is_in_recovery()"), "t");
    let refused = primary.psql(&primary.url(), "insert into rows values (3)").unwrap_err();
    assert!(refused.contains("read-only"), "{refused}");
}

#[test]
fn a_small_disk_is_filled_and_freed() {
    let Some(server) = Postgres::start() else { return };
    let Some(disk) = server.database_on_small_disk("small", 32) else { return };
    server.sql_in("small", "create table rows (text text)");
    let insert = "insert into rows select repeat('x', 1000) from generate_series(1, 3000)";
    disk.fill();
    let target = format!("host=127.0.0.1 port={} user=petstore dbname=small", server.port());
    let refused = server.psql(&target, insert).unwrap_err();
    assert!(refused.contains("No space left"), "{refused}");
    disk.free();
    server.sql_in("small", insert);
}
