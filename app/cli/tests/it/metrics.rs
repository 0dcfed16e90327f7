//! `/metrics` and the log.

use serde_json::Value;

use crate::common::exposition::{ACCEPT_OPENMETRICS, scrape};
use crate::common::{Client, Site, free_port};

#[test]
fn requests_are_counted_in_every_family() {
    let site = Site::served("metrics", &["--demo", "3", "--free-minute", "5", "--ban-strikes", "1"]);
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    let before = scrape(&mut client);
    assert_eq!(client.ask("GET", "/v1/pets/1", "", "").unwrap().status, 200);
    assert_eq!(client.ask("GET", "/v1/nowhere/secret", "", "").unwrap().status, 404);
    assert_eq!(client.ask("POST", "/v1/store/orders", "", "{\"petId\":1}").unwrap().status, 201);
    assert_eq!(client.ask("POST", "/v1/store/orders", "", "{\"petId\":99}").unwrap().status, 400);
    let free = site.run(&["keys", "create", "--plan", "free", "--quiet"]).stdout;
    let mut poor = Client::connect(site.port, String::from_utf8(free).unwrap().trim()).unwrap();
    let statuses: Vec<_> = (0..8).map(|_| poor.ask("GET", "/v1/pets", "", "").unwrap().status).collect();
    assert!(statuses.ends_with(&[403]), "{statuses:?}");

    let after = scrape(&mut client);
    let rise =
        |name: &str| after.get(name).copied().unwrap_or(0.0) - before.get(name).copied().unwrap_or(0.0);
    let at_least_one = [
        "petstore_http_requests_total{route=\"/pets/{petId}\",method=\"GET\",status=\"200\"}",
        "petstore_http_requests_total{route=\"-\",method=\"GET\",status=\"404\"}",
        "petstore_http_requests_total{route=\"/store/orders\",method=\"POST\",status=\"201\"}",
        "petstore_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"200\"}",
        "petstore_http_request_duration_seconds_count{route=\"/pets/{petId}\"}",
        "petstore_http_request_duration_seconds_bucket{le=\"+Inf\",route=\"/store/orders\"}",
        "petstore_http_connections_accepted_total",
        "petstore_quota_decisions_total{plan=\"business\",decision=\"admitted\"}",
        "petstore_quota_decisions_total{plan=\"free\",decision=\"minute_exceeded\"}",
        "petstore_quota_decisions_total{plan=\"free\",decision=\"banned\"}",
        "petstore_key_bans_total",
        "petstore_store_records{kind=\"orders\"}",
        "petstore_store_operations_total{outcome=\"done\"}",
        "petstore_store_operations_total{outcome=\"rejected\"}",
        "petstore_store_commit_duration_seconds_count",
        "petstore_store_batch_operations_count",
        "petstore_events_head",
    ];
    for name in at_least_one {
        assert!(rise(name) >= 1.0, "{name}: {}\n{after:#?}", rise(name));
    }
    assert!((after["petstore_http_requests_in_flight"] - 1.0).abs() < f64::EPSILON, "this one");
    for name in
        ["process_resident_memory_bytes", "process_start_time_seconds", "process_open_fds", "process_threads"]
    {
        assert!(after[name] > 0.0, "{name}");
    }
    assert!(after.keys().any(|name| name.starts_with("petstore_build_info{version=\"")));
    assert!(!after.keys().any(|name| name.contains("secret")), "no label comes from outside");
}

#[test]
fn log_lines_lost_on_a_full_disk_are_counted() {
    let mut site = Site::new("log-full");
    let key = site.new_key();
    let mut server = site.command(&["--db", "memory", "--log", "requests"]);
    server.env("PETSTORE_INITIAL_KEY", &key).stdout(std::process::Stdio::null());
    server.stderr(std::fs::File::options().write(true).open("/dev/full").unwrap());
    site.server = Some(server.spawn().unwrap());
    while std::net::TcpStream::connect(("127.0.0.1", site.port)).is_err() {
        std::thread::yield_now();
    }
    let mut client = Client::connect(site.port, &key).unwrap();
    for _ in 0..10 {
        assert_eq!(client.ask("GET", "/v1/pets", "", "").unwrap().status, 200);
    }
    // The log is written asynchronously. All lines are lost: the ten lines about requests, the line with the address of
    // the reference page, and the line that reports that the server serves.
    let mut lost = || scrape(&mut client)["petstore_log_lines_dropped_total"];
    assert!((0..10_000).any(|_| lost() >= 12.0), "{}", lost());
}

#[test]
fn metrics_are_only_on_the_ops_listener_if_there_is_one() {
    let mut site = Site::new("ops-metrics");
    let ops = free_port();
    site.serve(&["--db", "memory", "--ops-listen", &format!("127.0.0.1:{ops}")], &[]);
    assert_eq!(Client::connect(site.port, "x").unwrap().ask("GET", "/metrics", "", "").unwrap().status, 404);
    assert_eq!(Client::connect(ops, "x").unwrap().ask("GET", "/metrics", "", "").unwrap().status, 200);
    // The health check says that the metrics may be at another listener.
    let lost = site.run(&["healthcheck", "--listen", &format!("127.0.0.1:{}", site.port)]);
    assert!(String::from_utf8_lossy(&lost.stderr).contains("name it with --ops-listen"), "{lost:?}");
}

#[test]
fn the_metrics_are_openmetrics_only_for_a_scraper_that_names_it() {
    let site = Site::served("metrics-formats", &["--db", "memory"]);
    let mut client = Client::connect(site.port, "x").unwrap();
    let mut ask = |accept: &str| client.ask("GET", "/metrics", accept, "").unwrap().body;
    let open = "accept: application/openmetrics-text; version=1.0.0\r\n";
    for accept in [open, ACCEPT_OPENMETRICS] {
        let body = ask(accept);
        assert!(body.ends_with("# EOF\n") && body.contains("# TYPE process_cpu_seconds counter\n"), "{body}");
    }
    for accept in [
        "",
        "accept: */*\r\n",
        "accept: text/html, */*;q=0.1\r\n",
        "accept: application/*\r\n",
        "accept: text/plain\r\n",
        "accept: application/openmetrics-text;q=0, */*\r\n",
        "accept: application/openmetrics-text;q=0.3, text/plain;q=0.7\r\n",
    ] {
        let body = ask(accept);
        assert!(!body.contains("# EOF") && !body.contains("# UNIT"), "{accept}: {body}");
        assert!(
            body.contains("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total "),
            "{body}"
        );
        // Each sample follows the description of its family, and no family is described twice.
        let mut families = std::collections::BTreeSet::new();
        let mut family = "";
        for line in body.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(described) => {
                    family = described.split(' ').next().unwrap();
                    assert!(families.insert(family), "{family} is described twice");
                }
                None if line.starts_with("# HELP ") => {}
                None => assert!(line.starts_with(family), "{line} is not of {family}"),
            }
        }
    }
}

/// Serves with these settings, sends a request, stops, and returns the log.
fn log_of(name: &str, args: &[&str]) -> String {
    let mut site = Site::new(name);
    let file = site.folder.join("log");
    let mut command = site.command(&[&["--db", "memory", "--demo", "2"], args].concat());
    command.stdout(std::fs::File::create(site.folder.join("out")).unwrap());
    command.stderr(std::fs::File::create(&file).unwrap());
    site.server = Some(command.spawn().unwrap());
    let log = || std::fs::read_to_string(&file).unwrap();
    while !log().contains("serving") {
        std::thread::yield_now();
    }
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    let trace =
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nx-request-id: mine\r\n";
    assert_eq!(client.ask("GET", "/v1/pets?name=secretive", trace, "").unwrap().status, 200);
    assert_eq!(client.ask("GET", "/v1/pets/77", "", "").unwrap().status, 404);
    site.stop();
    let log = log();
    assert!(!log.contains(&key) && !log.contains("secretive"), "{log}");
    assert!(log.contains("serving http://") && log.contains("stopping") && log.contains("stopped"), "{log}");
    log
}

#[test]
fn the_json_log_has_an_object_for_each_request() {
    let log = log_of("json-log", &["--log", "requests"]);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["requestId"] == "mine").unwrap();
    assert_eq!(
        (&line["method"], &line["route"], &line["status"]),
        (&"GET".into(), &"/pets".into(), &200.into())
    );
    assert_eq!((&line["level"], &line["message"]), (&"info".into(), &"request".into()));
    assert!(line["micros"].is_u64() && line["account"].is_u64() && line["time"].is_string(), "{line}");
    assert_eq!(line["key"].as_str().map(str::len), Some(12));
    assert!(line["traceparent"].as_str().unwrap().starts_with("00-0af7"));
}

#[test]
fn the_text_log_is_readable_and_levels_filter_it() {
    let log = log_of("text-log", &["--log", "requests", "--log-format", "text"]);
    assert!(
        log.contains(" request GET /pets 200 ") && log.contains(" request GET /pets/{petId} 404 "),
        "{log}"
    );
    let log = log_of("errors-log", &["--log", "errors", "--log-format", "text"]);
    assert!(!log.contains("/pets"), "{log}");
    let log =
        log_of("sampled-log", &["--log", "requests", "--log-sample", "1000000", "--log-format", "text"]);
    assert!(log.contains("404"), "what went wrong is always told: {log}");
}
