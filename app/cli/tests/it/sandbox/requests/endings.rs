//! Requests that end early, over both protocols.

use std::io::{Read, Write};
use std::process::Command;

use serde_json::{Value, json};

use super::{BufRead, BufReader};
use crate::common::{Site, tools};
use crate::sandbox::Sandbox;

#[test]
fn requests_that_end_before_their_answer_are_recorded() {
    // One thread meets what arrives in its order, also the end of a connection.
    let mut sandbox = Sandbox::start("journal-early", &["--db", "memory", "--demo", "3", "--threads", "1"]);
    let head = format!("host: localhost\r\nx-api-key: {}\r\ncontent-type: application/json\r\n", sandbox.key);
    // The client leaves in the middle of its body.
    let part = format!("POST /v1/pets HTTP/1.1\r\n{head}content-length: 100\r\n\r\n{{\"name\":");
    let stream = sandbox.raw(part.as_bytes());
    assert_eq!(sandbox.records("?method=POST&wait=1").len(), 1, "it is recorded when its head has arrived");
    assert_eq!(sandbox.records("")[0]["answer"], Value::Null);
    stream.shutdown(std::net::Shutdown::Both).unwrap();
    drop(stream);
    let broken = sandbox.record("method=POST");
    assert!(
        broken["answer"]["outcome"] == "gone" || broken["answer"]["code"] == "invalid_json",
        "{}",
        broken["answer"]
    );
    assert_eq!((&broken["body"], &broken["bodyBytes"]), (&json!("{\"name\":"), &json!(8)));

    a_client_leaves_during_a_planned_delay(&mut sandbox, &head);
    sandbox.plan(&json!({"faults": [
        {"route": "/pets", "method": "POST", "first": 1, "when": "after", "drop": true},
        {"route": "/inventory", "drop": true}
    ]}));
    // The answer is lost after the commit: the record has it.
    let body = r#"{"name":"Hazel","categoryId":1}"#;
    assert!(sandbox.authorized("POST", "/v1/pets", "", body).is_none());
    let lost = sandbox.record("method=POST&status=201");
    assert_eq!((&lost["answer"]["outcome"], &lost["fault"]), (&json!("dropped"), &json!("drop, after")));
    assert!(lost["answer"]["body"].as_str().unwrap().contains("\"name\":\"Hazel\""));
    // The request is dropped before it has an effect.
    assert!(sandbox.authorized("GET", "/v1/inventory", "", "").is_none());
    let dropped = sandbox.record("route=/inventory");
    assert_eq!(
        (&dropped["answer"]["outcome"], &dropped["answer"]["status"]),
        (&json!("dropped"), &Value::Null)
    );
    assert_eq!(dropped["keyPrefix"], sandbox.key[..12], "the key is known although the gate has not seen it");
    // A body that is refused unread is recorded as far as it was read.
    let wrong = sandbox.once("POST", "/v1/pets", "x-api-key: wrong\r\n", body).unwrap();
    assert_eq!(wrong.status, 401);
    let refused = sandbox.record("status=401");
    assert_eq!((&refused["body"], &refused["keyPrefix"]), (&json!(body), &Value::Null));
    assert!(refused["headers"].as_array().unwrap().contains(&json!(["x-api-key", "..."])));
}

/// Checks requests whose client closes its side while the answer is delayed. They are served to their end.
fn a_client_leaves_during_a_planned_delay(sandbox: &mut Sandbox, head: &str) {
    let get = format!("GET /v1/categories HTTP/1.1\r\n{head}\r\n");
    let (first, rest) = ("{\"name\":", format!("\"{}\"}}", "x".repeat(9_000)));
    let length = first.len() + rest.len();
    let post = format!("POST /v1/categories HTTP/1.1\r\n{head}content-length: {length}\r\n\r\n{first}");
    for moment in ["before", "after"] {
        assert_eq!(sandbox.once("DELETE", "/sandbox/requests", "", "").unwrap().status, 204);
        let delay = json!({"route": "/categories", "latency": "30s", "when": moment});
        sandbox.plan(&json!({"faults": [delay]}));
        drop(sandbox.raw(get.as_bytes()));
        // Requests of two connections may arrive in either order.
        while sandbox.records("").is_empty() {}
        // The rest of a body comes during the delay, and then the client leaves.
        let mut stream = sandbox.raw(post.as_bytes());
        while sandbox.records("").len() < 2 {}
        stream.write_all(rest.as_bytes()).unwrap();
        drop(stream);
        // This client only says that it sends nothing more, and reads its answer.
        let mut reading = sandbox.raw(get.as_bytes());
        reading.shutdown(std::net::Shutdown::Write).unwrap();
        while sandbox.records("").len() < 3 {}
        sandbox.plan(&json!({"faults": []}));
        let mut answer = String::new();
        reading.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let records = sandbox.records("?count=3&wait=10");
        let outcome =
            |record: &Value| (record["answer"]["outcome"].clone(), record["answer"]["status"].clone());
        let outcomes: Vec<_> = records.iter().map(outcome).collect();
        let expected = [("gone", 200), ("gone", 400), ("sent", 200)];
        assert_eq!(outcomes, expected.map(|(word, status)| (json!(word), json!(status))), "{moment}");
        assert_eq!((&records[0]["fault"], &records[1]["bodyBytes"]), (&fault(moment), &json!(length)));
    }
}

fn fault(moment: &str) -> Value {
    json!(if moment == "before" { "delay 30000 ms" } else { "delay 30000 ms, after" })
}

#[test]
fn both_protocols_are_recorded() {
    if !(tools::can_run("openssl", "version") && tools::can_run("curl", "--version")) {
        return;
    }
    let mut site = Site::new("journal-http2");
    let made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem -out cert.pem \
                -subj /CN=localhost -addext subjectAltName=DNS:localhost";
    let made =
        Command::new("openssl").args(made.split_whitespace()).current_dir(&site.folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    site.serve(
        &["--sandbox", "--demo", "3", "--db", "memory", "--tls-cert", "cert.pem", "--tls-key", "key.pem"],
        &[],
    );
    let key = format!("x-api-key: {}", site.printed_key());
    let curl = |args: &[&str], path: &str| {
        let url = format!("https://localhost:{}{path}", site.port);
        let mut curl = Command::new("curl");
        let done = curl
            .args(["-sS", "--cacert", "cert.pem", &url])
            .args(args)
            .current_dir(&site.folder)
            .output()
            .unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    // A client that resets its stream before the answer is gone.
    curl(
        &["-X", "PUT", "--json", r#"{"faults":[{"route":"/categories","latency":"30s"}]}"#],
        "/sandbox/faults",
    );
    curl(&["--http2", "-H", &key, "-m", "0.3"], "/v1/categories");
    curl(&["--http1.1", "-H", &key, "-m", "0.3"], "/v1/categories");
    curl(&["-X", "DELETE"], "/sandbox/faults");
    let gone: Value = serde_json::from_str(&curl(&[], "/sandbox/requests?count=2&wait=10")).unwrap();
    for record in gone.as_array().unwrap() {
        assert_eq!(
            (&record["answer"]["outcome"], &record["answer"]["status"]),
            (&json!("gone"), &json!(200))
        );
    }
    assert_eq!(gone.as_array().unwrap().len(), 2);
    for (version, expected) in [("--http2", "HTTP/2"), ("--http1.1", "HTTP/1.1")] {
        curl(&["-X", "DELETE"], "/sandbox/requests");
        curl(&[version, "-H", &key], "/v1/pets/1");
        curl(&[version, "-H", &key, "--head"], "/v1/pets");
        curl(&[version, "-H", &key, "-X", "DELETE"], "/v1/pets/999");
        curl(&[version, "-H", &key, "--json", "{\"name\":\"A\",\"categoryId\":1}"], "/v1/pets");
        curl(&[version, "-H", &key, "-m", "0.3", "-N"], "/v1/events/stream");
        // The client of the stream leaves after its time, which the server notices a little later.
        let records = (0..100).map(|_| curl(&[], "/sandbox/requests?count=5&wait=5"));
        let mut records = records.map(|text| serde_json::from_str::<Value>(&text).unwrap());
        let records = records.find(|records| records[4]["answer"]["outcome"] != "streaming").unwrap();
        let seen = |path: &str| {
            records
                .as_array()
                .unwrap()
                .iter()
                .map(|record| record.pointer(path).unwrap().clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(seen("/protocol"), [expected; 5]);
        assert_eq!(seen("/target")[0], "/v1/pets/1");
        assert_eq!(seen("/answer/status"), [200, 200, 404, 201, 200].map(Value::from));
        assert_eq!(seen("/answer/outcome"), ["sent", "sent", "sent", "sent", "gone"]);
        assert_eq!(seen("/body")[3], "{\"name\":\"A\",\"categoryId\":1}");
        assert!(seen("/answer/body")[0].as_str().unwrap().contains("Luna 1"));
        let line = curl(&[], &format!("/sandbox/requests/{}?as=curl", seen("/id")[0].as_str().unwrap()));
        assert!(line.contains(&format!("'https://localhost:{}/v1/pets/1'", site.port)), "{line}");
        assert_eq!(line.contains(" --http2 "), expected == "HTTP/2", "{line}");
    }
}

#[test]
fn a_stream_of_the_journal_ends_with_the_server() {
    let mut sandbox = Sandbox::start("journal-stop", &["--db", "memory"]);
    let stream = sandbox.raw(b"GET /sandbox/requests/stream HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("retry") {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0);
    }
    sandbox.site.stop();
    reader.read_to_string(&mut line).unwrap();
    assert!(line.ends_with("0\r\n\r\n"), "{line:?}");
}
