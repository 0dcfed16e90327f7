//! The connections to a server that fails in each way, and is back.

mod permissions;
mod servers;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_ports::{Clock, StoreErrorKind};
use petstore_redis::*;
use petstore_test_servers::Redis;
use redis::{Value, cmd};
use tokio::time::{Instant, sleep, timeout};

use self::servers::{PASSWORD, ProxyMode, ServerProxy};

/// The deadline of a command, with the time for a loaded machine to run the test.
const DEADLINE: Duration = Duration::from_millis(140);

/// The time after which a command succeeds again when the server does.
const BACK: Duration = Duration::from_secs(1);

/// The machine's clock, with a difference that the test sets.
struct NodeClock(AtomicI64);

impl Clock for NodeClock {
    #[expect(clippy::disallowed_methods, reason = "it is compared with the clock of a real server")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let millis = i64::try_from(since.as_millis()).unwrap() + self.0.load(Ordering::SeqCst);
        Timestamp::from_millis(millis).unwrap()
    }
}

fn options(prefix: &str) -> RedisOptions {
    RedisOptions { prefix: prefix.to_owned(), owner: PrefixOwner::Shop, allows_eviction: false, seed: 1 }
}

fn node_at(url: &str, options: RedisOptions) -> (Arc<RedisConnections>, Arc<NodeClock>) {
    let clock = Arc::new(NodeClock(AtomicI64::new(0)));
    let node = RedisConnections::new(RedisTarget::parse(url).unwrap(), options, Arc::clone(&clock) as _);
    (node, clock)
}

/// A node that runs, and a link of it.
async fn started(url: &str, prefix: &str) -> (Arc<RedisConnections>, Arc<dyn RedisLink>, Arc<NodeClock>) {
    let (node, clock) = node_at(url, options(prefix));
    assert!(node.start().await.unwrap().is_some());
    tokio::spawn(Arc::clone(&node).run());
    // The task examines the server once more, over a connection that it keeps.
    while node.stats().connects < 2 {
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_millis(50)).await;
    let link = node.open();
    (node, link, clock)
}

/// Counts one in Redis. The error is its kind and its words. Every call ends within the deadline.
async fn count(link: &dyn RedisLink) -> Result<i64, (StoreErrorKind, String)> {
    let mut command = cmd("INCR");
    command.arg("test-count");
    let sent = timeout(DEADLINE, link.send(command)).await.expect("a reply within the deadline");
    match sent {
        Ok(Value::Int(count)) => Ok(count),
        Ok(other) => panic!("{other:?}"),
        Err(LinkError::NoScript) => panic!("no script was called"),
        Err(LinkError::Failed(error)) => Err((error.kind(), error.report())),
    }
}

/// Counts until it fails, and returns the words of all failures up to the one that names this.
async fn fails_with(link: &dyn RedisLink, named: &str) {
    let since = Instant::now();
    let mut told = vec![];
    while since.elapsed() < Duration::from_secs(5) {
        if let Err((_, why)) = count(link).await {
            if why.contains(named) {
                return;
            }
            told.push(why);
        }
        sleep(Duration::from_millis(5)).await;
    }
    panic!("no failure names {named}: {told:?}");
}

/// Counts until it succeeds, which must be soon.
async fn is_back(link: &dyn RedisLink) {
    let since = Instant::now();
    loop {
        match count(link).await {
            Ok(_) => return,
            Err(why) => assert!(since.elapsed() < BACK, "{why:?} for {:?}", since.elapsed()),
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_lost_connection_costs_the_commands_in_flight_and_no_later_one() {
    let Some(server) = Redis::start() else { return };
    let (node, link, _) = started(&server.url(), "p").await;
    assert_eq!(count(&*link).await, Ok(1));
    server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    sleep(Duration::from_millis(50)).await;
    assert_eq!(count(&*link).await, Ok(2));
    assert_eq!(node.stats().outages, 0);
}

#[tokio::test]
async fn a_restart_is_named_and_over_within_a_second() {
    let Some(server) = Redis::start() else { return };
    let (node, link, _) = started(&server.url(), "p").await;
    is_back(&*link).await;
    for _ in 0..3 {
        server.kill();
        fails_with(&*link, "Connection refused").await;
        assert!(node.fault().is_some());
        server.start_again();
        is_back(&*link).await;
    }
    assert_eq!(node.stats().outages, 3);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_left_alone_after_three_late_replies() {
    let Some(server) = Redis::start() else { return };
    let (node, link, _) = started(&server.url(), "p").await;
    is_back(&*link).await;
    server.freeze();
    let mut late = 0;
    while node.fault().is_none() {
        let (kind, why) = count(&*link).await.unwrap_err();
        assert!(why.contains("does not answer in time"), "{why}");
        late += u32::from(kind == StoreErrorKind::Indeterminate);
        assert!(late <= 3, "the server is still called");
    }
    // From now on a command fails at once.
    let since = Instant::now();
    for _ in 0..100 {
        assert_eq!(count(&*link).await.unwrap_err().0, StoreErrorKind::Unavailable);
    }
    assert!(since.elapsed() < Duration::from_millis(50), "{:?}", since.elapsed());
    server.thaw();
    is_back(&*link).await;
}

#[tokio::test]
async fn packets_that_are_lost_in_either_direction_are_noticed() {
    let Some(server) = Redis::start() else { return };
    let proxy = ServerProxy::before(server.port()).await;
    let (_, link, _) = started(&proxy.url(), "p").await;
    for mode in [ProxyMode::LoseCommands, ProxyMode::LoseReplies, ProxyMode::Refuse] {
        is_back(&*link).await;
        proxy.set(mode);
        fails_with(&*link, if mode == ProxyMode::Refuse { "Redis" } else { "in time" }).await;
        proxy.set(ProxyMode::Pass);
        is_back(&*link).await;
    }
}

#[tokio::test]
async fn after_a_failover_the_node_follows_the_address_to_the_promoted_replica() {
    let (Some(primary), Some(replica)) = (Redis::start(), Redis::start()) else { return };
    replica.follow(&primary);
    let proxy = ServerProxy::before(primary.port()).await;
    let (node, link, _) = started(&proxy.url(), "p").await;
    assert_eq!(count(&*link).await, Ok(1));
    primary.wait_for_replicas(1);
    replica.promote();
    // The old primary follows the new one. The connections to it stay open.
    primary.follow(&replica);
    fails_with(&*link, "READONLY").await;
    fails_with(&*link, "Redis is a replica").await;
    assert!(node.fault().unwrap().report().contains("redis-url must lead to the primary"));
    proxy.lead_to(replica.port());
    is_back(&*link).await;
    assert!(count(&*link).await.unwrap() > 1);
}

#[tokio::test]
async fn loading_and_a_changed_password_are_named() {
    let builder = Redis::builder().setting("requirepass", PASSWORD).setting("save", "3600 1");
    let Some(server) = builder
        .setting("enable-debug-command", "local")
        .setting("key-load-delay", "300")
        .setting("loading-process-events-interval-bytes", "1024")
        .start()
    else {
        return;
    };
    let url = format!("redis://:{PASSWORD}@127.0.0.1:{}", server.port());
    let (_, link, _) = started(&url, "p").await;
    is_back(&*link).await;
    server.set("requirepass", "another");
    server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    fails_with(&*link, "refuses the user or the password").await;
    server.set("requirepass", PASSWORD);
    is_back(&*link).await;

    server.command(&["DEBUG", "POPULATE", "5000"]);
    server.command(&["SAVE"]);
    server.kill();
    server.launch_again();
    fails_with(&*link, "loading its data").await;
    // The loading takes about 1.5 s.
    while server.is_loading() {
        sleep(Duration::from_millis(10)).await;
    }
    is_back(&*link).await;
}

#[tokio::test]
async fn full_memory_and_missing_replicas_are_named_until_they_end_also_without_a_request() {
    let Some(server) = Redis::start() else { return };
    let (node, link, _) = started(&server.url(), "p").await;
    is_back(&*link).await;
    for (setting, value, back, named) in [
        ("maxmemory", "1", "0", "raise maxmemory"),
        ("min-replicas-to-write", "1", "0", "min-replicas-to-write"),
    ] {
        server.set(setting, value);
        let (kind, why) = count(&*link).await.unwrap_err();
        assert!(kind == StoreErrorKind::Unavailable && why.contains(named), "{why}");
        // Longer than several examinations.
        sleep(Duration::from_millis(400)).await;
        let fault = node.fault().map(|error| error.report());
        assert!(fault.as_ref().is_some_and(|fault| fault.contains(named)), "{fault:?}");
        server.set(setting, back);
        let since = Instant::now();
        while node.fault().is_some() {
            assert!(since.elapsed() < BACK, "{setting}");
            sleep(Duration::from_millis(5)).await;
        }
        assert!(count(&*link).await.is_ok());
    }
}

#[tokio::test]
async fn a_server_that_also_ends_the_connection_of_the_examination_is_not_down() {
    let Some(server) = Redis::start() else { return };
    let proxy = ServerProxy::before(server.port()).await;
    let (node, link, _) = started(&proxy.url(), "p").await;
    let connects = node.stats().connects;
    proxy.cut_next();
    server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    // The task notices the loss at its next measurement. Its first new connection is cut, too.
    let since = Instant::now();
    while node.stats().connects < connects + 2 {
        assert!(since.elapsed() < Duration::from_secs(3), "the task has not connected twice");
        sleep(Duration::from_millis(5)).await;
    }
    assert!(count(&*link).await.is_ok());
    assert_eq!(node.stats().outages, 0);
}

#[tokio::test]
async fn the_script_is_missing_after_a_restart_and_after_a_flush() {
    let Some(server) = Redis::start() else { return };
    let (_, link, _) = started(&server.url(), "p").await;
    let digest = server.command(&["SCRIPT", "LOAD", "return 1"]);
    let call = || {
        let mut command = cmd("EVALSHA");
        command.arg(&digest).arg(0);
        command
    };
    assert_eq!(link.send(call()).await.unwrap(), Value::Int(1));
    server.command(&["SCRIPT", "FLUSH"]);
    assert!(matches!(link.send(call()).await, Err(LinkError::NoScript)));
}

#[tokio::test]
async fn unfit_servers_are_refused_at_the_start_by_name() {
    for (setting, value, named) in [
        ("maxmemory-policy", "allkeys-lru", "maxmemory-policy allkeys-lru"),
        ("cluster-enabled", "yes", "a cluster"),
    ] {
        let Some(server) = Redis::builder().setting(setting, value).start() else { return };
        let (node, _) = node_at(&server.url(), options("p"));
        let why = node.start().await.unwrap_err().report();
        assert!(why.contains(named), "{why}");
        let accepting = RedisOptions { allows_eviction: true, ..options("p") };
        let accepted = node_at(&server.url(), accepting).0.start().await;
        assert_eq!(accepted.is_ok(), setting == "maxmemory-policy");
    }
}

#[tokio::test]
async fn a_policy_that_changes_later_is_a_warning_and_requests_are_counted() {
    let Some(server) = Redis::start() else { return };
    let (node, link, _) = started(&server.url(), "p").await;
    server.set("maxmemory-policy", "volatile-lru");
    // The next examination follows a report of a failure.
    server.freeze();
    while node.fault().is_none() {
        let _ = count(&*link).await;
    }
    server.thaw();
    is_back(&*link).await;
    let warning = node.warning().unwrap().report();
    assert!(warning.contains("set it to noeviction"), "{warning}");
}

#[tokio::test]
async fn a_prefix_is_used_by_shops_or_by_sandboxes_and_not_by_both() {
    let Some(server) = Redis::start() else { return };
    let start = async |prefix: &str, owner| {
        let (node, _) = node_at(&server.url(), RedisOptions { owner, ..options(prefix) });
        node.start().await.map(|_| ()).map_err(|error| error.report())
    };
    for _ in 0..2 {
        assert_eq!(start("a", PrefixOwner::Shop).await, Ok(()));
        assert_eq!(start("b", PrefixOwner::Sandbox).await, Ok(()));
    }
    assert!(start("a", PrefixOwner::Sandbox).await.unwrap_err().contains("was not created by a sandbox"));
    assert!(start("b", PrefixOwner::Shop).await.unwrap_err().contains("belongs to a sandbox"));
    assert!(server.command(&["TTL", "a:owner"]).parse::<i64>().unwrap() > 0);
}

#[tokio::test]
async fn a_policy_of_eviction_and_a_password_that_are_set_later_are_noticed_within_seconds() {
    let Some(server) = Redis::start() else { return };
    server.command(&["ACL", "SETUSER", "pets", "on", "+@all", "~*", ">first"]);
    let url = |password: &str| format!("redis://pets:{password}@127.0.0.1:{}", server.port());
    let (node, link, _) = started(&url("first"), "p").await;
    server.set("maxmemory-policy", "allkeys-lru");
    let since = Instant::now();
    while node.warning().is_none() {
        assert!(since.elapsed() < Duration::from_secs(10), "the policy is noticed");
        sleep(Duration::from_millis(20)).await;
    }
    server.set("maxmemory-policy", "noeviction");
    server.command(&["ACL", "SETUSER", "pets", "resetpass", ">second"]);
    server.command(&["CLIENT", "KILL", "USER", "pets"]);
    fails_with(&*link, "refuses the user or the password").await;
    let renewed = |url: &str| node.renew_password(&RedisTarget::parse(url).unwrap());
    assert!(!renewed(&url("first")), "it is the same one");
    assert!(!renewed("redis://other:second@127.0.0.1"), "it is another server");
    assert!(renewed(&url("second")));
    is_back(&*link).await;
}

#[tokio::test]
async fn the_time_of_the_server_counts_whatever_the_clock_of_the_node_does() {
    let Some(server) = Redis::start() else { return };
    let (node, _, clock) = started(&server.url(), "p").await;
    let real = NodeClock(AtomicI64::new(0));
    for ahead in [0, 3_600_000, -3_600_000, 2_500, -1_500] {
        clock.0.store(ahead, Ordering::SeqCst);
        let error = node.corrected(clock.now()).as_millis() - real.now().as_millis();
        assert!(error.abs() < 50, "{ahead}: {error}");
        let warning = node.warning().map(|error| error.report());
        assert_eq!(node.agrees(clock.now()), ahead.abs() <= 2_000, "{ahead}");
        assert_eq!(warning.is_some(), ahead.abs() > 2_000, "{ahead}: {warning:?}");
        if let Some(warning) = warning {
            assert!(warning.contains(if ahead > 0 { "ahead of" } else { "behind" }), "{warning}");
        }
        let shown = node.stats().clock_ahead.unwrap() * 1_000.0;
        #[expect(clippy::cast_precision_loss, reason = "the differences are small")]
        let expected = ahead as f64;
        assert!((shown - expected).abs() < 50.0, "{ahead}: {shown}");
    }
    // While the difference is not known, the clocks do not agree.
    assert!(!node_at(&server.url(), options("p")).0.agrees(real.now()));
    // A sandbox counts by its own clock.
    let (sandbox, clock) =
        node_at(&server.url(), RedisOptions { owner: PrefixOwner::Sandbox, ..options("sandbox") });
    sandbox.start().await.unwrap();
    clock.0.store(3_600_000, Ordering::SeqCst);
    let now = clock.now();
    assert_eq!(sandbox.corrected(now), now);
}
