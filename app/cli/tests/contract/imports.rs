//! The contract in Postman and Bruno, imported by the converters of these programs.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::common::shop::ExampleShop;
use crate::common::{page, tools};

/// An operation: its method, its path, its summary, and the names of its query parameters.
type Shape = (String, String, String, BTreeSet<String>);

#[test]
fn postman_and_bruno_take_the_whole_contract() {
    if !tools::can_run("node", "--version") || !tools::can_run(tools::node("openapi2postmanv2"), "--version")
    {
        return;
    }
    let shop = ExampleShop::open("imports");
    let contract = shop.contract();
    let json = shop.site.folder.join("openapi.json");
    std::fs::write(&json, contract.to_string()).unwrap();
    let output = Command::new("node")
        .arg(tools::folder().join("import.mjs"))
        .args([concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.yaml").as_ref(), json.as_os_str()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let converted: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(converted["warnings"], Value::Array(vec![]));

    let documented = documented(&contract);
    for (tool, token) in [("postman", "/postman/auth/bearer/0/value"), ("bruno", "/bruno/auth/bearer/token")]
    {
        // All requests must take the key from one variable.
        let token = converted.pointer(token).and_then(Value::as_str).unwrap_or_default();
        assert!(token.starts_with("{{") && token.to_lowercase().contains("token"), "{tool}: {token}");
        let requests = converted[tool]["requests"].as_array().unwrap();
        assert!(requests.iter().all(|request| request["ownAuth"].is_null()), "{tool}");
        assert_eq!(requests.iter().map(arrived).collect::<BTreeSet<_>>(), documented, "{tool}");
        assert_eq!(requests.len(), documented.len(), "{tool}");
    }
    send(&shop, converted["postman"]["requests"].as_array().unwrap());
}

#[test]
fn the_commands_of_the_page_work() {
    if !tools::can_run(tools::node("openapi2postmanv2"), "--version") {
        return;
    }
    let site = page::run("import.md");
    let collection = std::fs::read(site.folder.join("collection.json")).unwrap();
    let collection: Value = serde_json::from_slice(&collection).unwrap();
    assert_eq!(collection["info"]["name"], "Petstore");
}

fn documented(contract: &Value) -> BTreeSet<Shape> {
    let mut shapes = BTreeSet::new();
    for (path, item) in contract["paths"].as_object().unwrap() {
        let operations = item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters");
        for (method, operation) in operations {
            let references = operation["parameters"].as_array().into_iter().flatten();
            let parameters = references.map(|reference| {
                let pointer = reference["$ref"].as_str().unwrap().trim_start_matches('#');
                contract.pointer(pointer).unwrap()
            });
            let in_query = parameters.filter(|parameter| parameter["in"] == "query");
            shapes.insert((
                method.to_uppercase(),
                path.replace('{', ":").replace('}', ""),
                operation["summary"].as_str().unwrap().to_owned(),
                in_query.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect(),
            ));
        }
    }
    shapes
}

fn arrived(request: &Value) -> Shape {
    let text = |member: &str| request[member].as_str().unwrap().to_owned();
    let parameters = request["parameters"].as_array().unwrap().iter();
    let names = parameters.map(|name| name.as_str().unwrap().to_owned());
    (text("method"), text("path"), text("name"), names.collect())
}

/// Sends the imported requests. Orders come before the patch that makes their pet pending. Deletions are left out,
/// because the other requests need the records.
fn send(shop: &ExampleShop, requests: &[Value]) {
    let in_turn = ["GET", "POST", "PUT", "PATCH"];
    for request in
        in_turn.iter().flat_map(|method| requests.iter().filter(move |one| one["method"] == *method))
    {
        let text = |member: &str| request[member].as_str().unwrap();
        // The stream gets a time limit, because it would not end otherwise.
        let bound = if text("target") == "/events/stream" { "?wait=1" } else { "" };
        let mut head = format!("{} /v1{}{bound} HTTP/1.1\r\n", text("method"), text("target"));
        for header in request["headers"].as_array().unwrap() {
            head.extend([header[0].as_str().unwrap(), ": ", header[1].as_str().unwrap(), "\r\n"]);
        }
        head.extend(["Authorization: Bearer ", &shop.key, "\r\n"]);
        let answer = shop.send(&head, text("body"));
        // The ids of events differ for each server, so the id in the example does not exist here.
        // The shop has no webhooks, so that of the example does not exist either.
        let expected = match text("target") {
            target if target.starts_with("/events/evt_") => "HTTP/1.1 410",
            target if target.starts_with("/webhooks/whk_") => "HTTP/1.1 404",
            _ => "HTTP/1.1 20",
        };
        assert!(answer.starts_with(expected), "{head}{}\n{answer}", text("body"));
    }
}
