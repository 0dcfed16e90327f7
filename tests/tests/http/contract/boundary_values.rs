//! Boundary values of schemas: the server accepts every value that the document permits.

use serde_json::{Value, json};

use super::checker::Checker;
use super::document::{self, Operation, Parameter};
use super::schema;
use super::stock::{self, SOLD_OUT_PET};
use super::valid_request::{ValidRequest, encoded, with_member, written};
use super::violations::length;

/// Sends every boundary value, each to a new shop. The server may refuse a value because of the shop's state, but not
/// because of the value's form.
pub(super) fn send(checker: &mut Checker) {
    for operation in document::operations() {
        for request in bodies(operation).into_iter().chain(queries(operation)) {
            let (_shop, client) = stock::open();
            let answer = request.send(&client);
            checker.start_scenario(format!("a boundary value of {}", request.target));
            checker.check(operation, &answer);
            let is_refused = answer.status >= 400 && answer.json().get("details").is_some();
            assert!(!is_refused, "{}: {}", request.target, String::from_utf8_lossy(&answer.body));
        }
    }
}

fn bodies(operation: &Operation) -> Vec<ValidRequest> {
    let Some(content) = operation.bodies.first() else { return vec![] };
    let example = content.examples.last().expect("every body has an example").value;
    let schema = document::resolved(content.schema);
    let mut requests = Vec::new();
    for (name, rule) in schema["properties"].as_object().expect("a body is an object") {
        // The id is left out, because it must equal the id in the path.
        for value in boundary_values(rule).into_iter().filter(|_| name != "id") {
            let request =
                ValidRequest::of(operation).with_body(with_member(example, name, value).to_string());
            // The pet has no free units, so that the largest adjustment does not raise its stock above the maximum.
            let request = if name == "delta" { request.with_id(&SOLD_OUT_PET.to_string()) } else { request };
            requests.push(request);
        }
    }
    requests
}

fn queries(operation: &Operation) -> Vec<ValidRequest> {
    let mut requests = Vec::new();
    for Parameter { name, schema, .. } in operation.parameters.iter().filter(|one| one.place == "query") {
        // The cursor is left out, because it has more rules than a schema can express.
        for value in boundary_values(schema).iter().filter(|_| *name != "cursor") {
            requests.push(
                ValidRequest::of(operation).with_query(&format!("{name}={}", encoded(&written(value)))),
            );
        }
    }
    requests
}

/// Returns the boundary values of a schema.
fn boundary_values(schema: &'static Value) -> Vec<Value> {
    let schema = document::resolved(schema);
    let mut found = Vec::new();
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        match (keyword.as_str(), rule.as_i64()) {
            ("minimum" | "maximum", _) => found.push(rule.clone()),
            ("minLength" | "maxLength", Some(bound)) => found.push(json!("x".repeat(length(bound)))),
            ("enum", _) => found.extend(rule.as_array().into_iter().flatten().cloned()),
            ("type", _) if rule == "boolean" => found.extend([json!(true), json!(false)]),
            ("nullable", _) => found.push(Value::Null),
            ("items", _) => found.extend(boundary_values(rule).into_iter().map(|value| json!([value]))),
            ("maxItems", Some(most)) => {
                // A pattern has no boundary values, so a schema with a pattern must have an example.
                let item = boundary_values(&schema["items"]).into_iter().next();
                let item = item.unwrap_or_else(|| schema["items"]["example"].clone());
                found.push(json!(vec![item; length(most)]));
            }
            _ => {}
        }
    }
    found.retain(|value| schema::faults(schema, value).is_empty());
    found
}
