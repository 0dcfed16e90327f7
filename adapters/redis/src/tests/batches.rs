//! Batches: the requests of one turn are one call, a failure reaches all of them, and a lost script is loaded.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use petstore_domain::{AccountId, BanPolicy, KeyId, Limit, Limits, Timestamp};
use petstore_ports::{Ask, Cost, Quotas, RecordedBan, StoreErrorKind, Verdict};
use petstore_remote_connection::BATCH_MAX;
use petstore_test_servers::Redis;

use super::test_link::TestLinks;
use super::{block_on, joined};
use crate::quotas::RedisQuotas;

fn ask(account: u64, minute: u32) -> Ask {
    Ask {
        key: KeyId::new(account + 7).unwrap(),
        account: AccountId::new(account).unwrap(),
        limits: Limits { minute: Limit::new(minute).unwrap(), day: Limit::new(1_000_000).unwrap() },
        cost: Cost::One,
        bans: BanPolicy { strikes: Some(1_000_000), ..BanPolicy::DEFAULT },
        recorded_ban: RecordedBan::default(),
        now: Timestamp::from_millis(86_400_000_000).unwrap(),
    }
}

fn quotas(server: &Redis) -> (Arc<RedisQuotas>, Arc<TestLinks>, String) {
    let (links, prefix) = (TestLinks::to(&server.url()), format!("{}:", server.new_prefix()));
    let background = tokio::runtime::Handle::current();
    (Arc::new(RedisQuotas::new(Arc::clone(&links) as _, &prefix, background)), links, prefix)
}

/// Takes this many requests in one turn.
async fn take_together(quotas: &Arc<RedisQuotas>, ask: Ask, requests: usize) -> Vec<Verdict> {
    let tasks = (0..requests).map(|_| {
        let quotas = Arc::clone(quotas);
        tokio::spawn(async move { quotas.take(&ask).await.expect("the server answers") })
    });
    joined(tasks.collect()).await
}

#[test]
fn the_requests_of_one_turn_are_one_call() {
    let Some(server) = Redis::shared() else { return };
    block_on(async {
        let (quotas, links, _) = quotas(server);
        take_together(&quotas, ask(1, 10), 1).await;
        let before = links.calls();
        let verdicts = take_together(&quotas, ask(2, 100), BATCH_MAX).await;
        assert_eq!(links.calls() - before, 1);
        let mut left = verdicts.iter().filter_map(|verdict| match verdict {
            Verdict::Admitted(usage) => Some(usage.minute.remaining),
            _ => None,
        });
        assert!((0..100).rev().all(|remaining| left.next() == Some(remaining)), "no gap: {verdicts:?}");
        assert_eq!(left.next(), None, "and not more than the limit");
    });
}

#[test]
fn a_request_whose_caller_has_gone_is_not_counted() {
    let Some(server) = Redis::shared() else { return };
    block_on(async {
        let (quotas, _, _) = quotas(server);
        let (dropped, kept) = (quotas.take(&ask(1, 10)), quotas.take(&ask(1, 10)));
        drop(dropped);
        let Ok(Verdict::Admitted(usage)) = kept.await else { panic!("the limit is not reached") };
        assert_eq!(usage.minute.remaining, 9);
    });
}

#[test]
fn a_lost_script_is_loaded_again() {
    let Some(server) = Redis::start() else { return };
    block_on(async {
        let (quotas, links, _) = quotas(&server);
        for number in 1..=3 {
            let Ok(Verdict::Admitted(usage)) = quotas.take(&ask(1, 10)).await else {
                panic!("{number} of 10")
            };
            assert_eq!(usage.minute.remaining, 10 - number, "each request is counted once");
            assert_eq!(links.counts.loads.load(Ordering::Relaxed), number);
            server.command(&["SCRIPT", "FLUSH"]);
        }
    });
}

#[test]
fn a_failure_reaches_every_request_that_waits() {
    let Some(server) = Redis::shared() else { return };
    block_on(async {
        let (quotas, links, _) = quotas(server);
        links.counts.is_down.store(true, Ordering::Relaxed);
        // More than the batches that can be under way at once.
        let waiting: Vec<_> = (0..4 * BATCH_MAX).map(|_| quotas.take(&ask(1, 10_000))).collect();
        for reply in waiting {
            let error =
                tokio::time::timeout(Duration::from_secs(5), reply).await.expect("no request is forgotten");
            assert_eq!(error.unwrap_err().kind(), StoreErrorKind::Unavailable);
        }
        links.counts.is_down.store(false, Ordering::Relaxed);
        let Ok(Verdict::Admitted(usage)) = quotas.take(&ask(1, 10_000)).await else {
            panic!("the link is up")
        };
        assert_eq!(usage.minute.remaining, 9_999, "none of the failed requests was counted");
    });
}

#[test]
fn every_hash_expires() {
    let Some(server) = Redis::shared() else { return };
    block_on(async {
        let (quotas, _, prefix) = quotas(server);
        let expiry = |account: u64| -> i64 {
            server.command(&["TTL", &format!("{prefix}1:{account}")]).parse().unwrap()
        };
        let (day, hour) = (86_400, 3_600);
        let days = |kept: i64, days: i64| (days * day - hour..=days * day).contains(&kept);

        let first = Ask { now: Timestamp::EPOCH, ..ask(1, 10) };
        quotas.take(&first).await.unwrap();
        assert!(days(expiry(1), 2), "a hash of the first day, which is number 0: {}", expiry(1));

        // A ban is remembered for longer than a day.
        let harsh =
            BanPolicy { strikes: Some(0), memory: Duration::from_hours(24 * 30), ..BanPolicy::DEFAULT };
        let banned = Ask { bans: harsh, ..ask(2, 1) };
        quotas.take(&banned).await.unwrap();
        assert!(days(expiry(2), 2));
        let verdict = quotas.take(&banned).await.unwrap();
        assert!(matches!(verdict, Verdict::Banned { .. }), "{verdict:?}");
        assert!(days(expiry(2), 30) || expiry(2) > 30 * day, "the ban's memory: {}", expiry(2));
        let tomorrow = Ask { now: ask(2, 1).now.plus(Duration::from_hours(24)), ..banned };
        quotas.take(&tomorrow).await.unwrap();
        assert!(expiry(2) > 29 * day, "a new day does not shorten the time: {}", expiry(2));

        // A new day prolongs the time.
        server.command(&["EXPIRE", &format!("{prefix}1:1"), "1000"]);
        quotas.take(&first).await.unwrap();
        assert!(expiry(1) <= 1_000, "the same day does not prolong it");
        quotas.take(&Ask { now: Timestamp::EPOCH.plus(Duration::from_hours(24)), ..first }).await.unwrap();
        assert!(days(expiry(1), 2), "a new day does: {}", expiry(1));

        // Only an account that was counted or refused has a hash.
        quotas.usage(AccountId::new(3).unwrap(), ask(3, 1).limits, ask(3, 1).now).await.unwrap();
        quotas.take(&Ask { cost: Cost::Nothing, ..ask(3, 1) }).await.unwrap();
        assert_eq!(expiry(3), -2, "a look leaves nothing behind");
    });
}

#[test]
fn a_ban_in_the_record_needs_no_call() {
    let Some(server) = Redis::shared() else { return };
    block_on(async {
        let (quotas, links, _) = quotas(server);
        let until = ask(1, 1).now.plus(Duration::from_secs(1));
        let recorded_ban = RecordedBan { until: Some(until), lifted_at: None };
        let verdict = quotas.take(&Ask { recorded_ban, ..ask(1, 1) }).await.unwrap();
        assert_eq!(verdict, Verdict::Banned { until, unrecorded: None });
        assert_eq!(links.calls(), 0);
        let verdict = quotas.take(&Ask { recorded_ban, now: until, ..ask(1, 1) }).await.unwrap();
        assert!(matches!(verdict, Verdict::Admitted(_)), "the ban has ended: {verdict:?}");
    });
}

#[test]
fn a_ban_is_counted_by_the_node_that_began_it_and_known_to_all_that_met_it() {
    let Some(server) = Redis::shared() else { return };
    block_on(async {
        let (links, prefix) = (TestLinks::to(&server.url()), format!("{}:", server.new_prefix()));
        let node = || RedisQuotas::new(Arc::clone(&links) as _, &prefix, tokio::runtime::Handle::current());
        let nodes = [node(), node()];
        let harsh = Ask { bans: BanPolicy { strikes: Some(0), ..BanPolicy::DEFAULT }, ..ask(1, 1) };
        nodes[0].take(&harsh).await.unwrap();
        for asked in [0, 1, 0, 1] {
            let verdict = nodes[asked].take(&harsh).await.unwrap();
            assert!(matches!(verdict, Verdict::Banned { unrecorded: Some(_), .. }), "{verdict:?}");
        }
        assert_eq!(nodes.each_ref().map(RedisQuotas::bans), [1, 0]);
        let begun = [(harsh.key, harsh.now)];
        assert_eq!(nodes.each_ref().map(RedisQuotas::begun_bans), [begun, begun].map(Vec::from));
    });
}
