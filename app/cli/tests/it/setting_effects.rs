//! The effect of each setting on the binary. A setting without a case fails the test.

mod bans;
mod bounds;
mod damage;
mod deadlines;
mod log;
mod redis;
mod serving;
mod webhooks;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};

use crate::child_process;
use crate::common::{Answer, Client, PATIENT, Site};

/// A case, and the settings whose effect it shows.
type Case = (&'static [&'static str], fn());

const CASES: &[Case] = &[
    (&["listen", "ops-listen", "base-path", "public-url", "hosts"], serving::addresses),
    (&["trusted-proxies", "address-limit"], serving::whose_address_it_is),
    (&["end-with-stdin", "ready-json"], child_process::ends_with_its_input),
    (&["threads"], serving::threads),
    (&["admin-socket", "db", "demo", "initial-key-file"], serving::files),
    (&["db-password-file"], serving::the_password_of_a_database),
    (&["redis-url", "redis-prefix"], redis::one_quota),
    (&["redis-password-file"], redis::the_password),
    (&["redis-allow-eviction"], redis::eviction),
    (&["quota-fallback"], redis::fallback),
    (&["pg-prepare"], serving::statements_that_are_not_prepared),
    (&["pg-require-sync"], serving::a_node_that_requires_a_standby),
    (&["drop-damaged-wal"], damage::drop_damaged_wal),
    (&["rename-collisions"], serving::names_that_read_the_same),
    (&["cors", "require-if-match"], serving::answers),
    (&["quota-headers"], serving::quota_headers),
    (&["gzip"], serving::gzip),
    (&["tls-cert", "tls-key"], serving::tls),
    (&["enforce-sunset"], serving::the_sunset),
    (&["sandbox", "sandbox-anywhere", "sandbox-shop"], serving::the_sandbox),
    (&["sandbox-journal", "sandbox-journal-bytes", "sandbox-journal-body"], bounds::the_journal),
    (&["free-minute", "free-day", "pro-minute", "pro-day", "business-minute", "business-day"], bounds::plans),
    (&["idempotency-life", "idempotency-max"], bounds::retries),
    (&["event-retention", "event-bytes"], bounds::events),
    (&["in-flight-max"], bounds::requests_in_flight),
    (&["connections-max", "idle-timeout-crowded"], bounds::connections),
    (&["body-max"], bounds::bodies),
    (&["turn-timeout"], bounds::turns),
    (&["ban-strikes", "ban-length", "ban-length-max"], bans::lengths),
    (&["ban-memory"], bans::memory),
    (&["head-timeout"], deadlines::head),
    (&["body-timeout"], deadlines::body),
    (&["idle-timeout"], deadlines::idle),
    (&["write-timeout"], deadlines::write),
    (&["store-timeout"], deadlines::store),
    (&["drain-timeout"], deadlines::drain),
    (&["overlap"], deadlines::overlap),
    (&["webhooks", "webhook-allow", "webhook-key-file", "webhook-ca"], webhooks::start),
    (&["webhook-starts"], webhooks::starts),
    (&["log", "log-sample"], log::levels),
    (&["log-format"], log::formats),
    (&["log-client"], log::clients),
    (&["log-slow"], log::slow),
];

/// The number of cases that run concurrently. Most of them wait most of the time.
const AT_ONCE: usize = 4;

#[test]
fn each_setting_has_an_effect() {
    let table = String::from_utf8(Site::new("acts").run(&["settings", "--markdown"]).stdout).unwrap();
    let settings: BTreeSet<_> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let tried: BTreeSet<_> = CASES.iter().flat_map(|(keys, _)| keys.iter().copied()).collect();
    assert_eq!(tried, settings, "the settings that have a case, and those that there are");

    let waiting = Mutex::new(CASES.iter());
    let (failed, failures) = channel();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let (waiting, failed) = (&waiting, failed.clone());
            scope.spawn(move || {
                while let Some((keys, case)) = { waiting.lock().unwrap().next() } {
                    if std::panic::catch_unwind(case).is_err() {
                        failed.send(*keys).unwrap();
                    }
                }
            });
        }
        drop(failed);
    });
    let failures: Vec<_> = failures.into_iter().collect();
    assert!(failures.is_empty(), "not seen to act: {failures:?}");
}

/// A server with settings, and the key of its first account.
struct Trial {
    site: Site,
    key: String,
}

impl Trial {
    /// Starts a server in memory.
    fn new(name: &str, args: &[&str]) -> Self {
        Self::with(name, &[&["--db", "memory"][..], args].concat())
    }

    fn with(name: &str, args: &[&str]) -> Self {
        let mut site = Site::new(&format!("acts-{name}"));
        let key = site.new_key();
        site.serve(args, &[("PETSTORE_INITIAL_KEY", &key), PATIENT]);
        Self { site, key }
    }

    fn client(&self) -> Client {
        Client::connect(self.site.port, &self.key).unwrap()
    }

    /// Sends one request on a new connection.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        self.client().ask(method, path, headers, body).unwrap()
    }

    /// Sends these bytes on a new connection, and returns everything up to the end of the connection.
    fn raw(&self, bytes: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes.as_bytes()).unwrap();
        read(&mut stream)
    }

    /// Sends a GET with the key and these fields. Returns the answer with its head.
    fn get(&self, path: &str, fields: &str) -> String {
        let key = &self.key;
        self.raw(&format!("GET {path} HTTP/1.1\r\nx-api-key: {key}\r\nconnection: close\r\n{fields}\r\n"))
    }

    /// Opens a connection with a read timeout that suffices for a slow machine.
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.site.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends the head of a request with a body of ten bytes. The request passes the gate and waits for its body.
    fn held(&self) -> TcpStream {
        let mut stream = self.connect();
        let key = &self.key;
        let opening = format!(
            "POST /v1/categories HTTP/1.1\r\nhost: h\r\nx-api-key: {key}\r\ncontent-type: application/json\r\n\
             expect: 100-continue\r\ncontent-length: 10\r\n\r\n"
        );
        stream.write_all(opening.as_bytes()).unwrap();
        let mut interim = [0; 25];
        stream.read_exact(&mut interim).unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream
    }

    /// Sets the sandbox's clock.
    fn clock(&self, turn: &Value) {
        assert_eq!(self.ask("POST", "/sandbox/clock", "", &turn.to_string()).status, 200);
    }

    /// Advances the sandbox's clock.
    fn later(&self, by: &str) {
        self.clock(&json!({"advance": by}));
    }

    /// Runs an administrative command and returns its JSON output.
    fn run(&self, args: &[&str]) -> Value {
        let output = self.site.run(&[args, &["--db", "memory", "--json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn id(&self) -> u32 {
        self.site.server.as_ref().unwrap().id()
    }
}

/// Reads up to the end of the connection, which may be a reset.
fn read(stream: &mut TcpStream) -> String {
    let (mut all, mut buffer) = (Vec::new(), [0; 16_384]);
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        all.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Returns the error of a start that is refused.
fn refused(args: &[&str]) -> String {
    let output = Command::new(crate::common::BINARY).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}
