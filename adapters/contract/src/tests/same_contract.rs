//! The contract in OpenAPI 3.1 says what the written one says: nothing is dropped, nothing is merged, and only the webhooks
//! are added.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::{JSON, JSON_31};

fn documents() -> [Value; 2] {
    [JSON, JSON_31].map(|text| serde_json::from_str(text).unwrap())
}

/// Reports each place at which two parts of the documents say something else.
fn compare(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(old), Value::Object(new)) => {
            let new = lowered(new.clone(), old);
            for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                match (old.get(name), new.get(name)) {
                    (Some(old), Some(new)) => compare(old, new, &format!("{at}/{name}"), found),
                    (Some(_), None) => found.push(format!("{at}/{name} is dropped")),
                    _ => found.push(format!("{at}/{name} is added")),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                compare(old, new, &format!("{at}/{index}"), found);
            }
        }
        _ => found.push(format!("{at} is {new}, was {old}")),
    }
}

/// An object of the newer document in the terms of the older version, where the older object uses a term that has changed.
fn lowered(mut new: Map<String, Value>, old: &Map<String, Value>) -> Map<String, Value> {
    let has = |name: &str| old.get(name) == Some(&json!(true));
    if has("nullable") {
        if let Some([name, null]) = new.get("type").and_then(Value::as_array).map(Vec::as_slice) {
            assert_eq!(*null, json!("null"));
            let name = name.clone();
            new.insert("type".to_owned(), name);
        }
        if let Some(Value::Array(values)) = new.get_mut("enum") {
            assert_eq!(values.pop(), Some(Value::Null));
        }
        new.insert("nullable".to_owned(), json!(true));
    }
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if has(flag) {
            let value = new.insert(flag.to_owned(), json!(true)).expect("the bound is kept");
            new.insert(bound.to_owned(), value);
        }
    }
    if old.contains_key("example")
        && let Some(Value::Array(values)) = new.remove("examples")
    {
        assert_eq!(values.len(), 1);
        new.extend(values.into_iter().map(|value| ("example".to_owned(), value)));
    }
    new
}

/// The differences between the written contract and a form of it in OpenAPI 3.1, without the webhooks and their tag.
fn differences(old: &Value, mut new: Value) -> Vec<String> {
    new["openapi"] = old["openapi"].clone();
    let license = &mut new["info"]["license"];
    assert_eq!(license["identifier"], license["name"]);
    *license = old["info"]["license"].clone();
    new.as_object_mut().unwrap().remove("webhooks").unwrap();
    new["tags"].as_array_mut().unwrap().retain(|tag| tag["name"] != "webhook-events");
    for group in new["x-tagGroups"].as_array_mut().unwrap() {
        group["tags"].as_array_mut().unwrap().retain(|tag| tag != "webhook-events");
    }
    let mut found = vec![];
    compare(old, &new, "", &mut found);
    found
}

#[test]
fn nothing_of_the_contract_is_dropped_or_changed() {
    let [old, new] = documents();
    assert_eq!(differences(&old, new), Vec::<String>::new());
}

/// Each kind of difference is found.
#[test]
fn planted_differences_are_found() {
    let [old, new] = documents();
    let planted = |plant: fn(&mut Value)| {
        let mut new = new.clone();
        plant(&mut new);
        differences(&old, new)
    };
    let dropped =
        planted(|new| drop(new["components"]["schemas"]["Pet"].as_object_mut().unwrap().remove("required")));
    assert_eq!(dropped, ["/components/schemas/Pet/required is dropped"]);
    let added = planted(|new| new["paths"]["/pets"]["get"]["x-new"] = json!(1));
    assert_eq!(added, ["/paths//pets/get/x-new is added"]);
    let changed = planted(|new| new["tags"][0]["name"] = json!("other"));
    assert_eq!(changed, ["/tags/0/name is \"other\", was \"Pets\""]);
    let merged = planted(|new| drop(new["tags"].as_array_mut().unwrap().remove(0)));
    assert_eq!(merged.len(), 1);
}

/// The operations of a map of paths or of webhooks.
fn operations(items: &Value) -> impl Iterator<Item = &Value> {
    let methods = items.as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
    methods.filter(|member| member.get("operationId").is_some())
}

fn words<'v>(operations: impl Iterator<Item = &'v Value>, member: &str) -> Vec<&'v str> {
    let values = operations.flat_map(|operation| match &operation[member] {
        Value::Array(values) => values.iter().collect::<Vec<_>>(),
        value => vec![value],
    });
    values.map(|value| value.as_str().unwrap()).collect()
}

/// Generators write one file for each tag, and one method for each id.
#[test]
fn webhooks_and_paths_share_no_tag_and_no_id() {
    let [old, new] = documents();
    let paths: BTreeSet<_> = words(operations(&new["paths"]), "tags").into_iter().collect();
    let webhooks: BTreeSet<_> = words(operations(&new["webhooks"]), "tags").into_iter().collect();
    assert_eq!(webhooks, BTreeSet::from(["webhook-events"]));
    assert!(paths.is_disjoint(&webhooks), "{paths:?}");

    let ids = |document: &Value| {
        let webhooks = document.get("webhooks").into_iter().flat_map(operations);
        let ids = operations(&document["paths"]).chain(webhooks);
        words(ids, "operationId").into_iter().map(str::to_ascii_lowercase).collect::<Vec<_>>()
    };
    for document in [&old, &new] {
        let ids = ids(document);
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    }

    let listed = words(new["tags"].as_array().unwrap().iter(), "name");
    let grouped = words(new["x-tagGroups"].as_array().unwrap().iter(), "tags");
    for tag in paths.union(&webhooks) {
        let count = |tags: &[&str]| tags.iter().filter(|one| *one == tag).count();
        assert_eq!((count(&listed), count(&grouped)), (1, 1), "{tag}");
    }
}

/// A webhook is the callback for one type of event. Together they have all types and all examples.
#[test]
fn each_webhook_has_what_the_callback_has() {
    let [old, new] = documents();
    let create = &old["paths"]["/webhooks"]["post"];
    let callback = &create["callbacks"]["event"]["{$request.body#/url}"]["post"];
    let types = old["components"]["schemas"]["Event"]["x-data-schemas"].as_object().unwrap();
    let webhooks = new["webhooks"].as_object().unwrap();
    assert_eq!(webhooks.keys().collect::<BTreeSet<_>>(), types.keys().collect());

    let mut examples = vec![];
    for (name, webhook) in webhooks {
        assert_eq!(webhook.as_object().unwrap().keys().collect::<Vec<_>>(), ["post"]);
        let mut post = webhook["post"].clone();
        assert_eq!(post["x-stability"], create["x-stability"], "{name}");
        let content = &mut post["requestBody"]["content"]["application/json"];
        let own = content["examples"].as_object().unwrap();
        assert_eq!(own.len(), 1, "{name}");
        for example in own.values() {
            let pointer = example["$ref"].as_str().unwrap().trim_start_matches('#');
            assert_eq!(new.pointer(pointer).unwrap()["value"]["type"], json!(name));
            examples.push(example.to_string());
        }
        *content = callback["requestBody"]["content"]["application/json"].clone();
        for own in ["operationId", "summary", "tags"] {
            assert!(!post[own].is_null(), "{name} {own}");
            post[own] = callback[own].clone();
        }
        assert_eq!(post, *callback, "{name}");
    }
    let of_callback = callback["requestBody"]["content"]["application/json"]["examples"].as_object().unwrap();
    let expected: BTreeSet<_> = of_callback.values().map(Value::to_string).collect();
    assert_eq!(examples.len(), expected.len());
    assert_eq!(examples.into_iter().collect::<BTreeSet<_>>(), expected);
}

/// The form in 3.1 has no term of 3.0.
#[test]
fn no_schema_uses_a_term_of_the_older_version() {
    fn keys(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Array(parts) => parts.iter().for_each(|part| keys(part, found)),
            Value::Object(members) => members.iter().for_each(|(name, member)| {
                found.insert(name.clone());
                keys(member, found);
            }),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    keys(&documents()[1]["components"]["schemas"], &mut found);
    assert!(found.contains("examples") && !found.contains("nullable"), "{found:?}");
}
