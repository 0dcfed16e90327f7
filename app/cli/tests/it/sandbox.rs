//! A sandbox: resets in milliseconds, an adjustable clock, planned failures, sinks for webhooks.

mod access;
mod baseline;
mod changed_answers;
mod clock;
mod deliveries;
mod faults;
mod keys;
mod mcp;
mod receivers;
mod report;
mod requests;
mod reset;
mod scopes;
mod sinks;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Client, Site, read_chunks};

/// A sandbox and a client.
struct Sandbox {
    site: Site,
    key: String,
    client: Client,
}

/// The parts of an answer that these tests check.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{} {}", self.head, self.body))
    }
}

impl Sandbox {
    fn start(name: &str, args: &[&str]) -> Self {
        let site = Site::served(name, &[&["--sandbox"][..], args].concat());
        let key = site.printed_key();
        let client = Client::connect(site.port, &key).unwrap();
        Self { site, key, client }
    }

    fn reset(&mut self) {
        assert_eq!(self.client.ask("POST", "/sandbox/reset", "", "").unwrap().status, 204);
    }

    /// Sets the clock, and returns the time that it then shows.
    fn clock(&mut self, turn: &Value) -> String {
        let answer = self.client.ask("POST", "/sandbox/clock", "", &turn.to_string()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap()["now"].as_str().unwrap().to_owned()
    }

    fn plan(&mut self, plan: &Value) {
        let answer = self.client.ask("PUT", "/sandbox/faults", "", &plan.to_string()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    fn status(&mut self, method: &str, path: &str, body: &str) -> u16 {
        self.client.ask(method, path, "", body).unwrap().status
    }

    /// Sends one request with these headers on a new connection. None if there is no answer.
    fn once(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<Reply> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.site.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let length = body.len();
        let kind = if headers.contains("content-type: ") { "" } else { "content-type: application/json\r\n" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\
             {kind}{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let body = if head.contains("\r\ntransfer-encoding: chunked") {
            String::from_utf8(read_chunks(&mut body.as_bytes()).ok()?).ok()?
        } else {
            body.to_owned()
        };
        Some(Reply { status, head: head.to_owned(), body })
    }

    /// Sends one request with the key and these headers on a new connection.
    fn authorized(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<Reply> {
        self.once(method, path, &format!("x-api-key: {}\r\n{headers}", self.key), body)
    }

    fn get(&self, path: &str) -> Reply {
        self.authorized("GET", path, "", "").unwrap()
    }
}

/// The arguments for each kind of store that a sandbox may have.
const STORES: [&[&str]; 2] = [&["--db", "memory", "--demo", "100"], &["--demo", "100"]];
