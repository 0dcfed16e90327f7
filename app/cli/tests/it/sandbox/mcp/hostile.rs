//! Bodies, names and origins that no client sends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Sandbox, request};

/// Sends raw bytes, and returns the status of the answer.
fn status(sandbox: &Sandbox, head: &str, body: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(("127.0.0.1", sandbox.site.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let length = body.len();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{head}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server may answer before it has read the whole body.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("an answer")
}

#[test]
fn a_page_of_another_name_or_origin_is_refused() {
    let sandbox = Sandbox::start("mcp-rebinding", &["--db", "memory"]);
    let list = request("tools/list", &json!({})).to_string();
    for (head, expected) in [
        ("host: localhost\r\n", 200),
        ("host: 127.0.0.1:1\r\norigin: http://localhost:3000\r\n", 200),
        ("host: evil.example\r\n", 403),
        ("host: localhost.evil.example\r\n", 403),
        ("host: localhost\r\norigin: http://evil.example\r\n", 403),
        ("host: localhost\r\norigin: null\r\n", 403),
        ("host: localhost\r\nsec-fetch-site: cross-site\r\n", 403),
    ] {
        assert_eq!(status(&sandbox, head, list.as_bytes()), expected, "{head}");
    }
}

#[test]
fn a_body_of_64_kib_is_read_and_one_byte_more_is_refused() {
    let sandbox = Sandbox::start("mcp-size", &["--db", "memory"]);
    let mut body = request("ping", &json!({})).to_string().into_bytes();
    body.resize(64 * 1024, b' ');
    assert_eq!(status(&sandbox, "host: localhost\r\n", &body), 200);
    body.push(b' ');
    assert_eq!(status(&sandbox, "host: localhost\r\n", &body), 413);
}

#[test]
fn text_of_another_type_is_no_message_and_no_bytes_have_no_type() {
    let sandbox = Sandbox::start("mcp-type", &["--db", "memory"]);
    let no_body = r#"{"code":-32700,"message":"The request has no body;"#;
    for (rest, status, said) in [
        ("content-length: 2\r\n\r\n{}", 415, "The body must be application/json"),
        ("content-length: 0\r\n\r\n", 400, no_body),
        ("\r\n", 400, no_body),
        ("transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400, no_body),
    ] {
        let head =
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: text/plain\r\n";
        let mut stream = TcpStream::connect(("127.0.0.1", sandbox.site.port)).unwrap();
        stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(said), "{answer}");
    }
}

/// A generator of random numbers: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

#[test]
fn random_messages_get_an_answer_and_no_panic() {
    let mut sandbox = Sandbox::start("mcp-random", &["--db", "memory", "--demo", "3"]);
    let tools = sandbox.message("/mcp", "", &request("tools/list", &json!({}))).json();
    let tools: Vec<_> = tools["result"]["tools"].as_array().unwrap().clone();
    let values = [
        "null",
        "true",
        "0",
        "-1",
        "1e999",
        "12345678901234567890123",
        "\"\"",
        "\"é\\u0000\"",
        "\"../..\"",
        "[]",
        "{}",
        "[[[[[[]]]]]]",
        "[1,\"a\",null]",
        "{\"a\":{\"a\":{\"a\":1}}}",
        "\"%00\"",
        "\"\\ud83d\\ude00\"",
    ];
    let mut random = Random(0x5EED_2026);
    for round in 0..400 {
        // The quota of a minute is that of 60 requests.
        if round % 40 == 0 {
            sandbox.clock(&json!({"advance": "61s"}));
        }
        let tool = &tools[random.below(tools.len())];
        let names: Vec<_> = tool["inputSchema"]["properties"].as_object().unwrap().keys().collect();
        let arguments: Vec<_> = (0..random.below(4))
            .map(|_| {
                let name = if names.is_empty() { "none" } else { names[random.below(names.len())] };
                format!("\"{name}\":{}", values[random.below(values.len())])
            })
            .collect();
        let id = values[random.below(values.len())];
        let name = &tool["name"];
        let mut body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":{name},\"arguments\":{{{}}}}}}}",
            arguments.join(",")
        );
        if round % 4 == 0 {
            let place = random.below(body.len());
            let place = body.floor_char_boundary(place);
            body.truncate(place);
        }
        let reply = sandbox.authorized("POST", "/mcp", "", &body).expect("an answer");
        let answer: Value =
            serde_json::from_str(&reply.body).unwrap_or_else(|_| panic!("{body}: {}", reply.body));
        assert!(matches!(reply.status, 200 | 400), "{body}: {}", reply.status);
        assert_ne!(answer["result"]["structuredContent"]["code"], "internal_error", "{body}");
    }
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let id = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}}", "9".repeat(60_000));
    for body in [deep, id] {
        assert_eq!(sandbox.once("POST", "/mcp", "", &body).unwrap().status, 400);
    }
}
