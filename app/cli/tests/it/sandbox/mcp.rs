//! `/mcp`: the protocol in both eras over plain HTTP, planned failures, the journal, and the report on an agent.

mod agents;
mod hostile;

use serde_json::{Value, json};

use super::{Reply, Sandbox};

const MODERN: &str = "2026-07-28";

impl Sandbox {
    /// Sends a message without a key.
    fn message(&self, path: &str, headers: &str, message: &Value) -> Reply {
        self.once("POST", path, headers, &message.to_string()).unwrap()
    }

    /// Calls a tool, and returns the whole result; none if there is no answer.
    fn try_tool(&self, name: &str, arguments: &Value) -> Option<Value> {
        let params = json!({"name": name, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let reply = self.authorized("POST", "/mcp", "user-agent: agent/1\r\n", &call.to_string())?;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let answer: Value = serde_json::from_str(&reply.body).ok()?;
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
        Some(result.clone())
    }

    /// Calls a tool that succeeds.
    fn tool(&self, name: &str, arguments: &Value) -> Value {
        let result = self.try_tool(name, arguments).unwrap();
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that fails, and returns its error.
    fn tool_error(&self, name: &str, arguments: &Value) -> Value {
        let result = self.try_tool(name, arguments).unwrap();
        assert_eq!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A request of the modern era, and its headers.
fn modern(method: &str, params: &Value) -> (Value, String) {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "3"},
    });
    let name = params["name"].as_str().or(params["uri"].as_str());
    let name = name.map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
    let headers = format!("mcp-protocol-version: {MODERN}\r\nmcp-method: {method}\r\n{name}");
    (request(method, &params), headers)
}

#[test]
fn a_client_of_the_handshake_begins_lists_and_calls() {
    let sandbox = Sandbox::start("mcp-handshake", &["--db", "memory", "--demo", "30"]);
    for (asked, agreed) in
        [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2024-11-05", "2025-11-25")]
    {
        let begin = request("initialize", &json!({"protocolVersion": asked, "capabilities": {}}));
        let reply = sandbox.message("/mcp", "", &begin);
        let result = &reply.json()["result"];
        assert_eq!((reply.status, &result["protocolVersion"]), (200, &json!(agreed)));
        assert_eq!(result["serverInfo"]["name"], "petstore");
        assert!(result["capabilities"]["tools"].is_object() && result["instructions"].is_string());
        assert!(!reply.head.contains("mcp-session-id"));
    }
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let reply = sandbox.message("/mcp", "", &begun);
    assert_eq!((reply.status, &*reply.body), (202, ""));
    assert_eq!(sandbox.message("/mcp", "", &request("ping", &json!({}))).json()["result"], json!({}));

    let tools = |path: &str| -> Vec<String> {
        let list = sandbox.message(path, "", &request("tools/list", &json!({}))).json();
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = tools("/mcp");
    assert_eq!((all.len(), &*all[0]), (34, "listPets"));
    let some = tools("/mcp?tags=animals,orders");
    assert_eq!(some.len(), 10, "{some:?}");

    let page = sandbox.tool("listPets", &json!({"limit": 20}));
    let next = page["nextCursor"].as_str().unwrap();
    let last = sandbox.tool("listPets", &json!({"limit": 20, "cursor": next}));
    assert_eq!((page["items"].as_array().unwrap().len(), last["items"].as_array().unwrap().len()), (20, 10));
    assert_eq!(last["nextCursor"], Value::Null);
    let sold = sandbox.tool("listPets", &json!({"status": ["sold"], "limit": 1}));
    assert!(sold["items"].as_array().unwrap().iter().all(|pet| pet["status"] == "sold"));
    assert!(sandbox.tool("listEvents", &json!({"sort": "-id", "limit": 1}))["lastEventId"].is_string());
}

#[test]
fn changes_have_their_tags_and_are_made_once_under_a_key() {
    let sandbox = Sandbox::start("mcp-changes", &["--db", "memory", "--demo", "3"]);
    let new = json!({"name": "Luna", "categoryId": 1, "idempotencyKey": "one"});
    let (made, again) = (sandbox.tool("createPet", &new), sandbox.tool("createPet", &new));
    assert_eq!((&made["replayed"], &again["replayed"]), (&json!(false), &json!(true)));
    assert_eq!((&made["result"], &made["deprecated"]), (&again["result"], &json!(false)));
    let (id, etag) = (&made["result"]["id"], &made["etag"]);
    let changed = sandbox.tool("updatePet", &json!({"petId": id, "name": "Nova", "ifMatch": etag}));
    assert_eq!(changed["result"]["name"], "Nova");
    let lost = sandbox.tool_error("updatePet", &json!({"petId": id, "name": "Rex", "ifMatch": etag}));
    assert_eq!((&lost["code"], &lost["status"]), (&json!("precondition_failed"), &json!(412)));
    let gone = sandbox.tool("deletePet", &json!({"petId": id}));
    assert_eq!(gone["result"], Value::Null);
    let unknown = sandbox.tool_error("getOrder", &json!({"orderId": 99_999}));
    assert_eq!(unknown["message"], "Order 99999 does not exist.");
    let misspelt = sandbox.tool_error("updatePet", &json!({"petID": 1, "name": "Rex"}));
    assert_eq!(misspelt["code"], "invalid_parameter");
    assert!(misspelt["message"].as_str().unwrap().contains("it takes petId, ifMatch, name"), "{misspelt}");
    let missing = sandbox.tool_error("createPet", &json!({"name": "Rex"}));
    assert_eq!(
        (&missing["code"], &missing["details"][0]["field"]),
        (&json!("validation_failed"), &json!("categoryId"))
    );
    let long = sandbox.tool_error("listEvents", &json!({"wait": 21}));
    assert_eq!(long["details"][0]["field"], "wait");
    let huge = sandbox.tool_error("listPets", &json!({"name": "é".repeat(20_000)}));
    assert_eq!(huge["code"], "uri_too_long");
}

#[test]
fn a_client_of_the_modern_era_needs_no_handshake() {
    let sandbox = Sandbox::start("mcp-modern", &["--db", "memory", "--demo", "3"]);
    let send = |method: &str, params: Value| {
        let (message, headers) = modern(method, &params);
        sandbox.authorized("POST", "/mcp", &headers, &message.to_string()).unwrap()
    };
    for (method, params, member, is_kept) in [
        ("server/discover", json!({}), "supportedVersions", true),
        ("tools/list", json!({}), "tools", true),
        ("resources/list", json!({}), "resources", true),
        ("resources/templates/list", json!({}), "resourceTemplates", true),
        ("resources/read", json!({"uri": "petstore://sandbox.md"}), "contents", true),
        ("resources/read", json!({"uri": "petstore://openapi-compact.json"}), "contents", true),
        ("tools/call", json!({"name": "getRateLimit"}), "structuredContent", false),
    ] {
        let reply = send(method, params);
        let result = &reply.json()["result"];
        assert_eq!((reply.status, &result["resultType"]), (200, &json!("complete")), "{method}");
        assert!(!result[member].is_null(), "{method}");
        assert_eq!(
            (result["ttlMs"].is_u64(), result["cacheScope"] == "public"),
            (is_kept, is_kept),
            "{method}"
        );
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "petstore");
    }
    for method in ["ping", "initialized", "prompts/list"] {
        let reply = send(method, json!({}));
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &json!(-32_601)), "{method}");
    }
}

#[test]
fn each_mistake_has_its_code() {
    let sandbox = Sandbox::start("mcp-codes", &["--db", "memory", "--demo", "3"]);
    let (list, headers) = modern("tools/list", &json!({}));
    let (call, call_headers) = modern("tools/call", &json!({"name": "listPets"}));
    let old = "mcp-protocol-version: 1999-01-01\r\n";
    let (list, call) = (list.to_string(), call.to_string());
    let lacking = list.replace("clientCapabilities", "other");
    let plain = request("tools/list", &json!({})).to_string();
    let cases: [(&str, &str, &str, u16, i64); 18] = [
        ("/mcp", "", "{", 400, -32_700),
        ("/mcp", "", "", 400, -32_700),
        ("/mcp", "", r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#, 400, -32_700),
        ("/mcp", "", "[]", 400, -32_600),
        ("/mcp", "", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32_600),
        ("/mcp", "", r#"{"id":1,"method":"ping"}"#, 400, -32_600),
        ("/mcp", "", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, -32_600),
        ("/mcp", "", r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, 400, -32_602),
        ("/mcp", "", r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#, 200, -32_601),
        (
            "/mcp",
            "",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"getPet"}}"#,
            200,
            -32_602,
        ),
        (
            "/mcp",
            "",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listPets","arguments":[]}}"#,
            200,
            -32_602,
        ),
        (
            "/mcp",
            "",
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#,
            200,
            -32_602,
        ),
        ("/mcp?tags=pets", "", &plain, 400, -32_602),
        ("/mcp?tag=animals", "", &plain, 400, -32_602),
        ("/mcp", old, &plain, 400, -32_022),
        ("/mcp", &headers, &lacking, 400, -32_602),
        ("/mcp", &headers, &call, 400, -32_020),
        ("/mcp", &call_headers, &list, 400, -32_020),
    ];
    for (path, headers, body, status, code) in cases {
        let reply = sandbox.once("POST", path, headers, body).unwrap();
        let error = &reply.json()["error"];
        assert_eq!((reply.status, &error["code"]), (status, &json!(code)), "{headers}{body}");
        assert!(error["message"].as_str().unwrap().ends_with('.'), "{error}");
    }
    let unsupported = sandbox.once("POST", "/mcp", old, &plain).unwrap().json();
    let data = &unsupported["error"]["data"];
    assert_eq!(data["supported"], json!([MODERN, "2025-11-25", "2025-06-18"]));
    assert_eq!(data["requested"], "1999-01-01");
    for method in ["GET", "DELETE", "PUT"] {
        let reply = sandbox.once(method, "/mcp", "", "").unwrap();
        assert_eq!((reply.status, reply.header("allow")), (405, "POST, OPTIONS"), "{method}");
    }
}

#[test]
fn only_a_key_that_is_missing_or_wrong_is_a_401() {
    let sandbox = Sandbox::start("mcp-keys", &["--db", "memory", "--demo", "3"]);
    let call = request("tools/call", &json!({"name": "listPets"}));
    let list = request("tools/list", &json!({}));
    let wrong = "authorization: Bearer pet_wrong\r\n";
    for (headers, message, code) in
        [("", &call, "missing_api_key"), (wrong, &call, "invalid_api_key"), (wrong, &list, "invalid_api_key")]
    {
        let reply = sandbox.message("/mcp", headers, message);
        assert_eq!((reply.status, &reply.json()["error"]["data"]["code"]), (401, &json!(code)));
        assert!(reply.header("www-authenticate").starts_with("Bearer "));
    }
    assert_eq!(sandbox.message("/mcp", "", &list).status, 200);
}

#[test]
fn a_server_without_a_sandbox_and_its_operators_have_no_tools() {
    let site = crate::common::Site::served("mcp-none", &["--db", "memory"]);
    let key = site.printed_key();
    let mut client = crate::common::Client::connect(site.port, &key).unwrap();
    let list = request("tools/list", &json!({})).to_string();
    assert_eq!(client.ask("POST", "/mcp", "", &list).unwrap().status, 404);
}
