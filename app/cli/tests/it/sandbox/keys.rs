//! Keys, events and webhooks of a sandbox, as its console sees them.

use serde_json::{Value, json};

use super::Sandbox;

impl Sandbox {
    fn keys(&mut self) -> Value {
        let answer = self.client.ask("GET", "/sandbox/keys", "", "").unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Makes a key, and returns the answer.
    fn make_key(&mut self, wanted: &Value) -> Value {
        let answer = self.client.ask("POST", "/sandbox/keys", "", &wanted.to_string()).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }
}

#[test]
fn the_windows_of_an_account_are_shown_and_showing_them_costs_nothing() {
    let mut sandbox = Sandbox::start("sandbox-windows", &["--db", "memory"]);
    sandbox.clock(&json!({"set": "2030-06-01T12:00:30Z", "freeze": true}));
    for _ in 0..3 {
        assert_eq!(sandbox.get("/v1/pets").status, 200);
    }
    for _ in 0..2 {
        let keys = sandbox.keys();
        let account = &keys["accounts"][0];
        assert_eq!(keys["now"], "2030-06-01T12:00:30.000Z");
        assert_eq!(account["minute"], json!({"limit": 1000, "remaining": 997, "reset": 1_906_545_660}));
        assert_eq!(account["day"], json!({"limit": 100_000, "remaining": 99_997, "reset": 1_906_588_800}));
        assert_eq!(account["keys"][0]["prefix"], sandbox.key[..12]);
        assert_eq!(account["keys"][0]["state"], "active");
        assert!(!keys.to_string().contains(&sandbox.key), "the secret is not in it");
    }
}

#[test]
fn a_made_key_works_and_its_ban_can_be_lifted() {
    let mut sandbox = Sandbox::start("sandbox-made-key", &["--db", "memory"]);
    sandbox.clock(&json!({"set": "2030-06-01T12:00:30Z", "freeze": true}));
    let limits = json!({"account": "acme", "plan": "enterprise", "minute": 1, "day": 9, "scopes": "read"});
    let made = sandbox.make_key(&limits);
    assert_eq!((&made["account"], &made["plan"]), (&json!("acme"), &json!("enterprise")));
    let secret = made["secret"].as_str().unwrap();
    let header = format!("x-api-key: {secret}\r\n");
    let status = |sandbox: &Sandbox| sandbox.once("GET", "/v1/pets", &header, "").unwrap().status;
    assert_eq!(status(&sandbox), 200);
    while status(&sandbox) == 429 {}
    assert_eq!(status(&sandbox), 403, "it is banned");
    let account = sandbox.keys()["accounts"][1].clone();
    assert_eq!(account["keys"][0]["state"], "banned");
    assert_eq!(account["keys"][0]["bannedUntil"], "2030-06-01T12:02:30.000Z");
    let ban = format!("/sandbox/keys/{}/ban", account["keys"][0]["id"]);
    assert_eq!(sandbox.status("DELETE", &ban, ""), 204);
    assert_eq!(sandbox.keys()["accounts"][1]["keys"][0]["state"], "active");
    assert_eq!(status(&sandbox), 429, "the window is still used up");
    assert_eq!(sandbox.status("DELETE", "/sandbox/keys/77/ban", ""), 404);
    let other = json!({"account": "acme", "plan": "free"});
    let refused = sandbox.client.ask("POST", "/sandbox/keys", "", &other.to_string()).unwrap();
    assert!(refused.status == 400 && refused.body.contains("another plan"), "{}", refused.body);
}

#[test]
fn a_revoked_key_is_refused_and_gives_up_its_form_of_quota_headers() {
    let mut sandbox = Sandbox::start("sandbox-revoked-key", &["--db", "memory"]);
    let [first, second] = [(); 2].map(|()| sandbox.make_key(&json!({"quotaHeaders": "draft-6"})));
    let header = format!("x-api-key: {}\r\n", first["secret"].as_str().unwrap());
    let pets = |sandbox: &Sandbox| sandbox.once("GET", "/v1/pets", &header, "").unwrap();
    assert_eq!((pets(&sandbox).status, pets(&sandbox).header("ratelimit-limit")), (200, "60"));
    let key = format!("/sandbox/keys/{}", first["key"]["id"]);
    for _ in 0..2 {
        assert_eq!(sandbox.status("DELETE", &key, ""), 204);
    }
    assert_eq!(pets(&sandbox).json()["code"], "api_key_revoked");
    let left = json!([{"key": second["key"]["prefix"], "form": "draft-6"}]);
    assert_eq!(sandbox.get("/sandbox/quota-headers").json()["keys"], left);
    assert_eq!(sandbox.status("DELETE", "/sandbox/keys/77", ""), 404);
}

#[test]
fn events_and_webhooks_of_all_accounts_are_listed_without_a_key() {
    let mut sandbox = Sandbox::start("sandbox-events", &["--db", "memory"]);
    let port = sandbox.site.port;
    let hook = json!({"url": format!("http://127.0.0.1:{port}/sandbox/sinks/hook")}).to_string();
    assert_eq!(sandbox.authorized("POST", "/v1/webhooks", "", &hook).unwrap().status, 201);
    let category = r#"{"name": "<script>alert(1)</script>"}"#;
    assert_eq!(sandbox.authorized("POST", "/v1/categories", "", category).unwrap().status, 201);
    let settled = sandbox.client.ask("POST", "/sandbox/webhooks/settle?within=10", "", "").unwrap();
    assert!(settled.body.contains("\"settled\":true"), "{}", settled.body);
    let events = sandbox.once("GET", "/sandbox/events?sort=-id&limit=1", "", "").unwrap().json();
    assert_eq!((events[0]["type"].as_str(), events.as_array().unwrap().len()), (Some("category.created"), 1));
    let webhooks = sandbox.once("GET", "/sandbox/webhooks", "", "").unwrap().json();
    assert_eq!(
        (&webhooks[0]["account"], &webhooks[0]["webhook"]["status"]),
        (&json!("default"), &json!("active"))
    );
    let delivery = &webhooks[0]["deliveries"][0];
    assert_eq!(
        (&delivery["status"], &delivery["lastAttempt"]["statusCode"]),
        (&json!("delivered"), &json!(204))
    );
    assert!(!webhooks.to_string().contains("whsec_"), "{webhooks}");
    let off = Sandbox::start("sandbox-no-webhooks", &["--db", "memory", "--webhooks", "off"]);
    assert_eq!(off.once("GET", "/sandbox/webhooks", "", "").unwrap().status, 404);
}
