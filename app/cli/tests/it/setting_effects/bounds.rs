//! The effects of the settings for bounds.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::Value;

use super::Trial;
use crate::common::Client;

pub(crate) fn plans() {
    let limits =
        [("free-minute", 2), ("free-day", 3), ("pro-minute", 4), ("pro-day", 5), ("business-minute", 6)];
    let mut args: Vec<_> = limits.iter().flat_map(|(key, n)| [format!("--{key}"), n.to_string()]).collect();
    args.extend(["--business-day", "7"].map(str::to_owned));
    let trial = Trial::new("plans", &args.iter().map(String::as_str).collect::<Vec<_>>());
    for (plan, minute, day) in [("free", 2, 3), ("pro", 4, 5), ("business", 6, 7)] {
        let key = trial.run(&["keys", "create", "--plan", plan]);
        let mut client = Client::connect(trial.site.port, key["key"].as_str().unwrap()).unwrap();
        let figures: Value =
            serde_json::from_str(&client.ask("GET", "/v1/rate-limit", "", "").unwrap().body).unwrap();
        assert_eq!((&figures["minute"]["limit"], &figures["day"]["limit"]), (&minute.into(), &day.into()));
    }
}

pub(crate) fn retries() {
    let args = ["--sandbox", "--idempotency-life", "1h", "--idempotency-max", "1"];
    let trial = Trial::new("retries", &args);
    let create = |key: &str| {
        let answer =
            trial.ask("POST", "/v1/categories", &format!("idempotency-key: {key}\r\n"), "{\"name\":\"A\"}");
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        (answer.status, body["id"].as_u64())
    };
    assert_eq!((create("first"), create("first")), ((201, Some(1)), (201, Some(1))));
    assert_eq!(create("second").0, 503, "one answer is kept and no more");
    trial.later("59m");
    assert_eq!(create("first"), (201, Some(1)));
    trial.later("2m");
    // The record has expired, so the request is executed again, and is refused because its name is taken.
    assert_ne!(create("first"), (201, Some(1)));
}

pub(crate) fn events() {
    let oldest = |trial: &Trial| {
        let answer = trial.ask("GET", "/v1/events?limit=1", "", "");
        assert_eq!(answer.status, 200, "{}", answer.body);
        let events: Value = serde_json::from_str(&answer.body).unwrap();
        events[0]["sequence"].as_u64()
    };
    let create = |trial: &Trial, number: usize| {
        let body = format!("{{\"name\":\"{number}\",\"description\":\"{}\"}}", "a".repeat(1_000));
        assert_eq!(trial.ask("POST", "/v1/categories", "", &body).status, 201);
    };
    // Housekeeping runs each second.
    let becomes = |trial: &Trial, is_it: &dyn Fn(Option<u64>) -> bool| {
        let is_seen = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            is_it(oldest(trial))
        });
        assert!(is_seen, "the oldest event is {:?}", oldest(trial));
    };
    let trial = Trial::new("event-age", &["--sandbox", "--event-retention", "1h"]);
    create(&trial, 0);
    trial.later("59m");
    create(&trial, 1);
    assert_eq!(oldest(&trial), Some(1));
    trial.later("2m");
    becomes(&trial, &|oldest| oldest == Some(2));
    for db in ["memory", "events.db"] {
        let args = ["--sandbox", "--db", db, "--event-bytes", "65536"];
        let trial = Trial::with(&format!("event-bytes-{db}"), &args);
        (0..90).for_each(|number| create(&trial, number));
        becomes(&trial, &|oldest| oldest.is_some_and(|oldest| (25..80).contains(&oldest)));
    }
}

pub(crate) fn requests_in_flight() {
    for (most, status) in [("1", 429), ("2", 200)] {
        let trial = Trial::new(&format!("in-flight-{most}"), &["--in-flight-max", most]);
        let held = trial.held();
        assert_eq!(trial.ask("GET", "/v1/pets", "", "").status, status, "{most}");
        drop(held);
    }
}

pub(crate) fn connections() {
    let request = "GET /health HTTP/1.1\r\nhost: h\r\n\r\n";
    for (crowded, is_served) in [("1h", false), ("10ms", true)] {
        let args = ["--connections-max", "1", "--idle-timeout-crowded", crowded, "--threads", "1"];
        let trial = Trial::new(&format!("crowded-{crowded}"), &args);
        let mut first = trial.connect();
        let mut byte = [0];
        first.write_all(request.as_bytes()).unwrap();
        first.read_exact(&mut byte).unwrap();
        let mut second = trial.connect();
        second.write_all(request.as_bytes()).unwrap();
        if !is_served {
            second.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            assert_eq!(second.read(&mut byte).unwrap_err().kind(), ErrorKind::WouldBlock);
            second.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            drop(first);
        }
        second.read_exact(&mut byte).unwrap();
    }
}

pub(crate) fn bodies() {
    let trial = Trial::new("bodies", &["--body-max", "20"]);
    let create =
        |name: &str| trial.ask("POST", "/v1/categories", "", &format!("{{\"name\":\"{name}\"}}")).status;
    assert_eq!((create("12345678"), create("1234567890")), (201, 413));
}

/// The maximum number of requests that a crowd sends until one of them is refused.
const CROWD_MAX: usize = 20_000;

pub(crate) fn turns() {
    // With the shortest time, requests are refused. With the longest time, none is.
    for (wait, asked_max, is_shed) in [("10ms", CROWD_MAX, true), ("1h", CROWD_MAX / 10, false)] {
        let args = ["--threads", "1", "--turn-timeout", wait, "--demo", "200"];
        let unlimited = ["--business-minute", "2147483647", "--business-day", "2147483647"];
        let trial = Trial::new(&format!("turns-{wait}"), &[&args[..], &unlimited].concat());
        assert_eq!(crowd(&trial, asked_max), is_shed, "{wait}");
    }
}

/// The size of the crowd: its threads, the connections of each thread, and the requests in flight on each connection.
/// It is large, because the server refuses nothing while fewer than a hundred connections wait.
const THREADS: usize = 8;
const CONNECTIONS: usize = 32;
const BATCH: usize = 5;

/// Sends requests of a crowd, and returns whether one of them is refused.
fn crowd(trial: &Trial, asked_max: usize) -> bool {
    let (asked, shed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let request = format!("GET /v1/pets?limit=100 HTTP/1.1\r\nhost: h\r\nx-api-key: {}\r\n\r\n", trial.key);
    let batch = request.repeat(BATCH);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut streams: Vec<_> = (0..CONNECTIONS).map(|_| trial.connect()).collect();
                while shed.load(Relaxed) == 0 && asked.fetch_add(CONNECTIONS * BATCH, Relaxed) < asked_max {
                    for stream in &mut streams {
                        stream.write_all(batch.as_bytes()).unwrap();
                    }
                    if !streams.iter_mut().all(is_served) {
                        shed.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    shed.into_inner() > 0
}

/// Returns whether every answer of a batch is complete.
fn is_served(stream: &mut TcpStream) -> bool {
    let (mut answers, mut buffer) = (String::new(), [0; 16_384]);
    while answers.matches("HTTP/1.1 200").count() < BATCH {
        let read = stream.read(&mut buffer).unwrap_or(0);
        answers.push_str(&String::from_utf8_lossy(&buffer[..read]));
        if read == 0 || answers.contains("HTTP/1.1 503") {
            return false;
        }
    }
    true
}

pub(crate) fn the_journal() {
    let requests = |trial: &Trial| {
        let answer = trial.ask("GET", "/sandbox/requests", "", "");
        let records = serde_json::from_str::<Value>(&answer.body).unwrap_or_default();
        (answer.status, records.as_array().cloned().unwrap_or_default())
    };
    let trial =
        Trial::new("journal", &["--sandbox", "--sandbox-journal", "2", "--sandbox-journal-body", "4"]);
    for number in 0..3 {
        trial.ask("POST", "/v1/categories", "", &format!("{{\"name\":\"{number}\"}}"));
    }
    let (_, records) = requests(&trial);
    let kept: Vec<_> = records.iter().map(|record| record["sequence"].as_u64().unwrap()).collect();
    assert_eq!(kept, [2, 3]);
    assert_eq!((&records[0]["body"], &records[0]["bodyBytes"]), (&"{\"na".into(), &12.into()));
    let mut head = String::new();
    let mut stream = TcpStream::connect(("127.0.0.1", trial.site.port)).unwrap();
    stream.write_all(b"GET /sandbox/requests HTTP/1.0\r\n\r\n").unwrap();
    stream.read_to_string(&mut head).unwrap();
    assert!(head.contains("\r\nx-dropped: 1\r\n"), "{head}");

    let trial = Trial::new("journal-bytes", &["--sandbox", "--sandbox-journal-bytes", "65536"]);
    for _ in 0..100 {
        trial.ask("POST", "/v1/categories", "", &format!("{{\"name\":\"{}\"}}", "a".repeat(5_000)));
    }
    let kept = requests(&trial).1.len();
    assert!((5..=13).contains(&kept), "{kept}");
    assert_eq!(requests(&Trial::new("no-journal", &["--sandbox", "--sandbox-journal", "0"])).0, 404);
}
