//! Requests that a client resets after the server has begun them.

use super::frames::*;
use crate::common::Site;

/// The maximum number of requests that are sent while the server has not begun the delayed one. This number suffices on
/// a slow machine.
const TRIES: usize = 10_000;

/// A fault plan of the sandbox that delays each POST.
const DELAY: &str = r#"{"faults":[{"method":"POST","latency":"1m"}]}"#;

/// Sends a change on stream 3, and resets the stream after the server has begun the change. Returns the client and its
/// unused stream numbers.
fn given_up(site: &Site, key: &str) -> (Client, impl Iterator<Item = u32>) {
    let (mut client, mut streams) = (Client::connect(site.port, &[]), (5..).step_by(2));
    client.take(0, 1 << 30);
    assert!(client.ask(1, ("PUT", "/sandbox/faults", DELAY), key).contains("\"acted\":0"));
    client.begin(3, ("POST", "/v1/categories", r#"{"name":"Given up"}"#), key);
    let has_begun = |stream| client.ask(stream, ("GET", "/sandbox/faults", ""), key).contains("\"acted\":1");
    assert!(streams.by_ref().take(TRIES).any(has_begun));
    // The error code 8 is CANCEL (RFC 9113, section 7).
    assert!(client.send(RST_STREAM, 0, 3, &8_u32.to_be_bytes()));
    let stream = streams.next().unwrap();
    assert!(client.ask(stream, ("GET", "/health", ""), key).contains("ok"), "the server has seen it");
    (client, streams)
}

#[test]
fn a_change_whose_stream_is_reset_is_completed_counted_and_recorded_as_gone() {
    let Some(site) = serve("http2-given-up", &["--sandbox"]) else { return };
    let key = site.printed_key();
    let (mut client, mut streams) = given_up(&site, &key);
    let mut ask = |method, path| client.ask(streams.next().unwrap(), (method, path, ""), &key);
    assert_eq!(ask("DELETE", "/sandbox/faults"), "");
    let counted = "{route=\"/categories\",method=\"POST\",status=\"201\"} 1\n";
    assert!((0..TRIES).any(|_| ask("GET", "/metrics").contains(counted)));
    assert!(ask("GET", "/v1/categories").contains("Given up"));
    let recorded = ask("GET", "/sandbox/requests?method=POST&count=1&wait=10");
    assert!(recorded.contains("\"outcome\":\"gone\",\"status\":201,"), "{recorded}");
    assert!(recorded.contains("\"fault\":\"delay 60000 ms\""), "{recorded}");
}

#[test]
fn a_stop_waits_for_a_change_whose_client_is_gone() {
    let Some(mut site) = serve_a_file("http2-gone", &["--sandbox"]) else { return };
    let key = site.printed_key();
    drop(given_up(&site, &key));
    // When the server begins to stop, it executes the delayed request at once.
    site.stop();
    let kept = String::from_utf8(site.run(&["export", "-"]).stdout).unwrap();
    assert!(kept.contains("Given up"), "{kept}");
}
