//! The bound of the memory: a thousand connections, a hundred thousand unknown keys and ten thousand known ones fit
//! into 128 MiB.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use petstore_domain::ApiKey;
use serde_json::Value;

use crate::alone;
use crate::common::{Client, Site, admin_channel, tools};

const RESIDENT_MAX_KIB: u64 = 128 * 1024;

const CONNECTIONS: usize = 1_000;
const UNKNOWN_KEYS: u32 = 100_000;
const LIVE_KEYS: usize = 10_000;

/// The maximum growth of the memory during the last nine tenths of the unknown keys. A server that stored every unknown
/// key would grow by more.
const UNKNOWN_GROWTH_MAX_KIB: u64 = 2 * 1024;

/// Requests in flight on one connection.
const BATCH: usize = 100;

/// Creates keys, each with a new account. They are created in parallel, because the server syncs each to the disk.
fn make_keys(socket: &Path) -> Vec<String> {
    const HANDS: usize = 8;
    let request = b"{\"ask\":\"create_key\",\"label\":\"\",\"scopes\":\"read,write\"}\n";
    let keys = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..HANDS {
            scope.spawn(|| {
                for _ in 0..LIVE_KEYS / HANDS {
                    let mut stream = admin_channel::connect(socket);
                    stream.write_all(request).unwrap();
                    let mut line = String::new();
                    BufReader::new(stream).read_line(&mut line).unwrap();
                    let answer: Value = serde_json::from_str(&line).unwrap();
                    keys.lock().unwrap().push(answer["secret"].as_str().expect("a key").to_owned());
                }
            });
        }
    });
    keys.into_inner().unwrap()
}

/// Sends a request with each of these keys, in batches. All answers must have this status.
fn ask_with_all(port: u16, keys: impl Iterator<Item = String>, status: &str) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut keys = keys.peekable();
    while keys.peek().is_some() {
        let batch: Vec<_> = keys.by_ref().take(BATCH).collect();
        let request = |key: &String| format!("HEAD /v1/pets HTTP/1.1\r\nHost: h\r\nX-API-Key: {key}\r\n\r\n");
        stream.write_all(batch.iter().map(request).collect::<String>().as_bytes()).unwrap();
        let mut answers = String::new();
        let mut buffer = [0; 16 * 1024];
        while answers.matches("\r\n\r\n").count() < batch.len() {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the server is gone");
            answers.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        }
        assert_eq!(answers.matches(&format!("HTTP/1.1 {status}")).count(), batch.len(), "{answers:.100}");
    }
}

/// Returns well-formed keys that were never created.
fn unknown_keys(numbers: Range<u32>) -> impl Iterator<Item = String> {
    numbers.map(|number| {
        let mut entropy = [0xA5; 32];
        entropy[..4].copy_from_slice(&number.to_le_bytes());
        ApiKey::from_entropy(entropy).reveal().to_owned()
    })
}

/// Returns the server's memory as Linux reports it.
fn kib(site: &Site, name: &str) -> u64 {
    let status = format!("/proc/{}/status", site.server.as_ref().unwrap().id());
    let status = std::fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a server that lives");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_crowd_of_connections_and_keys_fits_into_128_mib() {
    let _alone = alone();
    if !tools::can_run("prlimit", "--version") {
        return;
    }
    let me = std::process::id().to_string();
    assert!(Command::new("prlimit").args(["--pid", &me, "--nofile=4096:"]).status().unwrap().success());
    let mut site = Site::new("memory");
    // The limit of the address is raised, so that every unknown key reaches the look-up.
    site.serve(&["--demo", "1000", "--address-limit", "2147483647"], &[]);
    let keys = make_keys(&site.folder.join("petstore.db.sock"));
    let mut crowd: Vec<_> =
        (0..CONNECTIONS).map(|number| Client::connect(site.port, &keys[number]).unwrap()).collect();
    for client in &mut crowd {
        assert_eq!(client.ask("GET", "/v1/pets?limit=100", "", "").unwrap().status, 200);
    }
    ask_with_all(site.port, unknown_keys(0..UNKNOWN_KEYS / 10), "401");
    let before = kib(&site, "VmRSS:");
    ask_with_all(site.port, unknown_keys(UNKNOWN_KEYS / 10..UNKNOWN_KEYS), "401");
    let growth = kib(&site, "VmRSS:").saturating_sub(before);
    assert!(growth <= UNKNOWN_GROWTH_MAX_KIB, "unknown keys take {growth} KiB");
    ask_with_all(site.port, keys.iter().cloned(), "200");
    for client in crowd.iter_mut().rev() {
        assert_eq!(client.ask("GET", "/v1/pets?limit=100", "", "").expect("it serves on").status, 200);
    }
    let peak = kib(&site, "VmHWM:");
    println!("at most {} MiB, of which unknown keys {growth} KiB", peak / 1024);
    assert!(peak <= RESIDENT_MAX_KIB, "{peak} KiB");
}
