//! The command line of a record, executed in a shell: the same request arrives again.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{free_port, tools};
use crate::sandbox::Sandbox;

/// Returns the parts of a record that a repetition must have, too.
fn essence(record: &Value) -> Value {
    let mut headers: Vec<_> = record["headers"].as_array().unwrap().clone();
    headers.retain(|header| !["host", "content-length", "connection"].contains(&header[0].as_str().unwrap()));
    headers.sort_by_key(ToString::to_string);
    json!([
        record["method"],
        record["target"],
        headers,
        record["body"],
        record["bodyEncoding"],
        record["bodyBytes"]
    ])
}

#[test]
fn the_command_line_sends_the_same_bytes_again() {
    if !tools::can_run("curl", "--version") {
        return;
    }
    let sandbox = Sandbox::start("journal-curl", &["--db", "memory", "--demo", "3"]);
    let active = "\u{1b}]0;title\u{7}\u{1b}[2J \u{9b}31m \u{202e}evil\u{2028}'\"`$(id)\\n%s%%\n\r\n\t<script>alert(1)</script>";
    let large: String = ('\u{20}'..='\u{7e}').cycle().take(60_000).collect();
    let bodies: [Vec<u8>; 11] = [
        b"--b\r\n\r\nx\r\n--b--\r\n".to_vec(),
        b"-n\r".to_vec(),
        b"-x 'y'".to_vec(),
        br#"{"name":"O'Hare","categoryId":1}"#.to_vec(),
        b"@/etc/passwd".to_vec(),
        b"pet_whiskers... cute".to_vec(),
        active.as_bytes().to_vec(),
        (0..=255).collect(),
        b"\0\n\n".to_vec(),
        [active.as_bytes(), large.as_bytes()].concat(),
        [&b"\x80"[..], large.as_bytes()].concat(),
    ];
    let key = &sandbox.key;
    for (number, body) in bodies.iter().enumerate() {
        let head = format!(
            "POST /v1/pets?a=[1-3]&b={{x,y}}&c=%20'%22$HOME/../. HTTP/1.1\r\nhost: localhost:{}\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\nx-empty:\r\nx-odd: '\"`$(id)\\ \u{1f407}\u{e9} $KEY\r\nx-odd: @b\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n",
            sandbox.site.port,
            body.len()
        );
        repeat(&sandbox, &[head.as_bytes(), body].concat(), number);
    }
    let port = sandbox.site.port;
    for (number, (line, more)) in [
        ("GET /v1/./pets/../pets?x=\u{e4} HTTP/1.1".to_owned(), "accept: a/b\r\nuser-agent: me\r\n"),
        (format!("GET http://localhost:{port}/v1/pets HTTP/1.1"), "x-bytes: \u{1f407}\r\n"),
        ("DELETE /v1/pets/1 HTTP/1.1".to_owned(), ""),
        ("HEAD /v1/pets HTTP/1.1".to_owned(), ""),
        ("SUBSCRIBE /v1/pets HTTP/1.1".to_owned(), ""),
    ]
    .into_iter()
    .enumerate()
    {
        let head = format!(
            "{line}\r\nhost: localhost:{port}\r\nx-api-key: {key}\r\nconnection: close\r\n{more}\r\n"
        );
        repeat(&sandbox, head.as_bytes(), 100 + number);
    }
}

#[test]
fn the_command_line_reaches_the_server_whose_port_the_client_left_out() {
    if !tools::can_run("curl", "--version") {
        return;
    }
    let apart = free_port();
    let apart_listener = format!("127.0.0.1:{apart}");
    for (name, args) in [("curl-port", &[][..]), ("curl-port-ops", &["--ops-listen", &apart_listener])] {
        let sandbox = Sandbox::start(name, &[&["--db", "memory"][..], args].concat());
        let api_port = sandbox.site.port;
        let sandbox_port = if args.is_empty() { api_port } else { apart };
        let read = |path: &str| {
            let mut stream = TcpStream::connect(("127.0.0.1", sandbox_port)).unwrap();
            let head =
                format!("GET {path} HTTP/1.1\r\nhost: localhost:{sandbox_port}\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer.split_once("\r\n\r\n").unwrap().1.to_owned()
        };
        for (number, host) in
            ["localhost", "127.0.0.1:", "tests.localhost", "elsewhere.example"].into_iter().enumerate()
        {
            let head = format!("GET /v1/pets HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
            let _ = sandbox.raw(head.as_bytes()).read_to_end(&mut Vec::new());
            let after = 2 * number;
            let of_host = format!("/sandbox/requests?after={after}&count=1&wait=10");
            let sent: Value = serde_json::from_str(&read(&of_host)).unwrap();
            let line = read(&format!("/sandbox/requests/{}?as=curl", sent[0]["id"].as_str().unwrap()));
            let done = Command::new("sh").arg("-c").arg(&line).output().unwrap();
            let again = format!("/sandbox/requests?after={}&count=1&wait=10", after + 1);
            let again: Value = serde_json::from_str(&read(&again)).unwrap();
            assert_eq!(again[0]["headers"][0], json!(["host", host]), "{host}: {line}{done:?}");
        }
    }
}

/// Clients choose the ids of their requests, also such that a path cannot carry, or that would be another path.
#[test]
fn every_id_of_a_client_has_a_command_line() {
    let sandbox = Sandbox::start("journal-curl-ids", &["--db", "memory"]);
    let ids = ["stream", "..", ".", "-", "7", "a.b"];
    for id in ids {
        sandbox.authorized("GET", "/v1/pets", &format!("x-request-id: {id}\r\n"), "");
    }
    sandbox.record(&format!("after={}", ids.len() - 1));
    for (place, id) in ids.iter().enumerate() {
        let escaped = id.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        let number = place + 1;
        for path in [
            format!("~{number}?as=curl"),
            format!("~{number}?sequence={number}&as=curl"),
            format!("{escaped}?as=curl"),
            format!("{id}?sequence={number}&as=curl"),
        ] {
            let reply = sandbox.once("GET", &format!("/sandbox/requests/{path}"), "", "").unwrap();
            let header = format!("'x-request-id: {id}'");
            assert!(reply.status == 200 && reply.body.contains(&header), "{path}: {}", reply.body);
        }
    }
    for path in ["~0", "~7", "~", "~1x", "~1?sequence=2", "~-1"] {
        let reply = sandbox.once("GET", &format!("/sandbox/requests/{path}"), "", "").unwrap();
        assert_eq!(reply.status, 404, "{path}");
    }
}

/// Sends a request, executes its command line, and compares the two records.
fn repeat(sandbox: &Sandbox, request: &[u8], number: usize) {
    assert_eq!(sandbox.once("DELETE", "/sandbox/requests", "", "").unwrap().status, 204);
    let mut answer = Vec::new();
    let _ = sandbox.raw(request).read_to_end(&mut answer);
    let records = sandbox.records("?count=1&wait=10");
    assert_eq!(records.len(), 1, "{number}: {}", String::from_utf8_lossy(&answer));
    let id = records[0]["id"].as_str().unwrap();
    let line = sandbox.once("GET", &format!("/sandbox/requests/{id}?as=curl"), "", "").unwrap().body;
    let is_shown = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    assert!(
        line.chars().all(|c| is_shown(c) && !('\u{200b}'..='\u{202e}').contains(&c)),
        "{number}: {line:?}"
    );
    for (last, shell) in [(1, "sh"), (2, "bash")] {
        let done = Command::new(shell).arg("-c").arg(&line).env("KEY", &sandbox.key).output().unwrap();
        let records = sandbox.records(&format!("?after={last}&count=1&wait=10"));
        let [.., again] = &records[..] else {
            panic!("{number}: nothing arrived: {line}\n{}", String::from_utf8_lossy(&done.stderr));
        };
        assert_eq!(
            essence(again),
            essence(&sandbox.records("?limit=1000")[0]),
            "{number} in {shell}: {line}"
        );
    }
}
