//! Webhooks of the binary: deliveries, the master key, the permitted targets, and the commands of operators.

mod deliveries;
mod exports;
mod master_key;
mod stolen;
mod targets;
mod trust;

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Answer, Client, Site};

/// Permits receivers on this machine.
const ALLOW: [&str; 2] = ["--webhook-allow", "127.0.0.0/8"];

/// A server with a data file, and a client with the first key.
struct Shop {
    site: Site,
    key: String,
    client: Client,
}

impl Shop {
    fn open(name: &str, args: &[&str]) -> Self {
        let mut site = Site::new(name);
        let key = site.new_key();
        site.serve(args, &[("PETSTORE_INITIAL_KEY", &key)]);
        let client = Client::connect(site.port, &key).unwrap();
        Self { site, key, client }
    }

    /// Starts the server again, after it was stopped.
    fn reopen(&mut self, args: &[&str]) {
        self.site.serve(args, &[("PETSTORE_INITIAL_KEY", &self.key)]);
        self.client = Client::connect(self.site.port, &self.key).unwrap();
    }

    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.client.ask(method, path, "", &body).unwrap()
    }

    /// Sends a request that succeeds, and returns the answer.
    fn get(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.ask(method, path, body);
        assert!((200..300).contains(&answer.status), "{method} {path}: {} {}", answer.status, answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Creates a webhook for events of categories.
    fn webhook(&mut self, url: &str) -> Value {
        self.get("POST", "/v1/webhooks", &json!({"url": url, "types": ["category.*"]}))
    }

    /// Causes an event.
    fn new_category(&mut self, name: &str) {
        self.get("POST", "/v1/categories", &json!({ "name": name }));
    }

    /// The value of a metric.
    fn metric(&mut self, name: &str) -> f64 {
        let text = self.ask("GET", "/metrics", &Value::Null).body;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} in {text}")).parse().unwrap()
    }

    /// Runs a command of operators and returns its JSON output.
    fn run(&self, args: &[&str]) -> Value {
        let output = self.site.run(&[&["webhooks"], args, &["--json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Waits until the members of a webhook have these values.
    fn wait_for(&mut self, webhook: &str, members: &Value) {
        let path = format!("/v1/webhooks/{webhook}");
        for _ in 0..600 {
            let found = self.get("GET", &path, &Value::Null);
            if members.as_object().unwrap().iter().all(|(name, value)| found[name] == *value) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{webhook} has not got {members}: {}", self.get("GET", &path, &Value::Null));
    }
}

fn id(webhook: &Value) -> String {
    webhook["id"].as_str().unwrap().to_owned()
}

fn secret(webhook: &Value) -> String {
    webhook["secret"].as_str().unwrap().to_owned()
}
