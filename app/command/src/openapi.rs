//! The contract: as YAML, as JSON, in OpenAPI 3.1, and as the reference page; the console of a sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use petstore_console::About;
use petstore_contract::{JSON, JSON_31, YAML, YAML_31};
use petstore_http::{Documents, PageFile};
use serde::Deserialize;

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
mod tests {
    use super::*;

    #[test]
    fn the_console_knows_the_place_of_each_operation() {
        let operations: Vec<(String, String, String, String, Option<String>)> =
            serde_json::from_str(&operations()).unwrap();
        let [method, route, tag, id] = ["GET", "/pets/{petId}", "animals", "getPet"].map(str::to_owned);
        assert!(operations.contains(&(method, route, tag, id, Some("2030-12-05".to_owned()))));
        let contract: serde_json::Value = serde_json::from_str(JSON).unwrap();
        let items =
            contract["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap());
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
}
