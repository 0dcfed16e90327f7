//! The server as the child of another program: it ends with its standard input, and prints its addresses as JSON.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::common::{Client, Site};

const CHILD: [&str; 6] = ["--db", "memory", "--listen", "127.0.0.1:0", "--end-with-stdin", "--ready-json"];

/// A server whose standard input, output and error are pipes.
struct Started {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
    ready: Value,
    site: Site,
}

impl Started {
    fn new(name: &str, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let site = Site::new(name);
        let mut command = site.command(&[&CHILD[..], args].concat());
        command
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let (input, mut output) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        Self { server, input, output, ready, site }
    }

    fn text(&self, member: &str) -> &str {
        self.ready[member].as_str().unwrap_or_else(|| panic!("{member}: {}", self.ready))
    }

    fn port(&self) -> u16 {
        self.text("url")
            .strip_prefix("http://127.0.0.1:")
            .unwrap()
            .strip_suffix("/v1")
            .unwrap()
            .parse()
            .unwrap()
    }

    /// Waits for the end. Returns the status, the rest of the output, and the log.
    fn ended(&mut self) -> (ExitStatus, String, String) {
        let (mut rest, mut log) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).unwrap();
        self.server.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.server.wait().unwrap(), rest, log)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn the_line_of_json_has_the_addresses_and_the_first_key() {
    let mut started = Started::new("ready", &["--sandbox", "--ops-listen", "127.0.0.1:0"], &[]);
    let mut client = Client::connect(started.port(), started.text("key")).unwrap();
    let answer = client.ask("GET", "/v1/pets", "", "").unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, "[]"));
    let operations = started.text("operations").to_owned();
    assert_eq!(started.text("sandbox"), format!("{operations}/sandbox"));
    assert_ne!(operations, started.text("url").replace("/v1", ""));
    let mut probe = TcpStream::connect(operations.strip_prefix("http://").unwrap()).unwrap();
    write!(probe, "GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut ready = String::new();
    probe.read_to_string(&mut ready).unwrap();
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    assert_eq!(started.ready["pid"], started.server.id());
    let version = String::from_utf8(started.site.run(&["--version"]).stdout).unwrap();
    let told = format!("petstore {} ({})\n", started.text("version"), started.text("commit"));
    assert_eq!(told, version);
    started.input = None;
    let (status, rest, _) = started.ended();
    assert_eq!((status.code(), rest.as_str()), (Some(0), ""), "one line, and the key only in it");
}

/// The effect of the two settings: a line of JSON, and the end.
pub(crate) fn ends_with_its_input() {
    let mut started = Started::new("acts-child", &[], &[]);
    assert!(started.text("url").ends_with("/v1"));
    started.input = None;
    assert_eq!(started.ended().0.code(), Some(0));
}

#[test]
fn a_key_that_was_given_is_not_printed() {
    let key = Site::new("given").new_key();
    let mut started = Started::new("given", &[], &[("PETSTORE_INITIAL_KEY", &key)]);
    assert_eq!((&started.ready["key"], &started.ready["sandbox"]), (&Value::Null, &Value::Null));
    assert_eq!(started.text("operations"), started.text("url").replace("/v1", ""));
    started.input = None;
    assert_eq!(started.ended().0.code(), Some(0));
}

#[test]
fn the_server_ends_with_its_standard_input_after_the_request_in_flight() {
    let mut started = Started::new("stdin", &[], &[]);
    let mut input = started.input.take().unwrap();
    input.write_all(b"what is written is ignored\n").unwrap();
    let body = r#"{"name": "Hamsters", "description": "x"}"#;
    let mut stream = TcpStream::connect(("127.0.0.1", started.port())).unwrap();
    write!(
        stream,
        "POST /v1/categories HTTP/1.1\r\nhost: h\r\nx-api-key: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nexpect: 100-continue\r\n\r\n",
        started.text("key"),
        body.len()
    )
    .unwrap();
    // The interim response shows that the request is in flight.
    let mut answer = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    answer.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 100"), "{line}");
    drop(input);
    stream.write_all(body.as_bytes()).unwrap();
    let mut rest = String::new();
    answer.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("HTTP/1.1 201"), "{rest}");
    let (status, _, log) = started.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("standard input has ended: stopping") && log.contains("\"stopped\""), "{log}");
}

#[test]
fn a_server_ends_when_the_program_that_started_it_is_killed() {
    let site = Site::new("killed-parent");
    // The shell holds the other end of the pipe, and starts the server as a test runner does.
    let script = format!(
        "mkfifo input; {} {} <input >ready & exec 3>input; until [ -s ready ]; do :; done; \
         echo started; read -r _",
        crate::common::BINARY,
        CHILD.join(" ")
    );
    let mut parent = Command::new("sh");
    parent
        .args(["-c", &script])
        .current_dir(&site.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut parent = parent.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    // SIGKILL, so that no handler of the parent runs.
    parent.kill().unwrap();
    parent.wait().unwrap();
    // The server has the only other end of this pipe, so the log ends when the server ends.
    let mut log = String::new();
    parent.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains("standard input has ended") && log.contains("\"stopped\""), "{log}");
}

#[test]
fn without_any_input_the_server_ends_at_once_and_says_why() {
    let site = Site::new("no-input");
    let output = site.command(&CHILD).stdin(Stdio::null()).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && log.contains("standard input has ended"), "{log}");
    // With the setting off, the same input is ignored.
    let mut site = Site::new("ignored-input");
    site.serve(&["--db", "memory"], &[("PETSTORE_END_WITH_STDIN", "false")]);
    site.stop();
}
