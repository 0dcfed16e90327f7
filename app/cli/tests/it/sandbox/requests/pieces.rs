//! Long lists: they are written in pieces, and cost a reader a piece.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::{BufRead, BufReader};
use crate::common::read_chunks;
use crate::sandbox::Sandbox;

/// The number of lists in the journal.
const LISTS: usize = 60;

/// Returns a figure of a process in KiB.
fn kib(sandbox: &Sandbox, name: &str) -> usize {
    let pid = sandbox.site.server.as_ref().unwrap().id();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_end_matches("kB").trim().parse().unwrap()
}

/// Sends a request, and returns the connection after the head of its answer.
fn open(sandbox: &Sandbox, path: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", sandbox.site.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let (mut stream, mut head) = (BufReader::new(stream), String::new());
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "{head}");
    }
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("transfer-encoding: chunked"), "{head}");
    stream
}

#[test]
fn a_reader_of_compressed_answers_costs_one_piece_at_a_time() {
    let mut sandbox = Sandbox::start("journal-pieces", &["--db", "memory"]);
    for number in 0..100 {
        let category = json!({"name": format!("c{number}"), "description": "\u{1f430}".repeat(1_000)});
        assert_eq!(sandbox.status("POST", "/v1/categories", &category.to_string()), 201);
    }
    assert_eq!(sandbox.once("DELETE", "/sandbox/requests", "", "").unwrap().status, 204);
    for _ in 0..LISTS {
        let gzip = "accept-encoding: gzip\r\n";
        let list = sandbox.client.ask("GET", "/v1/categories?limit=100", gzip, "").unwrap();
        assert!(list.status == 200 && list.body.len() < 40_000);
    }
    let before = kib(&sandbox, "VmHWM:");
    // Two clients ask for all, and do not read.
    let waiting =
        ["/sandbox/requests?limit=1000", "/sandbox/requests.har?limit=1000"].map(|path| open(&sandbox, path));
    for (path, entries) in
        [("/sandbox/requests?limit=1000", ""), ("/sandbox/requests.har?limit=1000", "/log/entries")]
    {
        let whole = read_chunks(&mut open(&sandbox, path)).unwrap();
        assert!(whole.len() > LISTS * 400_000, "{path}: {} bytes", whole.len());
        let whole: Value = serde_json::from_slice(&whole).unwrap();
        let entries = whole.pointer(entries).unwrap().as_array().unwrap();
        assert_eq!(entries.len(), LISTS, "{path}");
        assert!(
            entries.iter().all(|entry| entry.to_string().matches('\u{1f430}').count() == 100_000),
            "{path}"
        );
    }
    // A single record is written in the same way.
    let one = read_chunks(&mut open(&sandbox, "/sandbox/requests/~1")).unwrap();
    let one: Value = serde_json::from_slice(&one).unwrap();
    assert_eq!((&one["sequence"], one.to_string().matches('\u{1f430}').count()), (&json!(1), 100_000));
    let growth = kib(&sandbox, "VmHWM:") - before;
    assert!(growth < 12 * 1024, "the readers took {growth} KiB");

    // A reader has the records that the journal had when it asked, also if they are dropped meanwhile.
    assert_eq!(sandbox.once("DELETE", "/sandbox/requests", "", "").unwrap().status, 204);
    for (mut stream, entries) in waiting.into_iter().zip(["", "/log/entries"]) {
        let whole: Value = serde_json::from_slice(&read_chunks(&mut stream).unwrap()).unwrap();
        assert_eq!(whole.pointer(entries).unwrap().as_array().unwrap().len(), LISTS);
    }
}

#[test]
fn a_short_list_is_sent_as_a_whole() {
    let mut sandbox = Sandbox::start("journal-whole", &["--db", "memory", "--demo", "3"]);
    sandbox.status("GET", "/v1/pets", "");
    sandbox.status("POST", "/sandbox/sinks/hook", "{}");
    for path in ["/sandbox/requests", "/sandbox/requests.har", "/sandbox/sinks/hook"] {
        let reply = sandbox.once("GET", path, "", "").unwrap();
        assert_eq!(reply.header("content-length"), reply.body.len().to_string(), "{path}");
    }
    for _ in 0..3 {
        sandbox.status("POST", "/sandbox/sinks/hook", &"\u{1b}".repeat(60_000));
    }
    let body = read_chunks(&mut open(&sandbox, "/sandbox/sinks/hook")).unwrap();
    let list: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((list.as_array().unwrap().len(), body.contains(&0x1b)), (4, false));
    let alone = sandbox.once("HEAD", "/sandbox/sinks/hook", "", "").unwrap();
    assert_eq!((alone.status, &*alone.body), (200, ""));
}
