//! The document's examples, held against its schemas and sent to the server.

use std::collections::BTreeSet;

use petstore_domain::Plan;
use serde_json::{Value, json};

use super::document::{self, Content, Operation, Parameter};
use super::schema;
use super::specimen::{Specimen, written};
use super::stock;
use super::witness::Witness;
use crate::harness::{Answer, Client, Connection, Wish};

/// What is wrong with the examples that the document shows.
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

/// The schemas that have an example of their own although an answer has some, and those that have none at all.
pub(super) fn misplaced() -> Vec<&'static str> {
    let answers = document::operations().iter().flat_map(|operation| operation.answers.values());
    let contents = answers.filter_map(|answer| answer.content.as_ref());
    let answered: BTreeSet<_> = contents.filter_map(|content| document::name_of(content.schema)).collect();
    let is_misplaced =
        |(name, schema): &(&str, &Value)| schema.get("example").is_some() == answered.contains(name);
    document::schemas().filter(is_misplaced).map(|(name, _)| name).collect()
}

/// Sends every example of a body, each to a shop of its own. The answer's example has the name of the request's.
pub(super) fn send_bodies(witness: &mut Witness) {
    for operation in document::operations() {
        for content in &operation.bodies {
            for example in &content.examples {
                let answer = send_body(witness, operation, content, example.value);
                witness.expect_example(operation, &answer, example.name);
            }
            send_body(witness, operation, content, &document::resolved(content.schema)["example"]);
        }
    }
}

fn send_body(witness: &mut Witness, operation: &Operation, content: &Content, body: &Value) -> Answer {
    let (_shop, client) = stock::open();
    let request = Specimen::of(operation).with("content-type", content.media_type).saying(body.to_string());
    let answer = request.send(&client);
    witness.expect(operation, &answer, operation.success(), "");
    witness.see_taken(content.schema, body);
    answer
}

/// Reads whatever the examples of paths are about. The answer's example has the name of the path's.
pub(super) fn send_paths(witness: &mut Witness) {
    let (_shop, client) = stock::open();
    for operation in document::operations().iter().filter(|one| one.method == "GET") {
        for parameter in operation.parameters.iter().filter(|parameter| parameter.place == "path") {
            for example in &parameter.examples {
                let answer = Specimen::of(operation).about(&written(example.value)).send(&client);
                witness.expect_example(operation, &answer, example.name);
            }
        }
    }
    for (list, query) in [
        ("listPets", "id=4711"),
        ("listCategories", "name=Unicorn"),
        ("listOrders", "petId=4711"),
        ("listInventory", "petId=4711"),
    ] {
        let operation = document::operation(list);
        witness.expect(operation, &Specimen::of(operation).asking(query).send(&client), 200, "");
    }
}

/// What depends on the server's address, and on what the client has used of its quota.
pub(super) fn send_figures(witness: &mut Witness) {
    let mut wish = Wish::default();
    wish.http.public_url = Some("https://petstore.example".to_owned());
    let (shop, _) = stock::open_as(wish);
    let client = shop.client(Plan::Free);
    // Before the minute of the examples.
    for (time, requests) in [("2026-11-21T11:58:43Z", 60), ("2026-11-21T11:59:43Z", 51), (stock::NOW, 17)] {
        shop.clock.set(time);
        spend(&client, requests);
    }
    for (id, query) in [("listPets", "?limit=1"), ("getRateLimit", "")] {
        let operation = document::operation(id);
        let mut request = Specimen::of(operation);
        request.target += query;
        witness.expect(operation, &request.send(&client), 200, "");
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
pub(super) fn send_parameters(witness: &mut Witness) {
    for operation in document::operations() {
        for parameter in operation.parameters.iter().filter(|parameter| parameter.place != "path") {
            for example in &parameter.examples {
                send_parameter(witness, operation, parameter, &written(example.value));
            }
        }
    }
}

/// Sends a request id to every operation: it is described, not listed as a parameter, since generators make the first
/// optional argument of each method of it.
pub(super) fn send_request_ids(witness: &mut Witness) {
    for operation in document::operations() {
        let (_shop, client) = stock::open();
        let answer = Specimen::of(operation).with("x-request-id", "checkout-7f3a.1").send(&client);
        witness.turn_to("a request id");
        witness.expect(operation, &answer, operation.success(), "");
        assert_eq!(answer.header("x-request-id"), Some("checkout-7f3a.1"), "{}", operation.id);
    }
}

fn send_parameter(witness: &mut Witness, operation: &Operation, parameter: &Parameter, value: &str) {
    let (_shop, client) = stock::open();
    let request = Specimen::of(operation);
    let name = parameter.name;
    let answer = match parameter.place {
        "query" => request.asking(&format!("{name}={value}")).send(&client),
        "header" => request.with(&name.to_ascii_lowercase(), value).send(&client),
        place => panic!("a parameter in the {place}"),
    };
    let is_weak = value.starts_with("W/");
    let is_known = if is_weak { operation.id == "listPets" } else { !operation.is_list() };
    let (status, code) = match name {
        // Cursors and the tags of lists belong to one list: here that of the pets.
        "cursor" if operation.id != "listPets" => (400, "invalid_cursor"),
        "If-None-Match" if is_known && operation.method == "GET" => (304, ""),
        _ => (operation.success(), ""),
    };
    witness.turn_to(format!("{name}: {value}"));
    witness.expect(operation, &answer, status, code);
    if parameter.place == "query" && answer.status == 200 && answer.json() == json!([]) {
        witness.fault(format!("{} {name}={value} finds nothing", operation.id));
    }
}

/// Sends the lists of values once more, as the document says that works as well: each value in a parameter of its own.
pub(super) fn repeat_parameters(witness: &mut Witness) {
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        for Parameter { name, examples, .. } in &operation.parameters {
            for values in examples.iter().filter_map(|example| example.value.as_array()) {
                let repeated: Vec<_> =
                    values.iter().map(|value| format!("{name}={}", written(value))).collect();
                let joined = values.iter().map(written).collect::<Vec<_>>().join(",");
                let request = Specimen::of(operation);
                let one = request.clone().asking(&format!("{name}={joined}")).send(&client);
                let other = request.asking(&repeated.join("&")).send(&client);
                witness.expect(operation, &one, 200, "");
                witness.expect(operation, &other, 200, "");
                assert_eq!(one.body, other.body, "{} {name}", operation.id);
            }
        }
    }
}
