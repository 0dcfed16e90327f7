//! Tests of the server against the document, and of the document against the server.
//!
//! Every answer that the document describes is provoked over a socket, and every answer must match the document
//! in status, code, headers and body. An answer that is documented and never seen fails the test, and so does
//! one that is seen and not documented. The tests read the document as a client's tool would; only the tables
//! of provocations know more than it says.

mod boundary_values;
mod checker;
mod document;
mod events;
mod examples;
mod failure_switch;
mod keys;
mod members;
mod portable;
mod requests;
mod schema;
mod settings;
mod states;
mod stock;
mod store_failures;
mod successes;
mod valid_request;
mod violations;
mod webhook_stock;
mod webhooks;

use std::collections::BTreeSet;

use checker::Checker;
use document::{Documented, Operation};
use valid_request::ValidRequest;

use crate::harness::{Answer, Client, OPENAPI, Shop};

#[test]
fn every_documented_answer_and_example_is_given_and_every_answer_is_documented() {
    let mut checker = Checker::default();
    checker.start_scenario("successes");
    successes::provoke(&mut checker);
    checker.start_scenario("requests");
    requests::provoke(&mut checker);
    checker.start_scenario("keys");
    keys::provoke(&mut checker);
    checker.start_scenario("states");
    states::provoke(&mut checker);
    checker.start_scenario("events");
    events::provoke(&mut checker);
    checker.start_scenario("webhooks");
    webhooks::provoke(&mut checker);
    checker.start_scenario("settings");
    settings::provoke(&mut checker);
    checker.start_scenario("store_failures");
    store_failures::provoke(&mut checker);
    checker.start_scenario("examples");
    examples::send_bodies(&mut checker);
    examples::send_paths(&mut checker);
    examples::send_figures(&mut checker);
    examples::send_parameters(&mut checker);
    examples::send_request_ids(&mut checker);
    checker.finish();
}

#[test]
fn every_error_code_belongs_to_an_answer() {
    let answers = document::operations().iter().flat_map(|operation| operation.answers.values());
    let answered: BTreeSet<_> = answers.flat_map(Documented::codes).collect();
    assert_eq!(answered, document::error_codes().collect());
}

/// A reader of the contract looks for both headers among the parameters, so an operation that lists one must list the
/// other.
#[test]
fn an_operation_that_takes_if_match_takes_if_none_match() {
    for operation in document::operations().iter().filter(|one| one.takes("If-Match")) {
        assert!(operation.takes("If-None-Match"), "{}", operation.id);
    }
}

/// Some generators read the type of a response only from the operation itself, and generate a void method if the type
/// is defined elsewhere.
#[test]
fn every_success_with_a_body_is_defined_at_its_operation() {
    for operation in document::operations() {
        let success = &operation.answers[&operation.success()];
        if success.content.is_some() {
            assert_eq!(success.component, None, "{}", operation.id);
        }
    }
}

#[test]
fn every_example_fits_its_schema() {
    let faults = examples::faults();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Some mock servers answer every request with the example of the schema if it has one, and ignore the example of the
/// answer.
#[test]
fn a_schema_has_an_example_unless_an_answer_has_its_own() {
    assert_eq!(examples::misplaced(), Vec::<&str>::new());
    for operation in document::operations() {
        for content in operation.answers.values().filter_map(|answer| answer.content.as_ref()) {
            assert!(!content.examples.is_empty(), "{}", operation.id);
        }
    }
}

#[test]
fn values_may_be_joined_or_repeated() {
    let mut checker = Checker::default();
    examples::repeat_parameters(&mut checker);
    checker.finish_without_coverage();
}

#[test]
fn every_value_that_a_schema_permits_is_accepted() {
    let mut checker = Checker::default();
    boundary_values::send(&mut checker);
    checker.finish_without_coverage();
}

#[test]
fn every_value_that_a_schema_forbids_is_refused() {
    let mut checker = Checker::default();
    violations::send_bodies(&mut checker);
    violations::send_parameters(&mut checker);
    violations::send_other_members(&mut checker);
    violations::send_refused_urls(&mut checker);
    violations::send_other_parameters(&mut checker);
    let details = checker.details();
    checker.finish_without_coverage();
    assert_eq!(details, document::detail_codes().map(str::to_owned).collect());
}

#[test]
fn no_other_method_is_allowed() {
    let (_shop, client) = stock::open();
    let mut checker = Checker::default();
    for (path, operations) in document::paths() {
        let allowed = allowed(&operations);
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "get"] {
            if allowed.contains(method) {
                continue;
            }
            let answer = ValidRequest::of(operations[0]).with_method(method).send(&client);
            // The server answers an unknown method for the whole path, so the answer must match the documentation of
            // each operation there.
            for operation in &operations {
                checker.expect(operation, &answer, 405, "method_not_allowed");
            }
            assert_eq!(methods(&answer), allowed, "{method} {path}");
        }
    }
    checker.finish_without_coverage();
}

#[test]
fn no_other_path_is_found() {
    let (_shop, client) = stock::open();
    let like_any = document::operation("getOrder");
    let mut checker = Checker::default();
    for path in [
        "",
        "/",
        "/nothing",
        "/pets/",
        "/Pets",
        "/pets/10/",
        "/pets/10/orders",
        "/pets//10",
        "/pets/./10",
        "/store",
        "/orders/7",
        "/inventory/10/adjustments/1",
        "/events/",
        "/Events",
        "/events/evt_4GzozDqipuZAzAldp7sbGU/data",
        "/webhooks/",
        "/webhooks/whk_3mKqX7aBcDeFgHiJkLmNoP/pause",
        "/openapi.yaml",
    ] {
        for method in ["GET", "POST", "DELETE", "OPTIONS"] {
            let request = ValidRequest::of(like_any).with_method(method).at_path(path);
            checker.expect(like_any, &request.send(&client), 404, "not_found");
        }
    }
    checker.finish_without_coverage();
    let outside = client.get("/pets");
    assert_eq!(outside.outcome(), (404, "not_found".to_owned()));
    assert!(outside.json()["message"].as_str().unwrap().contains(document::base_path()));
}

#[test]
fn head_is_get_without_the_body() {
    let (shop, client) = stock::open();
    for operation in document::operations().iter().filter(|one| one.method == "GET") {
        let good = ValidRequest::of(operation);
        for request in [
            good.clone(),
            good.clone().with_header("if-none-match", "*"),
            good.clone().with_query("verbose=1"),
            good.clone().with_header("accept", "text/html"),
            good.clone().at_path("/nothing"),
        ] {
            for client in [&client, &shop.anonymous()] {
                let (get, head) = (request.send(client), request.clone().with_method("HEAD").send(client));
                let at = &request.target;
                assert_eq!(get.status, head.status, "{at}");
                assert_eq!(lasting_headers(&get), lasting_headers(&head), "{at}");
                assert!(without_body(&request.clone().with_method("HEAD"), client), "{at}");
            }
        }
    }
}

#[test]
fn options_lists_the_methods_and_counts_nothing() {
    let (shop, client) = stock::open();
    let left = || {
        let account = client.get("/v1/rate-limit").json();
        // The second request has no key and counts for its address. Its answer shows how much is left. The comparison
        // below subtracts this request.
        (
            account["minute"]["remaining"].clone(),
            shop.anonymous().get("/v1/pets").number("x-ratelimit-remaining"),
        )
    };
    let before = left();
    for (path, operations) in document::paths() {
        for client in [&client, &shop.anonymous()] {
            let answer = ValidRequest::of(operations[0]).with_method("OPTIONS").send(client);
            assert_eq!((answer.status, answer.body.len()), (204, 0), "{path}");
            assert_eq!(methods(&answer), allowed(&operations), "{path}");
            assert_eq!(answer.header("x-ratelimit-resource"), Some("address"), "{path}");
        }
    }
    let after = left();
    assert_eq!(after, (before.0, before.1 - 1));
}

#[test]
fn a_head_that_the_parser_refuses_is_answered_with_431_without_a_body() {
    let (_shop, client) = stock::open();
    let good = ValidRequest::of(document::operation("listPets"));
    let many =
        (0..101).fold(good.clone(), |request, number| request.with_header(&format!("x-{number}"), "1"));
    let long = good.clone().with_header("x-long", &"x".repeat(64 * 1024));
    let far = good.with_query(&"x".repeat(70_000));
    for request in [many, long, far] {
        let answer = request.send(&client);
        assert_eq!((answer.status, answer.body.len()), (431, 0));
    }
}

#[test]
fn a_key_may_come_in_either_header() {
    let (shop, client) = stock::open();
    let key = client.key.expect("a client has a key");
    let mut checker = Checker::default();
    for operation in document::operations().iter().filter(|one| one.method == "GET") {
        let answer = ValidRequest::of(operation).with_header("x-api-key", &key).send(&shop.anonymous());
        checker.expect(operation, &answer, operation.success(), "");
    }
    checker.finish_without_coverage();
}

#[test]
fn the_document_is_served_as_it_is() {
    let shop = Shop::open();
    let answer = shop.anonymous().get("/openapi.yaml");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/yaml")));
    assert!(answer.body == OPENAPI.as_bytes(), "the document was changed on its way");
}

/// The expected methods of a path: those of its operations, HEAD if there is GET, and OPTIONS.
fn allowed(operations: &[&Operation]) -> BTreeSet<String> {
    let mut methods: BTreeSet<_> = operations.iter().map(|operation| operation.method.clone()).collect();
    if methods.contains("GET") {
        methods.insert("HEAD".to_owned());
    }
    methods.insert("OPTIONS".to_owned());
    methods
}

/// The methods that an answer allows.
fn methods(answer: &Answer) -> BTreeSet<String> {
    answer.header("allow").unwrap_or_default().split(", ").map(str::to_owned).collect()
}

/// The headers that two answers to the same request must have with equal values.
fn lasting_headers(answer: &Answer) -> BTreeSet<(String, String)> {
    // An answer to HEAD has no body, so it may leave out the transfer coding (RFC 9112, section 6.1).
    let changes = ["date", "x-request-id", "x-ratelimit-remaining", "ratelimit", "transfer-encoding"];
    answer.headers.iter().filter(|(name, _)| !changes.contains(&name.as_str())).cloned().collect()
}

/// Returns whether the answer to this request has no body.
fn without_body(request: &ValidRequest, client: &Client) -> bool {
    let mut connection = request.clone().with_header("connection", "close").begin_whole(client);
    connection.read_answer(true).expect("the server answers");
    connection.is_closed()
}
