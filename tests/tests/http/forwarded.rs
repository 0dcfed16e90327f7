//! Headers of trusted proxies: the origin of links, and the client's address in the log.

use std::net::IpAddr;

use petstore_http::{HostName, Network};

use crate::fixture::PLENTY;
use crate::harness::{Client, Shop, ShopOptions};
use crate::observed::observed;

/// Returns options for a shop that trusts its peers as proxies.
fn behind_a_proxy(mut options: ShopOptions) -> ShopOptions {
    options.http.trusted_proxies = vec![Network::parse("127.0.0.1").unwrap()];
    options
}

/// Returns the start of the first link in a list, for a request with these headers.
fn origin(client: &Client, headers: &[(&str, &str)]) -> String {
    let page = client.send("GET", "/v1/pets?limit=1", headers, None);
    let first = page.link("first").unwrap_or_else(|| panic!("no link in {:?}", page.headers));
    first.strip_suffix("/v1/pets?limit=1").unwrap().to_owned()
}

const PROTO: &str = "x-forwarded-proto";
const HOST: &str = "x-forwarded-host";

#[test]
fn links_follow_what_a_trusted_proxy_tells() {
    let shop = Shop::open_as(behind_a_proxy(ShopOptions::default()));
    let client = shop.client(PLENTY);
    let own = format!("http://{}", client.address);
    for (headers, expected) in [
        (&[][..], own.as_str()),
        (&[(PROTO, "https"), (HOST, "pets.example")], "https://pets.example"),
        (&[(PROTO, "HTTPS"), (HOST, "pets.example:8443")], "https://pets.example:8443"),
        (&[(HOST, "pets.example")], "http://pets.example"),
        (&[("forwarded", "for=192.0.2.1;proto=https;host=pets.example")], "https://pets.example"),
        (
            &[("forwarded", "for=192.0.2.1;proto=https;host=pets.example"), (HOST, "x.example")],
            "https://pets.example",
        ),
        (&[("forwarded", "for=192.0.2.1"), (PROTO, "https"), (HOST, "x.example")], own.as_str()),
        (
            &[
                ("x-forwarded-for", "1.1.1.1, 192.0.2.1"),
                (PROTO, "http, https"),
                (HOST, "evil.example, pets.example"),
            ],
            "https://pets.example",
        ),
        (&[(PROTO, "javascript"), (HOST, "pets.example")], "http://pets.example"),
        (&[(PROTO, "https"), (HOST, "a\"b")], &own.replace("http:", "https:")),
    ] {
        assert_eq!(origin(&client, headers), expected, "{headers:?}");
    }
    assert_eq!(shop.http.stats().forwarded_ignored, 2, "a value that is ignored is counted");
    let page = client.send("GET", "/v1/inventory", &[(PROTO, "https"), (HOST, "pets.example")], None);
    assert_eq!(page.link("first"), Some("https://pets.example/v1/inventory"));
}

#[test]
fn of_hosts_that_are_listed_a_proxy_may_tell_one() {
    let mut options = behind_a_proxy(ShopOptions::default());
    options.http.hosts =
        Some(["127.0.0.1", "pets.example"].map(|host| HostName::parse(host).unwrap()).to_vec());
    let shop = Shop::open_as(options);
    let client = shop.client(PLENTY);
    let https = [(PROTO, "https")];
    assert_eq!(
        origin(&client, &[&https[..], &[(HOST, "Pets.Example.:443")]].concat()),
        "https://Pets.Example.:443"
    );
    let own = format!("https://{}", client.address);
    assert_eq!(origin(&client, &[&https[..], &[(HOST, "pets.example.evil.example")]].concat()), own);
    assert_eq!(shop.http.stats().forwarded_ignored, 1);
}

#[test]
fn headers_of_untrusted_peers_are_ignored_and_a_public_url_takes_precedence() {
    let told = [(PROTO, "https"), (HOST, "evil.example"), ("forwarded", "proto=https;host=evil.example")];
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    assert_eq!(origin(&client, &told), format!("http://{}", client.address));
    let mut options = behind_a_proxy(ShopOptions::default());
    options.http.public_url = Some("https://pets.example".to_owned());
    let shop = Shop::open_as(options);
    assert_eq!(origin(&shop.client(PLENTY), &told), "https://pets.example");
    assert_eq!(shop.http.stats().forwarded_ignored, 0);
}

#[test]
fn the_first_request_of_a_proxy_that_names_no_scheme_is_logged_once() {
    let (options, observer) = observed(true);
    let shop = Shop::open_as(behind_a_proxy(options));
    let client = shop.client(PLENTY);
    client.send("GET", "/v1/pets/1", &[(PROTO, "https")], None);
    client.get("/health");
    assert_eq!(observer.advice(), Vec::<String>::new());
    for _ in 0..3 {
        client.send("GET", "/v1/pets/1", &[("x-forwarded-for", "192.0.2.1")], None);
    }
    let advice = observer.advice();
    assert!(advice.len() == 1 && advice[0].contains("127.0.0.1") && advice[0].contains("X-Forwarded-Proto"));
    let (options, observer) = observed(true);
    let shop = Shop::open_as(options);
    shop.client(PLENTY).get("/v1/pets");
    assert_eq!(observer.advice(), Vec::<String>::new(), "without trusted proxies no header is missed");
}

#[test]
fn the_log_is_told_the_clients_address() {
    let (options, observer) = observed(true);
    let shop = Shop::open_as(behind_a_proxy(options));
    let client = shop.client(PLENTY);
    for (headers, expected) in [
        (&[][..], "127.0.0.1"),
        (&[("x-forwarded-for", "198.51.100.1, 192.0.2.1")], "192.0.2.1"),
        (&[("x-forwarded-for", "::ffff:192.0.2.7")], "192.0.2.7"),
        (&[("x-forwarded-for", "junk")], "127.0.0.1"),
        (&[("forwarded", "for=\"[2001:db8::1]:80\""), ("x-forwarded-for", "192.0.2.1")], "2001:db8::1"),
    ] {
        client.send("GET", "/v1/pets", headers, None);
        assert_eq!(observer.latest().client, expected.parse::<IpAddr>().unwrap(), "{headers:?}");
    }
    let (options, observer) = observed(true);
    let shop = Shop::open_as(options);
    shop.client(PLENTY).send("GET", "/v1/pets", &[("x-forwarded-for", "192.0.2.1")], None);
    assert_eq!(
        observer.latest().client,
        IpAddr::from([127, 0, 0, 1]),
        "headers of an untrusted peer are ignored"
    );
}

#[test]
fn an_address_is_limited_by_what_forwarded_says() {
    let (options, observer) = observed(true);
    let shop = Shop::open_as(behind_a_proxy(options));
    let anonymous = shop.anonymous();
    let left = |forwarded: &str| {
        let answer = anonymous.send("GET", "/v1/pets", &[("forwarded", forwarded)], None);
        answer.number("x-ratelimit-remaining")
    };
    assert_eq!([left("for=192.0.2.1"), left("for=\"192.0.2.1:80\""), left("for=192.0.2.2")], [299, 298, 299]);
    assert_eq!(left("for=192.0.2.9, for=192.0.2.1"), 297, "a client may have invented the entries before it");
    assert_eq!(observer.latest().client, IpAddr::from([192, 0, 2, 1]));
}
