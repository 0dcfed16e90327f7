//! Values that break one rule of a schema each: what the document forbids, the server refuses.

use serde_json::{Value, json};

use super::document::{self, Content, Operation, Parameter};
use super::schema;
use super::specimen::{Specimen, encoded, with_member, written};
use super::stock;
use super::witness::Witness;
use crate::harness::Client;

/// A character that no pattern of a body or a query admits, and one that no pattern of a header admits alone.
const DELETE: &str = "\u{7f}";
const QUOTE: &str = "\"";

/// Sends every body that breaks one rule. The answer names the member that is at fault.
pub(super) fn send_bodies(witness: &mut Witness) {
    // Whatever is refused changes nothing, so one shop is enough.
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        for content in &operation.bodies {
            for (member, body) in spoiled_bodies(content) {
                let answer = Specimen::of(operation)
                    .with("content-type", content.media_type)
                    .saying(body.to_string())
                    .send(&client);
                witness.turn_to(format!("a body with {member} at fault"));
                witness.expect(operation, &answer, 400, "validation_failed");
                let details = answer.json()["details"].as_array().cloned().unwrap_or_default();
                let named: Vec<_> = details.iter().map(|detail| &detail["field"]).collect();
                assert_eq!(named, [&member], "{} {body:.200}", operation.id);
            }
        }
    }
}

/// Sends every member that the resource has and the body has not: it is the server's, or another resource's. The id,
/// where the body has it, is another one than the path's.
pub(super) fn send_other_members(witness: &mut Witness) {
    let (_shop, client) = stock::open();
    let nobody: u64 = stock::NOBODY.parse().expect("a number");
    for operation in document::operations() {
        let answered = operation.answers[&operation.success()].content.as_ref();
        for content in &operation.bodies {
            let taken = &document::resolved(content.schema)["properties"];
            let shown = &document::resolved(answered.expect("a resource").schema)["properties"];
            let shown = shown.as_object().expect("a resource").keys();
            for name in shown.filter(|name| taken.get(name).is_none() || *name == "id") {
                let body = with_member(content.examples[0].value, name, json!(nobody));
                let request = Specimen::of(operation).with("content-type", content.media_type);
                let answer = request.saying(body.to_string()).send(&client);
                witness.turn_to(format!("a body with {name}"));
                witness.expect(operation, &answer, 400, "validation_failed");
                assert_eq!(answer.json()["details"][0]["field"], *name, "{}", operation.id);
            }
        }
    }
}

/// Sends parameters that the operation does not have, and twice those that take one value.
pub(super) fn send_other_parameters(witness: &mut Witness) {
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        let takes_one = |one: &&Parameter| one.place == "query" && one.schema["type"] != "array";
        let repeated = operation.parameters.iter().filter(takes_one).map(|one| {
            let pair = format!("{}={}", one.name, written(one.examples[0].value));
            (one.name, format!("{pair}&{pair}"), "repeated_parameter")
        });
        let unknown = ("verbose", "verbose=1".to_owned(), "unknown_parameter");
        for (name, query, code) in repeated.chain([unknown]) {
            let answer = Specimen::of(operation).asking(&query).send(&client);
            witness.turn_to(query);
            witness.expect(operation, &answer, 400, "invalid_parameter");
            let detail = &answer.json()["details"][0];
            assert_eq!((&detail["field"], &detail["code"]), (&json!(name), &json!(code)), "{}", operation.id);
        }
    }
}

/// Sends every parameter that breaks one rule.
pub(super) fn send_parameters(witness: &mut Witness) {
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        for parameter in &operation.parameters {
            for value in violations(parameter.schema) {
                send_parameter(witness, &client, operation, parameter, &value);
            }
        }
    }
}

fn send_parameter(
    witness: &mut Witness,
    client: &Client,
    operation: &Operation,
    parameter: &Parameter,
    value: &Value,
) {
    let Parameter { name, place, schema, .. } = parameter;
    let text = if *place == "header" { written(value).replace(DELETE, QUOTE) } else { written(value) };
    // As text, another type may be none: any number is a text too. And null cannot be written.
    let is_list = schema["type"] == "array";
    let fits = !is_list && schema::faults_of_text(schema, &text).is_empty();
    if fits || value.is_null() {
        return;
    }
    let request = Specimen::of(operation);
    let request = match *place {
        "path" => request.about(&text),
        "query" => request.asking(&format!("{name}={}", encoded(&text))),
        "header" => request.with(&name.to_ascii_lowercase(), &text),
        place => panic!("a parameter in the {place}"),
    };
    let (status, code) = match *place {
        // A number that cannot be an id is the id of nothing.
        "path" if value.is_i64() => (404, "not_found"),
        "header" => (400, "invalid_header"),
        _ if *name == "cursor" => (400, "invalid_cursor"),
        _ => (400, "invalid_parameter"),
    };
    witness.turn_to(format!("{name} {value:.60}"));
    witness.expect(operation, &request.send(client), status, code);
}

/// Bodies that break one rule each, with the member that is at fault.
fn spoiled_bodies(content: &Content) -> Vec<(String, Value)> {
    let good = content.examples[0].value;
    let schema = document::resolved(content.schema);
    let mut bodies = vec![("colour".to_owned(), with_member(good, "colour", json!("brown")))];
    for (name, rule) in schema["properties"].as_object().expect("a body is an object") {
        let spoiled = violations(rule).into_iter().map(|value| with_member(good, name, value));
        bodies.extend(spoiled.map(|body| (name.clone(), body)));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("a name");
        let mut body = good.clone();
        body.as_object_mut().expect("an object").remove(name);
        bodies.push((name.to_owned(), body));
    }
    for (name, body) in &bodies {
        assert!(!schema::faults(content.schema, body).is_empty(), "{name} is not at fault in {body}");
    }
    bodies
}

/// Values that break one rule of a schema each.
fn violations(schema: &'static Value) -> Vec<Value> {
    let schema = document::resolved(schema);
    let mut found = Vec::new();
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        match (keyword.as_str(), rule.as_i64()) {
            ("type", _) => match rule.as_str() {
                Some("integer") => found.extend([json!("one"), json!(1.5), json!(true)]),
                Some("boolean") => found.extend([json!("maybe"), json!(1)]),
                Some("string") => found.extend([json!(1), json!(["one"])]),
                _ => {}
            },
            ("enum", _) => found.push(json!("nonsense")),
            ("format", _) if rule == "date-time" => found.push(json!("yesterday")),
            ("minimum", Some(least)) => found.push(json!(least - 1)),
            ("maximum", Some(most)) => found.push(json!(most + 1)),
            ("minLength", Some(least)) => found.push(json!("x".repeat(length(least) - 1))),
            ("maxLength", Some(most)) => found.push(json!("x".repeat(length(most) + 1))),
            ("pattern", _) => found.push(json!(DELETE)),
            ("items", _) => found.extend(violations(rule).into_iter().map(|value| json!([value]))),
            ("minItems", Some(least)) => found.push(json!(vec![1; length(least) - 1])),
            ("maxItems", Some(most)) => found.push(json!(vec![1; length(most) + 1])),
            _ => {}
        }
    }
    if schema["nullable"] != true {
        found.push(Value::Null);
    }
    found
}

/// A number of characters or items.
pub(super) fn length(bound: i64) -> usize {
    usize::try_from(bound).expect("a length is not negative")
}
