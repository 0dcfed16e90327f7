//! Large request heads: one that is too large by itself, and many that are too large together while they wait.

use super::frames::*;

/// Returns this many fields of about 150 bytes each.
fn long_fields(numbers: std::ops::Range<u32>) -> Vec<u8> {
    numbers
        .flat_map(|number| field(&format!("x-a-field-with-number-{number:03}"), &"x".repeat(120)))
        .collect()
}

#[test]
fn a_head_within_the_bound_is_accepted_and_a_larger_one_refused() {
    let Some(site) = serve("http2-heads", &[]) else { return };
    let mut client = Client::connect(site.port, &[]);
    // The head is smaller than 16 KiB as HTTP/1.1 counts, but larger as HTTP/2 counts (RFC 9113, section 6.5.2).
    let fields = [head("/health"), long_fields(0..98)].concat();
    client.send(HEADERS, END_STREAM | END_HEADERS, 1, &fields);
    assert!(client.answer(1).contains("ok"));
    client.send(HEADERS, END_STREAM, 3, &fields);
    client.send(CONTINUATION, END_HEADERS, 3, &long_fields(98..160));
    let told = client.answer(3);
    assert!(told.contains("\"headers_too_large\""), "{told}");
}

#[test]
fn waiting_requests_with_too_large_heads_together_are_refused() {
    let Some(site) = serve("http2-crowded", &[]) else { return };
    // The client's windows are closed, so the server can send no body and the requests wait.
    let mut client = Client::connect(site.port, &[(WINDOW, 0)]);
    client.take(0, 1 << 30);
    // Each head is small on the wire, but takes much memory because it has many fields.
    let fields: Vec<_> = (0..90).flat_map(|number| field(&format!("x-{number}"), "")).collect();
    let fields = [head("/openapi.yaml"), fields].concat();
    for stream in (1..200).step_by(2) {
        client.send(HEADERS, END_STREAM | END_HEADERS, stream, &fields);
    }
    let mut frames = vec![];
    // The server keeps about forty of the hundred requests waiting, and begins to answer the others at once.
    while begun(&frames) < 55 {
        frames.push(client.next().expect("many are answered at once"));
    }
    for stream in (1..200).step_by(2) {
        client.take(stream, 1 << 20);
    }
    while ended(&frames) < 100 {
        frames.push(client.next().expect("all are answered"));
    }
    let refused = |frame: &&Frame| String::from_utf8_lossy(&frame.3).contains("\"overloaded\"");
    let refused = frames.iter().filter(refused).count();
    assert!((47..=60).contains(&refused), "{refused} were refused");
    assert!(is_well(&site));
}
