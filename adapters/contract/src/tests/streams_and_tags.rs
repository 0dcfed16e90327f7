//! The contract in OpenAPI 3.2: the frames of the stream, the tree of tags, and otherwise what OpenAPI 3.1 says.

use serde_json::{Map, Value, json};

use crate::{JSON_31, JSON_32};

fn documents() -> [Value; 2] {
    [JSON_31, JSON_32].map(|text| serde_json::from_str(text).unwrap())
}

fn stream(document: &mut Value) -> &mut Map<String, Value> {
    let operation = &mut document["paths"]["/events/stream"]["get"];
    operation["responses"]["200"]["content"]["text/event-stream"].as_object_mut().unwrap()
}

#[test]
fn only_the_stream_and_the_tags_differ() {
    let [mut old, mut new] = documents();
    assert_eq!(new["openapi"], "3.2.0");
    new["openapi"] = old["openapi"].clone();
    for tag in new["tags"].as_array_mut().unwrap() {
        let tag = tag.as_object_mut().unwrap();
        assert_eq!(tag.remove("kind"), Some(json!("nav")));
        if let Some(parent) = tag.remove("parent") {
            tag.insert("x-parent".to_owned(), parent);
        }
    }
    let example = &mut new["components"]["examples"]["EventFrames"];
    example["value"] = example.as_object_mut().unwrap().remove("serializedValue").unwrap();
    assert!(stream(&mut new).remove("itemSchema").is_some());
    for name in ["schema", "x-event-schema"] {
        let value = stream(&mut old).remove(name).unwrap();
        assert!(!stream(&mut new).contains_key(name), "{value}");
    }
    assert_eq!(old, new);
}

#[test]
fn each_parent_is_a_tag_without_a_parent() {
    let [_, new] = documents();
    let tags = new["tags"].as_array().unwrap();
    let parents: Vec<_> = tags.iter().filter_map(|tag| tag.get("parent")).collect();
    assert!(!parents.is_empty());
    for parent in parents {
        let parent =
            tags.iter().find(|tag| tag["name"] == *parent).unwrap_or_else(|| panic!("no tag {parent}"));
        assert_eq!(parent.get("parent"), None);
    }
}

/// The members of a frame, without comments and the time until a client connects again.
fn parsed(frame: &str) -> Value {
    let fields = frame.lines().filter_map(|line| line.split_once(": "));
    fields
        .filter(|(name, _)| !name.is_empty() && *name != "retry")
        .map(|(name, value)| (name, json!(value)))
        .collect()
}

/// Each frame of the example is one of the frames that the document describes.
#[test]
fn the_example_has_the_described_frames() {
    let [_, mut new] = documents();
    let text = new["components"]["examples"]["EventFrames"]["serializedValue"].as_str().unwrap().to_owned();
    let described = stream(&mut new)["itemSchema"]["oneOf"].as_array().unwrap().clone();
    let mut found = vec![];
    for frame in text.split_terminator("\n\n").map(parsed) {
        let has = |name: &Value| frame.get(name.as_str().unwrap()).is_some();
        let matches = described.iter().filter(|schema| {
            let kind = schema["properties"].get("event").map(|event| &event["const"]);
            schema["required"].as_array().unwrap().iter().all(has) && frame.get("event") == kind
        });
        let titles: Vec<_> = matches.map(|schema| schema["title"].as_str().unwrap()).collect();
        assert_eq!(titles.len(), 1, "{frame}: {titles:?}");
        let data: Value = serde_json::from_str(frame["data"].as_str().unwrap()).unwrap();
        assert!(data.is_object(), "{frame}");
        found.extend(titles.into_iter().map(str::to_owned));
    }
    assert_eq!(found, ["PositionFrame", "EventFrame", "EndFrame"]);
}
