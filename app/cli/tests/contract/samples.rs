//! The curl samples of the contract, and the tour for editors.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::common::shop::ExampleShop;
use crate::common::tools;

const TOUR: &str = include_str!("../../../../docs/tour.http");

/// Returns each sample with its name. The introduction's samples come first, and the first of them sets the variables.
fn samples(contract: &Value) -> Vec<(String, String)> {
    let introduction = contract["info"]["description"].as_str().unwrap();
    let blocks = introduction.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut samples: Vec<_> =
        blocks.enumerate().map(|(n, block)| (format!("the introduction, {n}"), block.to_owned())).collect();
    assert!(samples.len() > 1, "First steps, and Receive events");
    for item in contract["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            for sample in operation.get("x-codeSamples").and_then(Value::as_array).into_iter().flatten() {
                assert_eq!(sample["lang"], "Shell");
                let name = format!("{}: {}", operation["operationId"], sample["label"]);
                samples.push((name, sample["source"].as_str().unwrap().to_owned()));
            }
        }
    }
    samples
}

#[test]
fn the_curl_samples_work_as_pasted() {
    if !tools::can_run("curl", "--version") {
        return;
    }
    let contract = ExampleShop::empty("samples-contract").contract();
    let samples = samples(&contract);
    assert!(samples.len() > 10, "{} samples", samples.len());
    for (place, (name, sample)) in samples.iter().enumerate() {
        // Each sample starts from a new shop, because some samples delete records that others need.
        let shop = ExampleShop::open(&format!("samples-{place}"));
        let url = format!("http://127.0.0.1:{}/v1", shop.site.port);
        let pasted = sample.replace("http://127.0.0.1:8080/v1", &url).replace("pet_…", &shop.key);
        // With these options curl fails on an error status, and the failed command ends the shell.
        std::fs::write(shop.site.folder.join(".curlrc"), "fail-with-body\nsilent\n").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &pasted]).env("CURL_HOME", &shop.site.folder);
        shell.env("PETSTORE_URL", &url).env("PETSTORE_KEY", &shop.key);
        let output = shell.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !printed.is_empty(), "{name}\n{pasted}\n{printed}");
    }
}

#[test]
fn the_shop_to_import_matches_the_examples() {
    matches_the_examples(&ExampleShop::open("samples-shop"));
}

#[test]
fn the_shop_to_import_matches_the_examples_on_two_nodes() {
    let Some(shop) = ExampleShop::on_nodes("samples-nodes", 2, false) else { return };
    matches_the_examples(&shop);
}

fn matches_the_examples(shop: &ExampleShop) {
    let contract = shop.contract();
    for (path, example) in [
        ("/pets", "PetPage"),
        ("/categories", "CategoryPage"),
        ("/store/orders", "OrderPage"),
        ("/inventory", "InventoryPage"),
    ] {
        let page: Value = serde_json::from_str(&shop.read(path)).unwrap();
        assert_eq!(page, contract["components"]["examples"][example]["value"], "{path}");
    }
}

/// A request of the tour.
struct Request {
    name: String,
    expected: String,
    head: String,
    body: String,
}

/// Returns the variables of the tour, and its requests.
fn tour() -> (BTreeMap<String, String>, Vec<Request>) {
    let mut parts = TOUR.split("\n### ");
    let opening = parts.next().unwrap().lines();
    let set = opening.filter_map(|line| line.strip_prefix('@')?.split_once(" = "));
    let variables = set.map(|(name, value)| (format!("{{{{{name}}}}}"), value.to_owned())).collect();
    let requests = parts.map(|part| {
        let (head, body) = part.trim_end().split_once("\n\n").unwrap_or((part.trim_end(), ""));
        let mut lines = head.lines();
        let name = lines.next().unwrap().to_owned();
        let expected = lines.next().and_then(|line| line.strip_prefix("# Expect: ")).expect("a status");
        let head = lines.collect::<Vec<_>>().join("\n");
        Request { name, expected: expected.to_owned(), head, body: body.to_owned() }
    });
    (variables, requests.collect())
}

#[test]
fn the_tour_for_editors_works() {
    take_the_tour(&ExampleShop::empty("tour-http"));
}

#[test]
fn the_tour_for_editors_works_on_one_node_and_on_two() {
    for count in [1, 2] {
        let Some(shop) = ExampleShop::on_nodes("tour-nodes", count, true) else { return };
        take_the_tour(&shop);
    }
}

/// Sends the requests of the tour one after the other.
fn take_the_tour(shop: &ExampleShop) {
    let (mut variables, requests) = tour();
    let base_url = variables.insert("{{baseUrl}}".to_owned(), "/v1".to_owned()).expect("a base URL");
    assert_eq!(base_url, "http://127.0.0.1:8080/v1");
    variables.insert("{{key}}".to_owned(), shop.key.clone()).expect("a key");
    assert!(requests.len() >= 15, "the tour has {} requests", requests.len());
    for Request { name, expected, mut head, body } in requests {
        for (variable, value) in &variables {
            head = head.replace(variable, value);
        }
        assert!(!head.contains("{{"), "{name}: a variable is not set: {head}");
        let (request_line, fields) = head.split_once('\n').unwrap_or((&head, ""));
        let fields: String = fields.lines().flat_map(|field| [field, "\r\n"]).collect();
        let answer = shop.send(&format!("{request_line} HTTP/1.1\r\n{fields}"), &body);
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert_eq!(status, expected, "{name}\n{answer}");
    }
}
