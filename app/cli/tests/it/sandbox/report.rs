//! The client report over HTTP and on the command line.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;

use serde_json::json;

use super::Sandbox;

impl Sandbox {
    /// Runs `petstore sandbox report`.
    fn report(&self, args: &[&str]) -> Output {
        let url = format!("http://127.0.0.1:{}/v1", self.site.port);
        self.site.run(&[&["sandbox", "report", "--url", &url], args].concat())
    }

    fn status_of(&self, path: &str) -> u16 {
        self.get(path).status
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_broken_rule_is_an_exit_code() {
    let mut sandbox = Sandbox::start("report-exit", &["--db", "memory", "--demo", "3"]);
    let nothing = sandbox.report(&[]);
    assert_eq!(nothing.status.code(), Some(0));
    assert!(text(&nothing.stdout).starts_with("No requests"), "{nothing:?}");

    assert_eq!(sandbox.status_of("/v1/pets"), 200);
    let kept = sandbox.report(&["--key", &sandbox.key.clone()]);
    assert_eq!(kept.status.code(), Some(0), "{kept:?}");
    assert!(text(&kept.stdout).ends_with("No rule is broken.\n"), "{kept:?}");

    sandbox.plan(&json!({"faults": [{"route": "/pets", "first": 1, "status": 503, "retryAfter": 60}]}));
    assert_eq!((sandbox.status_of("/v1/pets"), sandbox.status_of("/v1/pets")), (503, 200));
    let broken = sandbox.report(&[]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(text(&broken.stdout).contains("  waits              broken        1  "), "{broken:?}");
    assert!(
        text(&broken.stdout)
            .contains("\n      advice: Wait 60 s, as `Retry-After: 60` said, before the next request.\n")
    );
    assert_eq!(text(&broken.stderr), "petstore: a client broke a rule: see the report\n");

    let json = sandbox.report(&["--json"]);
    assert_eq!(json.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["verdict"], "broken");
    let finding = &report["clients"][0]["rules"][0]["findings"][0];
    assert_eq!(finding["advice"], "Wait 60 s, as `Retry-After: 60` said, before the next request.");
    let other = sandbox.report(&["--key", "pet_zzzzzzzz"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stderr).contains("no request with a key that begins with pet_zzzzzzzz"), "{other:?}");
}

#[test]
fn the_findings_name_requests_that_the_journal_marks() {
    let sandbox = Sandbox::start("report-hints", &["--db", "memory", "--demo", "3"]);
    assert_eq!((sandbox.status_of("/v1/pets/1"), sandbox.status_of("/v1/pets/1")), (200, 200));
    let report = sandbox.once("GET", "/sandbox/report", "", "").unwrap();
    assert_eq!((report.status, report.header("x-verdict")), (200, "hint"));
    let report = report.json();
    let rule = |name: &str| {
        let rules = report["clients"][0]["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["name"] == name).unwrap().clone()
    };
    assert_eq!(rule("revalidates")["found"], 1);
    let proof = rule("heeds-deprecation")["findings"][0]["requests"].clone();
    assert_eq!((&proof[0]["sequence"], &proof[1]["sequence"]), (&json!(1), &json!(2)));
    let marked = sandbox.once("GET", "/sandbox/requests?hint=heeds-deprecation", "", "").unwrap().json();
    assert_eq!(marked.as_array().unwrap().len(), 1);
    assert_eq!((&marked[0]["sequence"], &marked[0]["id"]), (&proof[1]["sequence"], &proof[1]["id"]));
    assert_eq!(marked[0]["hints"], json!(["revalidates", "heeds-deprecation"]));
    assert_eq!(sandbox.once("GET", "/sandbox/requests?hint=manners", "", "").unwrap().status, 400);
}

#[test]
fn a_client_that_ends_its_streams_and_its_waits_has_no_failed_attempt() {
    let sandbox = Sandbox::start("report-streams", &["--db", "memory", "--demo", "3"]);
    let head = format!("host: localhost\r\nx-api-key: {}\r\n\r\n", sandbox.key);
    let left = |path: &str, number: usize| {
        let mut connection = TcpStream::connect(("127.0.0.1", sandbox.site.port)).unwrap();
        connection.write_all(format!("GET {path} HTTP/1.1\r\n{head}").as_bytes()).unwrap();
        if path.ends_with("stream") {
            let mut start = [0; 12];
            connection.read_exact(&mut start).unwrap();
            assert_eq!(&start, b"HTTP/1.1 200");
        } else {
            while sandbox.once("GET", "/sandbox/requests", "", "").unwrap().json().as_array().unwrap().len()
                < number
            {}
        }
        drop(connection);
        let answered = format!("/sandbox/requests?after={}&limit=1&count=1&wait=10", number - 1);
        loop {
            let record = sandbox.once("GET", &answered, "", "").unwrap().json()[0].take();
            if record["answer"]["outcome"] != "streaming" {
                return record;
            }
        }
    };
    for number in 1..=6 {
        let record = left("/v1/events/stream", number);
        assert_eq!(
            (&record["answer"]["outcome"], &record["answer"]["status"]),
            (&json!("gone"), &json!(200))
        );
    }
    for number in 7..=12 {
        assert_eq!(left("/v1/events?wait=2", number)["target"], "/v1/events?wait=2");
    }
    let report = sandbox.once("GET", "/sandbox/report", "", "").unwrap();
    assert_eq!(report.header("x-verdict"), "kept", "{}", report.body);
}

#[test]
fn a_post_whose_answer_is_lost_is_compared_by_its_body() {
    let mut sandbox = Sandbox::start("report-lost", &["--db", "memory", "--demo", "3"]);
    sandbox.plan(&json!({"faults": [{"route": "/store/orders", "first": 1, "drop": true}]}));
    let order = |pet: u32| format!("{{\"petId\":{pet}}}");
    for (pet, is_answered) in [(1, false), (2, true), (1, true)] {
        let answer = sandbox.authorized("POST", "/v1/store/orders", "", &order(pet));
        assert_eq!(answer.is_some_and(|reply| reply.status == 201), is_answered, "{pet}");
    }
    let report = text(&sandbox.report(&[]).stdout);
    assert!(report.contains("  retries-safely     broken        1  "), "{report}");
    assert!(report.contains("Requests #1 ") && report.contains(", #3 "), "{report}");
}

#[test]
fn the_form_is_the_one_that_the_client_asks_for() {
    let sandbox = Sandbox::start("report-form", &["--db", "memory"]);
    for (accept, starts) in [
        ("", "{"),
        ("accept: */*\r\n", "{"),
        ("accept: application/json\r\n", "{"),
        ("accept: text/plain, application/json\r\n", "{"),
        ("accept: text/plain;q=0.1, application/json\r\n", "{"),
        ("accept: application/json;q=0.9, text/plain\r\n", "No requests"),
        ("accept: text/plain\r\n", "No requests"),
        ("accept: text/*\r\n", "No requests"),
        ("accept: text/html\r\n", "<!doctype html>"),
        ("accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n", "<!doctype html>"),
        ("accept: text/html, application/json\r\n", "{"),
        ("accept: text/html;q=0.4, text/plain;q=0.5\r\n", "No requests"),
    ] {
        let reply = sandbox.once("GET", "/sandbox/report", accept, "").unwrap();
        assert_eq!((reply.status, reply.header("x-verdict")), (200, "none"), "{accept}");
        assert!(reply.head.contains("\nvary: Accept\r\n"), "{accept}: {}", reply.head);
        assert!(reply.body.starts_with(starts), "{accept}: {}", reply.body);
    }
    for (method, query, headers, status) in [
        ("POST", "", "", 405),
        ("GET", "?key=", "", 400),
        ("GET", "?attempts=0", "", 400),
        ("GET", "?rule=waits", "", 400),
        ("GET", "", "origin: https://web.example\r\n", 400),
    ] {
        let reply = sandbox.once(method, &format!("/sandbox/report{query}"), headers, "").unwrap();
        assert_eq!(reply.status, status, "{method} {query} {headers}");
    }
}

#[test]
fn a_browser_gets_the_report_as_a_page() {
    let mut sandbox = Sandbox::start("report-page", &["--db", "memory", "--demo", "3"]);
    sandbox.plan(&json!({"faults": [{"route": "/pets", "first": 1, "status": 503, "retryAfter": 60}]}));
    assert_eq!((sandbox.status_of("/v1/pets"), sandbox.status_of("/v1/pets")), (503, 200));
    let marked = format!("x-test-id: <b>\r\nx-api-key: {}\r\n", sandbox.key);
    assert_eq!(sandbox.once("GET", "/v1/pets?limit=1", &marked, "").unwrap().status, 200);
    let page = |query: &str| {
        sandbox.once("GET", &format!("/sandbox/report{query}"), "accept: text/html\r\n", "").unwrap()
    };
    let all = page("");
    assert_eq!((all.status, all.header("x-verdict")), (200, "broken"));
    assert_eq!(all.header("content-type"), "text/html; charset=utf-8");
    assert!(
        all.header("content-security-policy").starts_with("default-src 'none'; style-src 'unsafe-inline'; "),
        "{}",
        all.head
    );
    assert!(all.body.contains("<code>Retry-After: 60</code> said, before the next request."), "{}", all.body);
    let rows = |body: &str| body.matches("<tr id=\"p0c0r").count();
    assert_eq!(rows(&all.body), 3);
    // The conditions are those of the other forms.
    for (query, verdict, requests) in [
        (format!("?key={}", &sandbox.key[..12]), "broken", 3),
        ("?key=pet_zzzzzzzz".to_owned(), "none", 0),
        ("?header=x-test-id:%3Cb%3E".to_owned(), "kept", 1),
    ] {
        let some = page(&query);
        assert_eq!(
            (some.status, some.header("x-verdict"), rows(&some.body)),
            (200, verdict, requests),
            "{query}"
        );
    }
    assert_eq!(page("?key=").status, 400);
    let foreign = sandbox
        .once("GET", "/sandbox/report", "accept: text/html\r\nsec-fetch-site: cross-site\r\n", "")
        .unwrap();
    assert_eq!(foreign.status, 400);
}

#[test]
fn without_a_journal_there_is_no_report() {
    let sandbox = Sandbox::start("report-off", &["--db", "memory", "--sandbox-journal", "0"]);
    let failed = sandbox.report(&[]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("start the server with --sandbox"), "{failed:?}");
}
