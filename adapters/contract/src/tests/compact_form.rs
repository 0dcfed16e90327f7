//! The compact form has every request of the contract, and nothing that refers to something else.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{COMPACT, JSON, compact};

/// The size of the compact form at most, in tokens of about four characters.
const TOKENS_MAX: usize = 16_000;

fn documents() -> [Value; 2] {
    [JSON, COMPACT].map(|text| serde_json::from_str(text).unwrap())
}

/// Every operation, with its path and the parameters of its path.
fn operations(document: &Value) -> impl Iterator<Item = (&String, &Value, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        let operations = item.as_object().unwrap().values().filter(|one| one.get("operationId").is_some());
        operations.map(move |operation| (path, &item["parameters"], operation))
    })
}

#[test]
fn it_has_every_operation_that_answers_once() {
    let [whole, compact] = documents();
    let ids = |document| -> BTreeSet<String> {
        operations(document).map(|(_, _, one)| one["operationId"].as_str().unwrap().to_owned()).collect()
    };
    let mut expected = ids(&whole);
    assert!(expected.remove("streamEvents"));
    assert_eq!(ids(&compact), expected);
}

#[test]
fn each_operation_has_its_parameters_and_its_body() {
    let [whole, compact] = documents();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let resolved = |part: &Value| whole.pointer(&part["$ref"].as_str().unwrap()[1..]).unwrap().clone();
    for (path, of_path, operation) in operations(&whole) {
        let id = &operation["operationId"];
        let Some((_, none, short)) = operations(&compact).find(|(_, _, one)| one["operationId"] == *id)
        else {
            continue;
        };
        assert!(none.is_null(), "{id}");
        let expected: Vec<_> =
            list(of_path).iter().chain(&list(&operation["parameters"])).map(resolved).collect();
        let found = list(&short["parameters"]);
        assert_eq!(found.len(), expected.len(), "{id}");
        for (expected, found) in expected.iter().zip(&found) {
            for member in ["name", "in", "required", "style", "explode"] {
                assert_eq!(found[member], expected[member], "{id} {member}");
            }
            for member in ["type", "enum", "minimum", "default"] {
                assert_eq!(found["schema"][member], expected["schema"][member], "{id} {member}");
            }
        }
        let in_path = found.iter().filter(|one| one["in"] == "path").count();
        assert_eq!(in_path, path.matches('{').count(), "{id}");
        assert_eq!(short.get("requestBody").is_some(), operation.get("requestBody").is_some(), "{id}");
    }
}

/// Fails for what the compact form leaves out.
fn judge(value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(judge),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let is_left_out =
                ["$ref", "example", "examples", "headers", "callbacks"].contains(&name.as_str());
            assert!(!is_left_out && !name.starts_with("x-"), "{name}");
            judge(member);
        }),
        _ => {}
    }
}

#[test]
fn it_is_small_and_refers_to_nothing() {
    assert!(COMPACT.chars().count() / 4 <= TOKENS_MAX, "{}", COMPACT.chars().count() / 4);
    let compact = &documents()[1];
    judge(&compact["paths"]);
    judge(&compact["tags"]);
}

#[test]
fn references_are_inlined_and_sentences_cut() {
    let document = json!({
        "openapi": "3.0.3",
        "info": {"title": "A", "version": "1", "description": "One\nline.\n\nMore.", "license": {"name": "MIT"}},
        "servers": [{"url": "/v1"}],
        "security": [],
        "tags": [{"name": "a", "description": "First. Second."}, {"name": "unused"}],
        "paths": {
            "/a/{id}": {
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "get": {
                    "operationId": "getA", "tags": ["a"], "summary": "A", "x-stability": "beta",
                    "responses": {"200": {"description": "An A.", "headers": {}, "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/A"}, "examples": {},
                    }}}, "404": {"description": "None."}},
                },
            },
            "/s": {"get": {"operationId": "streamA", "x-mcp": false}},
        },
        "components": {
            "securitySchemes": {},
            "parameters": {"Id": {
                "name": "id", "in": "path", "required": true, "description": "The id. It is opaque.",
                "schema": {"type": "string", "maxLength": 3, "pattern": "^a$"}, "examples": {},
            }},
            "schemas": {"A": {"type": "object", "description": "An A.", "properties": {
                "b": {"type": "string", "maxLength": 1}, "description": {"type": "string", "nullable": true},
            }}},
        },
    });
    let compact = compact::compact(&document);
    assert_eq!(compact["info"]["description"], "One line.");
    assert_eq!(compact["tags"], json!([{"name": "a", "description": "First."}]));
    let properties = json!({"b": {"type": "string"}, "description": {"type": "string", "nullable": true}});
    let expected = json!({"/a/{id}": {"get": {
        "operationId": "getA", "tags": ["a"], "summary": "A",
        "parameters": [{
            "name": "id", "in": "path", "required": true, "description": "The id.",
            "schema": {"type": "string"},
        }],
        "responses": {
            "200": {"description": "An A.", "content": {"application/json": {
                "schema": {"type": "object", "properties": properties},
            }}},
            "4XX": {"description": "Refused. The body has a `code`, a `message` and the `status`."},
        },
    }}});
    assert_eq!(compact["paths"], expected);
}
