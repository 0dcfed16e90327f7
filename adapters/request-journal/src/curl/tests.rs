use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{ApiKey, Timestamp};

use super::*;
use crate::{AnswerOutcome, HeaderLines, RecordedAnswer, RecordedBody, RecordedRequest};

fn record(method: &str, target: &str, headers: &[(&str, &[u8])], body: &[u8]) -> RequestRecord {
    let mut lines = Vec::new();
    for (name, value) in headers {
        HeaderLines::push(&mut lines, name.as_bytes(), value);
    }
    let request = RecordedRequest {
        id: "one".into(),
        at: Timestamp::EPOCH,
        uptime: Duration::ZERO,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        connection: 1,
        protocol: Protocol::Http11,
        is_secure: false,
        key_prefix: None,
        method: method.to_owned().into(),
        target: target.into(),
        route: None,
        headers: HeaderLines::of_lines(lines),
        tool_call: None,
    };
    let answer = RecordedAnswer {
        at: Timestamp::EPOCH,
        duration: Duration::ZERO,
        outcome: AnswerOutcome::Sent,
        status: Some(200),
        headers: HeaderLines::default(),
        request_body: RecordedBody::new(body.to_vec(), body.len() as u64),
        body: RecordedBody::default(),
        account: None,
        quota: None,
        fault: None,
    };
    RequestRecord { sequence: 1, request: Arc::new(request), answer: Some(Arc::new(answer)) }
}

fn line(record: &RequestRecord) -> String {
    let mut out = Vec::new();
    push_curl(&mut out, record, "localhost:8080");
    String::from_utf8(out).unwrap()
}

#[test]
fn a_plain_request_is_a_plain_line() {
    let headers: [(&str, &[u8]); 4] = [
        ("Host", b"localhost:8080"),
        ("Authorization", b"Bearer pet_12345678..."),
        ("Accept", b"*/*"),
        ("X-Empty", b""),
    ];
    assert_eq!(
        line(&record("GET", "/v1/pets?limit=1", &headers, b"")),
        "curl --globoff --path-as-is --request 'GET' 'http://localhost:8080/v1/pets?limit=1' --header 'Authorization: \
         Bearer '\"$KEY\" --header 'Accept: */*' --header 'X-Empty;' --header 'User-Agent:'\n"
    );
}

#[test]
fn a_line_has_printable_characters_only_and_names_the_keys() {
    let key = ApiKey::from_entropy([7; 32]);
    let key = key.reveal();
    let body = format!("\u{1b}[2J\u{9b} 'q' 50% \\n\n\u{202e}{key},pet_87654321...{key}\0");
    let headers: [(&str, &[u8]); 2] = [("X-A", b"\x1b\xff"), ("Content-Type", b"a/b")];
    let record = record("POST", "/v1/\u{7f}", &headers, body.as_bytes());
    let line = line(&record);
    assert!(!line.trim_end().replace('\n', "").chars().any(is_active), "{line:?}");
    assert!(line.contains("\"$KEY\"','\"$KEY2\"\"$KEY\"'\\000' | curl "), "{line}");
    assert!(line.contains("' '\\''q'\\'' 50%% \\\\n\n'"), "{line}");
    assert!(line.ends_with("--data-binary @-\n"));
}

#[test]
fn a_body_is_no_option_of_the_shell() {
    for (body, expected) in [
        ("--b\r\n--b--\r\n", "printf '\\055''-b''\\015''\n--b--''\\015''\n' | curl "),
        ("-\r", "printf '\\055''\\015' | curl "),
        ("a-\r", "printf 'a-''\\015' | curl "),
    ] {
        let line = line(&record("POST", "/v1/pets", &[], body.as_bytes()));
        assert!(line.starts_with(expected), "{line}");
    }
    let plain = line(&record("POST", "/v1/pets", &[], b"-x"));
    assert!(plain.ends_with(" --data-raw '-x'\n"), "{plain}");
}

#[test]
fn a_text_that_was_not_masked_is_no_key() {
    let text: &[u8] = b"pet_whiskers... cute";
    let headers: [(&str, &[u8]); 2] = [("X-Note", text), ("X-Api-Key", b"pet_12345678...")];
    let line = line(&record("POST", "/v1/pets?q=pet_whiskers...&api_key=pet_12345678...", &headers, text));
    assert!(line.contains("/pets?q=pet_whiskers...&api_key='\"$KEY\" --header"), "{line}");
    assert!(line.contains("'X-Note: pet_whiskers... cute' --header 'X-Api-Key: '\"$KEY\" "), "{line}");
    assert!(line.ends_with(" --data-raw 'pet_whiskers... cute'\n"), "{line}");
}
