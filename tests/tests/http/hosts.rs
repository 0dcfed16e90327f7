//! The Host field: exactly one, valid, and served here.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use petstore_domain::Plan;
use petstore_http::{Exposition, HostName, TransportStats};

use crate::harness::{Answer, Client, Shop, ShopOptions};

/// Sends a request with these header lines in place of a Host line.
fn get(client: &Client, target: &str, hosts: &[&str]) -> Answer {
    let mut request = format!("GET {target} HTTP/1.1\r\nconnection: close\r\n");
    if let Some(key) = &client.key {
        write!(request, "x-api-key: {key}\r\n").unwrap();
    }
    for host in hosts {
        write!(request, "host: {host}\r\n").unwrap();
    }
    client.exchange((request + "\r\n").as_bytes(), false)
}

/// An exposition without metrics.
struct EmptyExposition;

impl Exposition for EmptyExposition {
    fn text(&self, _: &TransportStats) -> String {
        String::new()
    }
}

fn served(hosts: &[&str]) -> Shop {
    let mut options = ShopOptions::default();
    options.http.hosts = Some(hosts.iter().map(|host| HostName::parse(host).unwrap()).collect());
    Shop::open_as(options)
}

#[test]
fn a_request_has_exactly_one_valid_host() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    for host in
        ["pets.example", "PETS.example:8443", "127.0.0.1", "[::1]:80", "[2001:db8::1]", "x_y", "a%20b", "h:"]
    {
        assert_eq!(get(&client, "/v1/pets", &[host]).status, 200, "{host}");
    }
    let invalid: [&[&str]; 14] = [
        &[],
        &["one", "two"],
        &["one", "one"],
        &[""],
        &["a b"],
        &["a/b"],
        &["user@host"],
        &["[::1"],
        &["::1"],
        &[":80"],
        &["host:80a"],
        &["host:99999"],
        &["h\u{e9}"],
        &["a,b\"c"],
    ];
    for hosts in invalid {
        for target in ["/v1/pets", "/v1/nothing", "/health"] {
            assert_eq!(get(&client, target, hosts).outcome(), (400, "invalid_host".to_owned()), "{hosts:?}");
        }
    }
}

#[test]
fn an_absolute_target_names_the_same_host() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    let target = "http://pets.example/v1/pets?limit=1";
    assert_eq!(get(&client, target, &["pets.example"]).status, 200);
    assert_eq!(get(&client, target, &["PETS.EXAMPLE"]).status, 200);
    let first = get(&client, target, &["pets.example"]);
    assert_eq!(first.link("first"), Some("http://pets.example/v1/pets?limit=1"));
    let invalid: [&[&str]; 4] =
        [&[], &["other.example"], &["pets.example:81"], &["pets.example", "pets.example"]];
    for hosts in invalid {
        assert_eq!(get(&client, target, hosts).outcome(), (400, "invalid_host".to_owned()), "{hosts:?}");
    }
}

#[test]
fn an_absolute_target_and_the_host_may_include_or_omit_the_default_port() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    for (target, host, status) in [
        ("http://pets.example", "pets.example:80", 200),
        ("http://pets.example:80", "pets.example", 200),
        ("http://pets.example:80", "Pets.Example:", 200),
        ("http://pets.example", "pets.example:", 200),
        ("HTTPS://pets.example", "pets.example:443", 200),
        ("http://pets.example", "pets.example.", 200),
        ("http://[2001:db8:0::1]", "[2001:DB8::1]:80", 200),
        ("https://[2001:db8::1]:443", "[2001:db8::1]", 200),
        ("http://pets.example:8080", "pets.example:8080", 200),
        ("http://pets.example", "pets.example:443", 400),
        ("https://pets.example", "pets.example:80", 400),
        ("http://pets.example:8080", "pets.example", 400),
        ("http://pets.example:8080", "pets.example:80", 400),
        ("http://[2001:db8::80]", "[2001:db8::]", 400),
        ("http://me@pets.example:80", "pets.example", 400),
        ("http://pets.example:80", "other.example", 400),
    ] {
        let answer = get(&client, &format!("{target}/v1/pets"), &[host]);
        assert_eq!(answer.status, status, "{target} {host}");
        assert!(status == 200 || answer.code() == "invalid_host", "{target} {host}");
    }
}

#[test]
fn where_there_is_a_list_of_hosts_others_are_not_served() {
    let shop = served(&["pets.example.", "127.0.0.1", "[::1]"]);
    let client = shop.client(Plan::Business);
    for host in [
        "pets.example",
        "Pets.Example",
        "pets.example:8443",
        "127.0.0.1:80",
        "[::1]:80",
        "pets.example.",
        "Pets.Example.:80",
        "[0:0:0:0:0:0:0:1]",
        "[0::0001]:80",
        "[::ffff:7f00:1]",
        "127.0.0.1.",
    ] {
        assert_eq!(get(&client, "/v1/pets", &[host]).status, 200, "{host}");
    }
    for host in [
        "evil.example",
        "pets.example.evil.example",
        "xpets.example",
        "localhost",
        "[::2]",
        "pets.example..",
        "127.0.0.10",
        "[::10]",
    ] {
        assert_eq!(get(&client, "/v1/pets", &[host]).outcome(), (400, "invalid_host".to_owned()), "{host}");
    }
    // The target cannot select another host either.
    let answer = get(&client, "http://evil.example/v1/pets", &["evil.example"]);
    assert_eq!(answer.outcome(), (400, "invalid_host".to_owned()));
}

#[test]
fn every_request_of_a_connection_is_checked_by_its_own_host() {
    let shop = served(&["one.example", "two.example"]);
    let key = shop.client(Plan::Business).key.unwrap();
    let mut connection = crate::harness::Connection::open(shop.address());
    for (hosts, status) in [
        ("host: one.example\r\n", 200),
        ("host: evil.example\r\n", 400),
        ("host: one.example\r\n", 200),
        ("host: one.example\r\nhost: one.example\r\n", 400),
        ("", 400),
        ("host: two.example:80\r\n", 200),
        ("host: two.example:80x\r\n", 400),
        ("host: two.example\r\n", 200),
    ] {
        connection.send(format!("GET /v1/pets HTTP/1.1\r\n{hosts}x-api-key: {key}\r\n\r\n").as_bytes());
        let answer = connection.read_answer(false).unwrap();
        assert_eq!(answer.status, status, "{hosts}");
        if status == 200 {
            let host = hosts.trim().strip_prefix("host: ").unwrap();
            assert_eq!(answer.link("first"), Some(format!("http://{host}/v1/pets").as_str()));
        }
    }
}

#[test]
fn http_1_0_is_answered_and_closed() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    let key = client.key.as_deref().unwrap();
    let mut connection = crate::harness::Connection::open(client.address);
    connection.send(format!("GET /v1/pets HTTP/1.0\r\nhost: pets\r\nx-api-key: {key}\r\n\r\n").as_bytes());
    assert_eq!(connection.read_answer(false).unwrap().status, 200);
    assert!(connection.is_closed());
}

#[test]
fn a_probe_by_http_1_0_needs_no_host_and_everything_else_does() {
    let mut options = ShopOptions::default();
    options.http.hosts = Some(vec![HostName::parse("pets.example").unwrap()]);
    options.http.exposition = Some(Arc::new(EmptyExposition));
    let shop = Shop::open_as(options);
    let ops = shop.http.listen_ops(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let ask = |address, line: &str, hosts: &str| {
        let client = Client { address, key: None };
        client.exchange(format!("{line}\r\n{hosts}\r\n").as_bytes(), line.starts_with("HEAD")).status
    };
    for address in [shop.address(), ops.local_addr()] {
        for probe in ["/health", "/ready", "/metrics"] {
            for method in ["GET", "HEAD"] {
                assert_eq!(ask(address, &format!("{method} {probe} HTTP/1.0"), ""), 200, "{method} {probe}");
            }
            assert_eq!(ask(address, &format!("GET {probe} HTTP/1.1"), ""), 400, "{probe}");
            for hosts in ["host: a b\r\n", "host: a\r\nhost: a\r\n"] {
                assert_eq!(ask(address, &format!("GET {probe} HTTP/1.0"), hosts), 400, "{probe} {hosts}");
            }
        }
        for path in ["/v1/pets", "/v1/health", "/v1", "/docs", "/openapi.yaml", "/", "/nothing"] {
            assert_eq!(ask(address, &format!("GET {path} HTTP/1.0"), ""), 400, "{path}");
        }
    }
    ops.drain();
    assert!(ops.join());
}
