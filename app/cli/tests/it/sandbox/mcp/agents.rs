//! Agents that lose an answer or meet a refusal, and what the journal and the report say of them.

use serde_json::{Value, json};

use super::Sandbox;

/// Returns the verdict of a rule of the report.
fn verdict(sandbox: &Sandbox, rule: &str) -> Value {
    let report = sandbox.once("GET", "/sandbox/report", "", "").unwrap().json();
    let rules = report["clients"][0]["rules"].as_array().unwrap();
    rules.iter().find(|one| one["name"] == rule).unwrap()["verdict"].clone()
}

#[test]
fn a_lost_answer_that_is_repeated_without_its_key_breaks_a_rule() {
    for (key, expected) in [(None, "broken"), (Some("order-1"), "kept")] {
        let mut sandbox = Sandbox::start("mcp-lost", &["--db", "memory", "--demo", "10"]);
        sandbox.plan(&json!({"faults": [
            {"via": "mcp", "method": "POST", "first": 1, "drop": true, "when": "after"},
        ]}));
        let mut new = json!({"name": "Luna", "categoryId": 1});
        if let Some(key) = key {
            new["idempotencyKey"] = key.into();
        }
        assert!(sandbox.try_tool("createPet", &new).is_none(), "the answer is lost");
        assert_eq!(sandbox.tool("createPet", &new)["replayed"], key.is_some());
        assert_eq!(verdict(&sandbox, "retries-safely"), expected);
    }
}

#[test]
fn an_agent_that_does_not_wait_breaks_a_rule() {
    let mut sandbox = Sandbox::start("mcp-impatient", &["--db", "memory", "--demo", "3"]);
    sandbox.plan(&json!({"faults": [{"route": "/pets", "first": 1, "status": 429, "retryAfter": 60}]}));
    let refused = sandbox.tool_error("listPets", &json!({}));
    assert_eq!((&refused["status"], &refused["retryAfterSeconds"]), (&json!(429), &json!(60)));
    sandbox.tool("listPets", &json!({}));
    assert_eq!(verdict(&sandbox, "waits"), "broken");
    sandbox.plan(&json!({"faults": [{"code": "key_banned", "retryAfter": 30}]}));
    let banned = sandbox.tool_error("listPets", &json!({}));
    assert_eq!((&banned["code"], &banned["retryAfterSeconds"]), (&json!("key_banned"), &json!(30)));
}

#[test]
fn the_journal_shows_the_request_that_a_call_became() {
    let sandbox = Sandbox::start("mcp-journal", &["--db", "memory", "--demo", "3"]);
    sandbox.tool("createPet", &json!({"name": "Luna", "categoryId": 1, "idempotencyKey": "k"}));
    sandbox.tool_error("getOrder", &json!({"orderId": 9_999}));
    let records = sandbox.once("GET", "/sandbox/requests", "", "").unwrap().json();
    let created = records.as_array().unwrap().iter().find(|one| one["method"] == "POST").unwrap();
    assert_eq!((&created["target"], &created["route"]), (&json!("/v1/pets"), &json!("/pets")));
    assert_eq!(created["mcp"], json!({"tool": "createPet", "id": "7", "client": "agent/1"}));
    assert_eq!(created["body"], r#"{"categoryId":1,"name":"Luna"}"#);
    let answer = &created["answer"];
    assert_eq!((&answer["status"], &answer["outcome"]), (&json!(201), &json!("sent")));
    assert!(answer["body"].as_str().unwrap().starts_with(r#"{"name":"Luna""#), "{answer}");
    let names: Vec<_> = answer["headers"].as_array().unwrap().iter().map(|one| one[0].clone()).collect();
    assert!(names.contains(&json!("etag")) && names.contains(&json!("x-ratelimit-remaining")), "{names:?}");
    let id = answer["headers"].as_array().unwrap().iter().find(|one| one[0] == "x-request-id").unwrap();
    assert_eq!(id[1], created["id"]);
    let read = records.as_array().unwrap().iter().find(|one| one["method"] == "GET").unwrap();
    assert_eq!((&read["answer"]["status"], &read["target"]), (&json!(404), &json!("/v1/store/orders/9999")));
}

#[test]
fn failures_of_a_connection_act_on_the_answer_that_goes_out() {
    let mut sandbox = Sandbox::start("mcp-faults", &["--db", "memory", "--demo", "3"]);
    let call = super::request("tools/call", &json!({"name": "listPets"})).to_string();
    let sent = |sandbox: &Sandbox| sandbox.authorized("POST", "/mcp", "", &call);
    sandbox.plan(&json!({"faults": [{"via": "mcp", "drop": true}]}));
    assert!(sent(&sandbox).is_none());
    assert_eq!(sandbox.get("/v1/pets").status, 200, "not over MCP");
    sandbox.plan(&json!({"faults": [{"via": "mcp", "body": "malformed"}]}));
    let reply = sent(&sandbox).unwrap();
    assert!(reply.status == 200 && serde_json::from_str::<Value>(&reply.body).is_err(), "{}", reply.body);
    sandbox.plan(&json!({"faults": [{"via": "mcp", "body": "truncate"}]}));
    assert!(sent(&sandbox).is_none_or(|reply| serde_json::from_str::<Value>(&reply.body).is_err()));
    sandbox.plan(&json!({"faults": [{"via": "mcp", "grow": true}]}));
    let page = sandbox.tool("listPets", &json!({}));
    assert!(page["items"][0].get("addedLater").is_some() && page.get("addedLater").is_none(), "{page}");
    sandbox.plan(&json!({"faults": [{"via": "mcp", "status": 503, "retryAfter": 2, "when": "after"}]}));
    assert_eq!(sandbox.tool_error("listPets", &json!({}))["retryAfterSeconds"], 2);
    sandbox.plan(&json!({"faults": [{"via": "http", "status": 500}]}));
    sandbox.tool("listPets", &json!({}));
    let records = sandbox.once("GET", "/sandbox/requests", "", "").unwrap().json();
    let outcomes: Vec<_> =
        records.as_array().unwrap().iter().map(|one| one["answer"]["outcome"].clone()).collect();
    assert_eq!(outcomes.iter().filter(|one| **one == "dropped").count(), 2, "{outcomes:?}");
}
