//! The effects of the settings for deadlines.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Trial, read};
use crate::common::strace::{end, inject};
use crate::common::tools;

#[expect(clippy::disallowed_methods, reason = "that a wait is shorter than the default is what is looked at")]
fn now() -> Instant {
    Instant::now()
}

/// Runs a function, which must end within this time. With the default of the setting it would take longer.
fn sooner<T>(than: Duration, what: impl FnOnce() -> T) -> T {
    let begun = now();
    let done = what();
    assert!(begun.elapsed() < than, "{:?}", begun.elapsed());
    done
}

pub(crate) fn head() {
    let trial = Trial::new("head-timeout", &["--head-timeout", "50ms"]);
    let answer = sooner(Duration::from_secs(10), || trial.raw("GET /v1/pets HTTP/1.1\r\nhost: h"));
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

pub(crate) fn body() {
    let trial = Trial::new("body-timeout", &["--body-timeout", "50ms"]);
    let mut held = trial.held();
    let answer = sooner(Duration::from_secs(15), || read(&mut held));
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

pub(crate) fn idle() {
    let trial = Trial::new("idle-timeout", &["--idle-timeout", "50ms"]);
    // The idle connection must end within thirty seconds, because with the default it would end after sixty.
    let answer = sooner(Duration::from_secs(30), || trial.raw("GET /health HTTP/1.1\r\nhost: h\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// The number of requests whose answers fill all buffers between the server and a client that does not read.
const UNREAD: usize = 500;

pub(crate) fn write() {
    let trial = Trial::new("write-timeout", &["--write-timeout", "50ms"]);
    let mut client = trial.connect();
    let ends = format!(":{:04X} 0100007F:{:04X} ", trial.site.port, client.local_addr().unwrap().port());
    // The tenth field of a socket has its inode, which is zero after the server has closed its end.
    let is_open = || {
        let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let end = sockets.lines().find(|line| line.contains(&ends));
        end.is_some_and(|end| end.split_whitespace().nth(9) != Some("0"))
    };
    let request = "GET /openapi.yaml HTTP/1.1\r\nhost: h\r\n\r\n";
    client.write_all(request.repeat(UNREAD).as_bytes()).unwrap();
    let mut first = [0];
    client.read_exact(&mut first).unwrap();
    sooner(Duration::from_secs(10), || {
        while is_open() {
            std::thread::yield_now();
        }
    });
    let answers = read(&mut client).matches("HTTP/1.1 200").count();
    assert!(answers < UNREAD, "{answers}");
}

pub(crate) fn store() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let trial = Trial::with("store-timeout", &["--store-timeout", "50ms"]);
    // The delay, in microseconds, is half of the default, so only the changed setting makes the request fail.
    let strace = inject("fsync,fdatasync:delay_enter=1000000", trial.id());
    let refused = trial.ask("POST", "/v1/categories", "", "{\"name\":\"A\"}").status;
    end(strace);
    assert_eq!(refused, 503);
}

pub(crate) fn drain() {
    let mut trial = Trial::new("drain-timeout", &["--drain-timeout", "50ms"]);
    let held = trial.held();
    let mut server = trial.site.server.take().unwrap();
    let id = server.id().to_string();
    let code = sooner(Duration::from_secs(8), || {
        assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        server.wait().unwrap().code()
    });
    assert_eq!(code, Some(1), "an answer was cut off");
    drop(held);
}

pub(crate) fn overlap() {
    let trial = Trial::new("overlap", &["--sandbox", "--overlap", "10m"]);
    trial.clock(&json!({"set": "2030-01-01T00:00:00Z", "freeze": true}));
    std::fs::write(trial.site.folder.join("p.toml"), "overlap = \"20m\"\n").unwrap();
    let (file, variable) = (["--config", "p.toml"], Some("30m"));
    for (key, (args, variable, end)) in (1..).zip([
        (&[][..], None, "00:10"),
        (&file, None, "00:20"),
        (&file, variable, "00:30"),
        (&[], variable, "00:30"),
        (&["--overlap", "40m"], variable, "00:40"),
    ]) {
        let rotate = ["keys", "rotate", &key.to_string(), "--db", "memory", "--json"];
        let mut command = trial.site.command(&[&rotate, args].concat());
        let rotated = command.envs(variable.map(|time| ("PETSTORE_OVERLAP", time))).output().unwrap();
        let rotated: Value = serde_json::from_slice(&rotated.stdout).unwrap();
        assert_eq!(
            rotated["replaced"]["expiresAt"],
            format!("2030-01-01T{end}:00.000Z"),
            "{args:?} {variable:?}"
        );
    }
}
