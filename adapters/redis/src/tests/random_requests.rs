//! Random batches: the verdicts of the script are those of the domain for the same requests one after the other.

use std::time::Duration;

use petstore_domain::{AccountId, BanPolicy, KeyId, Limit, Limits, Timestamp, WindowKind};
use petstore_ports::{RecordedBan, Verdict};
use petstore_test_servers::Redis;
use petstore_tests::Random;

use super::model::Model;
use super::test_link::TestLinks;
use crate::link::{RedisLink, RedisLinks as _};
use crate::packing::{Verdicts, pack};
use crate::request::{Group, Kind, Policy, Request};
use crate::script::Script;

/// The number of requests; `tests/deep` sets a larger one.
const REQUESTS: u32 = 100_000;

/// The number of batches with the same accounts, before other accounts and policies follow.
const ROUNDS: u32 = 300;

/// The number of verdicts of each kind.
#[derive(Debug, Default)]
struct Tally {
    admitted: u32,
    exceeded: u32,
    begun: u32,
    banned: u32,
    batches_of_equals: u32,
}

#[test]
fn verdicts_are_those_of_the_domain() {
    let Some(server) = Redis::shared() else { return };
    let requests =
        std::env::var("PETSTORE_REDIS_REQUESTS").map_or(REQUESTS, |number| number.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tally = runtime.block_on(async {
        let link = TestLinks::to(&server.url()).open();
        let mut tally = Tally::default();
        let mut seed = 0;
        while tally.admitted + tally.exceeded + tally.begun + tally.banned < requests {
            check_sequence(&*link, &server.new_prefix(), seed, &mut tally).await;
            seed += 1;
        }
        tally
    });
    println!("{tally:?}");
    let Tally { admitted, exceeded, begun, banned, batches_of_equals } = tally;
    for (number, share) in
        [(admitted, 10), (exceeded, 20), (begun, 1_000), (banned, 20), (batches_of_equals, 100)]
    {
        assert!(number >= requests / share, "the requests cover each kind of verdict: {tally:?}");
    }
}

async fn check_sequence(link: &dyn RedisLink, prefix: &str, seed: u64, tally: &mut Tally) {
    let script = Script::new(prefix);
    let mut random = Random::seeded(seed);
    let mut model = Model::default();
    let policies: Vec<Policy> = (0..3).map(|_| policy(&mut random)).collect();
    let mut now = Timestamp::from_millis(random.within(-100_000, 100_000) * 20_000).unwrap();
    for round in 0..ROUNDS {
        let groups = batch(&policies, &mut now, &model, &mut random);
        let packed = pack(&groups);
        let verdicts = script.run(link, &packed).await.unwrap_or_else(|error| panic!("{}", error.report()));
        let mut verdicts = Verdicts::new(&verdicts);
        for group in &groups {
            let mut number = 0;
            let read = verdicts.read(group, |verdict| {
                number += 1;
                let expected = model.decide(&group.request);
                assert_eq!(
                    verdict, expected,
                    "sequence {seed}, batch {round}, request {number} of {group:?}"
                );
                count(verdict, tally);
            });
            read.unwrap();
            tally.batches_of_equals += u32::from(group.count > 1);
        }
        verdicts.end().unwrap();
    }
}

fn count(verdict: Verdict, tally: &mut Tally) {
    match verdict {
        Verdict::Admitted(_) => tally.admitted += 1,
        Verdict::Exceeded(_) => tally.exceeded += 1,
        Verdict::Banned { unrecorded: Some(_), .. } => tally.begun += 1,
        Verdict::Banned { unrecorded: None, .. } => tally.banned += 1,
    }
}

/// A batch: up to three accounts with up to three keys each, in the order of accounts.
fn batch(policies: &[Policy], now: &mut Timestamp, model: &Model, random: &mut Random) -> Vec<Group> {
    let mut groups = Vec::new();
    for account in 1..=3 {
        for _ in 0..random.below(6) {
            *now = jumped(*now, random);
            let request = request(account, policies, *now, model, random);
            let count = if random.once_in(2) { 1 } else { 1 + random.below(12) };
            groups.push(Group { request, count: u16::try_from(count).unwrap() });
        }
    }
    groups
}

fn request(account: u64, policies: &[Policy], now: Timestamp, model: &Model, random: &mut Random) -> Request {
    let account = AccountId::new(account).unwrap();
    let key = KeyId::new(account.get() * 3 + u64::from(random.below(3))).unwrap();
    let kind = match random.below(24) {
        0 | 1 => Kind::Free,
        2 | 3 => Kind::Look,
        4 if random.once_in(3) => Kind::Rest(WindowKind::Day),
        4 => Kind::Rest(WindowKind::Minute),
        _ => Kind::Counted,
    };
    let near = |random: &mut Random| {
        Timestamp::from_millis(now.as_millis() + random.within(-200_000, 200_000)).unwrap()
    };
    let own = model.conduct(account, key).and_then(|conduct| conduct.ban);
    let until = match random.below(40) {
        0 => Some(near(random)),
        1..20 => own.map(|ban| ban.until),
        _ => None,
    };
    let lifted_at = match random.below(60) {
        0 => Some(near(random)),
        1 | 2 => own.map(|ban| ban.since),
        3 => Some(now),
        _ => None,
    };
    let policy = if random.once_in(8) { *random.pick(policies) } else { policies[0] };
    let (recorded_ban, is_confirmed) = (RecordedBan { until, lifted_at }, random.once_in(4));
    Request { account, key, kind, policy, recorded_ban, now, is_confirmed }
}

fn policy(random: &mut Random) -> Policy {
    let limit = |number| Limit::new(number).unwrap();
    let limits = Limits { minute: limit(1 + random.below(30)), day: limit(1 + random.below(300)) };
    let millis = |random: &mut Random, below| Duration::from_millis(random.below(below).into());
    let bans = BanPolicy {
        strikes: if random.once_in(4) { None } else { Some(random.below(8)) },
        length: if random.once_in(30) { Duration::ZERO } else { millis(random, 60_000) },
        memory: if random.once_in(8) { Duration::MAX } else { millis(random, 600_000) },
        length_max: millis(random, 300_000),
    };
    Policy { limits, bans }
}

/// The time of the next request: mostly a little later, sometimes a minute or a day away in either direction.
fn jumped(now: Timestamp, random: &mut Random) -> Timestamp {
    let millis = match random.below(60) {
        0 => random.within(-90_000, 90_000),
        // The bounds of a window that is too far ahead.
        5 if random.once_in(4) => -60_000 - 1_000 * random.within(0, 3),
        1 => random.within(-4_000, 0),
        2 if random.once_in(8) => 86_400_000 * random.within(-1, 2),
        3 => 60_000,
        4..20 => random.within(0, 1_500),
        _ => 0,
    };
    Timestamp::from_millis(now.as_millis() + millis).unwrap()
}
