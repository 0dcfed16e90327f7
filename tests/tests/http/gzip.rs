//! gzip: for lists and the contract, from 1 KiB, for clients that accept it.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::json;

use crate::fixture::Fixture;
use crate::harness::{Answer, OPENAPI, Shop, ShopOptions};

const GZIP: [(&str, &str); 1] = [("accept-encoding", "gzip")];

fn unpacked(answer: &Answer) -> Vec<u8> {
    assert_eq!(answer.header("content-encoding"), Some("gzip"), "{:?}", answer.headers);
    assert_eq!(answer.number("content-length"), answer.body.len() as u64);
    let mut body = vec![];
    GzDecoder::new(&*answer.body).read_to_end(&mut body).unwrap();
    body
}

fn varies(answer: &Answer) -> bool {
    answer.header("vary").is_some_and(|names| names.contains("Accept-Encoding"))
}

/// A shop in which each list is longer than 1 KiB.
fn full() -> Fixture {
    let fixture = Fixture::open();
    for number in 0..40 {
        let category =
            json!({"name": format!("Rabbits {number}"), "description": "Quiet and fond of cables"});
        assert_eq!(fixture.client.post("/v1/categories", &category).status, 201);
        let pet = fixture.pet_of(2);
        fixture.order(pet, 1);
    }
    fixture
}

#[test]
fn a_list_is_the_same_compressed_and_uncompressed() {
    let fixture = full();
    for path in ["/v1/pets?limit=100", "/v1/categories", "/v1/store/orders", "/v1/inventory"] {
        let plain = fixture.client.get(path);
        assert!(plain.body.len() >= 1024 && varies(&plain), "{path}: {}", plain.body.len());
        assert_eq!(plain.header("content-encoding"), None);
        let packed = fixture.client.send("GET", path, &GZIP, None);
        assert_eq!(unpacked(&packed), plain.body, "{path}");
        assert!(packed.body.len() * 2 < plain.body.len() && varies(&packed), "{path}");
        for name in ["etag", "link", "content-type", "vary", "cache-control"] {
            assert_eq!(packed.header(name), plain.header(name), "{path} {name}");
        }
        let head = fixture.client.send("HEAD", path, &GZIP, None);
        assert_eq!(head.header("content-encoding"), Some("gzip"));
        // The tag is weak, so a tag that came with one coding matches a representation in the other coding.
        let tag = packed.header("etag").unwrap();
        for codings in ["gzip", "identity"] {
            let headers = [("accept-encoding", codings), ("if-none-match", tag)];
            let known = fixture.client.send("GET", path, &headers, None);
            assert_eq!((known.status, known.header("content-encoding")), (304, None), "{path}");
            assert!(varies(&known), "{path}");
        }
    }
}

#[test]
fn the_client_decides() {
    let fixture = full();
    let cases = [
        ("gzip", true),
        ("br, GZip;q=0.2", true),
        ("*", true),
        ("identity;q=0.5, gzip;q=0.8", true),
        ("", false),
        ("identity", false),
        ("br", false),
        ("gzip;q=0", false),
        ("gzip;q=0, *", false),
        ("identity, gzip;q=0.5", false),
    ];
    for (codings, expected) in cases {
        let answer = fixture.client.send("GET", "/v1/inventory", &[("accept-encoding", codings)], None);
        assert_eq!(answer.header("content-encoding").is_some(), expected, "{codings}");
        assert!(varies(&answer), "{codings}");
    }
}

#[test]
fn short_answers_and_single_resources_are_not_compressed() {
    let fixture = Fixture::open();
    let pet = fixture.pet();
    let short = fixture.client.send("GET", "/v1/pets", &GZIP, None);
    assert_eq!((short.header("content-encoding"), varies(&short)), (None, true));
    let description = "x".repeat(1000);
    let long = json!({"name": "y".repeat(100), "description": description});
    let category = fixture.client.send("POST", "/v1/categories", &GZIP, Some(&long));
    assert!(category.body.len() > 1024);
    let path = category.header("location").unwrap().to_owned();
    for answer in [
        category,
        fixture.client.send("GET", &path, &GZIP, None),
        fixture.client.send("GET", &format!("/v1/pets/{pet}"), &GZIP, None),
        fixture.client.send("GET", "/v1/rate-limit", &GZIP, None),
        fixture.client.send("GET", &format!("/v1/pets?{}=1", "x".repeat(2000)), &GZIP, None),
    ] {
        assert_eq!((answer.header("content-encoding"), varies(&answer)), (None, false), "{answer:?}");
    }
}

#[test]
fn the_contract_is_compressed_too() {
    let shop = Shop::open();
    let client = shop.anonymous();
    let packed = client.send("GET", "/openapi.yaml", &GZIP, None);
    assert_eq!(unpacked(&packed), OPENAPI.as_bytes());
    assert!(packed.body.len() * 4 < OPENAPI.len() && varies(&packed));
    let plain = client.get("/openapi.yaml");
    assert!(plain.body == OPENAPI.as_bytes() && varies(&plain));
}

#[test]
fn gzip_can_be_disabled() {
    let mut options = ShopOptions::default();
    options.http.gzip = false;
    let shop = Shop::open_as(options);
    let answer = shop.anonymous().send("GET", "/openapi.yaml", &GZIP, None);
    assert_eq!((answer.header("content-encoding"), varies(&answer)), (None, false));
}
