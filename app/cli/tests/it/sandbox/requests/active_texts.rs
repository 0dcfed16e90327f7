//! Texts of clients that a terminal or a browser could obey, or that are long: every output of the sandbox has them as text.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Escapes of a terminal, marks of direction, separators and markup. A header may have all of it but the first escape.
const ACTIVE: &str = "\u{9b}31m\u{9d}0;title\u{9c} \u{202e}evil\u{202c}\u{2066}\u{61c}\u{200b}\u{2028}\u{feff} <script>alert(1)</script> '\"\\";

/// Returns whether a terminal shows a character instead of obeying it.
fn is_shown(character: char) -> bool {
    let is_mark = matches!(
        character,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    matches!(character, '\n' | '\t') || !(character.is_control() || is_mark)
}

#[track_caller]
fn check_output(name: &str, text: &str) {
    let found: Vec<_> = text.chars().filter(|character| !is_shown(*character)).collect();
    assert!(found.is_empty(), "{name} has {found:?}");
    assert!(text.len() > 2, "{name} is empty");
}

/// Sends a request with active texts in its path, headers and body, and makes a webhook, a sink's request and an event.
fn send(sandbox: &Sandbox) -> String {
    let body = format!("\u{1b}]0;title\u{7}\u{1b}[2J\0\r\n{ACTIVE}{}", "<b>\u{202e}".repeat(10_900));
    let headers =
        format!("x-odd: {ACTIVE}\r\nx-request-id: {ACTIVE}\r\nuser-agent: {}\r\n", "\u{9b}".repeat(4_000));
    let path = format!("/v1/pets?name={ACTIVE}").replace([' ', '\'', '"', '\\', '<', '>'], "");
    assert_eq!(sandbox.authorized("POST", &path, &headers, &body).unwrap().status, 400);
    // The contract has no control characters in these texts.
    let name: String = ACTIVE.chars().filter(|character| !character.is_control()).collect();
    let hook = json!({"url": format!("http://127.0.0.1:{}/sandbox/sinks/hook", sandbox.site.port),
        "description": &name});
    let made = sandbox.authorized("POST", "/v1/webhooks", "", &hook.to_string()).unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let category = json!({"name": &name, "description": &name});
    let made = sandbox.authorized("POST", "/v1/categories", "", &category.to_string()).unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(sandbox.once("POST", "/sandbox/sinks/texts", &headers, &body[..60_000]).unwrap().status, 204);
    body
}

#[test]
fn texts_of_clients_are_text_in_every_output() {
    let sandbox = Sandbox::start("journal-active", &["--db", "memory", "--demo", "3"]);
    let body = send(&sandbox);
    let records = sandbox.records("?count=3&wait=10");
    let [first, ..] = &records[..] else { panic!("{records:?}") };
    let kept = first["body"].as_str().unwrap();
    assert!(
        body.starts_with(kept) && kept.len() > 65_000,
        "the body is recorded as it was sent: {}",
        kept.len()
    );
    assert_eq!(first["bodyBytes"], body.len());
    let header = |name: &str| {
        first["headers"].as_array().unwrap().iter().find(|header| header[0] == name).unwrap()[1].clone()
    };
    assert_eq!(header("x-odd"), ACTIVE);
    assert_eq!(header("user-agent"), "\u{9b}".repeat(4_000));

    let id = first["id"].as_str().unwrap();
    for path in [
        "requests",
        "requests.har",
        &format!("requests/{id}"),
        &format!("requests/{id}?as=curl"),
        "report",
        "sinks",
        "sinks/texts",
        "sinks/hook?count=1&wait=10",
        "events",
        "keys",
        "webhooks",
    ] {
        check_output(path, &sandbox.once("GET", &format!("/sandbox/{path}"), "", "").unwrap().body);
    }
    let mut frames = super::Frames::open(&sandbox);
    let mut read = String::new();
    while read.matches("data: ").count() < 3 {
        read += &frames.next_line().replace('\r', "");
    }
    check_output("the stream", &read);
    let table = sandbox.once("GET", "/sandbox/report", "accept: text/plain\r\n", "").unwrap().body;
    check_output("the table", &table);
    let url = format!("http://127.0.0.1:{}/v1", sandbox.site.port);
    for more in [&[][..], &["--json"]] {
        let printed = sandbox.site.run(&[&["sandbox", "report", "--url", &url], more].concat());
        check_output("petstore sandbox report", &String::from_utf8(printed.stdout).unwrap());
    }
}

#[test]
fn a_sink_keeps_the_values_that_it_escapes() {
    let sandbox = Sandbox::start("sinks-active", &["--db", "memory"]);
    let body = send(&sandbox);
    let got: Value = sandbox.once("GET", "/sandbox/sinks/texts", "", "").unwrap().json();
    assert_eq!(got[0]["body"], body[..60_000]);
    let odd = got[0]["headers"].as_array().unwrap().iter().find(|header| header[0] == "x-odd").unwrap();
    assert_eq!(odd[1], ACTIVE);
}
