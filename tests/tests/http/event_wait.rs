//! The parameter `wait` of the list of events: the wait ends at an event, after its time, and when the server must end
//! it.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_memory::MemoryStore;
use petstore_ports::api::{Administration, ClockChange, ClockState, Sandbox};
use petstore_ports::{Resettable, StoreError};
use petstore_service::{Policy, Ports};
use serde_json::json;
use tokio::time::Instant;

use crate::event_list::{last_event_id, types};
use crate::fixture::{Fixture, PLENTY, request};
use crate::harness::{Answer, Client, Connection, PATIENT, Shop, ShopOptions};

/// The longest wait that the API permits. A test that waited for its end would fail, because the test client gives up
/// earlier.
const LONGEST: u64 = 30;

/// Options that permit one request in flight for each account, so that a second request shows whether the first is
/// waiting.
fn one_at_a_time() -> ShopOptions {
    ShopOptions { policy: Policy { in_flight_max: 1, ..PATIENT }, ..ShopOptions::default() }
}

/// Sends a request that waits for events, and returns once the server has it in flight.
pub(crate) fn wait_for_events(client: &Client, query: &str) -> Connection {
    let target = format!("/v1/events?wait={LONGEST}{query}");
    let send = || {
        let mut waiting = Connection::open(client.address);
        waiting.send(&request(client, "GET", &target, &[], b""));
        waiting
    };
    let mut waiting = send();
    for _ in 0..5_000 {
        if client.get("/v1/rate-limit").status == 429 {
            return waiting;
        }
        // If the request arrived while a probe was in flight, the server has refused it. Then the request is sent
        // again.
        if has_answer(&mut waiting) {
            assert_eq!(waiting.read_answer(false).expect("an answer").status, 429, "it waits, or is refused");
            waiting = send();
        }
    }
    panic!("a request that waits holds its place in flight");
}

fn has_answer(connection: &mut Connection) -> bool {
    let socket = connection.socket();
    socket.set_nonblocking(true).unwrap();
    let has_answer = socket.peek(&mut [0]).is_ok();
    socket.set_nonblocking(false).unwrap();
    has_answer
}

fn answer_of(mut waiting: Connection) -> Answer {
    let answer = waiting.read_answer(false).expect("a request that waits is answered in time");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer
}

/// The id of the newest event.
fn end_of_log(client: &Client) -> String {
    last_event_id(&client.get("/v1/events?sort=-id&limit=1"))
}

#[test]
fn it_ends_at_the_first_event_that_passes() {
    let shop = Shop::open_as(one_at_a_time());
    let (reader, fixture) = (shop.client(PLENTY), Fixture::open_in(shop));
    let end = end_of_log(&reader);
    let waiting = wait_for_events(&reader, &format!("&after={end}"));
    let pet = fixture.pet_of(2);
    let woken = answer_of(waiting);
    assert_eq!(types(&woken)[0], "pet.created");
    let end = end_of_log(&reader);
    let waiting = wait_for_events(&reader, &format!("&after={end}&type=order.*"));
    fixture.set_stock(pet, 5);
    let order = fixture.order(pet, 1);
    let woken = answer_of(waiting);
    assert_eq!(types(&woken), ["order.placed"], "events that do not pass do not end it");
    assert_eq!(woken.json()[0]["data"]["id"], order);
    assert_eq!(woken.link("next").is_some(), last_event_id(&woken) != end_of_log(&reader));
}

#[test]
fn a_page_that_has_events_is_answered_at_once_and_so_is_one_without_a_wait() {
    let fixture = Fixture::open();
    let begun = Instant::now();
    for query in
        ["wait=30".to_owned(), "wait=30&sort=-id".to_owned(), "wait=30&sort=-id&type=key.*".to_owned()]
    {
        assert_eq!(fixture.client.get(&format!("/v1/events?{query}")).status, 200, "{query}");
    }
    let end = end_of_log(&fixture.client);
    for query in ["", "&wait=0"] {
        let answer = fixture.client.get(&format!("/v1/events?after={end}{query}"));
        assert_eq!((answer.status, answer.json()), (200, json!([])));
    }
    assert!(begun.elapsed() < Duration::from_secs(LONGEST), "none of them waits");
}

#[test]
fn it_ends_at_its_time_with_an_empty_page() {
    let fixture = Fixture::open();
    let end = end_of_log(&fixture.client);
    let begun = Instant::now();
    let answer = fixture.client.get(&format!("/v1/events?after={end}&wait=1"));
    assert_eq!((answer.status, answer.json(), last_event_id(&answer)), (200, json!([]), end));
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_wait_that_no_event_ends_moves_the_place_over_those_that_did_not_pass() {
    let shop = Shop::open_as(one_at_a_time());
    let (reader, fixture) = (shop.client(PLENTY), Fixture::open_in(shop));
    let begin = end_of_log(&reader);
    let mut waiting = Connection::open(reader.address);
    let path = format!("/v1/events?after={begin}&type=order.*&wait=1");
    waiting.send(&request(&reader, "GET", &path, &[], b""));
    fixture.pet_of(2);
    let answer = answer_of(waiting);
    assert_eq!((answer.json(), answer.link("next")), (json!([]), None));
    let end = end_of_log(&reader);
    assert_ne!(end, begin, "the pet has an event");
    assert_eq!(last_event_id(&answer), end);
}

#[test]
fn a_client_that_goes_away_frees_its_place() {
    let shop = Shop::open_as(one_at_a_time());
    let client = shop.client(PLENTY);
    drop(wait_for_events(&client, ""));
    // The server notices the disconnect long before the wait is over.
    let begun = Instant::now();
    while client.get("/v1/pets").status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(LONGEST / 3), "the client has gone, its place has not");
    }
}

#[test]
fn a_drain_ends_it_at_once() {
    let mut shop = Shop::open_as(one_at_a_time());
    let waiting = wait_for_events(&shop.client(PLENTY), "");
    shop.stop();
    let answer = answer_of(waiting);
    assert_eq!(answer.json(), json!([]));
    assert_eq!(answer.header("connection"), Some("close"));
}

#[test]
fn a_revoked_key_ends_it() {
    let shop = Shop::open_as(one_at_a_time());
    let holder = petstore_domain::KeyHolder::New { plan: PLENTY };
    let label = petstore_domain::KeyLabel::parse("").unwrap();
    let scopes = petstore_domain::Scopes::DEFAULT;
    let new = petstore_ports::api::NewKey { holder, label, scopes, expires_at: None };
    let (client, made) = shop.client_for(new);
    let waiting = wait_for_events(&client, "");
    shop.block_on(shop.service.revoke_key(made.key.id)).unwrap();
    assert_eq!(answer_of(waiting).json(), json!([]));
    assert_eq!(client.get("/v1/events").outcome(), (401, "api_key_revoked".to_owned()));
}

#[test]
fn a_key_that_loses_the_scope_ends_it() {
    let shop = Shop::open_as(one_at_a_time());
    let holder = petstore_domain::KeyHolder::New { plan: PLENTY };
    let label = petstore_domain::KeyLabel::parse("").unwrap();
    let scopes = petstore_domain::Scopes::ALL;
    let new = petstore_ports::api::NewKey { holder, label, scopes, expires_at: None };
    let (client, made) = shop.client_for(new);
    let grant = |words| {
        let granted = petstore_domain::Scopes::parse(words).unwrap();
        let patch = petstore_domain::KeyPatch { scopes: Some(granted), ..Default::default() };
        shop.block_on(shop.service.update_key(made.key.id, patch)).unwrap();
    };
    let waiting = wait_for_events(&client, "");
    grant("read");
    grant("write,webhooks");
    assert_eq!(answer_of(waiting).json(), json!([]));
    assert_eq!(client.get("/v1/events").outcome(), (403, "insufficient_scope".to_owned()));
}

#[test]
fn a_reset_ends_it_at_once_and_its_place_is_gone() {
    let store = Arc::new(MemoryStore::new());
    let of_store = Arc::clone(&store);
    let shop = Shop::open_over(one_at_a_time(), |ports| {
        Ports::of_one_store(of_store, ports.clock, ports.entropy, ports.timer)
    });
    let client = shop.client(PLENTY);
    client.post("/v1/categories", &json!({"name": "Dogs"}));
    let end = end_of_log(&client);
    let waiting = wait_for_events(&client, &format!("&after={end}"));
    store.reset(Arc::new([]), 0xE90C).unwrap();
    let answer = answer_of(waiting);
    assert_eq!(answer.json(), json!([]));
    for id in [end, last_event_id(&answer)] {
        let gone = client.get(&format!("/v1/events?after={id}"));
        assert_eq!(gone.outcome(), (410, "event_expired".to_owned()), "the earlier log is gone: {id}");
    }
    let begin = end_of_log(&client);
    client.post("/v1/categories", &json!({"name": "Cats"}));
    assert_eq!(types(&client.get(&format!("/v1/events?after={begin}"))), ["category.created"]);
}

/// A sandbox over a store, with a clock that stands still.
struct StoreSandbox(Arc<MemoryStore>);

impl Sandbox for StoreSandbox {
    fn new_epoch(&self) -> Result<u64, StoreError> {
        Ok(0xE90C)
    }

    fn reset(&self, epoch: u64) -> Result<(), StoreError> {
        self.0.reset(Arc::new([]), epoch)
    }

    fn clock(&self) -> ClockState {
        ClockState { now: Timestamp::EPOCH, frozen: true }
    }

    fn machine_time(&self) -> Timestamp {
        Timestamp::EPOCH
    }

    fn set_clock(&self, _turn: ClockChange) -> Result<ClockState, StoreError> {
        Ok(self.clock())
    }
}

#[test]
fn it_delays_neither_a_reset_of_the_sandbox_nor_a_change_of_its_clock() {
    let store = Arc::new(MemoryStore::new());
    let mut options = one_at_a_time();
    options.http.sandbox = Some(Arc::new(StoreSandbox(Arc::clone(&store))));
    let shop =
        Shop::open_over(options, |ports| Ports::of_one_store(store, ports.clock, ports.entropy, ports.timer));
    let (client, tester) = (shop.client(PLENTY), shop.anonymous());
    let clock = json!({"advance": "1m"});
    for (path, body, status) in [("clock", Some(&clock), 200), ("reset", None, 204), ("reset", None, 204)] {
        let waiting = wait_for_events(&client, "");
        let done = tester.send("POST", &format!("/sandbox/{path}"), &[], body);
        assert_eq!(done.status, status, "{path}: {}", done.text());
        assert_eq!(answer_of(waiting).json(), json!([]), "{path}");
    }
    assert_eq!(client.get("/v1/events").json(), json!([]));
}

#[test]
fn many_readers_wake_at_one_event() {
    let fixture = Fixture::open();
    let end = end_of_log(&fixture.client);
    let mut waiting: Vec<_> = (0..40)
        .map(|_| {
            let mut connection = Connection::open(fixture.client.address);
            let path = format!("/v1/events?wait={LONGEST}&after={end}");
            connection.send(&request(&fixture.client, "GET", &path, &[], b""));
            connection
        })
        .collect();
    fixture.pet();
    for connection in &mut waiting {
        assert_eq!(types(&connection.read_answer(false).unwrap()), ["pet.created"]);
    }
}
