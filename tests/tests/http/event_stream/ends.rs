//! The ends of a stream: for each reason, the stream ends at the right time and after a complete frame.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use petstore_domain::{KeyHolder, KeyLabel, KeyPatch, Limit, Limits, Plan, Scopes};
use petstore_ports::api::{Administration, NewKey};
use petstore_ports::{Clock, EventBounds, EventQuery, EventRead, EventReader, Reply, StoreError};
use petstore_service::Ports;
use tokio::time::sleep;

use super::simulated::{StreamClient, change, simulate};
use crate::fixture::PLENTY;
use crate::harness::{Client, Shop, ShopOptions};

/// The time within which a stream ends after its key has become invalid.
const KEY_CHECK: Duration = Duration::from_secs(1);

const HOUR: Duration = Duration::from_hours(1);

/// Opens a stream, waits for its first frame, and runs `act`. Returns the reason of the stream's end, and the time from
/// `act` to the end.
fn end_of(shop: &Shop, client: &Client, query: &str, act: impl AsyncFnOnce()) -> (String, Duration) {
    let mut end = None;
    simulate(shop, async |server| {
        let mut stream = StreamClient::open(server, client, query, "").await;
        stream.read_until(|stream| stream.text.ends_with("\n\n")).await;
        act().await;
        end = Some(stream.end().await);
    });
    end.unwrap()
}

#[test]
fn a_stream_ends_after_its_limit() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let (reason, waited) = end_of(&shop, &client, "?limit=2", async || {
        for number in 0..5 {
            change(&shop, number).await;
        }
    });
    assert_eq!((reason.as_str(), waited), ("limit", Duration::ZERO));
}

#[test]
fn a_stream_ends_after_its_wait_also_among_events() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let (reason, waited) = end_of(&shop, &client, "?wait=7", async || {
        for number in 0..5 {
            change(&shop, number).await;
            sleep(Duration::from_secs(1)).await;
        }
    });
    assert_eq!(reason, "wait");
    assert!((Duration::from_secs(2)..Duration::from_millis(2_010)).contains(&waited), "{waited:?}");
}

#[test]
fn a_stream_lasts_an_hour_less_a_tenth_at_most() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let lifetimes: Vec<Duration> = (0..8)
        .map(|_| end_of(&shop, &client, "", async || {}))
        .map(|(reason, lasted)| {
            assert_eq!(reason, "lifetime");
            assert!((HOUR * 9 / 10..HOUR + Duration::from_millis(10)).contains(&lasted), "{lasted:?}");
            lasted
        })
        .collect();
    assert!(lifetimes.iter().any(|one| one.abs_diff(lifetimes[0]) > Duration::from_secs(1)), "{lifetimes:?}");
}

#[test]
fn a_stream_ends_when_the_server_stops() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    simulate(&shop, async |server| {
        let mut stream = StreamClient::open(server, &client, "", "").await;
        server.drain();
        let (reason, waited) = stream.end().await;
        assert_eq!((reason.as_str(), waited), ("drain", Duration::ZERO));
    });
}

#[test]
fn a_stream_ends_when_a_new_log_begins() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let (reason, waited) = end_of(&shop, &client, "", async || {
        shop.resettable().reset(Arc::new([]), 4_711).unwrap();
    });
    assert_eq!((reason.as_str(), waited), ("reset", Duration::ZERO));
}

#[test]
fn a_stream_ends_within_a_second_of_the_end_of_its_key() {
    let shop = Shop::open();
    let new = |expires_at| NewKey {
        holder: KeyHolder::New { plan: PLENTY },
        label: KeyLabel::parse("").unwrap(),
        scopes: Scopes::DEFAULT,
        expires_at,
    };
    let (revoked, made) = shop.client_for(new(None));
    let revoke = async || {
        shop.service.revoke_key(made.key.id).await.unwrap();
    };
    let (expiring, _) = shop.client_for(new(Some(shop.clock.now().plus(HOUR))));
    let expire = async || shop.clock.advance(HOUR);
    let one = Limit::new(1).unwrap();
    let banned = shop.client(Plan::Enterprise(Limits { minute: one, day: Limit::new(100).unwrap() }));
    let ban = async || {
        let mut requests = (0..20).map(|_| banned.get("/v1/pets").status);
        assert!(requests.any(|status| status == 403), "the key is banned");
    };
    let (rescoped, made) = shop.client_for(new(None));
    let rescope = async || {
        let scopes = Some(Scopes { read: false, write: true, webhooks: true });
        let patch = KeyPatch { scopes, ..KeyPatch::default() };
        shop.service.update_key(made.key.id, patch).await.unwrap();
    };
    for (reason, waited) in [
        end_of(&shop, &rescoped, "", rescope),
        end_of(&shop, &revoked, "", revoke),
        end_of(&shop, &expiring, "", expire),
        end_of(&shop, &banned, "", ban),
    ] {
        assert_eq!(reason, "key");
        assert!(waited <= KEY_CHECK, "{waited:?}");
    }
}

/// The answer that a log gives in place of its pages.
type Substitute = fn(EventBounds) -> Result<EventRead, StoreError>;

/// A log whose answers a test can substitute.
struct SwitchedLog {
    log: Arc<dyn EventReader>,
    substitute: Arc<Mutex<Option<Substitute>>>,
}

impl EventReader for SwitchedLog {
    fn bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
        self.log.bounds()
    }

    fn read(&self, query: EventQuery) -> Reply<Result<EventRead, StoreError>> {
        match *self.substitute.lock().unwrap() {
            None => self.log.read(query),
            Some(substitute) => self.log.bounds().map(move |bounds| substitute(bounds?)),
        }
    }
}

#[test]
fn a_stream_ends_when_the_log_has_dropped_its_events_or_cannot_be_read() {
    let substitute = Arc::new(Mutex::new(None));
    let given = Arc::clone(&substitute);
    let shop = Shop::open_over(ShopOptions::default(), |ports| {
        let log = Arc::clone(&ports.events);
        Ports { events: Arc::new(SwitchedLog { log, substitute: given }), ..ports }
    });
    let client = shop.client(PLENTY);
    for (number, expected, answer) in [
        (0, "expired", (|bounds| Ok(EventRead::Expired(bounds))) as Substitute),
        (1, "unavailable", |_| Err(StoreError::unavailable("a planned failure"))),
    ] {
        let (reason, waited) = end_of(&shop, &client, "", async || {
            *substitute.lock().unwrap() = Some(answer);
            change(&shop, number).await;
        });
        assert_eq!((reason.as_str(), waited), (expected, Duration::ZERO));
        *substitute.lock().unwrap() = None;
    }
}
