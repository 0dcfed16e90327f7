//! The open files of a process suffice for all connections of both listeners.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::alone;
use crate::common::{BINARY, Site, free_port};

/// The limit of open files.
const FILES: usize = 400;

/// The limits of connections that the server derives from [`FILES`] with one thread, for the operations listener and
/// for the public listener.
const OPS: usize = (FILES - 100 - 5) / 4;
const PUBLIC: usize = FILES - 100 - 5 - OPS;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Sends a request and checks that there is an answer.
fn is_answered(stream: &mut TcpStream) -> bool {
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: h\r\n\r\n").unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).is_ok_and(|()| &answer == b"HTTP/1.1")
}

#[test]
fn the_operators_listener_takes_no_descriptor_of_the_public_one() {
    let _alone = alone();
    let mut site = Site::new("descriptors-apart");
    let ops = free_port();
    // With this setting the server closes no idle connection to make room for a new one.
    let args = ["--db", "memory", "--threads", "1", "--idle-timeout-crowded", "1h"];
    let mut server = Command::new("sh")
        .args(["-c", &format!("ulimit -n {FILES} && exec \"$0\" \"$@\""), BINARY])
        .args(args)
        .args(["--listen", &format!("127.0.0.1:{}", site.port), "--ops-listen", &format!("127.0.0.1:{ops}")])
        .current_dir(&site.folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
    site.server = Some(server);
    assert!(log.any(|line| line.contains("serving")));

    let mut crowd: Vec<_> = (0..OPS).map(|_| connect(ops)).collect();
    assert!(crowd.iter_mut().all(is_answered), "as many as may be");
    // These connections wait in the kernel's accept queue.
    crowd.extend((0..PUBLIC).map(|_| connect(ops)));
    let mut guests: Vec<_> = (0..PUBLIC).map(|_| connect(site.port)).collect();
    let all_are_answered = guests.iter_mut().all(is_answered);
    drop(crowd);
    drop(guests);
    site.stop();
    assert_eq!(log.find(|line| line.contains("could not be accepted")), None);
    assert!(all_are_answered);
}
