//! Clients that read little of their answers, or nothing.

use super::frames::*;
use crate::common::Site;

/// The largest window (RFC 9113, section 6.9.1).
const WIDE: u32 = u32::MAX >> 1;

#[test]
fn a_client_with_closed_windows_or_without_requests_is_disconnected() {
    let waits = ["--write-timeout", "300ms", "--idle-timeout", "300ms"];
    let Some(site) = serve("http2-slow", &waits) else { return };
    // The client's windows are closed (CVE-2019-9517): the server can send the head of the answer, but not the body.
    let mut client = Client::connect(site.port, &[(WINDOW, 0)]);
    client.get(1, "/openapi.yaml");
    let frames = client.rest();
    assert!(frames.iter().any(|(kind, ..)| *kind == HEADERS), "{frames:?}");
    assert!(frames.iter().all(|(kind, .., payload)| *kind != DATA || payload.is_empty()), "{frames:?}");

    let mut silent = Client::connect(site.port, &[]);
    assert_eq!(goaway(&silent.rest()), Some(0), "it is told");
    // A connection with an incomplete head is closed too.
    let mut half = Client::connect(site.port, &[]);
    half.send(HEADERS, END_STREAM, 1, &head("/health"));
    assert!(half.rest().iter().all(|(kind, ..)| *kind != HEADERS));
}

#[test]
fn answers_that_are_not_read_are_not_produced_and_keep_no_connection() {
    let Some(site) = serve("http2-untaken", &["--write-timeout", "1s"]) else { return };
    // A hundred concurrent requests have answers of about 100 kB each, and the windows of all answers are closed.
    let mut client = Client::connect(site.port, &[(WINDOW, 0)]);
    client.take(0, 1 << 30);
    for stream in (1..200).step_by(2) {
        client.get(stream, "/openapi.yaml");
    }
    client.send(PING, 0, 0, b"are seen");
    let mut frames: Vec<_> =
        std::iter::from_fn(|| client.next().filter(|frame| frame.3 != b"are seen")).collect();
    assert!(begun(&frames) <= 8, "{} were made", begun(&frames));
    // After the client opens the windows, it gets all answers.
    for stream in (1..200).step_by(2) {
        client.take(stream, 1 << 20);
    }
    while ended(&frames) < 100 {
        frames.push(client.next().expect("all are answered"));
    }

    // Here the client does not end its side of the streams. The answers wait as before, and again few of them are made.
    let mut open = Client::connect(site.port, &[(WINDOW, 0)]);
    for stream in (1..200).step_by(2) {
        open.send(HEADERS, END_HEADERS, stream, &head("/openapi.yaml"));
    }
    let mut frames = vec![];
    while begun(&frames) == 0 {
        frames.push(open.next().expect("some are answered"));
    }
    open.send(PING, 0, 0, b"are seen");
    frames.extend(std::iter::from_fn(|| open.next().filter(|frame| frame.3 != b"are seen")));
    assert!(begun(&frames) <= 8, "{} were made", begun(&frames));

    // The connection ends because one answer is not read, although the client sends and reads other requests on it.
    client.get(201, "/openapi.yaml");
    let told = (203..200_003).step_by(2).find_map(|stream| {
        client.get(stream, "/health");
        client.take(stream, 1 << 10);
        let frames = client.until_the_end_of(stream);
        goaway(&frames)
    });
    assert_eq!(told, Some(0), "it is told");
    assert!(is_well(&site));
}

/// Waits as long as the idle timeout: opens a connection, leaves it idle, and waits until the server has closed it.
fn wait_out_an_idle_one(site: &Site) {
    let mut idle = Client::connect(site.port, &[]);
    assert!(std::iter::from_fn(|| idle.next()).any(|(kind, ..)| kind == GOAWAY));
}

#[test]
fn a_client_that_opens_its_window_a_little_at_a_time_gets_the_whole_answer() {
    let Some(site) = serve("http2-little", &["--write-timeout", "1s", "--idle-timeout", "100ms"]) else {
        return;
    };
    let mut client = Client::connect(site.port, &[(WINDOW, 0)]);
    client.get(1, "/openapi.yaml");
    for _ in 0..12 {
        client.take(1, 1 << 10);
        wait_out_an_idle_one(&site);
    }
    client.take(1, 1 << 20);
    client.take(0, 1 << 20);
    let frames = client.until_the_end_of(1);
    assert_eq!((goaway(&frames), taken(&frames)), (None, site.run(&["openapi"]).stdout.len()));
}

/// Returns a client that has requested more than the kernel and h2 buffer, with a window that is large enough for all
/// answers.
fn ask_for_much(site: &Site) -> Client {
    let mut client = Client::connect(site.port, &[(WINDOW, WIDE)]);
    client.take(0, WIDE / 2);
    for stream in (1..).step_by(2).take(MUCH) {
        client.get(stream, "/openapi.yaml");
    }
    client
}

const MUCH: usize = 60;

#[test]
fn a_client_that_reads_slowly_gets_all_of_its_answers() {
    let Some(site) = serve("http2-slowly", &["--write-timeout", "1s", "--idle-timeout", "100ms"]) else {
        return;
    };
    let (mut client, mut frames) = (ask_for_much(&site), vec![]);
    while ended(&frames) < MUCH {
        // The client reads some hundred kilobytes at a time, and in total takes longer than a write may stall.
        if frames.len() % 30 == 0 {
            wait_out_an_idle_one(&site);
        }
        frames.push(client.next().expect("they go on"));
    }
    assert_eq!((goaway(&frames), taken(&frames)), (None, MUCH * site.run(&["openapi"]).stdout.len()));
}

#[test]
fn a_client_with_open_windows_that_reads_nothing_is_disconnected() {
    let Some(site) = serve("http2-stalled", &["--write-timeout", "1s", "--idle-timeout", "1500ms"]) else {
        return;
    };
    let mut client = ask_for_much(&site);
    // If a client leaves answers in h2's buffers, the server sends a GOAWAY after the write timeout, and closes the
    // connection after the same time again.
    wait_out_an_idle_one(&site);
    assert!(!client.send(PING, 0, 0, b"too late"));
}
