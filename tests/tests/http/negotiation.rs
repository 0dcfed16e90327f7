//! Media types of bodies and answers.

use std::time::Duration;

use petstore_domain::{KeyHolder, KeyLabel, Scopes};
use petstore_ports::api::NewKey;
use serde_json::json;

use crate::fixture::{Fixture, PLENTY};
use crate::harness::{Answer, Client, Shop};

#[test]
fn answers_are_json_for_clients_that_accept_it() {
    let fixture = Fixture::open();
    for accept in [
        "application/json",
        "APPLICATION/JSON",
        "application/*",
        "*/*",
        "text/html, application/xhtml+xml;q=0.9, */*;q=0.1",
        "application/json;charset=utf-8",
        "text/html;q=1, application/json;q=0.001",
        "",
    ] {
        let answer = fixture.client.send("GET", "/v1/pets", &[("accept", accept)], None);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{accept}"
        );
    }
    for accept in ["text/html", "application/xml", "application/json;q=0", "*/*;q=0"] {
        let answer = fixture.client.send("GET", "/v1/pets", &[("accept", accept)], None);
        // The error is JSON although the client does not accept it, because errors have no other type.
        assert_eq!(answer.outcome(), (406, "not_acceptable".to_owned()), "{accept}");
    }
    let two_lines = [("accept", "text/html"), ("accept", "application/json")];
    assert_eq!(fixture.client.send("GET", "/v1/pets", &two_lines, None).status, 200);
}

#[test]
fn a_body_is_json_in_utf_8_and_declares_it() {
    let fixture = Fixture::open();
    let post = |headers: &[(&str, &str)]| {
        fixture.client.send_bytes("POST", "/v1/categories", headers, Some(b"{\"name\":\"\"}"))
    };
    for content_type in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "application/json; charset=\"utf-8\"",
        "application/json;charset=utf8",
        "application/json; charset=UTF8",
        "application/json; profile=x",
    ] {
        let answer = post(&[("content-type", content_type)]);
        assert_eq!(answer.outcome(), (400, "validation_failed".to_owned()), "{content_type}");
    }
    let unsupported = (415, "unsupported_media_type".to_owned());
    for content_type in [
        "text/plain",
        "application/json; charset=latin1",
        "application/json; charset=utf-16",
        "application/merge-patch+json",
        "application/problem+json",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "json",
        "",
    ] {
        assert_eq!(post(&[("content-type", content_type)]).outcome(), unsupported, "{content_type}");
    }
    assert_eq!(post(&[]).outcome(), unsupported, "a body of no type");
    let json = ("content-type", "application/json");
    assert_eq!(post(&[json, json]).outcome(), unsupported, "two types");
    for encoding in ["gzip", "br", "identity, gzip"] {
        let refused = post(&[json, ("content-encoding", encoding)]);
        assert_eq!(refused.outcome(), unsupported, "{encoding}");
        assert_eq!(refused.header("accept-encoding"), Some("identity"), "{encoding}");
    }
    assert_eq!(post(&[]).header("accept-encoding"), None, "it was not the coding");
    assert_eq!(post(&[json, ("content-encoding", "identity")]).status, 400);
}

#[test]
fn an_optional_body_may_be_left_out_under_any_type() {
    let shop = Shop::open();
    let (holder, label) = (KeyHolder::New { plan: PLENTY }, KeyLabel::parse("").unwrap());
    let (client, _) = shop.client_for(NewKey { holder, label, scopes: Scopes::ALL, expires_at: None });
    let made = client.post("/v1/webhooks", &json!({"url": "https://hooks.example/"}));
    let path = format!("/v1/webhooks/{}", made.json()["id"].as_str().unwrap());
    let form = ("content-type", "application/x-www-form-urlencoded");
    let chunked = ("transfer-encoding", "chunked");
    for (headers, body) in [
        (&[][..], None),
        (&[form], None),
        (&[form], Some(&b""[..])),
        (&[form, chunked], None),
        (&[("content-encoding", "gzip")], Some(b"")),
        (&[form, ("content-type", "text/plain")], Some(b"")),
    ] {
        for operation in ["test", "rotate"] {
            // A rotation ends the previous one, so that it can be repeated.
            let path = format!("{path}/{operation}");
            let answer = if headers.contains(&chunked) {
                chunkless(&client, &path, form)
            } else {
                client.send_bytes("POST", &path, headers, body)
            };
            assert_eq!(answer.status, 200, "{operation}: {headers:?}");
            shop.clock.advance(Duration::from_hours(25));
        }
    }
    let refused = client.send_bytes("POST", &format!("{path}/test"), &[form], Some(b"a=1"));
    assert_eq!(refused.outcome(), (415, "unsupported_media_type".to_owned()));
}

/// Sends a chunked body without a chunk.
fn chunkless(client: &Client, path: &str, (name, value): (&str, &str)) -> Answer {
    let key = client.key.as_deref().unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nx-api-key: {key}\r\n{name}: {value}\r\n",
        client.address
    );
    client.exchange(format!("{head}transfer-encoding: chunked\r\n\r\n0\r\n\r\n").as_bytes(), false)
}

#[test]
fn patch_takes_merge_patches_and_names_them_in_accept_patch() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(5);
    let order = fixture.order(pet, 1);
    for (path, body) in [
        (format!("/v1/pets/{pet}"), json!({"name": "Max"})),
        (format!("/v1/categories/{}", fixture.category), json!({"description": null})),
        (format!("/v1/store/orders/{order}"), json!({"shipDate": null})),
        (format!("/v1/inventory/{pet}"), json!({"quantity": 4})),
    ] {
        let patch = |content_type| {
            fixture.client.send("PATCH", &path, &[("content-type", content_type)], Some(&body))
        };
        for content_type in [
            "application/merge-patch+json",
            "application/json",
            "application/merge-patch+json; charset=utf-8",
        ] {
            assert_eq!(patch(content_type).status, 200, "{path} {content_type}");
        }
        for content_type in ["application/json-patch+json", "text/plain"] {
            let refused = patch(content_type);
            assert_eq!(refused.outcome(), (415, "unsupported_media_type".to_owned()), "{path}");
            assert_eq!(
                refused.header("accept-patch"),
                Some("application/merge-patch+json, application/json")
            );
        }
    }
    let coded =
        [("content-type", "application/merge-patch+json; charset=utf8"), ("content-encoding", "gzip")];
    let refused = fixture.client.send_bytes("PATCH", &format!("/v1/pets/{pet}"), &coded, Some(b"{}"));
    assert_eq!(refused.outcome(), (415, "unsupported_media_type".to_owned()));
    assert_eq!(refused.header("accept-encoding"), Some("identity"));
    assert_eq!(refused.header("accept-patch"), Some("application/merge-patch+json, application/json"));
    let post = fixture.client.send_bytes("POST", "/v1/pets", &[("content-type", "text/plain")], Some(b"{}"));
    assert_eq!(post.header("accept-patch"), None, "POST takes no patch");
}

#[test]
fn an_unexpected_body_is_discarded() {
    let fixture = Fixture::open();
    let pet = fixture.pet();
    let text = [("content-type", "text/plain")];
    assert_eq!(fixture.client.send_bytes("GET", "/v1/pets", &text, Some(b"hello")).status, 200);
    let deleted = fixture.client.send_bytes("DELETE", &format!("/v1/pets/{pet}"), &text, Some(b"hello"));
    assert_eq!(deleted.status, 204);
}
