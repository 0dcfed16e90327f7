//! The settings of webhooks, as a start reports them.

use serde_json::Value;

use super::{Trial, refused};
use crate::common::Site;

/// Starts a server whose key file holds no key, and returns its log.
fn log_of(name: &str, args: &[&str]) -> String {
    let site = Site::new(&format!("acts-webhooks-{name}"));
    std::fs::write(site.folder.join("no-key"), "no key").unwrap();
    let common = ["--db", "memory", "--webhook-key-file", "no-key", "--log-format", "text"];
    site.log_of_start(&[&common[..], args].concat(), &[])
}

pub(crate) fn start() {
    let on = log_of("on", &["--webhook-allow", "10.0.0.0/8,hooks.internal"]);
    assert!(on.contains("webhooks are not delivered: no-key: the file holds no webhook key"), "{on}");
    assert!(on.contains("webhook-allow (10.0.0.0/8,hooks.internal, --webhook-allow)"), "{on}");
    let off = log_of("off", &["--webhook-allow", "10.0.0.0/8", "--webhooks", "off"]);
    assert!(!off.contains("webhook"), "{off}");
    assert!(refused(&["--db", "memory", "--webhook-ca", "/dev/null"]).contains("webhook-ca"));
    assert!(refused(&["--db", "memory", "--webhook-allow", "http://a"]).contains("expected a host"));
}

pub(crate) fn starts() {
    let new = "{\"url\":\"https://hooks.example/shop\",\"enabled\":false}";
    let create = |trial: &Trial| trial.ask("POST", "/v1/webhooks", "", new);
    let trial = Trial::new("webhook-starts", &["--webhook-starts", "3"]);
    let [first, second] = [create(&trial), create(&trial)].map(|answer| (answer.status, answer.body));
    assert_eq!((first.0, second.0), (201, 201), "{first:?}");
    let made: Value = serde_json::from_str(&first.1).unwrap();
    let webhook = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    let enable = "{\"enabled\":true,\"from\":\"now\"}";
    let patch = |body: &str| trial.ask("PATCH", &webhook, "", body);
    assert_eq!((patch(enable).status, patch(enable).status), (200, 200), "the second one starts nothing");
    assert_eq!(patch("{\"enabled\":false}").status, 200);
    let replay = trial.ask("POST", &format!("{webhook}/replay"), "", "{\"after\":\"oldest\"}");
    for refused in [create(&trial), patch(enable), replay] {
        assert_eq!(refused.status, 429, "{}", refused.body);
        assert!(refused.body.contains("\"rate_limit_exceeded\"") && refused.body.contains("3 times"));
        let wait = refused.retry_after.unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
    assert_eq!(trial.ask("DELETE", &webhook, "", "").status, 204, "other requests are not counted");
    // A sandbox has no limit unless it is told.
    let sandbox = Trial::new("webhook-starts-sandbox", &["--sandbox"]);
    let id: Value = serde_json::from_str(&create(&sandbox).body).unwrap();
    let webhook = format!("/v1/webhooks/{}", id["id"].as_str().unwrap());
    for _ in 0..70 {
        assert_eq!(sandbox.ask("PATCH", &webhook, "", enable).status, 200);
        assert_eq!(sandbox.ask("PATCH", &webhook, "", "{\"enabled\":false}").status, 200);
    }
}
