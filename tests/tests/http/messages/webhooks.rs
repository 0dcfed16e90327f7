//! Messages of operations on webhooks.

use petstore_domain::{KeyHolder, KeyLabel, Scopes};
use petstore_ports::api::NewKey;
use serde_json::{Value, json};

use super::Seen;
use crate::fixture::{PLENTY, request};
use crate::harness::{Client, Connection, Shop, ShopOptions};

const ONE_ERROR: &str = "The body has 1 error: …";
const ONE_PARAMETER: &str = "1 parameter is not valid: …";

/// An event of another log.
const OTHER_LOG: &str = "evt_4GzozDqipuYp0UU3o1iJiE";

/// The number of tests of an account that may run at a time, and of requests to redeliver in a minute.
const TESTS: usize = 4;
const REDELIVERIES: usize = 100;

/// The number of starts in a minute in a shop of its own. The minute is one of the machine's clock, in which a slow machine
/// does not answer the hundreds of requests that the other shop permits.
const STARTS: u32 = 2;

pub(super) fn provoke(seen: &mut Seen) {
    let shop = Shop::open();
    let client = client(&shop);
    bodies(seen, &client);
    let path = create(&client);
    paths_and_queries(seen, &client, &path);
    changes(seen, &client, &path);
    states(seen, &client, &path);
    crowds(seen, &shop, &client, &path);
    assert_eq!(client.post("/v1/categories", &json!({"name": "Cats"})).status, 201);
    let events = client.get("/v1/events").json();
    let event = format!("{path}/deliveries/{}/redeliver", events[0]["id"].as_str().unwrap());
    let redeliver = || client.send("POST", &event, &[], None);
    for _ in 0..REDELIVERIES {
        assert_eq!(redeliver().status, 202);
    }
    let message = "A webhook takes 100 requests to redeliver a minute; retry in 60 seconds.";
    seen.expect(&redeliver(), "a redelivery too many", &[message]);
    starts(seen);
}

/// A client of the first node that may do everything with webhooks.
fn client(shop: &Shop) -> Client {
    let (holder, label) = (KeyHolder::New { plan: PLENTY }, KeyLabel::parse("").unwrap());
    let (client, _) = shop.client_for(NewKey { holder, label, scopes: Scopes::ALL, expires_at: None });
    Client { address: shop.first_address(), ..client }
}

/// Creates a webhook, and returns its path.
fn create(client: &Client) -> String {
    let made = client.post("/v1/webhooks", &json!({"url": "https://silent.example/"}));
    assert_eq!(made.status, 201);
    format!("/v1/webhooks/{}", made.json()["id"].as_str().unwrap())
}

fn bodies(seen: &mut Seen, client: &Client) {
    let hook = |member: &str, value: Value| {
        let mut body = json!({"url": "https://hooks.example/"});
        body[member] = value;
        body
    };
    for (body, message) in [
        (hook("url", json!("")), "url is not valid: expected a URL such as https://hooks.example/petstore."),
        (
            hook("url", json!("https://127.1/")),
            "url is not valid: the host of the URL is neither a DNS name nor an address such as 192.0.2.1 or [2001:db8::1]; write a name with other letters than a to z in its ASCII form (xn--...).",
        ),
        (
            hook("url", json!("http://hooks.example/")),
            "url is refused: the URL must begin with https://; plain http is for addresses that the operator permits with the setting webhook-allow.",
        ),
        (
            hook("url", json!("https://10.0.0.1/")),
            "url is refused: the host is this machine, or in a private or reserved network; the operator can permit it with the setting webhook-allow.",
        ),
        (hook("types", json!("*")), "types must be an array."),
        (hook("types", json!([])), "types must have 1 to 32 entries."),
        (
            hook("types", json!(["shop.*"])),
            "types[0] must name a type of event, a kind of resource such as `order.*`, or `*`.",
        ),
        (hook("types", json!(["*", "*"])), "types[1] must not name a type twice."),
        (hook("ordering", json!("loose")), "ordering must be relaxed or strict; it is loose."),
        (hook("from", json!("yesterday")), "from must be now, oldest or the id of an event."),
    ] {
        let answer = client.post("/v1/webhooks", &body);
        seen.expect(&answer, &body.to_string(), &[ONE_ERROR, message]);
    }
    let expired = client.post("/v1/webhooks", &hook("from", json!(OTHER_LOG)));
    let message = "The log does not have this place; begin with from: oldest or now.";
    seen.expect(&expired, "a place of another log", &[message]);
}

fn paths_and_queries(seen: &mut Seen, client: &Client, path: &str) {
    let message = "webhookId must be an id of a webhook: whk_ and 22 letters or digits.";
    seen.expect(&client.get("/v1/webhooks/whk_1"), "no id of a webhook", &[message, message]);
    let message = "eventId must be an id of an event: evt_ and 22 letters or digits.";
    seen.expect(&client.get(&format!("{path}/deliveries/1")), "no id of an event", &[message, message]);
    let message = "sort must be createdAt or -createdAt; it is id.";
    seen.expect(&client.get("/v1/webhooks?sort=id"), "another order", &[ONE_PARAMETER, message]);
    let message = "status must be one of pending, delivered, failed; it is sent.";
    let answer = client.get(&format!("{path}/deliveries?status=sent"));
    seen.expect(&answer, "another status", &[ONE_PARAMETER, message]);
}

fn changes(seen: &mut Seen, client: &Client, path: &str) {
    let change = |body: Value| client.send("PATCH", path, &[], Some(&body));
    let message = "from goes only with enabled: true; replayWebhook (POST /webhooks/{webhookId}/replay) moves an enabled webhook.";
    seen.expect(&change(json!({"from": "now"})), "a place alone", &[ONE_ERROR, message]);
    let message = "overlap must be between 0 and 604800; it is -1.";
    let answer = client.post(&format!("{path}/rotate"), &json!({"overlap": -1}));
    seen.expect(&answer, "an overlap out of range", &[ONE_ERROR, message]);
    let message = "type must be a type of event such as order.placed; it is order.*.";
    let answer = client.post(&format!("{path}/test"), &json!({"type": "order.*"}));
    seen.expect(&answer, "a sample of no type", &[ONE_ERROR, message]);
    assert_eq!(client.send("POST", &format!("{path}/rotate"), &[], None).status, 200);
    let message = "The previous secret is valid until 2030-01-02T12:00:00.000Z; rotate again after that, or with overlap: 0, which ends it.";
    seen.expect(&client.send("POST", &format!("{path}/rotate"), &[], None), "a second rotation", &[message]);
}

fn states(seen: &mut Seen, client: &Client, path: &str) {
    let change = |body: Value| client.send("PATCH", path, &[], Some(&body));
    assert_eq!(change(json!({"enabled": false})).status, 200);
    let message = "The webhook is disabled (its account disabled it); enable it first.";
    seen.expect(
        &client.post(&format!("{path}/replay"), &json!({"after": "now"})),
        "a disabled webhook",
        &[message],
    );
    let message =
        "Events that the webhook has not received are no longer kept; enable it with from: oldest or now.";
    seen.expect(&change(json!({"enabled": true, "from": OTHER_LOG})), "another log", &[message]);
    assert_eq!(change(json!({"enabled": true})).status, 200);
    let message = "The log does not have this event or this place any more.";
    seen.expect(
        &client.post(&format!("{path}/replay"), &json!({"after": OTHER_LOG})),
        "another log",
        &[message],
    );
}

fn starts(seen: &mut Seen) {
    let options = ShopOptions { webhook_starts_max: STARTS, has_one_node: true, ..ShopOptions::default() };
    let shop = Shop::open_as(options);
    let client = client(&shop);
    let path = create(&client);
    let replay = || client.post(&format!("{path}/replay"), &json!({"after": "now"}));
    assert_eq!(replay().status, 202);
    let refused = replay();
    assert_eq!(refused.code(), "rate_limit_exceeded");
    let secs = refused.number("retry-after");
    assert!((1..=60).contains(&secs), "{secs}");
    let message = format!(
        "An account may create, replay or enable webhooks {STARTS} times a minute; retry in {secs} {}.",
        if secs == 1 { "second" } else { "seconds" }
    );
    seen.expect(&refused, "a start too many", &[&message]);
}

fn crowds(seen: &mut Seen, shop: &Shop, client: &Client, path: &str) {
    while client.post("/v1/webhooks", &json!({"url": "https://hooks.example/"})).status == 201 {}
    let answer = client.post("/v1/webhooks", &json!({"url": "https://hooks.example/"}));
    let message = "The account has 10 webhooks and may have no more; delete one first.";
    seen.expect(&answer, "a webhook too many", &[message]);
    let test = format!("{path}/test");
    let _running: Vec<_> = (0..TESTS)
        .map(|_| {
            let mut connection = Connection::open(client.address);
            connection.send(&request(client, "POST", &test, &[], b""));
            connection
        })
        .collect();
    shop.block_on(shop.receivers.wait_for(TESTS));
    let message = "The account has too many tests of webhooks in progress; retry in 1 second, when one of them has ended.";
    seen.expect(&client.send("POST", &test, &[], None), "a test too many", &[message]);
}
