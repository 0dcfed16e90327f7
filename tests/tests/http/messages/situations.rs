//! Messages that depend on the key, the limits, the settings and the store.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{KeyHolder, KeyLabel, Limit, Limits, Plan, Scopes};
use petstore_http::{Deadlines, HostName};
use petstore_ports::api::{Administration, NewKey};
use petstore_ports::{Clock, StoreError, StoreErrorKind};
use petstore_service::{Policy, Ports};
use serde_json::json;

use super::Seen;
use crate::faulty::{FailingPort, FailureMode, shop_with_write_barrier, shop_without_pets};
use crate::fixture::{Fixture, PLENTY, hold, request};
use crate::harness::{Answer, Client, Connection, Shop, ShopOptions};

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A short deadline. A request that is sent as a whole arrives in less time.
const SHORT: Duration = Duration::from_millis(200);

pub(super) fn provoke(seen: &mut Seen) {
    keys(seen);
    quotas(seen);
    bans(seen);
    addresses(seen);
    concurrency(seen);
    idempotency_keys(seen);
    settings(seen);
    stores(seen);
    deadlines(seen);
    readiness(seen);
}

fn policy(policy: Policy) -> Shop {
    Shop::open_as(ShopOptions { policy, ..ShopOptions::default() })
}

/// A plan with these limits.
fn plan(minute: u32, day: u32) -> Plan {
    Plan::Enterprise(Limits { minute: Limit::new(minute).unwrap(), day: Limit::new(day).unwrap() })
}

/// Sends a request that is subject to the checks of the key and of the quota.
fn list(client: &Client) -> Answer {
    client.get("/v1/pets")
}

fn keys(seen: &mut Seen) {
    let shop = Shop::open();
    let label = KeyLabel::parse("").unwrap();
    let new = NewKey {
        holder: KeyHolder::New { plan: Plan::Free },
        label,
        scopes: Scopes::DEFAULT,
        expires_at: None,
    };
    let (expired, _) = shop.client_for(NewKey { expires_at: Some(shop.clock.now()), ..new.clone() });
    let (revoked, made) = shop.client_for(new);
    shop.block_on(shop.service.revoke_key(made.key.id)).unwrap();
    let none = shop.anonymous();
    let unknown = Client { key: Some("pet_123".to_owned()), ..none.clone() };
    let required = "An API key is required; send it in Authorization as a bearer token, or in X-API-Key.";
    seen.expect(&list(&none), "no key", &[required]);
    seen.expect(&list(&unknown), "an unknown key", &["The API key is not valid."]);
    seen.expect(&list(&expired), "an expired key", &["The API key has expired."]);
    seen.expect(&list(&revoked), "a revoked key", &["The API key has been revoked."]);
    let (one, other) = (shop.client(Plan::Free), shop.client(Plan::Free));
    let two = one.send("GET", "/v1/pets", &[("x-api-key", &other.key.unwrap())], None);
    seen.expect(&two, "two keys", &["The request has two different API keys; send only one."]);
    let only = |scopes| shop.client_with(PLENTY, Scopes::parse(scopes).unwrap());
    let message = "This operation needs the scope read; the API key has the scope write.";
    seen.expect(&list(&only("write")), "no scope", &[message]);
    let message = "This operation needs the scope write; the API key has the scope read.";
    seen.expect(&only("read").delete("/v1/pets/1"), "no scope", &[message]);
}

fn quotas(seen: &mut Seen) {
    let shop = Shop::open();
    for (plan, admitted, message) in [
        (plan(1, 9), 1, "The quota of 1 request per minute is used up; retry in 60 seconds."),
        (Plan::Free, 60, "The quota of 60 requests per minute is used up; retry in 60 seconds."),
        (plan(9, 1), 1, "The quota of 1 request per day is used up; retry in 43200 seconds."),
    ] {
        let client = shop.client(plan);
        for _ in 0..admitted {
            assert_eq!(list(&client).status, 200);
        }
        seen.expect(&list(&client), "a quota", &[message]);
    }
}

fn bans(seen: &mut Seen) {
    let shop = Shop::open();
    let client = shop.client(plan(1, 9));
    let banned = (0..20).map(|_| list(&client)).find(|answer| answer.status == 403).expect("a ban");
    let message = "The API key is banned until 2030-01-01T12:02:00.000Z, because it kept sending requests after 429 responses; retry in 120 seconds.";
    seen.expect(&banned, "a ban", &[message]);
}

fn addresses(seen: &mut Seen) {
    let shop = policy(Policy { address_limit: Limit::new(1).unwrap(), ..Policy::DEFAULT });
    let unknown = Client { key: Some("pet_123".to_owned()), ..shop.anonymous() };
    assert_eq!(list(&unknown).status, 401);
    let message = "This address sent too many requests without a valid API key; retry in 60 seconds.";
    for client in [unknown, shop.anonymous()] {
        seen.expect(&list(&client), "an address over its limit", &[message]);
    }
}

fn concurrency(seen: &mut Seen) {
    let shop = policy(Policy { in_flight_max: 1, ..Policy::DEFAULT });
    let client = shop.client(PLENTY);
    let held = hold(&client, b"{}");
    let message =
        "The account has too many requests in flight; retry in 1 second, when one of them has finished.";
    seen.expect(&list(&client), "a second request in flight", &[message]);
    drop(held);
    let mut options = ShopOptions::default();
    options.http.bounds.streams_per_account = 0;
    let shop = Shop::open_as(options);
    let message = "The account has too many open streams; retry in 1 second, when one of them has ended.";
    seen.expect(&shop.client(PLENTY).get("/v1/events/stream"), "a stream too many", &[message]);
}

fn idempotency_keys(seen: &mut Seen) {
    let create = |name| json!({ "name": name });
    let (shop, barrier) = shop_with_write_barrier(ShopOptions::default());
    let client = shop.client(PLENTY);
    barrier.close();
    let mut first = Connection::open(client.address);
    let key = [("idempotency-key", "once")];
    let body = create("Cats").to_string();
    first.send(&request(&client, "POST", "/v1/categories", &key, body.as_bytes()));
    barrier.wait_for_one();
    let second = client.send("POST", "/v1/categories", &key, Some(&create("Cats")));
    barrier.open();
    let message = "The first request with this Idempotency-Key is still in progress; retry later.";
    seen.expect(&second, "a request in progress", &[message]);
    let shop = policy(Policy { idempotency_records_max: 1, ..Policy::DEFAULT });
    let client = shop.client(PLENTY);
    let post =
        |key, name| client.send("POST", "/v1/categories", &[("idempotency-key", key)], Some(&create(name)));
    assert_eq!(post("1", "Cats").status, 201);
    let reason =
        "The account has too many stored responses for Idempotency-Key, and some of them must expire first";
    expect_retryable(seen, &post("2", "Mice"), "a record too many", reason);
}

fn settings(seen: &mut Seen) {
    let mut options = ShopOptions::default();
    options.http.require_if_match = true;
    let fixture = Fixture::open_as(options);
    let message = "If-Match is required; send the ETag of the version that the request changes.";
    seen.expect(&fixture.client.delete("/v1/categories/1"), "no If-Match", &[message]);
    fixture.shop.clock.set("2031-01-01T00:00:00Z");
    let message = "This operation is no longer available; use listPets with id (GET /pets?id=) instead.";
    seen.expect(&fixture.client.get("/v1/pets/1"), "the sunset", &[message]);
    let mut options = ShopOptions::default();
    options.http.hosts = Some(vec![HostName::parse("shop.example").unwrap()]);
    let message = "This server does not serve the host in the Host header.";
    seen.expect(&list(&Shop::open_as(options).anonymous()), "another host", &[message]);
}

fn stores(seen: &mut Seen) {
    for (kind, message) in [
        (StoreErrorKind::Busy, "The service is overloaded"),
        (StoreErrorKind::Unavailable, "The storage is unavailable"),
        (StoreErrorKind::Indeterminate, "The outcome of the request is unknown; read the resource first"),
        (StoreErrorKind::Corrupt, "An internal error occurred; it has been logged."),
    ] {
        let mode = FailureMode::Fails(StoreError::new(kind, "a planned failure"));
        let shop = shop_without_pets(ShopOptions::default(), mode);
        let answer = list(&shop.client(PLENTY));
        if kind == StoreErrorKind::Corrupt {
            seen.expect(&answer, "a damaged store", &[message]);
        } else {
            expect_retryable(seen, &answer, "a failed store", message);
        }
    }
}

/// Checks the message of an error after which the client may retry in one second or two, as the header says.
fn expect_retryable(seen: &mut Seen, answer: &Answer, request: &str, reason: &str) {
    let secs = answer.number("retry-after");
    assert!((1..=2).contains(&secs), "{secs}");
    let seconds = if secs == 1 { "1 second" } else { "2 seconds" };
    seen.expect(answer, request, &[&format!("{reason}; retry in {seconds}.")]);
}

fn deadlines(seen: &mut Seen) {
    let shop = |deadlines| {
        let mut options = ShopOptions::default();
        options.http.deadlines = deadlines;
        Shop::open_as(options)
    };
    let lenient = ShopOptions::default().http.deadlines;
    let late_head = shop(Deadlines { head: SHORT, ..lenient });
    let mut connection = Connection::open(late_head.address());
    connection.send(b"GET /health HTTP/1.1\r\nx-slow: ");
    let answer = connection.read_answer(false).expect("an answer");
    seen.expect(&answer, "half a head", &["The request head did not arrive in time."]);
    let late_body = shop(Deadlines { body: SHORT, ..lenient });
    let mut connection = hold(&late_body.client(PLENTY), b"{}");
    let answer = connection.read_answer(false).expect("an answer");
    seen.expect(&answer, "no body", &["The body did not arrive in time."]);
}

fn readiness(seen: &mut Seen) {
    let summary = "The server is not ready to serve requests; retry in 1 second.";
    let error = StoreError::unavailable("the journal's last write has not completed for 2 s");
    let failing = FailingPort(FailureMode::Fails(error));
    let shop = Shop::open_over(ShopOptions::default(), |ports| Ports { health: Arc::new(failing), ..ports });
    let store = "The store is unavailable: the journal's last write has not completed for 2 s.";
    seen.expect(&shop.anonymous().get("/ready"), "a failed check", &[summary, store]);
    let shop = Shop::open();
    let ops = shop.http.listen_ops(ANY_PORT).unwrap();
    let operator = Client { address: ops.local_addr(), key: None };
    let nothing = "This path does not exist; this listener serves /health, /ready.";
    seen.expect(&operator.get("/v1/pets"), "the operators' listener", &[nothing]);
    let server = shop.http.listen(ANY_PORT, NonZeroUsize::MIN).unwrap();
    server.drain();
    seen.expect(&operator.get("/ready"), "a stop", &[summary, "The server is shutting down."]);
    assert!(server.join());
    ops.drain();
    assert!(ops.join());
}
