//! The two windows of an account, as a client sees them.

use std::time::Duration;

use petstore_domain::{AccountName, KeyHolder, KeyLabel, Limit, Limits, Plan, Scopes};
use petstore_ports::api::{Administration, NewKey};

use crate::fixture::{Caller, Fields};
use crate::harness::{Answer, Shop};

/// 2030-01-01T12:01:00Z, the end of the minute in which tests begin.
const MINUTE_END: u64 = 1_893_499_260;

/// 2030-01-02T00:00:00Z, the end of the day in which tests begin.
const DAY_END: u64 = 1_893_542_400;

fn enterprise(minute: u32, day: u32) -> Plan {
    Plan::Enterprise(Limits { minute: Limit::new(minute).unwrap(), day: Limit::new(day).unwrap() })
}

/// The quota headers: resource, limit, remaining, reset.
fn quota(answer: &Answer) -> (&str, u64, u64, u64) {
    let resource = answer.header("x-ratelimit-resource").unwrap();
    let [limit, remaining, reset] =
        ["limit", "remaining", "reset"].map(|name| answer.number(&format!("x-ratelimit-{name}")));
    (resource, limit, remaining, reset)
}

#[test]
fn of_121_requests_in_a_minute_60_pass_60_are_refused_and_the_last_bans() {
    let shop = Shop::open();
    let client = shop.client(Plan::Free);
    for left in (0..60).rev() {
        let answer = client.get("/v1/pets");
        assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (200, left));
    }
    shop.clock.advance(Duration::from_millis(100));
    for _ in 0..60 {
        let answer = client.get("/v1/pets");
        assert_eq!(answer.outcome(), (429, "rate_limit_exceeded".to_owned()));
        assert_eq!(answer.number("retry-after"), 60);
    }
    let answer = client.get("/v1/pets");
    assert_eq!(answer.outcome(), (403, "key_banned".to_owned()));
    assert_eq!(answer.number("retry-after"), 120);
    assert_eq!(answer.header("x-ratelimit-resource"), Some("ban"));
}

#[test]
fn of_121_requests_on_32_connections_at_once_exactly_60_pass_and_one_is_banned() {
    let shop = Shop::open();
    let client = shop.client(Plan::Free);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..32)
            .map(|number| {
                let mut caller = Caller::of(&client);
                // All threads together send 25 * 4 + 7 * 3 = 121 requests.
                let requests = if number < 25 { 4 } else { 3 };
                scope.spawn(move || (0..requests).map(|_| caller.get("/v1/pets")).collect::<Vec<_>>())
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = |status| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((count(200), count(429), count(403)), (60, 60, 1));
    let mut remaining: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 200)
        .map(|answer| answer.number("x-ratelimit-remaining"))
        .collect();
    remaining.sort_unstable();
    assert_eq!(remaining, (0..60).collect::<Vec<_>>(), "every request sees its own count");
}

#[test]
fn every_plan_admits_its_limit_in_each_minute() {
    let shop = Shop::open();
    for (plan, limit) in
        [(Plan::Free, 60), (Plan::Pro, 300), (Plan::Business, 1_000), (enterprise(7, 700), 7)]
    {
        let mut caller = Caller::of(&shop.client(plan));
        for _ in 0..2 {
            for used in 1..=limit {
                assert_eq!(caller.get("/v1/pets").number("x-ratelimit-remaining"), limit - used);
            }
            assert_eq!(caller.get("/v1/pets").outcome(), (429, "rate_limit_exceeded".to_owned()));
            shop.clock.advance(Duration::from_mins(1));
        }
    }
}

#[test]
fn the_largest_limit_is_shown_in_full() {
    let shop = Shop::open();
    let client = shop.client(enterprise(Limit::MAX, Limit::MAX));
    assert_eq!(quota(&client.get("/v1/pets")), ("minute", 2_147_483_647, 2_147_483_646, MINUTE_END));
}

#[test]
fn reset_is_the_end_of_the_window_and_retry_after_the_time_until_then_rounded_up() {
    let shop = Shop::open();
    let client = shop.client(enterprise(1, 1_000));
    shop.clock.set("2030-01-01T12:00:29.700Z");
    assert_eq!(quota(&client.get("/v1/pets")), ("minute", 1, 0, MINUTE_END));
    for (now, wait) in [
        ("2030-01-01T12:00:29.700Z", 31),
        ("2030-01-01T12:00:30.000Z", 30),
        ("2030-01-01T12:00:59.000Z", 1),
        ("2030-01-01T12:00:59.999Z", 1),
    ] {
        shop.clock.set(now);
        let refused = client.get("/v1/pets");
        assert_eq!(refused.outcome(), (429, "rate_limit_exceeded".to_owned()));
        assert_eq!(refused.number("retry-after"), wait, "at {now}");
        assert_eq!(quota(&refused), ("minute", 1, 0, MINUTE_END));
    }
    shop.clock.set("2030-01-01T12:01:00Z");
    assert_eq!(client.get("/v1/pets").status, 200);
}

#[test]
fn the_day_ends_at_midnight_utc_and_is_refused_as_quota_exceeded() {
    let shop = Shop::open();
    let client = shop.client(enterprise(100, 3));
    for left in [2, 1, 0] {
        assert_eq!(quota(&client.get("/v1/pets")), ("day", 3, left, DAY_END));
    }
    let refused = client.get("/v1/pets");
    assert_eq!(refused.outcome(), (429, "quota_exceeded".to_owned()));
    assert_eq!((refused.number("retry-after"), quota(&refused)), (43_200, ("day", 3, 0, DAY_END)));
    shop.clock.set("2030-01-01T23:59:59.001Z");
    assert_eq!(client.get("/v1/pets").number("retry-after"), 1);
    shop.clock.set("2030-01-02T00:00:00Z");
    assert_eq!(quota(&client.get("/v1/pets")), ("day", 3, 2, DAY_END + 86_400));
}

#[test]
fn a_thousand_requests_of_a_free_day_are_admitted_and_no_more() {
    let shop = Shop::open();
    let mut caller = Caller::of(&shop.client(Plan::Free));
    let mut admitted = 0;
    for _ in 0..17 {
        for _ in 0..60 {
            admitted += u64::from(caller.get("/v1/pets").status == 200);
        }
        shop.clock.advance(Duration::from_mins(1));
    }
    assert_eq!(admitted, 1_000);
    assert_eq!(caller.get("/v1/pets").outcome(), (429, "quota_exceeded".to_owned()));
}

#[test]
fn the_headers_show_the_binding_window() {
    let shop = Shop::open();
    // The window with fewer requests left is shown, or the minute if both have equally many.
    for (minute, day, resource) in [(5, 9, "minute"), (5, 5, "minute"), (9, 5, "day")] {
        assert_eq!(quota(&shop.client(enterprise(minute, day)).get("/v1/pets")).0, resource);
    }
    // If both windows are used up, the day is shown, because the day ends last.
    let client = shop.client(enterprise(1, 1));
    assert_eq!(quota(&client.get("/v1/pets")).0, "day");
    let refused = client.get("/v1/pets");
    assert_eq!(refused.outcome(), (429, "quota_exceeded".to_owned()));
    assert_eq!(refused.number("retry-after"), 43_200);
}

#[test]
fn an_authenticated_request_costs_one_whatever_its_answer() {
    let shop = Shop::open();
    let reader = shop.client_with(Plan::Free, Scopes::parse("read").unwrap());
    let json = [("content-type", "application/json")];
    let requests: [(&str, &str, Fields<'_>, u16); 7] = [
        ("GET", "/v1/pets/999", &[], 404),
        ("GET", "/v1/nothing", &[], 404),
        ("PUT", "/v1/pets", &[], 405),
        ("POST", "/v1/pets", &json, 403),
        ("GET", "/v1/pets", &[("accept", "text/html")], 406),
        ("GET", "/v1/pets?limit=0", &[], 400),
        ("HEAD", "/v1/pets", &[], 200),
    ];
    for (used, (method, path, headers, status)) in (1..).zip(requests) {
        let answer = reader.send(method, path, headers, None);
        assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (status, 60 - used), "{path}");
    }
}

#[test]
fn refused_requests_and_preflights_cost_nothing() {
    let shop = Shop::open();
    let client = shop.client(enterprise(5, 10));
    for _ in 0..5 {
        client.get("/v1/pets");
    }
    for _ in 0..3 {
        assert_eq!(client.get("/v1/pets").status, 429);
    }
    for _ in 0..3 {
        let preflight = client.send("OPTIONS", "/v1/pets", &[("access-control-request-method", "GET")], None);
        assert_eq!((preflight.status, preflight.header("x-ratelimit-resource")), (204, Some("address")));
        assert_eq!(preflight.number("x-ratelimit-remaining"), 300);
    }
    let day = client.get("/v1/rate-limit").json()["day"].clone();
    assert_eq!(day["remaining"], 5, "the refused ones are not counted in the day either");
    shop.clock.advance(Duration::from_mins(1));
    assert_eq!(client.get("/v1/pets").number("x-ratelimit-remaining"), 4);
}

#[test]
fn rate_limit_costs_nothing_shows_both_windows_and_answers_when_one_is_exhausted() {
    let shop = Shop::open();
    let client = shop.client(enterprise(2, 100));
    for used in [0, 1, 2] {
        for method in ["GET", "HEAD", "GET"] {
            let answer = client.send(method, "/v1/rate-limit", &[], None);
            assert_eq!((answer.status, quota(&answer)), (200, ("minute", 2, 2 - used, MINUTE_END)));
            assert_eq!((answer.header("etag"), answer.header("cache-control")), (None, Some("no-store")));
        }
        let expected = serde_json::json!({
            "plan": "enterprise",
            "minute": {"limit": 2, "remaining": 2 - used, "reset": MINUTE_END},
            "day": {"limit": 100, "remaining": 100 - used, "reset": DAY_END},
        });
        assert_eq!(client.get("/v1/rate-limit").json(), expected);
        client.get("/v1/pets");
    }
    // An invalid request to this path costs nothing either, and is answered with its own error.
    assert_eq!(client.get("/v1/rate-limit?x=1").outcome(), (400, "invalid_parameter".to_owned()));
    assert_eq!(client.get("/v1/pets").status, 429);
}

#[test]
fn a_change_of_plan_is_in_force_at_once_and_keeps_the_counts() {
    let shop = Shop::open();
    let (client, made) = shop.client_for(NewKey {
        holder: KeyHolder::New { plan: Plan::Free },
        label: KeyLabel::parse("").unwrap(),
        scopes: Scopes::DEFAULT,
        expires_at: None,
    });
    let change = |plan| {
        shop.block_on(shop.service.update_account(made.account.id, None, Some(plan))).unwrap();
    };
    for _ in 0..60 {
        client.get("/v1/pets");
    }
    assert_eq!(client.get("/v1/pets").status, 429);
    change(Plan::Pro);
    assert_eq!(quota(&client.get("/v1/pets")), ("minute", 300, 239, MINUTE_END));
    change(enterprise(10, 1_000));
    let refused = client.get("/v1/pets");
    assert_eq!((refused.status, quota(&refused)), (429, ("minute", 10, 0, MINUTE_END)), "never negative");
    assert_eq!(client.get("/v1/rate-limit").json()["day"]["remaining"], 1_000 - 61);
}

#[test]
fn the_keys_of_an_account_share_its_quota() {
    let shop = Shop::open();
    let name = AccountName::parse("kennel").unwrap();
    let key = || {
        let holder = KeyHolder::Named { name: name.clone(), plan: Some(Plan::Free) };
        let label = KeyLabel::parse("").unwrap();
        shop.client_for(NewKey { holder, label, scopes: Scopes::DEFAULT, expires_at: None }).0
    };
    let (one, two, other) = (key(), key(), shop.client(Plan::Free));
    for left in (0..20).map(|asked| 58 - 2 * asked) {
        assert_eq!(one.get("/v1/pets").number("x-ratelimit-remaining"), left + 1);
        assert_eq!(two.get("/v1/pets").number("x-ratelimit-remaining"), left);
    }
    assert_eq!(other.get("/v1/pets").number("x-ratelimit-remaining"), 59);
}

#[test]
fn a_clock_that_steps_back_grants_nothing() {
    let shop = Shop::open();
    let client = shop.client(enterprise(3, 5));
    shop.clock.set("2030-01-02T12:00:30Z");
    for _ in 0..3 {
        assert_eq!(client.get("/v1/pets").status, 200);
    }
    for back in ["2030-01-02T11:59:59Z", "2030-01-01T12:00:00Z", "2029-01-01T00:00:00Z"] {
        shop.clock.set(back);
        let refused = client.get("/v1/pets");
        assert_eq!(refused.outcome(), (429, "rate_limit_exceeded".to_owned()), "{back}");
        assert_eq!(quota(&refused), ("minute", 3, 0, MINUTE_END + 86_400));
    }
    shop.clock.set("2030-01-02T12:01:00Z");
    for left in [1, 0] {
        assert_eq!(quota(&client.get("/v1/pets")), ("day", 5, left, DAY_END + 86_400));
    }
    assert_eq!(client.get("/v1/pets").outcome(), (429, "quota_exceeded".to_owned()));
}

#[test]
fn every_answer_under_the_base_path_carries_the_quota() {
    let shop = Shop::open();
    let client = shop.client(Plan::Free);
    let long = format!("/v1/pets?name={}", "x".repeat(9_000));
    let cases: [(&str, &str, Fields<'_>, u16, &str); 6] = [
        ("GET", "/v1/pets", &[], 200, "minute"),
        ("GET", "/v1/pets/1", &[], 404, "minute"),
        ("OPTIONS", "/v1/pets", &[], 204, "address"),
        ("GET", "/v1/pets", &[("host", "twice")], 400, "address"),
        ("GET", &long, &[], 414, "address"),
        ("GET", "/v1/pets", &[("x-long", &"x".repeat(17_000))], 431, "address"),
    ];
    for (method, path, headers, status, resource) in cases {
        let answer = client.send(method, path, headers, None);
        assert_eq!((answer.status, quota(&answer).0), (status, resource), "{method} {path:.20}");
    }
    assert_eq!(client.get("/health").header("x-ratelimit-limit"), None);
}
