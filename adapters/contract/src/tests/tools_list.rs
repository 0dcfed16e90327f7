//! The tools are the operations that a model may call, small enough for its context.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{COMPACT, TOOLS};

/// The size of a list of all tools at most, in tokens of about four characters.
const TOKENS_MAX: usize = 9_000;

fn tools() -> Vec<Value> {
    serde_json::from_str(TOOLS).unwrap()
}

#[test]
fn every_operation_that_is_not_deprecated_is_a_tool() {
    let compact: Value = serde_json::from_str(COMPACT).unwrap();
    let items = compact["paths"].as_object().unwrap().values();
    let operations = items.flat_map(|item| item.as_object().unwrap().values());
    let names = operations.filter(|one| one["deprecated"] != true).map(|one| &one["operationId"]);
    let tools = tools();
    let texts =
        |names: &mut dyn Iterator<Item = &Value>| names.map(Value::to_string).collect::<BTreeSet<_>>();
    assert_eq!(texts(&mut tools.iter().map(|tool| &tool["name"])), texts(&mut names.into_iter()));
    assert_eq!(
        (tools.len(), &tools[0]["name"]),
        (34, &Value::from("listPets")),
        "in the order of the contract"
    );
    for tool in &tools {
        assert_eq!(tool["name"], tool["tool"]["name"]);
        assert!(tool["name"] != "getPet" && tool["name"] != "streamEvents");
    }
}

#[test]
fn a_list_of_all_tools_is_small_and_has_no_reference() {
    let listed: Vec<_> = tools().iter().map(|tool| tool["tool"].to_string()).collect();
    let tokens = listed.concat().len() / 4;
    assert!(tokens <= TOKENS_MAX, "{tokens}");
    assert!(tokens > TOKENS_MAX / 2, "the tools have lost their descriptions: {tokens}");
    let lost = ["$ref", "nullable", "If-Match", "Idempotency-Key", "`ETag`", "Link", "\"\""];
    for text in lost {
        assert!(listed.iter().all(|tool| !tool.contains(text)), "{text}");
    }
}

#[test]
fn each_argument_has_a_schema_and_a_place() {
    for tool in tools() {
        let schema = &tool["tool"]["inputSchema"];
        assert_eq!(schema["additionalProperties"], false);
        let names = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        let (described, placed) = (names(&schema["properties"]), names(&tool["arguments"]));
        assert_eq!(described, placed, "{}", tool["name"]);
        for required in schema["required"].as_array().unwrap() {
            assert!(described.contains(required.as_str().unwrap()));
        }
        for (name, place) in tool["arguments"].as_object().unwrap() {
            assert!(name.chars().all(char::is_alphanumeric), "{name}");
            let place = place.as_str().unwrap();
            assert!(
                ["path", "query", "body", "if-match", "idempotency-key"].contains(&place),
                "{name}: {place}"
            );
            assert_eq!(place == "path", tool["path"].as_str().unwrap().contains(&format!("{{{name}}}")));
            assert!(place != "body" || tool["contentType"].is_string());
        }
    }
}

#[test]
fn a_wait_is_shorter_than_the_patience_of_clients() {
    let tools = tools();
    let waiting =
        tools.iter().filter_map(|tool| tool["tool"]["inputSchema"]["properties"]["wait"].as_object());
    let maxima: Vec<_> = waiting.map(|wait| wait["maximum"].as_u64()).collect();
    assert_eq!(maxima, [Some(20)]);
}

#[test]
fn hints_say_what_a_tool_changes() {
    for (name, hints) in [
        ("listPets", [true, false, true]),
        ("createPet", [false, false, false]),
        ("updatePet", [false, true, true]),
        ("cancelOrder", [false, true, true]),
    ] {
        let tool = tools().into_iter().find(|tool| tool["name"] == name).unwrap();
        let named = ["readOnlyHint", "destructiveHint", "idempotentHint"];
        let shown = named.map(|hint| tool["tool"]["annotations"][hint].as_bool());
        assert_eq!(shown, hints.map(Some), "{name}");
    }
}
