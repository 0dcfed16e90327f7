//! Tools for models over HTTP/2: calls, their faults on one stream, and the refusals of the transport.

use serde_json::{Value, json};

use super::frames::serve;
use crate::common::{Site, tools};

/// Sends a message in the form of curl's arguments. Returns the status with the protocol, the headers and the body; none without
/// an answer.
fn sent(site: &Site, arguments: &[&str], message: &Value) -> Option<(String, String, String)> {
    let mut curl = std::process::Command::new("curl");
    curl.args(["-sk", "--http2", "--max-time", "20", "-D", "head", "-w", "\n%{http_version} %{http_code}"]);
    curl.args(["-H", "content-type: application/json", "-d", &message.to_string()]).args(arguments);
    curl.arg(format!("https://localhost:{}/mcp", site.port));
    let output = curl.current_dir(&site.folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, told) = text.rsplit_once('\n').unwrap();
    let head = std::fs::read_to_string(site.folder.join("head")).unwrap_or_default();
    output.status.success().then(|| (told.to_owned(), head, body.to_owned()))
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn tools_are_called_over_http2() {
    let flags = ["--sandbox", "--demo", "20"];
    let Some(site) = serve("http2-mcp", &flags).filter(|_| tools::can_run("curl", "--version")) else {
        return;
    };
    let key = format!("authorization: Bearer {}", site.printed_key());
    let result = |message: &Value| {
        let (told, _, body) = sent(&site, &["-H", &key], message).unwrap();
        assert_eq!(told, "2 200", "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["result"].clone()
    };
    let page = result(&call("listPets", &json!({"limit": 5})));
    assert_eq!(
        (page["structuredContent"]["items"].as_array().unwrap().len(), &page["isError"]),
        (5, &json!(false))
    );
    let missing = result(&call("getOrder", &json!({"orderId": 99_999})));
    assert_eq!(
        (&missing["structuredContent"]["code"], &missing["isError"]),
        (&json!("not_found"), &json!(true))
    );

    let (told, head, _) = sent(&site, &[], &call("listPets", &json!({}))).unwrap();
    assert_eq!(told, "2 401");
    assert!(head.contains("www-authenticate: "), "{head}");
    let (told, head, _) = sent(&site, &["-X", "DELETE", "-H", &key], &json!({})).unwrap();
    assert_eq!(told, "2 405");
    assert!(head.contains("allow: "), "{head}");
    let foreign = ["-H", &key, "-H", "origin: https://elsewhere.example"];
    assert_eq!(sent(&site, &foreign, &call("listPets", &json!({}))).unwrap().0, "2 403");
    assert_eq!(sent(&site, &["-H", &key], &json!([])).unwrap().0, "2 400", "a batch");
    let long = call("listPets", &json!({"name": "x".repeat(65_536)}));
    assert_eq!(sent(&site, &["-H", &key], &long).unwrap().0, "2 413");

    let plan =
        json!({"faults": [{"via": "mcp", "method": "POST", "first": 1, "drop": true, "when": "after"}]});
    let mut put = std::process::Command::new("curl");
    put.args([
        "-sk",
        "-X",
        "PUT",
        "-H",
        "content-type: application/json",
        "-d",
        &plan.to_string(),
        "-o",
        "plan",
    ]);
    put.arg(format!("https://localhost:{}/sandbox/faults", site.port));
    assert!(put.current_dir(&site.folder).status().unwrap().success());
    let new = call("createPet", &json!({"name": "Luna", "categoryId": 1, "idempotencyKey": "one"}));
    assert_eq!(sent(&site, &["-H", &key], &new), None, "the stream ends without an answer");
    assert_eq!(result(&new)["structuredContent"]["replayed"], true);
}
