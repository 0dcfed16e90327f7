//! The console of a sandbox, with the facts that it shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use petstore_contract::JSON;
use petstore_http::PageFile;
use petstore_pages::console::{ABOUT, About, FILES, about};
use serde::Deserialize;

use crate::openapi::page_file;
use crate::settings::ServeArgs;

/// The console of a sandbox. `api_origin` is the address of the API if it is not that of the console.
pub(crate) fn files(args: &ServeArgs, api_origin: Option<&str>, has_journal: bool) -> Arc<[PageFile]> {
    page(About {
        api_origin,
        base_path: &args.base_path,
        demo: args.demo,
        has_journal,
        has_webhooks: args.webhooks,
        operations: &operations(),
    })
}

/// The console of a sandbox that has a journal, and the API at its own address.
pub(crate) fn files_of(base_path: &str, demo: Option<u32>, has_webhooks: bool) -> Arc<[PageFile]> {
    page(About {
        api_origin: None,
        base_path,
        demo,
        has_journal: true,
        has_webhooks,
        operations: &operations(),
    })
}

fn page(facts: About<'_>) -> Arc<[PageFile]> {
    let about = PageFile::of(ABOUT, "application/json", about(facts));
    FILES.iter().map(page_file).chain([about]).collect()
}

/// The operations of the contract as JSON: method, route, tag, operation id and sunset date of each. The tag and the id
/// name the place of an operation on the reference page.
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
}
