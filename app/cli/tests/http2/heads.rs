//! Heads that are large: as one, and as many that wait.

use crate::frames::*;

#[test]
fn requests_whose_heads_are_too_much_together_are_refused_in_place_of_waiting() {
    let Some(site) = serve("http2-crowded", &[]) else { return };
    // No window for any answer.
    let mut client = Client::connect(site.port, &[(WINDOW, 0)]);
    client.take(0, 1 << 30);
    // Each is little on the wire, and 10 kB as it is kept.
    let fields: Vec<_> = (0..90).flat_map(|number| field(&format!("x-{number}"), "")).collect();
    let fields = [head("/openapi.yaml"), fields].concat();
    for stream in (1..200).step_by(2) {
        client.send(HEADERS, END_STREAM | END_HEADERS, stream, &fields);
    }
    let mut frames = vec![];
    // Some forty wait, and no more.
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
