//! Messages of `/mcp`: within an error of the protocol, or within the result of a tool.

use std::sync::Arc;

use serde_json::Value;

use super::Seen;
use crate::faults::InDoubt;
use crate::harness::{Shop, ShopOptions};

/// The path, further headers, the body, and the message.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

const CASES: &[Case] = &[
    ("", &[], "[]", "A batch is not supported; send one message in a body."),
    ("", &[], "7", "The body must be one JSON-RPC message: a JSON object."),
    (
        "",
        &[],
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        "The id must be a string or an integer, of at most 256 bytes.",
    ),
    ("", &[], r#"{"id":1,"method":"ping"}"#, "The member jsonrpc must be \"2.0\"."),
    ("", &[], r#"{"jsonrpc":"2.0","id":1}"#, "The member method must be a string."),
    (
        "",
        &[],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#,
        "The member params must be an object.",
    ),
    (
        "",
        &[("mcp-protocol-version", "1999-01-01")],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        "This revision of the protocol is not served; these are: 2026-07-28, 2025-11-25, 2025-06-18.",
    ),
    (
        "",
        &[VERSION],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        "A request of the revision 2026-07-28 needs io.modelcontextprotocol/protocolVersion in the _meta of its params.",
    ),
    (
        "",
        &[VERSION],
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}}"#,
        "The member io.modelcontextprotocol/protocolVersion of _meta must be a string.",
    ),
    (
        "",
        &[],
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"a"}}}"#,
        "The header MCP-Protocol-Version must be sent once, and have the same value as the body.",
    ),
    (
        "",
        &[],
        r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#,
        "The method is none of initialize, ping, server/discover, tools/list, tools/call, resources/list, \
         resources/templates/list and resources/read, or not of this revision of the protocol.",
    ),
    (
        "",
        &[],
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read"}"#,
        "No resource has this uri; resources/list names all.",
    ),
    (
        "?tag=a",
        &[],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        "The query of this path has one parameter: tags.",
    ),
    (
        "?tags=a",
        &[],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        "The parameter tags must be a list of animals, categories, orders, inventory, events, webhooks, account, with commas.",
    ),
    (
        "",
        &[],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
        "No tool has this name; tools/list names all.",
    ),
    (
        "",
        &[],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listPets","arguments":7}}"#,
        "The arguments must be an object.",
    ),
];

/// The tool, its arguments, and the message.
const CALLS: &[(&str, &str, &str)] = &[
    ("listEvents", r#"{"wait":21}"#, "1 parameter is not valid: wait must be from 0 to 20 seconds."),
    ("listPets", r#"{"limit":{}}"#, "1 parameter is not valid: limit must be a single value."),
    ("getOrder", "{}", "1 parameter is not valid: orderId is required."),
    (
        "deletePet",
        r#"{"petId":1,"ifMatch":"a\nb"}"#,
        "1 parameter is not valid: ifMatch must not have control characters.",
    ),
    ("getOrder", r#"{"id":1}"#, "id is not an argument of getOrder; it takes orderId."),
];

/// Sends all messages of the tables.
pub(super) fn send(seen: &mut Seen) {
    let mut options = ShopOptions::default();
    options.http.sandbox = Some(Arc::new(InDoubt));
    options.http.documents.tools = petstore_contract::TOOLS.into();
    let shop = Shop::open_as(options);
    let tester = shop.anonymous();
    let mut expect = |query: &str, headers: &[(&str, &str)], body: &str, place: &str, expected: &str| {
        let headers = [&[("content-type", "application/json")][..], headers].concat();
        let answer = tester.send_bytes("POST", &format!("/mcp{query}"), &headers, Some(body.as_bytes()));
        let answer = answer.json();
        let message = answer.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned();
        if message != expected {
            seen.differences.push(format!("{body}: expected {expected}, got {answer:#}"));
        }
        seen.messages.insert(message);
    };
    for (query, headers, body, message) in CASES {
        expect(query, headers, body, "/error/message", message);
    }
    let call = |tool: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        )
    };
    for (tool, arguments, message) in CALLS {
        expect("", &[], &call(tool, arguments), "/result/structuredContent/message", message);
    }
    let long = call("listPets", &format!(r#"{{"name":"{}"}}"#, "x".repeat(9_000)));
    let message = "The arguments of the path and the query are longer than 8192 bytes.";
    expect("", &[], &long, "/result/structuredContent/message", message);
    let begin = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let instructions = "A petstore to try programs and agents against. A list answers with items and nextCursor: give that as \
        cursor for the next page. Everything else answers with result, and with an etag if a change can name it in ifMatch, so \
        that it changes nothing that you have not seen. An error has a code, a message and perhaps retryAfterSeconds: wait for \
        so long before you call again. Give a new idempotencyKey with each change that takes one; if its answer is lost, repeat \
        the call with the same key.";
    expect("", &[], begin, "/result/instructions", instructions);
}
