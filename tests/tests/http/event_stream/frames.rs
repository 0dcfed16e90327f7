//! The frames of a stream: events, bookmarks and comments, at their times.

use std::sync::Arc;
use std::time::Duration;

use petstore_memory::{EventRetention, MemoryStore};
use petstore_ports::EventReader;
use petstore_service::Ports;
use serde_json::Value;
use tokio::time::sleep;

use super::simulated::{StreamClient, change, simulate};
use crate::fixture::PLENTY;
use crate::harness::{Shop, ShopOptions};

/// The silence after which a comment or a bookmark comes.
const SILENCE: Duration = Duration::from_secs(15);

#[test]
fn a_stream_begins_with_its_place_and_sends_events_as_they_happen() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    simulate(&shop, async |server| {
        change(&shop, 0).await;
        let mut stream = StreamClient::open(server, &client, "", "").await;
        for line in ["content-type: text/event-stream", "cache-control: no-store", "x-accel-buffering: no"] {
            assert!(stream.head.contains(&format!("\r\n{line}\r\n")), "{line}: {}", stream.head);
        }
        assert!(!stream.head.contains("content-encoding"), "a stream is never compressed");
        stream.read_until(|stream| stream.text.ends_with("\n\n")).await;
        assert_eq!(stream.parser.retry, Some(3_000));
        let begin = stream.parser.last_id.clone();
        assert_eq!(stream.text, format!("retry: 3000\nevent: position\nid: {begin}\ndata: {{}}\n\n"));
        assert!(stream.take_events().is_empty(), "the bookmark is no event");
        for number in 1..=3 {
            change(&shop, number).await;
            let waited =
                stream.read_until(|stream| stream.text.matches("data: {\"id\"").count() == number).await;
            assert_eq!(waited, Duration::ZERO, "the event arrives at once");
        }
        let events = stream.take_events();
        for (number, event) in events.iter().enumerate() {
            let data: Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!(event.event, "", "a browser hands it to onmessage");
            assert_eq!((&data["id"], &data["sequence"]), (&event.id.as_str().into(), &(number + 2).into()));
            assert_eq!(data["type"], "category.created");
        }
    });
}

#[test]
fn a_comment_comes_after_fifteen_seconds_of_silence() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    simulate(&shop, async |server| {
        let mut stream = StreamClient::open(server, &client, "", "").await;
        stream.read_until(|stream| stream.text.ends_with("\n\n")).await;
        for count in 1..=3 {
            let waited = stream.read_until(|stream| stream.parser.comments == count).await;
            assert!((SILENCE..SILENCE + Duration::from_millis(10)).contains(&waited), "{waited:?}");
        }
        // The fifteen seconds are counted from the last event.
        sleep(SILENCE / 2).await;
        change(&shop, 0).await;
        stream.read_until(|stream| stream.text.contains("data: {\"id\"")).await;
        let waited = stream.read_until(|stream| stream.parser.comments == 4).await;
        assert!((SILENCE..SILENCE + Duration::from_millis(10)).contains(&waited), "{waited:?}");
    });
}

#[test]
fn events_that_the_filter_leaves_out_move_the_bookmark() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    simulate(&shop, async |server| {
        let mut stream = StreamClient::open(server, &client, "?type=order.*", "").await;
        stream.read_until(|stream| stream.text.ends_with("\n\n")).await;
        let begin = stream.parser.last_id.clone();
        change(&shop, 0).await;
        let waited = stream.read_until(|stream| stream.parser.last_id != begin).await;
        assert!((SILENCE..SILENCE + Duration::from_millis(10)).contains(&waited), "{waited:?}");
        assert_eq!(stream.parser.comments, 0, "the bookmark breaks the silence too");
        // After a thousand events that the filter leaves out, a bookmark comes with the next check of the key.
        let before = stream.parser.last_id.clone();
        for number in 1..=1_000 {
            change(&shop, number).await;
        }
        let waited = stream.read_until(|stream| stream.parser.last_id != before).await;
        assert!(waited <= Duration::from_secs(1), "{waited:?}");
        assert!(stream.take_events().is_empty(), "no event passed");
        // Both a list and a stream can continue after the id of the bookmark.
        let last = stream.parser.last_id.clone();
        drop(stream);
        let page = client.get(&format!("/v1/events?after={last}"));
        assert_eq!((page.status, page.json()), (200, serde_json::json!([])));
        let mut resumed = StreamClient::open(server, &client, "?limit=1", &last).await;
        change(&shop, 1_001).await;
        assert_eq!(resumed.end().await.0, "limit");
    });
}

#[test]
fn a_stream_that_lets_nothing_pass_keeps_up_with_a_log_that_drops_its_events() {
    const ROUNDS: usize = 20;
    const ROUND: usize = 500;
    let store = Arc::new(MemoryStore::new());
    store.set_event_retention(EventRetention { bytes: 16 * 1024, ..EventRetention::IN_MEMORY });
    let of_store = Arc::clone(&store);
    let shop = Shop::open_over(ShopOptions::default(), |ports| {
        Ports::of_one_store(of_store, ports.clock, ports.entropy, ports.timer)
    });
    let client = shop.client(PLENTY);
    simulate(&shop, async |server| {
        let mut stream = StreamClient::open(server, &client, "?type=order.*", "").await;
        stream.read_until(|stream| stream.text.ends_with("\n\n")).await;
        for round in 0..ROUNDS {
            // The event log in memory holds fewer events than one round adds.
            for number in 0..ROUND {
                change(&shop, round * ROUND + number).await;
            }
            sleep(Duration::from_secs(2)).await;
        }
        let bounds = store.bounds().await.unwrap();
        assert!(bounds.pruned.get() > ((ROUNDS - 1) * ROUND) as u64, "events have been dropped: {bounds:?}");
        let end = bounds.id(bounds.last).to_string();
        stream.read_until(|stream| stream.parser.last_id == end).await;
        assert!(!stream.text.contains("event: end"), "{}", stream.text);
    });
}

#[test]
fn a_name_with_line_separators_stays_on_one_line() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let description = "one\ntwo\u{2028}three\u{2029}four";
    let made =
        client.post("/v1/categories", &serde_json::json!({"name": "Lines", "description": description}));
    assert_eq!(made.status, 201);
    simulate(&shop, async |server| {
        let mut stream = StreamClient::open(server, &client, "?limit=1", "").await;
        let patch = serde_json::json!({"name": "Rows"});
        assert_eq!(client.patch("/v1/categories/1", &patch).status, 200);
        stream.read_until(|stream| stream.text.contains("event: end")).await;
        let event = stream.take_events().swap_remove(0);
        let data: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!((&data["type"], &data["sequence"]), (&"category.updated".into(), &2.into()));
        assert_eq!(data["data"]["description"], description);
    });
}

/// The events together are larger than many chunks, so the server reads the page in parts.
#[test]
fn a_page_of_the_largest_events_is_sent_in_parts_that_are_complete() {
    const EVENTS: usize = 60;
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let begin = client.get("/v1/events?sort=-id&limit=1").header("last-event-id").unwrap().to_owned();
    for number in 0..EVENTS {
        let body = serde_json::json!({"name": format!("{number:0>3}{}", "🐻".repeat(97)), "description": "🐻".repeat(1_000)});
        assert_eq!(client.post("/v1/categories", &body).status, 201);
    }
    simulate(&shop, async |server| {
        let mut stream = StreamClient::open(server, &client, &format!("?limit={EVENTS}"), &begin).await;
        assert_eq!(stream.end_after_events().await, (1..=EVENTS as u64).collect::<Vec<_>>());
    });
}
