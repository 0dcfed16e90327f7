//! Values that break one rule of a schema each: the server refuses every value that the document forbids.

use serde_json::{Value, json};

use super::checker::Checker;
use super::document::{self, Content, Operation, Parameter};
use super::schema;
use super::stock;
use super::valid_request::{ValidRequest, encoded, with_member, written};
use crate::harness::Client;

/// A character that no pattern of a body or a query allows, and a character that no pattern of a header allows as the
/// whole value.
const DELETE: &str = "\u{7f}";
const QUOTE: &str = "\"";

/// Sends every body that breaks exactly one rule. The answer must name the member that is wrong.
pub(super) fn send_bodies(checker: &mut Checker) {
    // A refused request changes nothing, so one shop is enough.
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        for content in &operation.bodies {
            for (member, body) in spoiled_bodies(content) {
                let answer = ValidRequest::of(operation)
                    .with_header("content-type", content.media_type)
                    .with_body(body.to_string())
                    .send(&client);
                checker.start_scenario(format!("a body with {member} at fault"));
                checker.expect(operation, &answer, 400, "validation_failed");
                let details = answer.json()["details"].as_array().cloned().unwrap_or_default();
                // An entry of a list has its index behind the member.
                let named: Vec<_> = details.iter().map(|detail| detail["field"].as_str().unwrap()).collect();
                let members: Vec<_> = named.iter().map(|field| field.split('[').next().unwrap()).collect();
                assert_eq!(members, [&member], "{} {body:.200}", operation.id);
            }
        }
    }
}

/// Sends every member that an answer has and a request must not have, because the server sets the member or the member
/// belongs to another resource. An id is sent with another value than the path has.
pub(super) fn send_other_members(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    let unknown: u64 = stock::UNKNOWN_ID.parse().expect("a number");
    for operation in document::operations() {
        let answered = operation.answers[&operation.success()].content.as_ref();
        for content in &operation.bodies {
            let taken = &document::resolved(content.schema)["properties"];
            let shown = &document::resolved(answered.expect("a resource").schema)["properties"];
            let shown = shown.as_object().expect("a resource").keys();
            for name in shown.filter(|name| taken.get(name).is_none() || *name == "id") {
                let body = with_member(content.examples[0].value, name, json!(unknown));
                let request = ValidRequest::of(operation).with_header("content-type", content.media_type);
                let answer = request.with_body(body.to_string()).send(&client);
                checker.start_scenario(format!("a body with {name}"));
                checker.expect(operation, &answer, 400, "validation_failed");
                assert_eq!(answer.json()["details"][0]["field"], *name, "{}", operation.id);
            }
        }
    }
}

/// Sends a URL to which webhooks may not be sent, wherever a body has one. No schema can describe these.
pub(super) fn send_refused_urls(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        for content in &operation.bodies {
            if document::resolved(content.schema)["properties"].get("url").is_none() {
                continue;
            }
            let body = with_member(content.examples[0].value, "url", json!("https://169.254.169.254/"));
            let request = ValidRequest::of(operation).with_body(body.to_string());
            let answer = request.send(&client);
            checker.expect(operation, &answer, 400, "validation_failed");
            assert_eq!(answer.json()["details"][0]["code"], "url_refused", "{}", operation.id);
        }
    }
}

/// Sends unknown parameters, duplicates of parameters that take one value, and parameters that exclude each other.
pub(super) fn send_other_parameters(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        let takes_one = |one: &&Parameter| one.place == "query" && one.schema["type"] != "array";
        let repeated = operation.parameters.iter().filter(takes_one).map(|one| {
            let pair = format!("{}={}", one.name, written(one.examples[0].value));
            (one.name, format!("{pair}&{pair}"), "repeated_parameter")
        });
        let unknown = ("verbose", "verbose=1".to_owned(), "unknown_parameter");
        let after = format!("after={}", stock::FIRST_PLACE);
        let exclusive =
            ["cursor=1", "sort=-id"].map(|other| ("after", format!("{after}&{other}"), "not_allowed"));
        let exclusive = exclusive.into_iter().filter(|_| operation.takes("after") && operation.is_list());
        for (name, query, code) in repeated.chain([unknown]).chain(exclusive) {
            let answer = ValidRequest::of(operation).with_query(&query).send(&client);
            checker.start_scenario(query);
            checker.expect(operation, &answer, 400, "invalid_parameter");
            let detail = &answer.json()["details"][0];
            assert_eq!((&detail["field"], &detail["code"]), (&json!(name), &json!(code)), "{}", operation.id);
        }
    }
}

/// Sends every parameter that breaks exactly one rule.
pub(super) fn send_parameters(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        for parameter in &operation.parameters {
            for value in violations(parameter.schema) {
                send_parameter(checker, &client, operation, parameter, &value);
            }
        }
    }
}

fn send_parameter(
    checker: &mut Checker,
    client: &Client,
    operation: &Operation,
    parameter: &Parameter,
    value: &Value,
) {
    let Parameter { name, place, schema, .. } = parameter;
    let text = if *place == "header" { written(value).replace(DELETE, QUOTE) } else { written(value) };
    // A value of another type may be valid once it is written as text, because every number is also a text. Null cannot
    // be written as text.
    let is_list = schema["type"] == "array";
    let fits = !is_list && schema::faults_of_text(schema, &text).is_empty();
    if fits || value.is_null() {
        return;
    }
    let request = ValidRequest::of(operation);
    let request = match *place {
        "path" => request.with_path_parameter(parameter, &encoded(&text)),
        "query" => request.with_query(&format!("{name}={}", encoded(&text))),
        "header" => request.with_header(&name.to_ascii_lowercase(), &text),
        place => panic!("a parameter in the {place}"),
    };
    let (status, code) = match *place {
        // A negative or too large number in the path is no error of the request; no resource has this id.
        "path" if value.is_i64() && schema["type"] == "integer" => (404, "not_found"),
        "header" => (400, "invalid_header"),
        _ if *name == "cursor" => (400, "invalid_cursor"),
        _ => (400, "invalid_parameter"),
    };
    checker.start_scenario(format!("{name} {value:.60}"));
    checker.expect(operation, &request.send(client), status, code);
}

/// Bodies that break exactly one rule, each with the name of the member that is wrong.
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

/// Values that each break exactly one rule of a schema.
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
            ("x-unique-items", _) => found.push(json!(vec![&schema["items"]["example"]; 2])),
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

/// Converts a number of characters or items.
pub(super) fn length(bound: i64) -> usize {
    usize::try_from(bound).expect("a length is not negative")
}
