//! Resumption. If a stream is cut at any place and resumed with the last id, the client gets each event once.

use petstore_tests::Random;
use serde_json::Value;

use super::simulated::{StreamClient, change, simulate};
use crate::fixture::PLENTY;
use crate::harness::Shop;

const CUTS: usize = 1_000;

/// The maximum number of bytes that the client reads before it closes the connection: enough for a head and a few
/// events.
const READ_MAX: u32 = 3_000;

#[test]
fn a_stream_that_is_cut_a_thousand_times_and_resumed_has_each_event_once() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let begin = client.get("/v1/events?sort=-id&limit=1");
    let mut last_id = begin.header("last-event-id").unwrap().to_owned();
    let mut random = Random::seeded(8);
    let (mut written, mut seen) = (0_u64, Vec::new());
    simulate(&shop, async |server| {
        for cut in 0..CUTS {
            for _ in 0..random.below(8) {
                change(&shop, usize::try_from(written).unwrap()).await;
                written += 1;
            }
            let mut stream = StreamClient::request(server, &client, "", &last_id, 64 * 1024).await;
            let mut left = random.below(READ_MAX) as usize;
            // The last stream is read until it has all events.
            let is_last = cut == CUTS - 1;
            while left > 0 && (!is_last || (seen.len() as u64) < written) {
                let read = stream.receive(if is_last { usize::MAX } else { left }).await;
                assert!(read > 0, "the server keeps the stream open: {}", stream.head);
                left = if is_last { left } else { left.saturating_sub(read) };
                for event in stream.take_events() {
                    let data: Value = serde_json::from_str(&event.data).unwrap();
                    seen.push(data["sequence"].as_u64().unwrap());
                }
                // The client has read everything; the server would send more only after a wait.
                if stream.text.ends_with("\n\n") && seen.len() as u64 == written {
                    break;
                }
            }
            if !stream.parser.last_id.is_empty() {
                last_id.clone_from(&stream.parser.last_id);
            }
        }
    });
    assert!(written > 1_000, "{written} events");
    assert_eq!(seen, (1..=written).collect::<Vec<_>>());
}
