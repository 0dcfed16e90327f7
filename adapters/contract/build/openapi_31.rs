//! The contract in OpenAPI 3.1, whose schemas are JSON Schema 2020-12.

use serde_json::{Map, Value, json};

/// The tag of the operations under `webhooks`. Generators write one file for each tag: if paths had the same tag, the file of
/// the webhooks would replace that of the paths.
const WEBHOOKS_TAG: &str = "webhook-events";

/// The tag after which that of the webhooks is listed.
const TAG_BEFORE: &str = "webhooks";

/// Returns the document in OpenAPI 3.1. The document must be OpenAPI 3.0, as the contract uses it.
pub(crate) fn upgrade(mut document: Value) -> Value {
    document["openapi"] = json!("3.1.0");
    upgrade_license(&mut document["info"]["license"]);
    visit(&mut document);
    let webhooks = webhooks(&document);
    if !webhooks.is_empty() {
        list_tag(&mut document);
    }
    let Value::Object(members) = document else { return document };
    // The webhooks follow the paths, where a reader looks for them.
    let mut upgraded = Map::new();
    for (name, member) in members {
        let is_paths = name == "paths";
        upgraded.insert(name, member);
        if is_paths && !webhooks.is_empty() {
            upgraded.insert("webhooks".to_owned(), webhooks.clone().into());
        }
    }
    upgraded.into()
}

/// A licence has the identifier of SPDX or an address, but not both. The name of the contract's licence is the identifier.
fn upgrade_license(license: &mut Value) {
    license["identifier"] = license["name"].clone();
    license.as_object_mut().expect("a licence is an object").remove("url");
}

/// Upgrades all schemas at and below a place of the document.
fn visit(place: &mut Value) {
    match place {
        Value::Array(parts) => parts.iter_mut().for_each(visit),
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "schema" => upgrade_schema(member),
                    "schemas" => each(member, upgrade_schema),
                    // Values, which may have members of any name.
                    "example" | "examples" | "value" => {}
                    _ => visit(member),
                }
            }
        }
        _ => {}
    }
}

/// Calls a function with each member of an object.
fn each(object: &mut Value, change: impl FnMut(&mut Value)) {
    object.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(change);
}

/// Upgrades a schema and the schemas in it.
fn upgrade_schema(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    let is_nullable = members.get("nullable") == Some(&json!(true));
    if is_nullable {
        if let Some(name) = members.get_mut("type") {
            *name = json!([name.take(), "null"]);
        }
        if let Some(Value::Array(values)) = members.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    let is_exclusive = |name: &str| members.get(name) == Some(&json!(true));
    let limits = [is_exclusive("exclusiveMinimum"), is_exclusive("exclusiveMaximum")];
    let renamed =
        std::mem::take(members).into_iter().filter_map(|(name, member)| match (name.as_str(), limits) {
            ("nullable", _) => None,
            ("exclusiveMinimum" | "exclusiveMaximum", _) if member.is_boolean() => None,
            ("minimum", [true, _]) => Some(("exclusiveMinimum".to_owned(), member)),
            ("maximum", [_, true]) => Some(("exclusiveMaximum".to_owned(), member)),
            ("example", _) => Some(("examples".to_owned(), json!([member]))),
            _ => Some((name, member)),
        });
    *members = renamed.collect();
    for (name, member) in members {
        match name.as_str() {
            "properties" => each(member, upgrade_schema),
            "items" | "additionalProperties" | "not" => upgrade_schema(member),
            "allOf" | "anyOf" | "oneOf" => {
                member.as_array_mut().into_iter().flatten().for_each(upgrade_schema);
            }
            _ => {}
        }
    }
}

/// The events that are sent to webhooks, one for each type: the operation of the callback, with a body whose `data` has the
/// schema of that type.
fn webhooks(document: &Value) -> Map<String, Value> {
    let Some(callback) = callback(document) else { return Map::new() };
    let types = &document["components"]["schemas"]["Event"]["x-data-schemas"];
    let types = types.as_object().into_iter().flatten();
    let reference = |schema: &Value| json!({"$ref": format!("#/components/schemas/{}", schema.as_str().expect("a schema has a name"))});
    types.map(|(name, data)| (name.clone(), webhook(callback, name, &reference(data)))).collect()
}

/// The operation of the only callback in the document.
fn callback(document: &Value) -> Option<&Value> {
    let paths = document["paths"].as_object()?;
    let operations = paths.values().filter_map(Value::as_object).flat_map(Map::values);
    let mut callbacks = operations.filter_map(|operation| operation.get("callbacks")?.as_object());
    callbacks.next()?.values().next()?.as_object()?.values().next()?.get("post")
}

/// Lists the tag of the webhooks, and names it in its group.
fn list_tag(document: &mut Value) {
    let tag = json!({
        "name": WEBHOOKS_TAG,
        "description": "The requests that the URL of a webhook gets, one for each type of event. A receiver implements them.",
    });
    let tags = document.get_mut("tags");
    insert_after(tags, |one| one["name"] == TAG_BEFORE, tag);
    let groups = document.get_mut("x-tagGroups").and_then(Value::as_array_mut);
    for group in groups.into_iter().flatten() {
        insert_after(group.get_mut("tags"), |one| *one == TAG_BEFORE, json!(WEBHOOKS_TAG));
    }
}

/// Inserts an item behind the one that is meant, if there is a list that has it.
fn insert_after(list: Option<&mut Value>, is_meant: impl Fn(&Value) -> bool, item: Value) {
    let Some(items) = list.and_then(Value::as_array_mut) else { return };
    if let Some(place) = items.iter().position(is_meant) {
        items.insert(place + 1, item);
    }
}

fn webhook(callback: &Value, name: &str, data: &Value) -> Value {
    let words: String = name.split(['.', '_']).map(capitalized).collect();
    let mut post = callback.clone();
    post["operationId"] = json!(format!("on{words}"));
    post["tags"] = json!([WEBHOOKS_TAG]);
    post["summary"] = json!(format!("The event {name}"));
    let content = &mut post["requestBody"]["content"]["application/json"];
    content["schema"] = json!({
        "allOf": [
            {"$ref": "#/components/schemas/Event"},
            {"type": "object", "properties": {"type": {"type": "string", "const": name}, "data": data}},
        ]
    });
    // Only the example of this type.
    let example = content["examples"].get(format!("Event{words}")).cloned();
    let content = content.as_object_mut().expect("a media type is an object");
    content.remove("example");
    match example {
        Some(example) => drop(content.insert("examples".to_owned(), json!({ words: example }))),
        None => drop(content.remove("examples")),
    }
    json!({ "post": post })
}

/// Returns a word with its first letter in upper case.
fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
