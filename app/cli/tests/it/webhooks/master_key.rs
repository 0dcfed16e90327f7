//! A missing or lost master key stops the deliveries, and never the shop.

use std::fs;

use serde_json::{Value, json};

use super::deliveries::first_signed_with;
use super::{ALLOW, Shop, id, secret};
use crate::common::nodes::Nodes;
use crate::common::receiver::Receiver;
use crate::common::{Client, Site};

const KEY_FILE: &str = "petstore.db.webhook-key";

#[test]
fn without_its_key_a_server_serves_and_delivers_again_once_the_key_is_back() {
    let receiver = Receiver::start(|_| Some(204));
    let mut shop = Shop::open("webhook-key", &ALLOW);
    let file = shop.site.folder.join(KEY_FILE);
    assert!(!file.exists(), "the first webhook makes it");
    let webhook = shop.webhook(&receiver.url);
    let (webhook, old) = (id(&webhook), secret(&webhook));
    assert!(petstore_test_servers::system::has_mode(&file, 0o600));
    shop.site.stop();
    let kept = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();

    shop.reopen(&ALLOW);
    shop.wait_for(&webhook, &json!({"status": "disabled", "disabledReason": "key"}));
    shop.new_category("Rabbits");
    let ready = shop.ask("GET", "/ready", &Value::Null);
    assert_eq!(ready.status, 200, "{}", ready.body);
    let refused = shop.ask("POST", "/v1/webhooks", &json!({"url": format!("{}/other", receiver.url)}));
    assert_eq!(refused.status, 503, "no second key is made: {}", refused.body);
    assert!(!file.exists());
    wait_for_metric(&mut shop, "key", 1.0);
    assert!(receiver.delivered().is_empty());

    // A file without a key changes nothing, and the reload says so.
    fs::write(&file, "no key").unwrap();
    let reload = shop.site.run(&["reload"]);
    assert_eq!(reload.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&reload.stderr).contains("holds no webhook key"));
    fs::write(&file, &kept).unwrap();
    let reload = shop.site.run(&["reload"]);
    let said = String::from_utf8_lossy(&reload.stdout).into_owned();
    assert!(said.contains("in force: a new master key of webhooks"), "{said}");
    assert_eq!(receiver.wait(1)[0].signatures_of(&old), 1);
    wait_for_metric(&mut shop, "key", 0.0);
}

#[test]
fn a_lost_key_is_replaced_by_new_secrets() {
    let receiver = Receiver::start(|_| Some(204));
    let mut shop = Shop::open("webhook-rekey", &ALLOW);
    let webhook = shop.webhook(&receiver.url);
    let (webhook, old) = (id(&webhook), secret(&webhook));
    shop.site.stop();
    fs::remove_file(shop.site.folder.join(KEY_FILE)).unwrap();

    shop.reopen(&ALLOW);
    shop.new_category("Rabbits");
    shop.wait_for(&webhook, &json!({"disabledReason": "key"}));
    let rekeyed = shop.run(&["rekey"]);
    assert_eq!((rekeyed[0]["id"].as_str(), rekeyed[0]["status"].as_str()), (Some(&*webhook), Some("active")));
    let again = shop.run(&["rekey"]);
    assert_eq!(again, json!([]));
    let delivered = receiver.wait(1);
    assert_eq!(delivered[0].signatures_of(&old), 0, "the old secret is void");
    let path = format!("/v1/webhooks/{webhook}/rotate");
    let new = secret(&shop.get("POST", &path, &json!({"overlap": 3600})));
    let signed = first_signed_with(&mut shop, &receiver, &new);
    assert_eq!(signed.signatures().count(), 2);
}

#[test]
fn nodes_share_a_key_file_and_a_node_with_another_key_delivers_nothing() {
    let receiver = Receiver::start(|_| Some(204));
    let Some(mut nodes) = Nodes::start("webhook-nodes-key", 1, &ALLOW) else { return };
    let body = json!({"url": receiver.url, "types": ["category.*"]}).to_string();
    let mut client = Client::connect(nodes.sites[0].port, &nodes.key).unwrap();
    let refused = client.ask("POST", "/v1/webhooks", "", &body).unwrap();
    assert_eq!(refused.status, 503, "{}", refused.body);
    nodes.sites[0].stop();

    let (url, site) = (nodes.url.clone(), &mut nodes.sites[0]);
    for (name, byte) in [("key", 1_u8), ("other", 2)] {
        use base64::Engine as _;
        let key = base64::engine::general_purpose::STANDARD.encode([byte; 32]);
        fs::write(site.folder.join(name), key).unwrap();
    }
    let start = |key: &'static str| [&["--db", &url, "--webhook-key-file", key], &ALLOW[..]].concat();
    site.serve(&start("key"), &[]);
    let mut client = Client::connect(site.port, &nodes.key).unwrap();
    let made = client.ask("POST", "/v1/webhooks", "", &body).unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let made: Value = serde_json::from_str(&made.body).unwrap();
    assert_eq!(client.ask("POST", "/v1/categories", "", "{\"name\":\"A\"}").unwrap().status, 201);
    assert_eq!(receiver.wait(1)[0].signatures_of(&secret(&made)), 1);
    site.stop();

    site.serve(&start("other"), &[]);
    let mut client = Client::connect(site.port, &nodes.key).unwrap();
    let found = client.ask("GET", &format!("/v1/webhooks/{}", id(&made)), "", "").unwrap();
    assert!(found.body.contains("\"disabledReason\":\"key\""), "{}", found.body);
    assert_eq!(client.ask("POST", "/v1/categories", "", "{\"name\":\"B\"}").unwrap().status, 201);
    site.stop();
    site.serve(&start("key"), &[]);
    let delivered = receiver.wait(2);
    assert_eq!(delivered[1].event()["data"]["name"], "B", "it was kept for the node with the key");
    commands_need_no_key(&nodes.sites[0], &nodes.url, &id(&made));
}

/// Runs the commands of operators on the database, with the key that the nodes have and without it.
fn commands_need_no_key(site: &Site, url: &str, webhook: &str) {
    let run = |args: &[&str]| site.run(&[&["webhooks"], args, &["--db", url, "--json"]].concat());
    let states = [
        (&["disable", webhook][..], "disabled", "operator"),
        (&["show", webhook], "disabled", "operator"),
        (&["enable", webhook], "active", ""),
        (&["show", webhook], "active", ""),
    ];
    for (args, status, reason) in states {
        let done = run(args);
        let found: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        let found_reason = found["disabledReason"].as_str().unwrap_or_default();
        assert_eq!((found["status"].as_str(), found_reason), (Some(status), reason), "{args:?}: {done:?}");
    }
    let all: Value = serde_json::from_slice(&run(&["list"]).stdout).unwrap();
    assert_eq!((all[0]["id"].as_str(), all[0]["status"].as_str()), (Some(webhook), Some("active")));
    let refused = run(&["rekey"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("webhook-key-file"), "{refused:?}");
}

/// Waits until as many webhooks have this status.
fn wait_for_metric(shop: &mut Shop, status: &str, expected: f64) {
    let name = format!("petstore_webhook_endpoints{{status=\"{status}\"}}");
    for _ in 0..200 {
        if (shop.metric(&name) - expected).abs() < 0.5 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{name} is {}", shop.metric(&name));
}
