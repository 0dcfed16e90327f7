//! Two nodes at the end of a minute: each minute admits exactly the limit, whichever node is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use petstore_domain::{AccountId, Ban, BanPolicy, KeyId, Limits, PlanTable, Timestamp, WindowKind};
use petstore_ports::{Ask, Cost, Quotas, RecordedBan, Verdict};
use petstore_test_servers::Redis;

use super::test_link::TestLinks;
use super::{block_on, joined};
use crate::quotas::RedisQuotas;

/// The number of bursts; `tests/deep` sets a larger one.
const BURSTS: u64 = 5;
/// The nodes, the connections of each node, and the requests of each connection.
const NODES: usize = 2;
const CONNECTIONS: usize = 50;
const REQUESTS: usize = 80;

/// The limits of the plan: fewer requests than a burst has.
const LIMITS: Limits = PlanTable::SPECIFICATION.pro;

/// The requests of a burst, and the time between two of them. Half of them are in the next minute.
#[expect(clippy::cast_possible_wrap, reason = "a small number")]
const TOTAL: i64 = (NODES * CONNECTIONS * REQUESTS) as i64;
const MINUTE_END: i64 = 86_400_000 * 10_000 + 60_000;

/// Runs a burst, and returns the verdicts of each node, each with the time of its request.
fn burst(server: &Redis, bans: BanPolicy) -> Vec<Vec<(Timestamp, Verdict)>> {
    let prefix = format!("{}:", server.new_prefix());
    let sent = Arc::new(AtomicI64::new(0));
    let nodes: Vec<_> = (0..NODES)
        .map(|_| {
            let (sent, prefix, url) = (Arc::clone(&sent), prefix.clone(), server.url());
            std::thread::spawn(move || block_on(node(&url, &prefix, bans, &sent)))
        })
        .collect();
    nodes.into_iter().map(|node| node.join().expect("the node ends")).collect()
}

async fn node(url: &str, prefix: &str, bans: BanPolicy, sent: &Arc<AtomicI64>) -> Vec<(Timestamp, Verdict)> {
    let handle = tokio::runtime::Handle::current();
    let quotas = Arc::new(RedisQuotas::new(TestLinks::to(url), prefix, handle));
    let connection = |number: usize| {
        let (quotas, sent) = (Arc::clone(&quotas), Arc::clone(sent));
        tokio::spawn(async move {
            let mut verdicts = Vec::new();
            for _ in 0..REQUESTS {
                let millis = MINUTE_END + (sent.fetch_add(1, Ordering::Relaxed) - TOTAL / 2) / 20;
                let ask = Ask {
                    // Two keys of one account.
                    key: KeyId::new(1 + number as u64 % 2).unwrap(),
                    account: AccountId::FIRST,
                    limits: LIMITS,
                    cost: Cost::One,
                    bans,
                    recorded_ban: RecordedBan::default(),
                    now: Timestamp::from_millis(millis).unwrap(),
                };
                verdicts.push((ask.now, quotas.take(&ask).await.expect("the server answers")));
            }
            verdicts
        })
    };
    joined((0..CONNECTIONS).map(connection).collect()).await.concat()
}

/// The requests left in each of the two minutes, as admitted requests report them.
fn reported(verdicts: &[(Timestamp, Verdict)]) -> [Vec<u32>; 2] {
    let first_end = MINUTE_END.unsigned_abs() / 1_000;
    let mut left = [Vec::new(), Vec::new()];
    for (_, verdict) in verdicts {
        if let Verdict::Admitted(usage) = verdict {
            left[usize::from(usage.minute.reset_secs > first_end)].push(usage.minute.remaining);
        }
    }
    left
}

fn bursts() -> u64 {
    std::env::var("PETSTORE_REDIS_BURSTS").map_or(BURSTS, |number| number.parse().unwrap())
}

#[test]
fn each_minute_admits_exactly_the_limit() {
    let Some(server) = Redis::shared() else { return };
    let patient = BanPolicy { strikes: Some(1_000_000), ..BanPolicy::DEFAULT };
    for number in 0..bursts() {
        let verdicts = burst(server, patient);
        for (minute, mut left) in reported(&verdicts.concat()).into_iter().enumerate() {
            left.sort_unstable();
            let expected: Vec<u32> = (0..LIMITS.minute.get()).collect();
            assert_eq!(left, expected, "each count is reported once: burst {number}, minute {minute}");
        }
        for (node, verdicts) in verdicts.iter().enumerate() {
            let early = verdicts.iter().filter(|(now, verdict)| {
                let Verdict::Admitted(usage) = verdict else { return false };
                let minute = u64::from(WindowKind::Minute.number_at(*now));
                usage.minute.reset_secs < (minute + 1) * WindowKind::Minute.secs()
            });
            assert_eq!(early.count(), 0, "no request is counted in a minute that is over: node {node}");
        }
    }
}

#[test]
fn one_ban_of_a_key_is_decided_and_holds_on_both_nodes() {
    let Some(server) = Redis::shared() else { return };
    for number in 0..bursts() {
        let verdicts =
            burst(server, BanPolicy { length: Duration::from_mins(2), ..BanPolicy::DEFAULT }).concat();
        let mut tally = [0, 0, 0];
        let mut bans: Vec<Ban> = Vec::new();
        for (_, verdict) in &verdicts {
            match verdict {
                Verdict::Admitted(_) => tally[0] += 1,
                Verdict::Exceeded(_) => tally[1] += 1,
                Verdict::Banned { until, unrecorded } => {
                    tally[2] += 1;
                    let ban = unrecorded.expect("no record has the ban");
                    assert_eq!(*until, ban.until);
                    if !bans.contains(&ban) {
                        bans.push(ban);
                    }
                }
            }
        }
        let limit = LIMITS.minute.get();
        // Each of the two keys has as many strikes as the plan has requests a minute, before it is banned in the first
        // minute. So the second minute admits no request.
        let total = u32::try_from(TOTAL).unwrap();
        assert_eq!(tally, [limit, 2 * limit, total - 3 * limit], "burst {number}: {bans:?}");
        assert!(bans.len() <= 2, "each key has one ban: burst {number}: {bans:?}");
    }
}
