//! A failover to a replica that has not received the last writes of its primary.

use std::time::Duration;

use petstore_test_servers::{FaultProxy, Mode, Redis};

use super::super::{new_key, now};
use super::Shop;
use crate::alone;
use crate::common::{Answer, Client};

/// The quota, of the minute and of the day.
const QUOTA: usize = 200;

/// The requests of the quota that the replica receives, and those that only the primary has counted when it fails.
const KEPT: usize = 100;
const LOST: usize = 40;

/// The strikes that lead to a ban.
const STRIKES: usize = 5;

/// The time within which the nodes count again, and within which they read a ban in a key's record. It is a second, and time
/// for a loaded machine.
const SOON: Duration = Duration::from_secs(3);

/// A key, with a connection to each node.
struct Caller {
    clients: [Client; 2],
    sent: usize,
}

impl Caller {
    fn new(shop: &Shop, key: &str) -> Self {
        let clients = [0, 1].map(|node| Client::connect(shop.nodes.sites[node].port, key).unwrap());
        Self { clients, sent: 0 }
    }

    /// Creates a key with this quota of the minute.
    fn with_quota(shop: &Shop, quota: usize, day: &str) -> Self {
        let quota = quota.to_string();
        let day = if day.is_empty() { &quota } else { day };
        Self::new(shop, &new_key(&shop.nodes, &["enterprise", "--minute", &quota, "--day", day]))
    }

    /// Sends a request to one node after the other.
    fn ask(&mut self) -> Answer {
        self.sent += 1;
        self.clients[self.sent % 2].ask("GET", "/v1/categories", "", "").expect("an answer")
    }

    /// Sends this many requests, and returns the number of those that were admitted.
    fn ask_times(&mut self, requests: usize) -> usize {
        (0..requests).filter(|_| self.ask().status == 200).count()
    }

    /// Sends requests until the key is banned.
    fn get_banned(&mut self) {
        let banned = (0..100).any(|_| self.ask().status == 403);
        assert!(banned, "a key without a quota is banned");
    }

    /// Sends requests until both nodes answer with this status.
    fn await_status(&mut self, status: u16) {
        let since = now();
        while [self.ask().status, self.ask().status] != [status; 2] {
            assert!(since.elapsed() < SOON, "not yet {status}");
            std::thread::sleep(super::PAUSE);
        }
    }
}

#[test]
fn a_failover_that_loses_the_last_writes_admits_at_most_as_many_requests_once_more() {
    let _alone = alone();
    let Some(shop) = Shop::start("redis-lost-second", &["--ban-strikes", &STRIKES.to_string()]) else {
        return;
    };
    let Some(replica) = Redis::start() else { return };
    let replication = FaultProxy::before_redis(shop.redis.port());
    replica.follow_at(replication.port(), &shop.redis);

    let mut spender = Caller::with_quota(&shop, QUOTA, "");
    let mut watched = Caller::with_quota(&shop, 1_000_000, "2147483647");
    let mut banned = [1, 1].map(|quota| Caller::with_quota(&shop, quota, ""));
    let mut admitted = spender.ask_times(KEPT);
    banned[0].get_banned();
    let mut resets = vec![watched.ask().reset, watched.ask().reset];
    shop.redis.wait_for_replicas(1);

    // The second that is lost.
    replication.set_mode(Mode::Blackhole);
    let admitted_last = spender.ask_times(LOST);
    admitted += admitted_last;
    banned[1].get_banned();
    resets.extend([watched.ask().reset, watched.ask().reset]);
    shop.redis.kill();
    assert_eq!(spender.ask().status, 503, "nothing is admitted without being counted");
    // Without Redis a node knows a ban only from the key's record.
    for caller in &mut banned {
        caller.await_status(403);
    }
    replica.promote();
    shop.proxy.set_server(replica.port());
    shop.proxy.cut_all();

    let mut other = Caller::new(&shop, &shop.key);
    other.await_status(200);
    let mut statuses = std::iter::repeat_with(|| spender.ask().status).take(2 * QUOTA);
    admitted += statuses.by_ref().take_while(|status| *status != 429).filter(|status| *status == 200).count();
    let again = admitted.saturating_sub(QUOTA);
    println!("{admitted} of {QUOTA} requests were admitted; {admitted_last} were counted in the lost second");
    assert!(again <= LOST, "{again} requests too many were admitted, but only {LOST} counts were lost");
    assert!(again > 0, "the replica lacks the last counts");
    // The database has the ban of the lost second, too.
    for (number, caller) in banned.iter_mut().enumerate() {
        let statuses = [caller.ask().status, caller.ask().status];
        assert_eq!(statuses, [403, 403], "ban {number} after the failover");
    }
    resets.extend([watched.ask().reset, watched.ask().reset]);
    assert!(
        resets.iter().all(Option::is_some) && resets.is_sorted(),
        "a window was replaced by an earlier one: {resets:?}"
    );
}
