//! The document held against the server, and the server against the document.
//!
//! What the document says is provoked over a socket, and every answer must be as it says: its status, its code, its
//! headers, its body. What is written down and not seen is a fault, and so is what is seen and not written down. The
//! document is read here as any client's tool would read it; nothing is known of it beforehand but what stands in the
//! tables of provocations.

mod document;
mod examples;
mod extremes;
mod keys;
mod portable;
mod requests;
mod schema;
mod settings;
mod specimen;
mod states;
mod stock;
mod successes;
mod tempers;
mod violations;
mod weather;
mod witness;

use std::collections::BTreeSet;

use document::{Documented, Operation};
use specimen::Specimen;
use witness::Witness;

use crate::harness::{Answer, Client, OPENAPI, Shop};

#[test]
fn every_documented_answer_and_example_is_given_and_every_answer_is_documented() {
    let mut witness = Witness::default();
    witness.turn_to("successes");
    successes::provoke(&mut witness);
    witness.turn_to("requests");
    requests::provoke(&mut witness);
    witness.turn_to("keys");
    keys::provoke(&mut witness);
    witness.turn_to("states");
    states::provoke(&mut witness);
    witness.turn_to("settings");
    settings::provoke(&mut witness);
    witness.turn_to("weather");
    weather::provoke(&mut witness);
    witness.turn_to("examples");
    examples::send_bodies(&mut witness);
    examples::send_paths(&mut witness);
    examples::send_figures(&mut witness);
    examples::send_parameters(&mut witness);
    examples::send_request_ids(&mut witness);
    witness.finish();
}

#[test]
fn every_error_code_belongs_to_an_answer() {
    let answers = document::operations().iter().flat_map(|operation| operation.answers.values());
    let answered: BTreeSet<_> = answers.flat_map(Documented::codes).collect();
    assert_eq!(answered, document::error_codes().collect());
}

/// Whatever heeds one heeds the other; the contract's reader looks for both among the parameters.
#[test]
fn an_operation_that_takes_if_match_takes_if_none_match() {
    for operation in document::operations().iter().filter(|one| one.takes("If-Match")) {
        assert!(operation.takes("If-None-Match"), "{}", operation.id);
    }
}

/// Some generators look nowhere else for what there is to read, and read nothing.
#[test]
fn every_success_with_a_body_stands_at_its_operation() {
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

/// A mock that finds one at the schema answers every request with it, whatever the answer's own examples are.
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
    let mut witness = Witness::default();
    examples::repeat_parameters(&mut witness);
    witness.finish_without_coverage();
}

#[test]
fn whatever_a_schema_permits_is_taken() {
    let mut witness = Witness::default();
    extremes::send(&mut witness);
    witness.finish_without_coverage();
}

#[test]
fn whatever_a_schema_forbids_is_refused() {
    let mut witness = Witness::default();
    violations::send_bodies(&mut witness);
    violations::send_parameters(&mut witness);
    violations::send_other_members(&mut witness);
    violations::send_other_parameters(&mut witness);
    let details = witness.details();
    witness.finish_without_coverage();
    assert_eq!(details, document::detail_codes().map(str::to_owned).collect());
}

#[test]
fn no_other_method_is_allowed() {
    let (_shop, client) = stock::open();
    let mut witness = Witness::default();
    for (path, operations) in document::paths() {
        let allowed = allowed(&operations);
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "get"] {
            if allowed.contains(method) {
                continue;
            }
            let answer = Specimen::of(operations[0]).by(method).send(&client);
            // It is the path's answer, so it must be as each of its operations documents it.
            for operation in &operations {
                witness.expect(operation, &answer, 405, "method_not_allowed");
            }
            assert_eq!(methods(&answer), allowed, "{method} {path}");
        }
    }
    witness.finish_without_coverage();
}

#[test]
fn no_other_path_is_found() {
    let (_shop, client) = stock::open();
    let like_any = document::operation("getOrder");
    let mut witness = Witness::default();
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
        "/openapi.yaml",
    ] {
        for method in ["GET", "POST", "DELETE", "OPTIONS"] {
            let request = Specimen::of(like_any).by(method).at(path);
            witness.expect(like_any, &request.send(&client), 404, "not_found");
        }
    }
    witness.finish_without_coverage();
    let outside = client.get("/pets");
    assert_eq!(outside.outcome(), (404, "not_found".to_owned()));
    assert!(outside.json()["message"].as_str().unwrap().contains(document::base_path()));
}

#[test]
fn head_is_get_without_the_body() {
    let (shop, client) = stock::open();
    for operation in document::operations().iter().filter(|one| one.method == "GET") {
        let good = Specimen::of(operation);
        for request in [
            good.clone(),
            good.clone().with("if-none-match", "*"),
            good.clone().asking("verbose=1"),
            good.clone().with("accept", "text/html"),
            good.clone().at("/nothing"),
        ] {
            for client in [&client, &shop.stranger()] {
                let (get, head) = (request.send(client), request.clone().by("HEAD").send(client));
                let at = &request.target;
                assert_eq!(get.status, head.status, "{at}");
                assert_eq!(lasting_headers(&get), lasting_headers(&head), "{at}");
                assert!(without_body(&request.clone().by("HEAD"), client), "{at}");
            }
        }
    }
}

#[test]
fn options_tells_the_methods_and_counts_nothing() {
    let (shop, client) = stock::open();
    let left = || {
        let account = client.get("/v1/rate-limit").json();
        // A request without a key that does count, so that the address's count is told; it is taken off below.
        (
            account["minute"]["remaining"].clone(),
            shop.stranger().get("/v1/pets").number("x-ratelimit-remaining"),
        )
    };
    let before = left();
    for (path, operations) in document::paths() {
        for client in [&client, &shop.stranger()] {
            let answer = Specimen::of(operations[0]).by("OPTIONS").send(client);
            assert_eq!((answer.status, answer.body.len()), (204, 0), "{path}");
            assert_eq!(methods(&answer), allowed(&operations), "{path}");
            assert_eq!(answer.header("x-ratelimit-resource"), Some("address"), "{path}");
        }
    }
    let after = left();
    assert_eq!(after, (before.0, before.1 - 1));
}

#[test]
fn a_head_that_the_parser_refuses_is_answered_with_a_bare_431() {
    let (_shop, client) = stock::open();
    let good = Specimen::of(document::operation("listPets"));
    let many = (0..101).fold(good.clone(), |request, number| request.with(&format!("x-{number}"), "1"));
    let long = good.clone().with("x-long", &"x".repeat(64 * 1024));
    let far = good.asking(&"x".repeat(70_000));
    for request in [many, long, far] {
        let answer = request.send(&client);
        assert_eq!((answer.status, answer.body.len()), (431, 0));
    }
}

#[test]
fn a_key_may_come_in_either_header() {
    let (shop, client) = stock::open();
    let key = client.key.expect("a client has a key");
    let mut witness = Witness::default();
    for operation in document::operations().iter().filter(|one| one.method == "GET") {
        let answer = Specimen::of(operation).with("x-api-key", &key).send(&shop.stranger());
        witness.expect(operation, &answer, operation.success(), "");
    }
    witness.finish_without_coverage();
}

#[test]
fn the_document_is_served_as_it_is() {
    let shop = Shop::open();
    let answer = shop.stranger().get("/openapi.yaml");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/yaml")));
    assert!(answer.body == OPENAPI.as_bytes(), "the document was changed on its way");
}

/// The methods of a path: HEAD wherever GET is, OPTIONS everywhere.
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

/// The headers that two answers to the same request share.
fn lasting_headers(answer: &Answer) -> BTreeSet<(String, String)> {
    let changes = ["date", "x-request-id", "x-ratelimit-remaining"];
    answer.headers.iter().filter(|(name, _)| !changes.contains(&name.as_str())).cloned().collect()
}

/// Whether nothing follows the head of the answer to this request.
fn without_body(request: &Specimen, client: &Client) -> bool {
    let mut connection = request.clone().with("connection", "close").begin_whole(client);
    connection.read_answer(true).expect("the server answers");
    connection.is_closed()
}
