//! The document's examples, checked against its schemas and sent to the server.

use std::collections::BTreeSet;

use petstore_domain::Plan;
use serde_json::{Value, json};

use super::checker::Checker;
use super::document::{self, Content, Operation, Parameter};
use super::schema;
use super::stock;
use super::valid_request::{ValidRequest, written};
use crate::harness::{Answer, Client, Connection, ShopOptions};

/// Returns the faults of the examples in the document.
pub(super) fn faults() -> Vec<String> {
    let mut found = Vec::new();
    let mut hold = |at: String, schema: &'static Value, example: &Value| {
        found.extend(schema::faults(schema, example).iter().map(|fault| format!("{at}: {fault}")));
    };
    for (name, schema) in document::schemas() {
        if let Some(example) = schema.get("example") {
            hold(name.to_owned(), schema, example);
        }
    }
    for operation in document::operations() {
        let id = operation.id;
        for Parameter { name, schema, examples, .. } in &operation.parameters {
            for one in examples {
                hold(format!("{id} {name}"), schema, one.value);
            }
        }
        let answered = operation.answers.values().filter_map(|answer| answer.content.as_ref());
        for Content { schema, examples, .. } in operation.bodies.iter().chain(answered) {
            for one in examples {
                hold(format!("{id} {}", one.name), schema, one.value);
            }
        }
        for header in operation.answers.values().flat_map(|answer| &answer.headers) {
            hold(format!("{id} {}", header.name), header.schema, header.example);
        }
    }
    found
}

/// The schemas whose example is misplaced. A schema that an answer has as its body must have no example, because the
/// answer has one; every other schema must have one.
pub(super) fn misplaced() -> Vec<&'static str> {
    let answers = document::operations().iter().flat_map(|operation| operation.answers.values());
    let contents = answers.filter_map(|answer| answer.content.as_ref());
    let answered: BTreeSet<_> = contents.filter_map(|content| document::name_of(content.schema)).collect();
    let is_misplaced =
        |(name, schema): &(&str, &Value)| schema.get("example").is_some() == answered.contains(name);
    document::schemas().filter(is_misplaced).map(|(name, _)| name).collect()
}

/// Sends every example of a request body, each to a new shop. The expected answer is the example of the same name.
pub(super) fn send_bodies(checker: &mut Checker) {
    for operation in document::operations() {
        for content in &operation.bodies {
            for example in &content.examples {
                let answer = send_body(checker, operation, content, example.value);
                checker.expect_example(operation, &answer, example.name);
            }
            send_body(checker, operation, content, &document::resolved(content.schema)["example"]);
        }
    }
}

fn send_body(checker: &mut Checker, operation: &Operation, content: &Content, body: &Value) -> Answer {
    let (_shop, client) = stock::open();
    let request = ValidRequest::of(operation)
        .with_header("content-type", content.media_type)
        .with_body(body.to_string());
    let answer = request.send(&client);
    checker.expect(operation, &answer, operation.success(), "");
    checker.record_accepted(content.schema, body);
    answer
}

/// Reads the resource of every example of a path. The expected answer is the example of the same name.
pub(super) fn send_paths(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    for operation in document::operations().iter().filter(|one| one.method == "GET") {
        let in_path = |parameter: &&Parameter| parameter.place == "path";
        // The last id names the resource; those before it name the resources that have it.
        if let Some(parameter) = operation.parameters.iter().rfind(in_path) {
            for example in &parameter.examples {
                let answer = ValidRequest::of(operation).with_id(&written(example.value)).send(&client);
                checker.expect_example(operation, &answer, example.name);
            }
        }
    }
    for (list, query) in [
        ("listPets", "id=4711"),
        ("listCategories", "name=Unicorn"),
        ("listOrders", "petId=4711"),
        ("listInventory", "petId=4711"),
        ("listEvents", "type=category.deleted"),
        ("listDeliveries", "status=failed"),
    ] {
        let operation = document::operation(list);
        checker.expect(operation, &ValidRequest::of(operation).with_query(query).send(&client), 200, "");
    }
}

/// Sends the requests whose answer depends on the server's address and on the used quota, so that each answer equals
/// its example.
pub(super) fn send_figures(checker: &mut Checker) {
    let mut options = ShopOptions::default();
    options.http.public_url = Some("https://petstore.example".to_owned());
    let (shop, _) = stock::open_as(options);
    let client = shop.client(Plan::Free);
    // The first time is in an earlier minute than the examples, so it counts for the day only.
    for (time, requests) in [("2026-11-21T11:58:43Z", 60), ("2026-11-21T11:59:43Z", 51), (stock::NOW, 17)] {
        shop.clock.set(time);
        spend(&client, requests);
    }
    for (id, query) in [("listPets", "?limit=1"), ("getRateLimit", "")] {
        let operation = document::operation(id);
        let mut request = ValidRequest::of(operation);
        request.target += query;
        checker.expect(operation, &request.send(&client), 200, "");
    }
}

/// Uses up this many requests of a quota, on one connection.
pub(super) fn spend(client: &Client, requests: u32) {
    let mut connection = Connection::open(client.address);
    let key = client.key.as_deref().expect("a client has a key");
    let head = format!("GET /v1/pets HTTP/1.1\r\nhost: {}\r\nx-api-key: {key}\r\n\r\n", client.address);
    for _ in 0..requests {
        connection.send(head.as_bytes());
        assert_eq!(connection.read_answer(false).expect("the server answers").status, 200);
    }
}

/// Sends every example of a parameter in the query or the head.
pub(super) fn send_parameters(checker: &mut Checker) {
    for operation in document::operations() {
        for parameter in operation.parameters.iter().filter(|parameter| parameter.place != "path") {
            for example in &parameter.examples {
                send_parameter(checker, operation, parameter, &written(example.value));
            }
        }
    }
}

/// Sends a request id to every operation. The document describes the header in prose only, because a listed parameter
/// would become the first optional argument of every generated method.
pub(super) fn send_request_ids(checker: &mut Checker) {
    for operation in document::operations() {
        let (_shop, client) = stock::open();
        let answer = ValidRequest::of(operation).with_header("x-request-id", "checkout-7f3a.1").send(&client);
        checker.start_scenario("a request id");
        checker.expect(operation, &answer, operation.success(), "");
        assert_eq!(answer.header("x-request-id"), Some("checkout-7f3a.1"), "{}", operation.id);
    }
}

fn send_parameter(checker: &mut Checker, operation: &Operation, parameter: &Parameter, value: &str) {
    let (_shop, client) = stock::open();
    let request = ValidRequest::of(operation);
    let name = parameter.name;
    let answer = match parameter.place {
        "query" => request.with_query(&format!("{name}={value}")).send(&client),
        "header" => request.with_header(&name.to_ascii_lowercase(), value).send(&client),
        place => panic!("a parameter in the {place}"),
    };
    let is_weak = value.starts_with("W/");
    // The examples have two entity tags: the weak tag of the list of pets, and the tag of a resource in its second
    // version. An event has only one version.
    let is_known = match operation.id {
        "listPets" => is_weak,
        "getEvent" => false,
        _ => !is_weak && !operation.is_list(),
    };
    let (status, code) = match name {
        // A cursor, and the tag of a list, is valid for one list only. The examples have the cursor and the tag of the
        // list of pets.
        "cursor" if operation.id != "listPets" => (400, "invalid_cursor"),
        "If-None-Match" if is_known && operation.method == "GET" => (304, ""),
        _ => (operation.success(), ""),
    };
    checker.start_scenario(format!("{name}: {value}"));
    checker.expect(operation, &answer, status, code);
    if parameter.place == "query" && answer.status == 200 && answer.content() == json!([]) {
        checker.fault(format!("{} {name}={value} finds nothing", operation.id));
    }
}

/// Sends each example of a list of values once more, with each value in a separate parameter, which the document allows
/// too.
pub(super) fn repeat_parameters(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        for Parameter { name, examples, .. } in &operation.parameters {
            for values in examples.iter().filter_map(|example| example.value.as_array()) {
                let repeated: Vec<_> =
                    values.iter().map(|value| format!("{name}={}", written(value))).collect();
                let joined = values.iter().map(written).collect::<Vec<_>>().join(",");
                let request = ValidRequest::of(operation);
                let one = request.clone().with_query(&format!("{name}={joined}")).send(&client);
                let other = request.with_query(&repeated.join("&")).send(&client);
                checker.expect(operation, &one, 200, "");
                checker.expect(operation, &other, 200, "");
                assert_eq!(one.body, other.body, "{} {name}", operation.id);
            }
        }
    }
}
