//! The contract: as YAML, as JSON, in OpenAPI 3.1, and as the reference page; the console of a sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use petstore_console::About;
use petstore_http::{Documents, PageFile};
use serde::Deserialize;

/// The contract as it was written.
pub(crate) const YAML: &str = include_str!("../../../openapi.yaml");

/// The contract as JSON, made by the build script.
const JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// The contract in OpenAPI 3.1 as YAML, made by the build script.
const YAML_31: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi-3.1.yaml"));

/// The contract in OpenAPI 3.1 as JSON, made by the build script.
const JSON_31: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi-3.1.json"));

/// The base path in the written contract.
pub(crate) const BASE_PATH: &str = "/v1";

/// The contract with another base path. Only the value of `servers` differs.
pub(crate) fn documents(base_path: &str) -> Documents {
    let page = page();
    if base_path == BASE_PATH {
        return Documents {
            yaml: Bytes::from_static(YAML.as_bytes()),
            json: Bytes::from_static(JSON.as_bytes()),
            yaml_31: Bytes::from_static(YAML_31.as_bytes()),
            json_31: Bytes::from_static(JSON_31.as_bytes()),
            page,
            console: Arc::default(),
        };
    }
    let url = if base_path.is_empty() { "/" } else { base_path };
    let yaml = |text: &str| text.replacen("\n  - url: /v1\n", &format!("\n  - url: {url}\n"), 1).into();
    let json = |text: &str| text.replacen("[{\"url\":\"/v1\"", &format!("[{{\"url\":\"{url}\""), 1).into();
    Documents {
        yaml: yaml(YAML),
        json: json(JSON),
        yaml_31: yaml(YAML_31),
        json_31: json(JSON_31),
        page,
        console: Arc::default(),
    }
}

/// The reference page, which reads the JSON form.
fn page() -> Arc<[PageFile]> {
    let files = petstore_reference::FILES.iter();
    files.map(|file| PageFile::new(file.name, file.content_type, file.gzip)).collect()
}

/// The reference page of a sandbox, with a note. `origin` is the address of the sandbox. `is_here` is true if the page
/// has the same address.
pub(crate) fn page_of_sandbox(origin: &str, is_here: bool) -> Arc<[PageFile]> {
    let files = petstore_reference::FILES.iter();
    let file = |file: &petstore_reference::File| match file.name {
        "" => PageFile::of("", file.content_type, petstore_reference::page_of_sandbox(origin, is_here)),
        name => PageFile::new(name, file.content_type, file.gzip),
    };
    files.map(file).collect()
}

/// The console of a sandbox. `api_origin` is the address of the API if it is not that of the console.
pub(crate) fn console(api_origin: Option<&str>, base_path: &str, demo: Option<u32>) -> Arc<[PageFile]> {
    let facts = About { api_origin, base_path, demo, operations: &operations() };
    let about = PageFile::of(petstore_console::ABOUT, "application/json", petstore_console::about(facts));
    let files = petstore_console::FILES.iter();
    files.map(|file| PageFile::new(file.name, file.content_type, file.gzip)).chain([about]).collect()
}

/// The operations of the contract as JSON: method, route, tag, operation id and sunset date of each. The reference page has the place
/// of an operation under its tag and id.
fn operations() -> String {
    #[derive(Deserialize)]
    struct Contract {
        paths: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
    }
    let contract: Contract = serde_json::from_str(JSON).expect("the build script has made it");
    let mut found = vec![];
    for (route, item) in &contract.paths {
        for (method, operation) in item {
            let (Some(tag), Some(id)) = (operation["tags"][0].as_str(), operation["operationId"].as_str())
            else {
                continue;
            };
            found.push((method.to_uppercase(), route, tag, id, operation["x-deprecated-sunset"].as_str()));
        }
    }
    serde_json::to_string(&found).expect("texts can be serialised")
}

#[cfg(test)]
#[path = "../build/openapi_31.rs"]
mod openapi_31;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_are_upgraded_and_values_are_not() {
        let value = json!({"nullable": true, "example": 1, "schema": {"nullable": true}});
        let schema = json!({
            "type": "object",
            "properties": {
                "example": {"type": "string", "nullable": true, "enum": ["a"], "example": "a"},
                "nullable": {"type": "integer", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
                "items": {"type": "array", "items": {"type": "string", "nullable": false}},
            },
        });
        let document = json!({
            "openapi": "3.0.3",
            "info": {"license": {"name": "MIT", "url": "https://example.com"}},
            "paths": {"/a": {"get": {"parameters": [{"schema": schema, "example": value}]}}},
            "components": {"schemas": {"A": schema}, "examples": {"a": {"value": value}}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "example": {"type": ["string", "null"], "enum": ["a", null], "examples": ["a"]},
                "nullable": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9},
                "items": {"type": "array", "items": {"type": "string"}},
            },
        });
        let upgraded = openapi_31::upgrade(document);
        assert_eq!(upgraded["openapi"], "3.1.0");
        assert_eq!(upgraded["info"]["license"], json!({"name": "MIT", "identifier": "MIT"}));
        assert_eq!(upgraded["components"]["schemas"]["A"], expected);
        let parameter = &upgraded["paths"]["/a"]["get"]["parameters"][0];
        assert_eq!(*parameter, json!({"schema": expected, "example": value}));
        assert_eq!(upgraded["components"]["examples"]["a"]["value"], value);
        assert_eq!(upgraded.get("webhooks"), None);
    }

    #[test]
    fn each_type_of_event_is_a_webhook() {
        let (pet, order) = (json!({"$ref": "#/pet"}), json!({"$ref": "#/order"}));
        let body = json!({
            "schema": {"$ref": "#/components/schemas/Event"},
            "examples": {"EventPetCreated": {"value": 1}, "EventOrderPlaced": {"value": 2}},
        });
        let post =
            json!({"operationId": "receiveEvent", "requestBody": {"content": {"application/json": body}}});
        let document = json!({
            "openapi": "3.0.3",
            "info": {"license": {"name": "MIT"}},
            "paths": {"/webhooks": {"post": {"callbacks": {"event": {"{$request.body#/url}": {"post": post}}}}}},
            "components": {"schemas": {"Event": {"x-data-schemas": {"order.placed": order, "pet.created": pet}}}},
        });
        let webhooks = &openapi_31::upgrade(document)["webhooks"];
        assert_eq!(webhooks.as_object().unwrap().keys().collect::<Vec<_>>(), ["order.placed", "pet.created"]);
        let post = &webhooks["order.placed"]["post"];
        assert_eq!(post["operationId"], "onOrderPlaced");
        let content = &post["requestBody"]["content"]["application/json"];
        assert_eq!(content["examples"], json!({"OrderPlaced": {"value": 2}}));
        let typed =
            json!({"type": "object", "properties": {"type": {"const": "order.placed"}, "data": order}});
        assert_eq!(content["schema"]["allOf"], json!([{"$ref": "#/components/schemas/Event"}, typed]));
    }

    /// The contract in 3.1 has the operations of the one in 3.0.3, and no member that 3.1 does not know.
    #[test]
    fn the_upgraded_contract_is_the_same_contract() {
        fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
            match value {
                serde_json::Value::Array(parts) => parts.iter().for_each(|part| keys(part, found)),
                serde_json::Value::Object(members) => members.iter().for_each(|(name, member)| {
                    found.insert(name.clone());
                    keys(member, found);
                }),
                _ => {}
            }
        }
        let [old, new] = [JSON, JSON_31].map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
        let operations = |document: &serde_json::Value| {
            let paths = document["paths"].as_object().unwrap();
            let names =
                |path: &serde_json::Value| path.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            paths.iter().map(|(path, item)| (path.clone(), names(item))).collect::<Vec<_>>()
        };
        assert_eq!(operations(&old), operations(&new));
        let mut found = std::collections::BTreeSet::new();
        keys(&new["components"]["schemas"], &mut found);
        assert!(found.contains("examples") && !found.contains("nullable"), "{found:?}");
    }

    #[test]
    fn the_console_knows_the_place_of_each_operation() {
        let operations: Vec<(String, String, String, String, Option<String>)> = serde_json::from_str(&operations()).unwrap();
        let [method, route, tag, id] = ["GET", "/pets/{petId}", "animals", "getPet"].map(str::to_owned);
        assert!(operations.contains(&(method, route, tag, id, Some("2030-12-05".to_owned()))));
        let contract: serde_json::Value = serde_json::from_str(JSON).unwrap();
        let items = contract["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap());
        assert_eq!(operations.len(), items.filter(|(_, one)| one.get("operationId").is_some()).count());
    }

    #[test]
    fn another_base_path_changes_one_line() {
        let here = documents(BASE_PATH);
        let there = documents("/shop");
        for (here, there) in [(&here.yaml, &there.yaml), (&here.yaml_31, &there.yaml_31)] {
            let (here, there) = (String::from_utf8_lossy(here), String::from_utf8_lossy(there));
            let changed: Vec<_> = here.lines().zip(there.lines()).filter(|(a, b)| a != b).collect();
            assert_eq!(changed, [("  - url: /v1", "  - url: /shop")]);
        }
        for json in [there.json, there.json_31] {
            let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
            assert_eq!(json["servers"][0]["url"], "/shop");
        }
    }

    #[test]
    fn the_json_equals_the_yaml_and_is_valid_yaml() {
        let yaml: serde_json::Value = serde_saphyr::from_str(YAML).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(JSON).unwrap(), yaml);
        // Characters that YAML does not allow unescaped, or reads as a line end or a byte order mark.
        let foreign = |c: char| {
            matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        };
        assert_eq!(
            serde_saphyr::from_str::<serde_json::Value>(YAML_31).unwrap(),
            serde_json::from_str::<serde_json::Value>(JSON_31).unwrap()
        );
        let raw: Vec<_> = JSON.chars().chain(JSON_31.chars()).filter(|c| foreign(*c)).collect();
        assert!(raw.is_empty(), "{raw:?}");
    }
}
