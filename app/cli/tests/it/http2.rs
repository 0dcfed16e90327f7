//! HTTP/2 frame by frame: known floods, a client that reads nothing, an orderly stop.

mod abandoned_streams;
mod frames;
mod heads;
mod mcp;
mod planned_faults;
mod stalled_clients;

use std::io::{Read, Write};
use std::time::Duration;

use crate::common::tools;
use frames::*;

#[test]
fn a_flood_ends_only_its_own_connection() {
    let Some(site) = serve("http2-floods", &[]) else { return };
    assert!(is_well(&site));

    // The client sends header frames without an end (CVE-2024-27316).
    let mut client = Client::connect(site.port, &[]);
    client.send(HEADERS, END_STREAM, 1, &head("/health"));
    let filler: Vec<_> = (0..50).flat_map(|_| field("x-filler", &"x".repeat(100))).collect();
    let taken = (0..100_000).take_while(|_| client.send(CONTINUATION, 0, 1, &filler)).count();
    assert!(taken < 100_000, "the server read on");
    assert!(is_well(&site));

    // The client resets its requests at once (CVE-2023-44487). One write sends everything, so that the server reads the
    // frames together.
    let mut client = Client::connect(site.port, &[]);
    let mut burst = vec![];
    for stream in (1..20_001_u32).step_by(2) {
        let fields = head("/health");
        burst.extend([0, 0, u8::try_from(fields.len()).unwrap(), HEADERS, END_STREAM | END_HEADERS]);
        burst.extend(stream.to_be_bytes());
        burst.extend(fields);
        burst.extend([0, 0, 4, RST_STREAM, 0]);
        burst.extend(stream.to_be_bytes());
        burst.extend(8_u32.to_be_bytes());
    }
    let _ = client.0.write_all(&burst);
    // The error code 11 is ENHANCE_YOUR_CALM (RFC 9113, section 7).
    assert_eq!(goaway(&client.rest()), Some(11));
    assert!(is_well(&site));

    // The client sends a flood of pings and does not read the answers (CVE-2019-9512).
    let mut client = Client::connect(site.port, &[]);
    let _ = (0..20_000).all(|_| client.send(PING, 0, 0, b"12345678"));
    assert!(is_well(&site));
}

#[test]
fn a_refused_body_is_answered_while_the_client_still_sends() {
    let Some(site) = serve("http2-refused", &[]).filter(|_| tools::can_run("curl", "--version")) else {
        return;
    };
    // The body exceeds both what the server reads before it answers and what the flow-control windows admit.
    std::fs::write(site.folder.join("body"), vec![b' '; 2_200_000]).unwrap();
    let url = format!("https://localhost:{}/v1/pets", site.port);
    let mut curl = std::process::Command::new("curl");
    curl.args([
        "-sk",
        "--http2",
        "--max-time",
        "20",
        "--data-binary",
        "@body",
        "-w",
        " %{http_version} %{http_code}",
        &url,
    ]);
    let output = curl.current_dir(&site.folder).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("\"missing_api_key\"") && told.ends_with(" 2 401"), "{told} {:?}", output.status);
}

#[test]
fn idle_connections_over_tls_do_not_delay_a_stop() {
    let Some(mut site) = serve("http2-idle", &[]) else { return };
    // One client acknowledges nothing and never closes its side; the other speaks HTTP/1.1.
    let mut idle = Client::connect(site.port, &[]);
    idle.get(1, "/health");
    while !matches!(idle.next(), Some((DATA, ..))) {}
    let mut old = Client::connect_for(site.port, b"http/1.1");
    old.0.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        let mut byte = [0];
        old.0.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    let stop = tokio::time::Instant::now();
    site.signal("-TERM");
    assert!(site.server.as_mut().unwrap().wait().unwrap().success());
    assert!(stop.elapsed() < Duration::from_millis(900), "{:?}", stop.elapsed());
    assert_eq!(goaway(&idle.rest()), Some(0), "no error");
    assert_eq!(old.0.read(&mut [0]).unwrap(), 0, "TLS ends in order, too");
}

#[test]
fn a_stop_is_announced_and_earlier_requests_are_answered() {
    let Some(mut site) = serve("http2-drain", &[]) else { return };
    let mut client = Client::connect(site.port, &[]);
    client.get(1, "/health");
    while !matches!(client.next(), Some((DATA, ..))) {}
    client.get(3, "/docs");
    site.signal("-TERM");
    let frames = client.rest();
    assert_eq!(goaway(&frames), Some(0), "no error");
    let ended = |frame: &Frame| frame.2 == 3 && frame.1 & END_STREAM != 0;
    assert!(frames.iter().any(ended), "the answer came as a whole");
    assert!(site.server.as_mut().unwrap().wait().unwrap().success());
}
