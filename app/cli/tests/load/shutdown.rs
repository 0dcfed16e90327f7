//! Stops under load: every request is answered, unless a second signal arrives.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::alone;
use crate::common::{Site, free_port};

const CLIENTS: usize = 16;

/// The time within which a server must end.
const END_MAX: Duration = Duration::from_secs(10);

#[allow(clippy::disallowed_methods, reason = "how long an end takes is what is measured")]
fn now() -> Instant {
    Instant::now()
}

fn serve(name: &str) -> (Site, String) {
    let mut site = Site::new(name);
    site.serve(&["--demo", "100"], &[]);
    let key = site.printed_key();
    let unlimited = ["accounts", "update", "default", "--minute", "2147483647", "--day", "2147483647"];
    assert!(site.run(&unlimited).status.success());
    (site, key)
}

/// Sends requests on one connection until the server closes it. Returns the number of requests without an answer.
fn hammer(port: u16, request: &str, answered: &AtomicUsize) -> usize {
    loop {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return 0 };
        stream.set_read_timeout(Some(END_MAX)).unwrap();
        loop {
            if stream.write_all(request.as_bytes()).is_err() {
                break;
            }
            match read_answer(&mut stream) {
                Some(answer) => {
                    assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
                    answered.fetch_add(1, Ordering::SeqCst);
                    if answer.contains("connection: close") {
                        break;
                    }
                }
                None => return 1,
            }
        }
    }
}

/// Returns the head of a complete answer; none if the connection ends first.
fn read_answer(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if body.len() >= length.parse().unwrap() {
            return Some(head.to_owned());
        }
    }
}

#[test]
fn a_signal_under_load_drops_no_answer() {
    let _alone = alone();
    for round in 0..3 {
        let (mut site, key) = serve(&format!("ends-{round}"));
        let fields = format!("Host: h\r\nAuthorization: Bearer {key}\r\n");
        let get = format!("GET /v1/pets?limit=5 HTTP/1.1\r\n{fields}\r\n");
        let body = "{\"quantity\":5}";
        let patch = format!(
            "PATCH /v1/inventory/7 HTTP/1.1\r\n{fields}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (answered, port) = (AtomicUsize::new(0), site.port);
        let took = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|number| {
                    let (request, answered) = (if number % 2 == 0 { &get } else { &patch }, &answered);
                    scope.spawn(move || hammer(port, request, answered))
                })
                .collect();
            while answered.load(Ordering::SeqCst) < 500 {
                assert!(clients.iter().any(|client| !client.is_finished()), "all clients have stopped");
                std::thread::yield_now();
            }
            let signalled = now();
            site.signal("-TERM");
            let status = site.server.as_mut().unwrap().wait().unwrap();
            let took = signalled.elapsed();
            let dropped: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
            assert_eq!((dropped, status.code()), (0, Some(0)), "answers dropped, and the exit code");
            took
        });
        println!("{} answers, none dropped, ended in {took:?}", answered.into_inner());
        assert!(took < END_MAX, "{took:?}");
        site.server = None;
    }
}

/// Sends the head of a request with a body. Returns whether the request has passed the gate and waits for its body.
fn awaits_its_body(stream: &mut TcpStream, key: &str) -> bool {
    let opening = format!(
        "POST /v1/categories HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {key}\r\nContent-Type: \
         application/json\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n"
    );
    let mut interim = [0; 12];
    stream.write_all(opening.as_bytes()).and_then(|()| stream.read_exact(&mut interim)).is_ok()
        && &interim == b"HTTP/1.1 100"
}

#[test]
fn a_second_signal_stops_the_server_at_once() {
    let _alone = alone();
    let (mut site, key) = serve("twice");
    // This request has passed the gate and waits for its body, so the drain waits for it.
    let mut held = TcpStream::connect(("127.0.0.1", site.port)).unwrap();
    assert!(awaits_its_body(&mut held, &key));
    site.signal("-TERM");
    // The server has begun to stop when it refuses new connections.
    while TcpStream::connect(("127.0.0.1", site.port)).is_ok() {
        std::thread::yield_now();
    }
    assert!(site.server.as_mut().unwrap().try_wait().unwrap().is_none(), "it waits for its last answer");
    let signalled = now();
    // The server counts a stop signal that soon follows the first one as the same request. So the loop sends signals
    // until the server has ended.
    let status = loop {
        site.signal("-TERM");
        if let Some(status) = site.server.as_mut().unwrap().try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(1));
    // Without the second signal, the drain would take eight seconds.
    assert!(signalled.elapsed() < Duration::from_secs(4), "{:?}", signalled.elapsed());
    site.server = None;
}

#[test]
fn signals_at_the_same_time_count_as_one() {
    let _alone = alone();
    // GNU `timeout` sends several signals. Two signals of the same kind may arrive as one, but not two of different
    // kinds.
    for both in ["kill -TERM $0; kill -TERM $0", "kill -TERM $0; kill -INT $0"] {
        let mut site = Site::served("together", &[]);
        let id = site.server.as_ref().unwrap().id().to_string();
        assert!(Command::new("sh").args(["-c", both, &id]).status().unwrap().success());
        assert_eq!(site.server.take().unwrap().wait().unwrap().code(), Some(0), "{both}");
    }
}

#[test]
fn an_incomplete_head_does_not_delay_a_stop() {
    let _alone = alone();
    let ops = free_port();
    // No deadline ends the incomplete heads within an hour.
    let waits = ["--drain-timeout", "1h", "--head-timeout", "1h", "--idle-timeout", "1h"];
    let ops_listen = format!("127.0.0.1:{ops}");
    let args = [&["--db", "memory", "--ops-listen", &ops_listen], &waits[..]].concat();
    let mut site = Site::served("half-head", &args);
    let whole = "GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let halves = [("", site.port), ("", ops), (whole, site.port), (whole, ops)].map(|(before, port)| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(before.as_bytes()).unwrap();
        assert!(before.is_empty() || read_answer(&mut stream).is_some());
        stream.write_all(b"GET /health HTTP/1.1\r\nHo").unwrap();
        stream
    });
    let signalled = now();
    site.signal("-TERM");
    let server = site.server.as_mut().unwrap();
    while server.try_wait().unwrap().is_none() && signalled.elapsed() < END_MAX {
        std::thread::yield_now();
    }
    assert_eq!(server.try_wait().unwrap().and_then(|status| status.code()), Some(0));
    site.server = None;
    for mut half in halves {
        assert!(!matches!(half.read(&mut [0]), Ok(1..)), "no answer comes");
    }
}

#[test]
fn a_client_that_reads_nothing_does_not_make_a_stop_fail() {
    let _alone = alone();
    let mut site = Site::served("takes-nothing", &["--db", "memory", "--drain-timeout", "4s"]);
    let mut idle = TcpStream::connect(("127.0.0.1", site.port)).unwrap();
    idle.write_all(&b"GET /openapi.yaml HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100)).unwrap();
    // The client has received the first answer, and more answers fill all buffers.
    assert_eq!(idle.peek(&mut [0]).unwrap(), 1);
    site.stop();
}

/// Returns the ids that a server generates for the first requests without one.
fn made_ids(port: u16) -> Vec<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    (0..200)
        .map(|_| {
            stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
            let head = read_answer(&mut stream).unwrap();
            let id = head.lines().find_map(|line| line.strip_prefix("x-request-id: "));
            id.unwrap().to_owned()
        })
        .collect()
}

#[test]
fn request_ids_are_unique_over_listeners_and_restarts() {
    let _alone = alone();
    let mut site = Site::new("request-ids");
    let ops = free_port();
    let mut ids = Vec::new();
    for _ in 0..3 {
        site.serve(&["--threads", "1", "--ops-listen", &format!("127.0.0.1:{ops}")], &[]);
        ids.extend(made_ids(ops));
        // This listener answers 404 for /health, but every answer has an id.
        ids.extend(made_ids(site.port));
        site.stop();
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "some came again");
}

#[test]
fn a_start_that_is_stopped_during_the_demonstration_leaves_no_data() {
    let _alone = alone();
    let mut site = Site::new("stopped-demo");
    let mut server = site.command(&["--demo", "10000000"]).stderr(Stdio::null()).spawn().unwrap();
    // The server creates the admin socket before it begins to fill in the demonstration data.
    while !site.folder.join("petstore.db.sock").exists() {
        assert_eq!(server.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    site.server = Some(server);
    let signalled = now();
    site.signal("-TERM");
    assert_eq!(site.server.take().unwrap().wait().unwrap().code(), Some(0));
    assert!(signalled.elapsed() < END_MAX, "{:?}", signalled.elapsed());
    let log = site.log_of_start(&["--demo", "3"], &[]);
    assert!(!log.contains("is not empty"), "{log}");
    let exported = site.run(&["export", "-"]);
    assert_eq!(String::from_utf8_lossy(&exported.stdout).lines().count(), 10 + 3 + 3);
}

#[test]
fn a_stop_does_not_wait_for_the_reader_of_the_log() {
    let _alone = alone();
    let site = Site::new("unread-log");
    // Standard error of the server is a full pipe that is not read.
    let (reader, mut writer) = std::io::pipe().unwrap();
    let stderr = writer.try_clone().unwrap();
    std::thread::spawn(move || while writer.write(&[b'x'; 4_096]).is_ok() {});
    let key = site.new_key();
    let mut server = site.command(&["--db", "memory", "--drain-timeout", "300ms"]);
    let mut server = server.env("PETSTORE_INITIAL_KEY", &key).stderr(stderr).spawn().unwrap();
    // This request gets no answer, and the server logs at its stop that the request was cut off. The log cannot be read
    // here, so the server's readiness is found by sending requests.
    let _held = loop {
        if let Ok(mut held) = TcpStream::connect(("127.0.0.1", site.port))
            && awaits_its_body(&mut held, &key)
        {
            break held;
        }
        std::thread::yield_now();
    };
    let signalled = now();
    let id = server.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    while server.try_wait().unwrap().is_none() && signalled.elapsed() < END_MAX {
        std::thread::yield_now();
    }
    let ended = server.try_wait().unwrap();
    let _ = server.kill();
    assert_eq!(ended.and_then(|status| status.code()), Some(1));
    drop(reader);
}
