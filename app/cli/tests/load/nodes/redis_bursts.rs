//! Bursts of requests on two nodes with one quota: exactly the quota is admitted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use petstore_test_servers::{Postgres, Redis};

use super::new_key;
use crate::alone;
use crate::common::Client;
use crate::common::nodes::Nodes;

/// The requests of a burst, over this many connections.
const REQUESTS: usize = 8_000;
const CONNECTIONS: usize = 100;

/// The quota.
const QUOTA: usize = 1_000;

/// An answer: the node, its status, and its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    node: usize,
    status: u16,
    remaining: Option<u64>,
    reset: Option<u64>,
}

#[track_caller]
fn two_nodes(name: &str) -> Option<(Redis, Nodes)> {
    Postgres::shared()?;
    let redis = Redis::start()?;
    let url = redis.url();
    // No ban disturbs the count.
    let args = ["--redis-url", &url, "--ban-strikes", "2147483647", "--in-flight-max", "1000"];
    Nodes::start(name, 2, &args).map(|nodes| (redis, nodes))
}

/// Sends a burst, half of it to each node. Returns the answers of each connection in their order.
fn burst(nodes: &Nodes, key: &str) -> Vec<Vec<Seen>> {
    let start = Barrier::new(CONNECTIONS);
    thread::scope(|scope| {
        let clients = (0..CONNECTIONS).map(|number| {
            let (node, start) = (number % 2, &start);
            scope.spawn(move || {
                let mut client = Client::connect(nodes.sites[node].port, key).unwrap();
                start.wait();
                let asked = (0..REQUESTS / CONNECTIONS).map(|_| {
                    let answer = client.ask("GET", "/v1/categories", "", "").unwrap();
                    Seen { node, status: answer.status, remaining: answer.remaining, reset: answer.reset }
                });
                asked.collect::<Vec<_>>()
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

/// Returns whether a request was refused because Redis was not asked in time.
fn is_disturbed(seen: &[Vec<Seen>]) -> bool {
    seen.iter().flatten().any(|one| one.status == 503)
}

/// Checks the answers of one window: each number of remaining requests was reported once and none was skipped, unless a
/// request was refused because the reply of Redis was late. Within a connection the numbers fall.
fn check_window(seen: &[Vec<Seen>], is_in: impl Fn(&Seen) -> bool) {
    let admitted = |one: &&Seen| one.status == 200 && is_in(one);
    let mut told: Vec<u64> =
        seen.iter().flatten().filter(admitted).map(|one| one.remaining.unwrap()).collect();
    told.sort_unstable_by(|a, b| b.cmp(a));
    if is_disturbed(seen) {
        assert!(told.is_sorted_by(|a, b| a > b), "{told:?}");
        assert!(told.first().is_none_or(|most| *most < QUOTA as u64), "{told:?}");
    } else {
        let expected: Vec<u64> = (0..QUOTA as u64).rev().take(told.len()).collect();
        assert_eq!(told, expected);
        let is_exhausted = seen.iter().flatten().any(|one| one.status == 429 && is_in(one));
        assert!(!is_exhausted || told.len() == QUOTA, "a request was refused after {} others", told.len());
    }
    for connection in seen {
        let own: Vec<_> = connection.iter().filter(admitted).map(|one| one.remaining).collect();
        assert!(own.is_sorted_by(|a, b| a > b), "{own:?}");
    }
}

/// The number of bursts at the end of one minute, each with a key of another account.
const BURSTS_AT_ONCE: u32 = 4;

/// The variable with the number of bursts at the ends of minutes. The time of a server is real, so [`BURSTS_AT_ONCE`] of them
/// take a minute.
const BURSTS_VARIABLE: &str = "PETSTORE_REDIS_BURSTS";

/// Waits until half a second before the end of a minute.
#[expect(clippy::disallowed_methods, reason = "the servers count by the wall clock")]
fn wait_for_the_end_of_a_minute() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let since = now.as_millis() % 60_000;
    let wait = u64::try_from((119_500 - since) % 60_000).unwrap();
    thread::sleep(Duration::from_millis(wait));
}

#[test]
fn at_the_end_of_a_minute_each_minute_admits_exactly_its_quota() {
    // `bash tests/deep redis` sets it.
    let Some(bursts) = std::env::var(BURSTS_VARIABLE).ok().and_then(|bursts| bursts.parse::<u32>().ok())
    else {
        return;
    };
    let _alone = alone();
    let Some((_redis, nodes)) = two_nodes("redis-minutes") else { return };
    let plan = ["enterprise", "--minute", &QUOTA.to_string(), "--day", "2147483647", "--account"];
    let (mut done, mut disturbed) = (0, 0);
    while done < bursts {
        // New accounts: the minute in which a burst begins is that in which the burst before it has ended.
        let keys: Vec<_> = (0..BURSTS_AT_ONCE)
            .map(|number| {
                let account = format!("burst-{}", done + disturbed + number);
                new_key(&nodes, &[&plan[..], &[&account]].concat())
            })
            .collect();
        wait_for_the_end_of_a_minute();
        let seen: Vec<_> = thread::scope(|scope| {
            let bursts: Vec<_> = keys.iter().map(|key| scope.spawn(|| burst(&nodes, key))).collect();
            bursts.into_iter().map(|burst| burst.join().unwrap()).collect()
        });
        for seen in seen {
            let minutes: BTreeSet<_> = seen.iter().flatten().filter_map(|one| one.reset).collect();
            assert!(minutes.len() <= 2, "{minutes:?}");
            let crosses = minutes.len() == 2;
            for minute in minutes {
                check_window(&seen, |one| one.reset == Some(minute));
            }
            // On a busy machine a burst may begin too late to cross the end of a minute.
            *if crosses && !is_disturbed(&seen) { &mut done } else { &mut disturbed } += 1;
        }
        assert!(disturbed <= bursts, "{disturbed} bursts were disturbed, {done} were not");
    }
    println!("{done} bursts had exactly their quotas, {disturbed} were disturbed by a busy machine");
}

/// The number of bursts that may be disturbed, because the machine was so busy that Redis was not asked in time.
const DISTURBED_MAX: u32 = 5;

/// Sends a burst with a new key whose quota is [`QUOTA`] until none of its requests is refused with 503.
fn undisturbed_burst(nodes: &Nodes) -> Vec<Vec<Seen>> {
    let quota = QUOTA.to_string();
    for _ in 0..DISTURBED_MAX {
        let key = new_key(nodes, &["enterprise", "--minute", &quota, "--day", &quota]);
        let seen = burst(nodes, &key);
        let admitted = seen.iter().flatten().filter(|one| one.status == 200).count();
        assert!(admitted <= QUOTA, "{admitted}");
        if !is_disturbed(&seen) {
            return seen;
        }
    }
    panic!("each of {DISTURBED_MAX} bursts was disturbed");
}

#[test]
fn two_nodes_admit_exactly_the_quota_and_skip_no_number() {
    let _alone = alone();
    let Some((_redis, nodes)) = two_nodes("redis-burst") else { return };
    let seen = undisturbed_burst(&nodes);
    let mut statuses = BTreeMap::new();
    seen.iter().flatten().for_each(|one| *statuses.entry(one.status).or_insert(0) += 1);
    assert_eq!(statuses, BTreeMap::from([(200, QUOTA), (429, REQUESTS - QUOTA)]));
    let admitted = |node| seen.iter().flatten().filter(|one| one.status == 200 && one.node == node).count();
    assert!(admitted(0) > QUOTA / 10 && admitted(1) > QUOTA / 10, "both nodes admit");
    // Both windows have the same quota, so the headers have the number of the day even if a minute ends meanwhile.
    check_window(&seen, |_| true);
}
