//! Every error of the table as problem details (RFC 9457), for clients that ask for them.

use std::collections::BTreeSet;

use petstore_domain::Plan;
use serde_json::Value;

use super::provoke;
use crate::harness::{Answer, Shop, accepting};

/// Names problem details before the contract's own form, and accepts each success.
const ACCEPT: &str = "application/problem+json, application/json;q=0.9, text/event-stream;q=0.9, application/yaml;q=0.1, */*;q=0.1";

const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

pub(super) fn is_problem(answer: &Answer) -> bool {
    answer.header("content-type") == Some("application/problem+json")
}

/// Checks the members of an error that the text does not show, and its headers. Returns `true` for problem details.
pub(super) fn check(answer: &Answer) -> bool {
    let error = answer.json();
    assert_eq!(error["status"], answer.status, "{error}");
    let retry = answer.header("retry-after").map(|secs| secs.parse::<u64>().unwrap());
    assert_eq!(error["retryAfterSeconds"].as_u64(), retry, "{error}");
    // A head that did not come in time has no Accept.
    let has_head = error["message"] != "The request head did not arrive in time.";
    let vary = answer.header("vary").unwrap_or_default();
    assert!(
        !has_head || vary.split(", ").any(|name| name == "Accept"),
        "the form depends on Accept: {vary:?}, {error}"
    );
    if !is_problem(answer) {
        assert!(error.get("type").is_none(), "{error}");
        return false;
    }
    let code = error["code"].as_str().unwrap();
    let has_policy = error["violated-policies"].as_array().is_some_and(|names| names.len() == 1);
    match error["type"].as_str().unwrap() {
        QUOTA_EXCEEDED => assert!(answer.status == 429 && has_policy, "{error}"),
        REDUCED_CAPACITY => assert_eq!(answer.status, 503, "{error}"),
        own => assert!(own.ends_with(&format!("/docs#errors/{code}")) && !has_policy, "{error}"),
    }
    let title = error["title"].as_str().unwrap();
    assert_eq!(title.to_ascii_lowercase().replace(' ', "_"), code);
    assert!(error.get("message").is_none(), "the text is in detail: {error}");
    true
}

#[test]
fn every_message_of_the_table_is_the_detail_of_a_problem_too() {
    let own = provoke();
    let problems = accepting(ACCEPT, provoke);
    assert!(problems.differences.is_empty(), "{}", problems.differences.join("\n"));
    let of = |seen: &BTreeSet<(String, bool)>, form: bool| -> BTreeSet<String> {
        seen.iter().filter(|(_, one)| *one == form).map(|(code, _)| code.clone()).collect()
    };
    assert_eq!(of(&own.codes, true), BTreeSet::new(), "nothing but Accept chooses the form");
    let missing: Vec<_> = of(&own.codes, false).difference(&of(&problems.codes, true)).cloned().collect();
    // The request of this code names an Accept of its own; the next test sends another one.
    assert_eq!(missing, ["not_acceptable"]);
}

#[test]
fn the_form_follows_the_weights() {
    let shop = Shop::open();
    let form = |accept: &str| {
        let answer = shop.client(Plan::Pro).send("GET", "/v1/pets/9", &[("accept", accept)], None);
        (answer.status, answer.header("content-type").unwrap().to_owned())
    };
    let (own, problem) = ("application/json".to_owned(), "application/problem+json".to_owned());
    for (accept, expected) in [
        ("*/*", (404, &own)),
        ("application/*", (404, &own)),
        ("application/json", (404, &own)),
        ("application/json, application/problem+json", (404, &problem)),
        ("application/json;q=0.9, application/problem+json;q=0.8", (404, &own)),
        ("application/problem+json;q=0, */*", (404, &own)),
        ("application/problem+json, */*;q=0.1", (404, &problem)),
        // The success has no such form, and the refusal says so in it.
        ("application/problem+json", (406, &problem)),
        ("application/xml", (406, &own)),
    ] {
        let (status, name) = form(accept);
        assert_eq!((status, &name), expected, "{accept}");
    }
}

#[test]
fn the_type_is_absolute_on_this_server_and_relative_without_a_host() {
    let shop = Shop::open();
    let accept = [("accept", "application/problem+json, */*;q=0.1")];
    let missing: Value = shop.client(Plan::Pro).send("GET", "/v1/pets/9", &accept, None).json();
    assert_eq!(missing["type"], format!("http://{}/docs#errors/not_found", shop.address()));
    let hostless =
        "GET /v1/pets/9 HTTP/1.1\r\naccept: application/problem+json, */*\r\nconnection: close\r\n\r\n";
    let hostless = shop.client(Plan::Pro).exchange(hostless.as_bytes(), false).json();
    assert_eq!(hostless["type"], "/docs#errors/invalid_host");
}
