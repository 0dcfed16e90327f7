//! Access to a sandbox: its clients, its address and its data.

use super::{Reply, Sandbox};
use crate::common::{Client, Site, free_port};

#[test]
fn requests_to_the_sandbox_are_checked_strictly() {
    let sandbox = Sandbox::start("sandbox-strict", &["--db", "memory"]);
    let long = format!(r#"{{"faults":[{}]}}"#, " ".repeat(70_000));
    let cases = [
        ("GET", "/sandbox/reset", "", 405, "method_not_allowed"),
        ("PUT", "/sandbox/clock", "{}", 405, "method_not_allowed"),
        ("PATCH", "/sandbox/faults", "{}", 405, "method_not_allowed"),
        ("GET", "/sandbox/weather", "", 404, "not_found"),
        ("POST", "/sandbox/reset?hard=true", "", 400, "invalid_parameter"),
        ("POST", "/sandbox/clock", "", 400, "invalid_json"),
        ("POST", "/sandbox/clock", "{", 400, "invalid_json"),
        ("POST", "/sandbox/clock", "{}", 400, "validation_failed"),
        ("POST", "/sandbox/clock", r#"{"advance":"soon"}"#, 400, "validation_failed"),
        ("PUT", "/sandbox/faults", r#"{"faults":[{"status":200}]}"#, 400, "validation_failed"),
        ("PUT", "/sandbox/faults", &long, 413, "body_too_large"),
    ];
    for (method, path, body, status, code) in cases {
        let reply = sandbox.once(method, path, "", body).unwrap();
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (status, &code.into()),
            "{method} {path} {body:.40}"
        );
    }
    assert_eq!(
        sandbox.once("PUT", "/sandbox/clock", "", "").unwrap().header("allow"),
        "GET, HEAD, POST, DELETE, OPTIONS"
    );
    let preflight = "origin: http://localhost:3000\r\naccess-control-request-method: PUT\r\n";
    assert_eq!(sandbox.once("OPTIONS", "/sandbox/faults", preflight, "").unwrap().status, 204);
}

#[test]
fn pages_of_other_origins_read_and_change_nothing_unless_listed() {
    let mut sandbox = Sandbox::start("sandbox-origins", &[]);
    let mut listed = Sandbox::start("sandbox-listed", &["--cors", "https://tests.example"]);
    let mut reset = |origins: &str| {
        let status =
            |sandbox: &mut Sandbox| sandbox.once("POST", "/sandbox/reset", origins, "").unwrap().status;
        (status(&mut sandbox), status(&mut listed))
    };
    for (origins, statuses) in [
        ("", (204, 204)),
        ("origin: http://localhost:3000\r\n", (204, 204)),
        ("origin: http://app.localhost\r\n", (204, 204)),
        ("origin: https://127.0.0.1\r\n", (204, 204)),
        ("origin: http://[::1]:3000\r\n", (204, 204)),
        ("origin: https://tests.example\r\n", (400, 204)),
        ("origin: https://web.example\r\n", (400, 400)),
        ("origin: https://localhost.web.example\r\n", (400, 400)),
        ("origin: http://127.0.0.1.web.example\r\n", (400, 400)),
        ("origin: localhost\r\n", (400, 400)),
        ("origin: null\r\n", (400, 400)),
        ("origin: http://localhost\r\norigin: https://web.example\r\n", (400, 400)),
    ] {
        assert_eq!(reset(origins), statuses, "{origins}");
    }
    let elsewhere = "origin: https://web.example\r\n";
    let refused = sandbox.once("DELETE", "/sandbox/clock", elsewhere, "").unwrap();
    assert_eq!((refused.status, &refused.json()["code"]), (400, &"invalid_header".into()));
    assert_eq!(sandbox.once("GET", "/sandbox/clock", elsewhere, "").unwrap().status, 400);
}

#[test]
fn a_page_of_another_origin_cannot_read_that_it_was_refused() {
    let any = Sandbox::start("sandbox-cors-any", &["--db", "memory", "--cors", "any"]);
    let ask = |method: &str, path: &str, origin: &str| {
        let headers = format!("origin: {origin}\r\naccess-control-request-method: {method}\r\n");
        let asked = any.once(method, path, &headers, "").unwrap();
        let preflight = any.once("OPTIONS", path, &headers, "").unwrap();
        let permissions = |reply: &Reply| reply.head.matches("access-control-allow-").count();
        (asked.status, permissions(&asked), permissions(&preflight))
    };
    for (method, path, status) in [
        ("GET", "/sandbox/requests", 200),
        ("DELETE", "/sandbox/requests", 204),
        ("GET", "/sandbox/requests.har", 200),
        ("GET", "/sandbox/requests/none", 404),
        ("GET", "/sandbox/report", 200),
        ("POST", "/sandbox/reset", 204),
        ("GET", "/sandbox/clock", 200),
        ("PUT", "/sandbox/sinks/hook", 400),
    ] {
        for origin in ["https://web.example", "null", "http://localhost.web.example"] {
            assert_eq!(ask(method, path, origin), (400, 0, 0), "{method} {path} {origin}");
        }
        assert_eq!(ask(method, path, "http://localhost:3000"), (status, 1, 3), "{method} {path}");
    }
    for path in ["/sandbox", "/sandbox/console/console.js"] {
        assert_eq!(ask("GET", path, "https://web.example"), (200, 0, 0), "{path}");
    }
    assert_eq!(ask("GET", "/sandbox/nothing", "https://web.example"), (404, 0, 0));
    for (path, status) in [("/health", 200), ("/sandboxes", 404), ("/v1/sandbox", 401)] {
        assert_eq!(ask("GET", path, "https://web.example"), (status, 1, 3), "{path} is for all pages");
    }
}

#[test]
fn a_page_of_another_site_learns_nothing_from_the_time_of_an_answer() {
    let sandbox = Sandbox::start("sandbox-sites", &["--db", "memory", "--cors", "https://tests.example"]);
    let status = |method: &str, path: &str, headers: &str| {
        sandbox.once(method, path, headers, "").map(|reply| reply.status)
    };
    let other = "sec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\n";
    let other_link = "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n";
    let listed = format!("{other}origin: https://tests.example\r\n");
    for path in [
        "/sandbox/requests?count=1&wait=30",
        "/sandbox/requests.har?count=1&wait=30",
        "/sandbox/requests/none",
        "/sandbox/requests/stream",
        "/sandbox/report",
        "/sandbox/clock",
        "/sandbox/faults",
        "/sandbox/keys",
        "/sandbox/events",
        "/sandbox/webhooks",
        "/sandbox/sinks",
        "/sandbox/sinks/hook?count=1&wait=30",
    ] {
        let refused = sandbox.once("GET", path, other, "").unwrap();
        assert_eq!((refused.status, &refused.json()["code"]), (400, &"invalid_header".into()), "{path}");
        assert_eq!(status("HEAD", path, other), Some(400), "{path}");
        assert_eq!(status("GET", path, other_link), Some(400), "{path} is no page");
        let twice = "sec-fetch-site: none\r\nsec-fetch-site: cross-site\r\n";
        assert_eq!(status("GET", path, twice), Some(400), "{path}");
        if !path.contains("wait") && !path.contains("stream") {
            let expected = if path.ends_with("none") { 404 } else { 200 };
            for site in ["same-origin", "same-site", "none"] {
                assert_eq!(
                    status("GET", path, &format!("sec-fetch-site: {site}\r\n")),
                    Some(expected),
                    "{path} {site}"
                );
            }
            assert_eq!(status("GET", path, &listed), Some(expected), "{path}");
        }
    }
    assert_eq!(status("POST", "/sandbox/sinks/hook", other), Some(400), "a form of another site");
    for path in ["/sandbox", "/sandbox/console/console.js"] {
        assert_eq!(status("GET", path, ""), Some(200));
        assert_eq!(status("GET", path, "sec-fetch-site: same-origin\r\n"), Some(200));
        assert_eq!(status("GET", path, other_link), Some(200), "a link to the console");
        assert_eq!(status("GET", path, other), Some(400), "{path}");
        let framed = other_link.replace("document", "iframe");
        assert_eq!(status("GET", path, &framed), Some(400), "{path}");
    }
}

#[test]
fn a_sandbox_stays_on_this_machine_unless_its_owner_says_otherwise() {
    let site = Site::new("sandbox-anywhere");
    let refused = [
        (
            &["--listen", "0.0.0.0:0"][..],
            "sandbox (true, --sandbox) and listen (0.0.0.0:0, --listen) exclude each other",
        ),
        (
            &["--listen", "[::]:0"],
            "sandbox (true, --sandbox) and listen ([::]:0, --listen) exclude each other",
        ),
        (
            &["--ops-listen", "0.0.0.0:0"],
            "sandbox (true, --sandbox) and ops-listen (0.0.0.0:0, --ops-listen) exclude each other",
        ),
    ];
    for (args, why) in refused {
        let output = site.run(&[&["--sandbox"][..], args].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(why) && message.contains("sandbox-anywhere"), "{message}");
        assert!(!site.folder.join("petstore.db").exists());
    }
    let open = site.run(&["check-config", "--sandbox", "--sandbox-anywhere", "--listen", "0.0.0.0:0"]);
    assert_eq!(open.status.code(), Some(0), "{}", String::from_utf8_lossy(&open.stderr));
}

#[test]
fn the_sandbox_is_only_at_the_operators_listener_if_there_is_one() {
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let mut sandbox = Sandbox::start("sandbox-ops", &["--ops-listen", &address]);
    assert_eq!(sandbox.once("POST", "/sandbox/reset", "", "").unwrap().status, 404);
    sandbox.site.port = port;
    assert_eq!(sandbox.once("POST", "/sandbox/reset", "", "").unwrap().status, 204);
    assert_eq!(sandbox.once("GET", "/health", "", "").unwrap().status, 200);
    let lost = sandbox.once("GET", "/nowhere", "", "").unwrap().json();
    let message = lost["message"].as_str().unwrap();
    let here = "This path does not exist; this listener serves /health, /ready, /metrics, /sandbox";
    assert!(message.starts_with(here) && message.contains("/sandbox/requests.har"), "{message}");
}

#[test]
fn a_sandbox_refuses_a_file_that_was_served_without_it() {
    let mut sandbox = Sandbox::start("sandbox-claim", &["--demo", "1"]);
    let mark = sandbox.site.folder.join("petstore.db.sandbox");
    sandbox.site.stop();
    sandbox.site.serve(&["--sandbox"], &[]);
    sandbox.client = Client::connect(sandbox.site.port, &sandbox.key).unwrap();
    sandbox.reset();
    assert_eq!(sandbox.get("/v1/pets").body, "[]", "it accepts its own file again");
    assert!(mark.exists());

    sandbox.site.stop();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_eq!(sandbox.site.run(&["--listen", &address]).status.code(), Some(1));
    assert!(mark.exists(), "the refused start removed the marker");
    sandbox.site.serve(&[], &[]);
    assert!(!mark.exists(), "the file now holds real data");
    let category = r#"{"name":"Rabbits","description":"Quiet"}"#;
    assert_eq!(sandbox.authorized("POST", "/v1/categories", "", category).unwrap().status, 201);
    sandbox.site.stop();
    let refused = sandbox.site.run(&["--sandbox"]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    let why = "and db (petstore.db, default) exclude each other: the file holds data that was not created by a \
        sandbox, and a reset";
    assert!(message.contains(why) && message.contains("name another --db"), "{message}");
    assert!(!mark.exists(), "a refused start leaves no marker");

    sandbox.site.serve(&[], &[]);
    assert_eq!(sandbox.get("/v1/categories/1").status, 200, "the data is unchanged");
}
