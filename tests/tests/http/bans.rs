//! Bans of keys that go on sending requests after refusals.

use std::time::Duration;

use petstore_domain::{AccountName, BanPolicy, KeyHolder, KeyId, KeyLabel, Limit, Limits, Plan, Scopes};
use petstore_ports::api::{Administration, NewKey};
use petstore_service::Policy;

use crate::fixture::Caller;
use crate::harness::{Client, PATIENT, Shop, ShopOptions};

/// A plan with one request a minute, and so with the smallest number of allowed strikes.
const ONE_A_MINUTE: Plan =
    Plan::Enterprise(Limits { minute: Limit::new(1).unwrap(), day: Limit::new(100_000).unwrap() });

const STRIKES: u32 = BanPolicy::STRIKES_MIN;

/// A client with a new key of the account `kennel`, and the key's id.
fn key(shop: &Shop, plan: Plan) -> (Client, KeyId) {
    let holder = KeyHolder::Named { name: AccountName::parse("kennel").unwrap(), plan: Some(plan) };
    let label = KeyLabel::parse("").unwrap();
    let (client, made) = shop.client_for(NewKey { holder, label, scopes: Scopes::DEFAULT, expires_at: None });
    (client, made.key.id)
}

/// Uses up the minute, and then sends requests until the key is banned. Returns the Retry-After of the ban.
fn get_banned(client: &Client) -> u64 {
    let mut caller = Caller::of(client);
    assert_eq!(caller.get("/v1/pets").status, 200);
    for _ in 0..STRIKES {
        assert_eq!(caller.get("/v1/pets").status, 429);
    }
    let banned = caller.get("/v1/pets");
    assert_eq!(banned.outcome(), (403, "key_banned".to_owned()));
    banned.number("retry-after")
}

#[test]
fn a_ban_shows_the_minutes_limit_nothing_left_and_its_own_end() {
    let shop = Shop::open();
    let (client, _) = key(&shop, ONE_A_MINUTE);
    shop.clock.set("2030-01-01T12:00:10.500Z");
    assert_eq!(get_banned(&client), 120);
    for (now, wait) in [
        ("2030-01-01T12:00:10.500Z", 120),
        ("2030-01-01T12:00:11.499Z", 120),
        ("2030-01-01T12:00:11.500Z", 119),
        ("2030-01-01T12:02:10.499Z", 1),
    ] {
        shop.clock.set(now);
        let banned = client.get("/v1/pets");
        assert_eq!(banned.outcome(), (403, "key_banned".to_owned()));
        assert_eq!(banned.number("retry-after"), wait, "at {now}");
        assert_eq!(banned.number("x-ratelimit-limit"), 1);
        assert_eq!(banned.number("x-ratelimit-remaining"), 0);
        // The ban ends at 2030-01-01T12:02:10.500Z. The header has this time in whole seconds, rounded up.
        assert_eq!(banned.number("x-ratelimit-reset"), 1_893_499_331);
        assert_eq!(banned.header("x-ratelimit-resource"), Some("ban"));
    }
    shop.clock.set("2030-01-01T12:02:10.500Z");
    assert_eq!(client.get("/v1/pets").status, 200);
}

#[test]
fn requests_during_a_ban_neither_count_nor_prolong_it() {
    let shop = Shop::open();
    let (client, _) = key(&shop, ONE_A_MINUTE);
    get_banned(&client);
    let mut caller = Caller::of(&client);
    for _ in 0..12 {
        shop.clock.advance(Duration::from_secs(10));
        for _ in 0..20 {
            let (status, _) = caller.get("/v1/pets").outcome();
            let over = shop.clock_reads("2030-01-01T12:02:00Z");
            assert_eq!(status == 403, !over, "banned until it is over");
            if over {
                break;
            }
        }
    }
    let day = client.get("/v1/rate-limit").json()["day"].clone();
    assert_eq!(day["remaining"], 100_000 - 2, "one before the ban, one after it");
}

#[test]
fn a_client_that_waits_for_retry_after_is_never_banned() {
    let shop = Shop::open();
    let (client, _) = key(&shop, ONE_A_MINUTE);
    let mut caller = Caller::of(&client);
    for _ in 0..3 * STRIKES {
        assert_eq!(caller.get("/v1/pets").status, 200);
        let refused = caller.get("/v1/pets");
        assert_eq!(refused.status, 429);
        shop.clock.advance(Duration::from_secs(refused.number("retry-after")));
    }
}

#[test]
fn strikes_are_cleared_when_the_window_that_refused_ends() {
    let shop = Shop::open();
    let (client, _) = key(&shop, ONE_A_MINUTE);
    let mut caller = Caller::of(&client);
    for _ in 0..5 {
        assert_eq!(caller.get("/v1/pets").status, 200);
        for _ in 0..STRIKES {
            assert_eq!(caller.get("/v1/pets").status, 429);
        }
        shop.clock.advance(Duration::from_mins(1));
    }
}

#[test]
fn each_further_ban_within_a_day_doubles_up_to_a_day() {
    let shop = Shop::open();
    let (client, _) = key(&shop, ONE_A_MINUTE);
    let mut expected = 120;
    for _ in 0..11 {
        let length = get_banned(&client);
        assert_eq!(length, expected);
        shop.clock.advance(Duration::from_secs(length));
        expected = (2 * expected).min(86_400);
    }
    // This ban of a day is remembered until a day after its end, which is 48 hours after its start. Then the next ban
    // has the first length.
    assert_eq!(get_banned(&client), 86_400);
    shop.clock.advance(Duration::from_hours(48));
    assert_eq!(get_banned(&client), 120);
}

#[test]
fn a_ban_applies_to_the_key_while_the_quota_applies_to_the_account() {
    let shop = Shop::open();
    let (naughty, _) = key(&shop, ONE_A_MINUTE);
    let (nice, _) = key(&shop, ONE_A_MINUTE);
    get_banned(&naughty);
    assert_eq!(nice.get("/v1/pets").outcome(), (429, "rate_limit_exceeded".to_owned()));
    shop.clock.advance(Duration::from_mins(1));
    assert_eq!(nice.get("/v1/pets").status, 200);
    assert_eq!(naughty.get("/v1/pets").status, 403);
}

#[test]
fn concurrent_requests_over_the_limit_cause_one_ban() {
    let shop = Shop::open();
    for _ in 0..20 {
        let client = shop.client(ONE_A_MINUTE);
        let answers: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..16).map(|_| scope.spawn(|| [(); 3].map(|()| client.get("/v1/pets")))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let count = |status| answers.iter().filter(|answer| answer.status == status).count();
        assert_eq!((count(200), count(429), count(403)), (1, 10, 37));
        for banned in answers.iter().filter(|answer| answer.status == 403) {
            assert_eq!(banned.number("retry-after"), 120, "a second ban would be longer");
        }
    }
}

#[test]
fn rate_limit_of_a_banned_key_is_403() {
    let shop = Shop::open();
    let (client, _) = key(&shop, ONE_A_MINUTE);
    get_banned(&client);
    for method in ["GET", "HEAD"] {
        assert_eq!(client.send(method, "/v1/rate-limit", &[], None).status, 403);
    }
    assert_eq!(client.get("/v1/rate-limit").outcome(), (403, "key_banned".to_owned()));
}

#[test]
fn an_operator_lifts_a_ban_at_once_and_the_strikes_with_it() {
    let shop = Shop::open();
    let (client, id) = key(&shop, ONE_A_MINUTE);
    get_banned(&client);
    let lifted = shop.block_on(shop.service.lift_ban(id)).unwrap();
    assert!(!lifted.ban.unwrap().in_force(petstore_domain::Timestamp::parse(crate::harness::NOON).unwrap()));
    let mut caller = Caller::of(&client);
    for _ in 0..STRIKES {
        assert_eq!(caller.get("/v1/pets").outcome(), (429, "rate_limit_exceeded".to_owned()));
    }
    let again = caller.get("/v1/pets");
    assert_eq!(
        (again.status, again.number("retry-after")),
        (403, 240),
        "a lifted ban counts for the next one"
    );
}

#[test]
fn the_strikes_allowed_are_the_plans_minute_but_at_least_ten() {
    let shop = Shop::open();
    for (plan, minute, strikes) in [(ONE_A_MINUTE, 1, 10), (Plan::Pro, 300, 300)] {
        let mut caller = Caller::of(&shop.client(plan));
        let statuses: Vec<_> = (0..minute + strikes + 2).map(|_| caller.get("/v1/pets").status).collect();
        let count = |wanted| statuses.iter().filter(|status| **status == wanted).count();
        assert_eq!((count(200), count(429), count(403)), (minute, strikes, 2));
    }
}

#[test]
fn every_parameter_of_the_ban_rule_can_be_set() {
    let bans = BanPolicy {
        strikes: Some(2),
        length: Duration::from_secs(30),
        memory: Duration::from_secs(100),
        length_max: Duration::from_secs(50),
    };
    let policy = Policy { bans, ..PATIENT };
    let shop = Shop::open_as(ShopOptions { policy, ..ShopOptions::default() });
    let (client, _) = key(&shop, ONE_A_MINUTE);
    let ban = || {
        let mut caller = Caller::of(&client);
        let statuses = [(); 4].map(|()| caller.get("/v1/pets").status);
        assert_eq!(statuses, [200, 429, 429, 403]);
        caller.get("/v1/pets").number("retry-after")
    };
    assert_eq!(ban(), 30);
    shop.clock.advance(Duration::from_mins(1));
    assert_eq!(ban(), 50, "doubled, up to the maximum");
    shop.clock.advance(Duration::from_mins(2));
    assert_eq!(ban(), 30, "the one before is forgotten");
}
