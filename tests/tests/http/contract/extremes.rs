//! Values that only just keep a rule of a schema: what the document permits, the server takes.

use serde_json::{Value, json};

use super::document::{self, Operation, Parameter};
use super::schema;
use super::specimen::{Specimen, encoded, with_member, written};
use super::stock::{self, SOLD_OUT_PET};
use super::violations::length;
use super::witness::Witness;

/// Sends every such value, each to a shop of its own. The shop's state may refuse it, but no rule about its form.
pub(super) fn send(witness: &mut Witness) {
    for operation in document::operations() {
        for request in bodies(operation).into_iter().chain(queries(operation)) {
            let (_shop, client) = stock::open();
            let answer = request.send(&client);
            witness.turn_to(format!("an extreme of {}", request.target));
            witness.see(operation, &answer);
            let is_refused = answer.status >= 400 && answer.json().get("details").is_some();
            assert!(!is_refused, "{}: {}", request.target, String::from_utf8_lossy(&answer.body));
        }
    }
}

fn bodies(operation: &Operation) -> Vec<Specimen> {
    let Some(content) = operation.bodies.first() else { return vec![] };
    let example = content.examples.last().expect("every body has an example").value;
    let schema = document::resolved(content.schema);
    let mut requests = Vec::new();
    for (name, rule) in schema["properties"].as_object().expect("a body is an object") {
        // The id is the path's and no other.
        for value in extremes(rule).into_iter().filter(|_| name != "id") {
            let request = Specimen::of(operation).saying(with_member(example, name, value).to_string());
            // A pet without free units, so that the largest delivery does not raise its stock too far.
            let request = if name == "delta" { request.about(&SOLD_OUT_PET.to_string()) } else { request };
            requests.push(request);
        }
    }
    requests
}

fn queries(operation: &Operation) -> Vec<Specimen> {
    let mut requests = Vec::new();
    for Parameter { name, schema, .. } in operation.parameters.iter().filter(|one| one.place == "query") {
        // A cursor has more rules than a schema can tell.
        for value in extremes(schema).iter().filter(|_| *name != "cursor") {
            requests.push(Specimen::of(operation).asking(&format!("{name}={}", encoded(&written(value)))));
        }
    }
    requests
}

/// Values that only just keep a rule of a schema.
fn extremes(schema: &'static Value) -> Vec<Value> {
    let schema = document::resolved(schema);
    let mut found = Vec::new();
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        match (keyword.as_str(), rule.as_i64()) {
            ("minimum" | "maximum", _) => found.push(rule.clone()),
            ("minLength" | "maxLength", Some(bound)) => found.push(json!("x".repeat(length(bound)))),
            ("enum", _) => found.extend(rule.as_array().into_iter().flatten().cloned()),
            ("type", _) if rule == "boolean" => found.extend([json!(true), json!(false)]),
            ("nullable", _) => found.push(Value::Null),
            ("items", _) => found.extend(extremes(rule).into_iter().map(|value| json!([value]))),
            ("maxItems", Some(most)) => {
                let item = extremes(&schema["items"]).swap_remove(0);
                found.push(json!(vec![item; length(most)]));
            }
            _ => {}
        }
    }
    found.retain(|value| schema::faults(schema, value).is_empty());
    found
}
