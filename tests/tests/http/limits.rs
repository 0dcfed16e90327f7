//! Quotas and bans, as a client meets them.

use std::time::Duration;

use petstore_domain::Plan;

use crate::harness::Shop;

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
