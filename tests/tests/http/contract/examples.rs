//! The document's examples, held against its schemas and sent to the server.

use serde_json::Value;

use super::document::{self, Content, Operation, Parameter};
use super::schema;
use super::specimen::{Specimen, written};
use super::stock;
use super::witness::Witness;

/// What is wrong with the examples that the document shows.
pub(super) fn faults() -> Vec<String> {
    let mut found = Vec::new();
    let mut hold = |at: String, schema: &'static Value, example: &Value| {
        found.extend(schema::faults(schema, example).iter().map(|fault| format!("{at}: {fault}")));
    };
    for (name, schema) in document::schemas() {
        hold(name.to_owned(), schema, schema.get("example").expect("every schema has an example"));
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
            if let Some(example) = header.example {
                hold(format!("{id} {}", header.name), header.schema, example);
            }
        }
    }
    found
}

/// Sends every example of a body, each to a shop of its own.
pub(super) fn send_bodies(witness: &mut Witness) {
    for operation in document::operations() {
        for content in &operation.bodies {
            for example in &content.examples {
                let (_shop, client) = stock::open();
                let request = Specimen::of(operation)
                    .with("content-type", content.media_type)
                    .saying(example.value.to_string());
                witness.expect(operation, &request.send(&client), operation.success(), "");
            }
        }
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

fn send_parameter(witness: &mut Witness, operation: &Operation, parameter: &Parameter, value: &str) {
    let (_shop, client) = stock::open();
    let request = Specimen::of(operation);
    let name = parameter.name;
    let answer = match parameter.place {
        "query" => request.asking(&format!("{name}={value}")).send(&client),
        "header" => request.with(&name.to_ascii_lowercase(), value).send(&client),
        place => panic!("a parameter in the {place}"),
    };
    let (status, code) = match name {
        // Only a server makes cursors: the document's is made up.
        "cursor" => (400, "invalid_cursor"),
        // The tags are another server's.
        "If-Match" if value != "*" => (412, "precondition_failed"),
        _ => (operation.success(), ""),
    };
    witness.expect(operation, &answer, status, code);
    if name == "X-Request-Id" {
        assert_eq!(answer.header("x-request-id"), Some(value), "{}", operation.id);
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
