//! Requests without a valid key: the limit for each client address.

use std::time::Duration;

use petstore_domain::{Limit, Plan};
use petstore_http::Network;
use petstore_service::Policy;

use crate::fixture::{Caller, request};
use crate::harness::{Client, PATIENT, Shop, ShopOptions};

/// A well-formed key that was never issued.
fn invented() -> String {
    petstore_domain::ApiKey::from_entropy([0xAB; 32]).reveal().to_owned()
}

/// A shop with this limit for an address, behind a trusted proxy.
fn shop(address_limit: u32) -> Shop {
    let policy = Policy { address_limit: Limit::new(address_limit).unwrap(), ..PATIENT };
    let mut options = ShopOptions { policy, ..ShopOptions::default() };
    options.http.trusted_proxies = vec![Network::parse("127.0.0.1").unwrap()];
    Shop::open_as(options)
}

#[test]
fn after_300_answers_401_an_address_gets_429_until_the_minute_ends() {
    let shop = Shop::open();
    let mut caller = Caller::of(&shop.anonymous());
    for left in (0..300).rev() {
        let answer = caller.get("/v1/pets");
        assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (401, left));
        assert_eq!(answer.header("x-ratelimit-resource"), Some("address"));
    }
    shop.clock.advance(Duration::from_millis(500));
    for _ in 0..20 {
        let answer = caller.get("/v1/pets");
        assert_eq!(answer.outcome(), (429, "rate_limit_exceeded".to_owned()));
        assert_eq!((answer.number("retry-after"), answer.number("x-ratelimit-remaining")), (60, 0));
        assert_eq!(answer.header("www-authenticate"), None);
    }
    shop.clock.advance(Duration::from_secs(10));
    assert_eq!(caller.get("/v1/pets").number("retry-after"), 50, "until the minute ends, and no longer");
    shop.clock.advance(Duration::from_secs(50));
    assert_eq!(caller.get("/v1/pets").status, 401);
}

#[test]
fn valid_keys_are_unaffected_by_other_clients_at_their_address() {
    let shop = shop(5);
    let client = shop.client(Plan::Free);
    let mut anonymous = Caller::of(&shop.anonymous());
    for left in (0..60).rev() {
        anonymous.get("/v1/pets");
        let answer = client.get("/v1/pets");
        assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (200, left));
    }
    assert_eq!(anonymous.get("/v1/pets").status, 429);
}

#[test]
fn missing_junk_unknown_and_ambiguous_keys_count_alike() {
    let shop = shop(4);
    let (anonymous, known) = (shop.anonymous(), shop.client(Plan::Free).key.unwrap());
    let junk = Client { key: Some("junk".to_owned()), ..anonymous.clone() };
    let unknown = Client { key: Some(invented()), ..anonymous.clone() };
    assert_eq!(anonymous.get("/v1/pets").outcome(), (401, "missing_api_key".to_owned()));
    assert_eq!(junk.get("/v1/pets").outcome(), (401, "invalid_api_key".to_owned()));
    assert_eq!(unknown.get("/v1/pets").outcome(), (401, "invalid_api_key".to_owned()));
    let two = Client { key: Some(known), ..anonymous.clone() };
    let two = || two.send("GET", "/v1/pets", &[("x-api-key", &invented())], None);
    let answer = two();
    assert_eq!(answer.outcome(), (400, "ambiguous_credentials".to_owned()));
    assert_eq!(answer.number("x-ratelimit-remaining"), 0);
    for answer in [anonymous.get("/v1/pets"), junk.get("/v1/pets"), unknown.get("/v1/pets"), two()] {
        assert_eq!(answer.outcome(), (429, "rate_limit_exceeded".to_owned()));
    }
}

#[test]
fn refusals_before_the_key_check_show_the_quota_of_the_address_and_cost_nothing() {
    let shop = shop(2);
    let anonymous = shop.anonymous();
    for _ in 0..3 {
        let preflight = anonymous.send("OPTIONS", "/v1/pets", &[], None);
        assert_eq!((preflight.status, preflight.number("x-ratelimit-remaining")), (204, 2));
        let two_hosts = anonymous.send("GET", "/v1/pets", &[("host", "other")], None);
        assert_eq!((two_hosts.status, two_hosts.number("x-ratelimit-remaining")), (400, 2));
    }
    for status in [401, 401, 429] {
        assert_eq!(anonymous.get("/v1/pets").status, status);
    }
    // A preflight of a browser is still answered, although the address has used up its limit.
    assert_eq!(anonymous.send("OPTIONS", "/v1/pets", &[], None).status, 204);
}

#[test]
fn forwarded_headers_from_a_trusted_proxy_name_the_address() {
    let shop = shop(1);
    let anonymous = shop.anonymous();
    let from =
        |forwarded: &str| anonymous.send("GET", "/v1/pets", &[("x-forwarded-for", forwarded)], None).status;
    assert_eq!([from("10.0.0.1"), from("10.0.0.1"), from("10.0.0.2")], [401, 429, 401]);
    // The last address that is not a trusted proxy counts, because a client may have invented the entries before it.
    assert_eq!([from("10.9.9.9, 10.0.0.3"), from("10.8.8.8, 10.0.0.3")], [401, 429]);
    // A trusted proxy in the chain is skipped.
    assert_eq!(from("10.0.0.3, 127.0.0.1"), 429);
    // An entry that is not an address ends the evaluation of the chain, so the proxy's own address counts.
    assert_eq!([from("junk"), from("10.0.0.4, junk, 127.0.0.1"), from("")], [401, 429, 429]);
    // The addresses of one IPv6 /64 network count as one address.
    assert_eq!([from("2001:db8::1"), from("2001:db8::2"), from("2001:db8:0:1::1")], [401, 429, 401]);
    // An unreadable header line also ends the evaluation, because the client may have sent the lines before it.
    let unreadable = |host: u8| {
        let head = format!(
            "GET /v1/pets HTTP/1.1\r\nhost: h\r\nx-forwarded-for: 10.7.0.{host}\r\nx-forwarded-for: "
        );
        let bytes = [head.as_bytes(), b"\xFF, 10.0.0.6\r\n\r\n"].concat();
        anonymous.exchange(&bytes, false).status
    };
    assert_eq!([unreadable(1), unreadable(2)], [429; 2], "the proxy's own count is used up");
    // An entry may have a port, and then an IPv6 address is in brackets. An element of the list may be empty.
    assert_eq!([from("10.0.0.5:443"), from("[2001:db8:1::1]:443"), from("[2001:db8:2::1]")], [401; 3]);
    assert_eq!([from("10.0.0.5, "), from("10.0.0.5,,127.0.0.1"), from("[2001:db8:2::9]")], [429; 3]);
}

#[test]
fn a_proxy_is_the_same_however_it_is_written() {
    for proxy in ["127.0.0.0/8", "::ffff:127.0.0.1", "::ffff:127.0.0.0/104", "::ffff:0.0.0.0/96"] {
        let policy = Policy { address_limit: Limit::new(1).unwrap(), ..PATIENT };
        let mut options = ShopOptions { policy, ..ShopOptions::default() };
        options.http.trusted_proxies = vec![Network::parse(proxy).unwrap()];
        let shop = Shop::open_as(options);
        let statuses = ["192.0.2.1", "192.0.2.2", "192.0.2.1"].map(|forwarded| {
            shop.anonymous().send("GET", "/v1/pets", &[("x-forwarded-for", forwarded)], None).status
        });
        assert_eq!(statuses, [401, 401, 429], "{proxy}");
    }
}

#[test]
fn forwarded_headers_from_untrusted_peers_are_ignored() {
    let policy = Policy { address_limit: Limit::new(3).unwrap(), ..PATIENT };
    let mut options = ShopOptions { policy, ..ShopOptions::default() };
    options.http.trusted_proxies = vec![Network::parse("10.0.0.0/8").unwrap()];
    let shop = Shop::open_as(options);
    let anonymous = shop.anonymous();
    let statuses = [1, 2, 3, 4].map(|host| {
        let forwarded = format!("192.0.2.{host}");
        anonymous.send("GET", "/v1/pets", &[("x-forwarded-for", &forwarded)], None).status
    });
    assert_eq!(statuses, [401, 401, 401, 429]);
}

#[test]
fn an_address_over_its_limit_stays_refused_when_the_table_is_full() {
    let shop = shop(3);
    let anonymous = shop.anonymous();
    let victim = [("x-forwarded-for", "192.0.2.1")];
    for status in [401, 401, 401, 429] {
        assert_eq!(anonymous.send("GET", "/v1/pets", &victim, None).status, status);
    }
    let mut crowd = crate::harness::Connection::open(anonymous.address);
    for block in 0..10_u32 {
        let batch = (0..100_u32).flat_map(|host| {
            let forwarded = format!("10.1.{block}.{host}");
            request(&anonymous, "GET", "/v1/pets", &[("x-forwarded-for", &forwarded)], b"")
        });
        crowd.send(&batch.collect::<Vec<u8>>());
        for _ in 0..100 {
            assert!(matches!(crowd.read_answer(false).unwrap().status, 401 | 429));
        }
    }
    assert_eq!(anonymous.send("GET", "/v1/pets", &victim, None).status, 429);
}
