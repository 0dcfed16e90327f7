//! The bounds of streams: their number, their memory, and their cost.

use std::time::Duration;

use petstore_domain::Plan;

use super::simulated::{StreamClient, change, simulate};
use crate::event_wait::wait_for_events;
use crate::fixture::PLENTY;
use crate::harness::{Client, Connection, Shop, ShopOptions};

/// Opens a stream on a socket, and reads its head.
fn open(client: &Client, query: &str) -> Connection {
    let mut connection = Connection::open(client.address);
    let key = client.key.as_deref().unwrap();
    let request = format!("GET /v1/events/stream{query} HTTP/1.1\r\nhost: pets\r\nx-api-key: {key}\r\n\r\n");
    connection.send(request.as_bytes());
    let head = connection.read_answer(true).expect("an answer");
    assert_eq!(head.status, 200, "{:?}", head.headers);
    connection
}

#[test]
fn an_account_has_five_streams_and_a_closed_one_frees_its_place() {
    let shop = Shop::open();
    let (client, other) = (shop.client(PLENTY), shop.client(PLENTY));
    let mut streams: Vec<_> = (0..5).map(|_| open(&client, "")).collect();
    let refused = client.get("/v1/events/stream");
    assert_eq!(refused.outcome(), (429, "too_many_concurrent_requests".to_owned()));
    assert_eq!(refused.number("retry-after"), 1);
    drop(open(&other, ""));
    // A HEAD request does not open a stream.
    assert_eq!(client.send("HEAD", "/v1/events/stream", &[], None).status, 200);
    // The server notices that a client has closed its stream, although the server sends nothing on the stream.
    drop(streams.pop());
    let mut attempts = std::iter::repeat_with(|| client.get("/v1/events/stream?wait=1")).take(5_000);
    assert!(attempts.any(|answer| answer.status == 200), "the place is free again");
}

#[test]
fn a_server_has_a_largest_number_of_streams() {
    let mut options = ShopOptions::default();
    options.http.bounds.streams = 2;
    let shop = Shop::open_as(options);
    let streams = [shop.client(PLENTY), shop.client(PLENTY)].map(|client| open(&client, ""));
    assert_eq!(shop.http.stats().streams, 2);
    let refused = shop.client(PLENTY).get("/v1/events/stream");
    assert_eq!(refused.outcome(), (503, "overloaded".to_owned()));
    drop(streams);
}

#[test]
fn a_stream_costs_one_request_and_holds_no_place_in_flight() {
    let policy = petstore_service::Policy { in_flight_max: 1, ..crate::harness::PATIENT };
    let shop = Shop::open_as(ShopOptions { policy, ..ShopOptions::default() });
    let client = shop.client(Plan::Free);
    let _stream = open(&client, "");
    let status = client.get("/v1/rate-limit");
    assert_eq!((status.status, status.number("x-ratelimit-remaining")), (200, 59));
}

#[test]
fn a_list_that_waits_frees_its_place_when_the_client_closes() {
    let policy = petstore_service::Policy { in_flight_max: 1, ..crate::harness::PATIENT };
    let shop = Shop::open_as(ShopOptions { policy, ..ShopOptions::default() });
    let client = shop.client(PLENTY);
    drop(wait_for_events(&client, ""));
    let mut others = std::iter::repeat_with(|| client.get("/v1/pets")).take(5_000);
    assert!(others.any(|answer| answer.status == 200), "the place is free again");
}

#[test]
fn a_pipelined_request_is_answered_after_the_stream() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let key = client.key.as_deref().unwrap();
    let head = |target| format!("GET /v1/{target} HTTP/1.1\r\nhost: pets\r\nx-api-key: {key}\r\n\r\n");
    let mut connection = Connection::open(client.address);
    connection.send((head("events/stream?wait=1") + &head("pets")).as_bytes());
    let stream = connection.read_answer(false).expect("a stream");
    assert!(stream.body.ends_with(b"event: end\ndata: {\"reason\":\"wait\"}\n\n"));
    assert_eq!(connection.read_answer(false).expect("the pets").json(), serde_json::json!([]));
}

/// The server holds a bounded number of bytes for a client that reads nothing, and disconnects that client after a
/// minute.
#[test]
fn a_client_that_does_not_read_is_given_up_and_holds_no_events() {
    const LINK: usize = 1_024;
    const STALL: Duration = Duration::from_mins(1);
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    simulate(&shop, async |server| {
        let slow = StreamClient::open_over(server, &client, "", "", LINK).await;
        let mut quick = StreamClient::open(server, &client, "?limit=2000", "").await;
        for number in 0..2_000 {
            change(&shop, number).await;
        }
        assert_eq!(quick.end().await.0, "limit", "another client is not held up");
        assert_eq!(shop.http.stats().streams, 1);
        tokio::time::sleep(STALL + Duration::from_secs(2)).await;
        assert_eq!(shop.http.stats().streams, 0, "the slow client is given up");
        drop(slow);
    });
}
