//! The contract in OpenAPI 3.2, which has terms for a stream of events and for a tree of tags.

use serde_json::{Map, Value, json};

/// The media type of a stream of events.
const STREAM: &str = "text/event-stream";

/// Returns the document in OpenAPI 3.2. The document must be OpenAPI 3.1, as it is derived from the contract.
pub(crate) fn upgrade(mut document: Value) -> Value {
    document["openapi"] = json!("3.2.0");
    for tag in document.get_mut("tags").and_then(Value::as_array_mut).into_iter().flatten() {
        upgrade_tag(tag);
    }
    let mut written = vec![];
    upgrade_streams(&mut document["paths"], &mut written);
    for name in written {
        let example = document["components"]["examples"].get_mut(&name).and_then(Value::as_object_mut);
        let example = example.unwrap_or_else(|| panic!("there is no example {name}"));
        let value = example.remove("value").expect("an example has a value");
        example.insert("serializedValue".to_owned(), value);
    }
    document
}

/// A tag names its parent by a term of the specification in place of an extension, and says that it is for navigation.
fn upgrade_tag(tag: &mut Value) {
    let members = tag.as_object_mut().expect("a tag is an object");
    if let Some(parent) = members.remove("x-parent") {
        members.insert("parent".to_owned(), parent);
    }
    members.insert("kind".to_owned(), json!("nav"));
}

/// Describes each frame of each stream at and below a place, and collects the names of the examples of streams.
fn upgrade_streams(place: &mut Value, examples: &mut Vec<String>) {
    match place {
        Value::Array(parts) => parts.iter_mut().for_each(|part| upgrade_streams(part, examples)),
        Value::Object(members) => {
            for (name, member) in members {
                if name == STREAM {
                    upgrade_stream(member.as_object_mut().expect("a media type is an object"), examples);
                } else {
                    upgrade_streams(member, examples);
                }
            }
        }
        _ => {}
    }
}

fn upgrade_stream(media_type: &mut Map<String, Value>, examples: &mut Vec<String>) {
    let event = media_type.remove("x-event-schema").expect("a stream has a schema of its events");
    media_type.remove("schema");
    let named = media_type.get("examples").and_then(Value::as_object).into_iter().flat_map(Map::values);
    let references = named.filter_map(|example| example.get("$ref")?.as_str()?.rsplit('/').next());
    examples.extend(references.map(str::to_owned));
    media_type.insert("itemSchema".to_owned(), frames(&event));
}

/// The frames of a stream, as a parser of server-sent events returns them.
fn frames(event: &Value) -> Value {
    let id = json!({"type": "string", "minLength": 26, "maxLength": 26, "pattern": "^evt_[0-9A-Za-z]{22}$"});
    let reason = json!({
        "type": "object",
        "properties": {"reason": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[a-z_]+$"}},
        "required": ["reason"],
    });
    let kind = |name: &str| json!({"type": "string", "const": name});
    let data = |schema: Value| json!({"type": "string", "maxLength": 20_000, "contentMediaType": "application/json", "contentSchema": schema});
    json!({
        "type": "object",
        "oneOf": [
            {
                "title": "EventFrame",
                "description": "An event. The frame has no `event`, for which some parsers say `message`.",
                "properties": {"id": id, "data": data(json!({"$ref": event}))},
                "required": ["id", "data"],
                "not": {
                    "properties": {"event": {"type": "string", "enum": ["position", "end"]}},
                    "required": ["event"],
                },
            },
            {
                "title": "PositionFrame",
                "description": "How far the log was read.",
                "properties": {"event": kind("position"), "id": id, "data": data(json!({"type": "object"}))},
                "required": ["event", "id", "data"],
            },
            {
                "title": "EndFrame",
                "description": "The last frame, with the reason of the end.",
                "properties": {"event": kind("end"), "data": data(reason)},
                "required": ["event", "data"],
            },
        ],
    })
}
