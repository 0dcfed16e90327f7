//! The forms of the quota headers, each with the figures of `/rate-limit`.

use std::time::Duration;

use petstore_domain::Plan;
use petstore_http::QuotaForm;
use serde_json::Value;

use crate::harness::{Answer, Client, Shop, ShopOptions};

const ALL: [&str; 10] = [
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-resource",
    "ratelimit-policy",
    "ratelimit",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "retry-after",
];

fn shop(form: QuotaForm) -> Shop {
    let mut options = ShopOptions::default();
    options.http.quota_headers = form;
    Shop::open_as(options)
}

fn lines(answer: &Answer) -> Vec<String> {
    ALL.into_iter().filter_map(|name| Some(format!("{name}: {}", answer.header(name)?))).collect()
}

/// Returns the lists of the standard, as `/rate-limit` has their figures.
fn lists(client: &Client, now: u64) -> [String; 2] {
    let usage = client.get("/v1/rate-limit").json();
    let window = |name: &str| {
        let figure = |member: &str| usage[name][member].as_u64().unwrap_or_else(|| panic!("{usage}"));
        (figure("limit"), figure("remaining"), figure("reset") - now)
    };
    let ((minute, minute_left, minute_secs), (day, day_left, day_secs)) = (window("minute"), window("day"));
    [
        format!("ratelimit-policy: \"minute\";q={minute};w=60, \"day\";q={day};w=86400"),
        format!("ratelimit: \"minute\";r={minute_left};t={minute_secs}, \"day\";r={day_left};t={day_secs}"),
    ]
}

#[test]
fn the_lists_have_the_figures_of_the_resource_at_the_turns_of_minute_and_day() {
    let shop = shop(QuotaForm::RateLimit);
    let client = shop.client(Plan::Free);
    // Tests begin at noon, 2030-01-01.
    let begin = 1_893_499_200;
    for (advance, now) in
        [(0, begin), (59, begin + 59), (1, begin + 60), (43_139, begin + 43_199), (1, begin + 43_200)]
    {
        shop.clock.advance(Duration::from_secs(advance));
        let answer = client.get("/v1/pets");
        assert_eq!(lines(&answer), lists(&client, now), "{now}");
    }
}

#[test]
fn a_refusal_has_its_form_and_retry_after_is_not_before_the_window_ends() {
    for form in QuotaForm::ALL {
        let shop = shop(form);
        let client = shop.client(Plan::Free);
        shop.clock.advance(Duration::from_millis(10_001));
        let answers: Vec<_> = (0..61).map(|_| client.get("/v1/pets")).collect();
        let refused = answers.last().unwrap();
        assert_eq!(refused.status, 429);
        let expected: &[&str] = match form {
            QuotaForm::XRateLimit => &[
                "x-ratelimit-limit: 60",
                "x-ratelimit-remaining: 0",
                "x-ratelimit-reset: 1893499260",
                "x-ratelimit-resource: minute",
            ],
            QuotaForm::XRateLimitDelta => &[
                "x-ratelimit-limit: 60",
                "x-ratelimit-remaining: 0",
                "x-ratelimit-reset: 50",
                "x-ratelimit-resource: minute",
            ],
            QuotaForm::RateLimit => &[
                "ratelimit-policy: \"minute\";q=60;w=60, \"day\";q=1000;w=86400",
                "ratelimit: \"minute\";r=0;t=50, \"day\";r=940;t=43190",
            ],
            QuotaForm::Both => &[
                "x-ratelimit-limit: 60",
                "x-ratelimit-remaining: 0",
                "x-ratelimit-reset: 1893499260",
                "x-ratelimit-resource: minute",
                "ratelimit-policy: \"minute\";q=60;w=60, \"day\";q=1000;w=86400",
                "ratelimit: \"minute\";r=0;t=50, \"day\";r=940;t=43190",
            ],
            QuotaForm::Draft7 => {
                &["ratelimit-policy: 60;w=60, 1000;w=86400", "ratelimit: limit=60, remaining=0, reset=50"]
            }
            QuotaForm::Draft6 => &[
                "ratelimit-policy: 60;w=60, 1000;w=86400",
                "ratelimit-limit: 60",
                "ratelimit-remaining: 0",
                "ratelimit-reset: 50",
            ],
            QuotaForm::None => &[],
        };
        let expected: Vec<String> =
            expected.iter().map(|line| (*line).to_owned()).chain(["retry-after: 50".to_owned()]).collect();
        assert_eq!(lines(refused), expected, "{form:?}");
        let vary = refused.header("vary").unwrap_or_default();
        assert!(vary.contains("X-API-Key"), "{vary}");
    }
}

#[test]
fn an_address_has_one_window_in_the_lists_and_a_ban_leaves_nothing() {
    let shop = shop(QuotaForm::RateLimit);
    let stranger = shop.anonymous().get("/v1/pets");
    let expected = ["ratelimit-policy: \"address\";q=300;w=60", "ratelimit: \"address\";r=299;t=60"];
    assert_eq!(lines(&stranger), expected);
    let client = shop.client(Plan::Free);
    let answers: Vec<_> = (0..121).map(|_| client.get("/v1/pets")).collect();
    let banned = answers.last().unwrap();
    assert_eq!(banned.outcome(), (403, "key_banned".to_owned()));
    let until: Value = banned.json();
    assert_eq!(until["retryAfterSeconds"], 120);
    assert_eq!(
        lines(banned)[1..],
        ["ratelimit: \"minute\";r=0;t=120, \"day\";r=0;t=120", "retry-after: 120"]
    );
}
