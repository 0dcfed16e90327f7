//! The texts of answers.

use hyper::HeaderMap;
use hyper::header::{ETAG, LINK};

use super::message::Refused;
use super::raw::{Raw, quoted};
use super::revision::{Era, SERVED};
use crate::wire::LAST_EVENT_ID;

/// The time for which a client may keep a list or a page, in milliseconds: five minutes. They change only with the version.
const TTL_MS: u32 = 300_000;

/// The instructions for a model about all tools.
const INSTRUCTIONS: &str = "A petstore to try programs and agents against. A list answers with items and nextCursor: \
    give that as cursor for the next page. Everything else answers with result, and with an etag if a change can name it in \
    ifMatch, so that it changes nothing that you have not seen. An error has a code, a message and perhaps \
    retryAfterSeconds: wait for so long before you call again. Give a new idempotencyKey with each change that takes one; if \
    its answer is lost, repeat the call with the same key.";

/// The name and the version of this server.
const SERVER: &str = concat!("{\"name\":\"petstore\",\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}");

/// The features of this server.
const CAPABILITIES: &str = "\"capabilities\":{\"tools\":{},\"resources\":{}}";

/// Returns the answer to a request. `members` are the members of its result.
pub(crate) fn result(id: Raw<'_>, era: Era, members: &str) -> String {
    let id = id.as_str();
    let comma = if members.is_empty() { "" } else { "," };
    let common = match era {
        Era::Handshake => String::new(),
        Era::Modern => format!(
            "\"resultType\":\"complete\",\"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{SERVER}}}{comma}"
        ),
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{common}{members}}}}}")
}

/// Returns the members of a result, with the time for which a client of the modern era may keep it.
pub(crate) fn kept(era: Era, members: String) -> String {
    match era {
        Era::Handshake => members,
        Era::Modern => format!("\"ttlMs\":{TTL_MS},\"cacheScope\":\"public\",{members}"),
    }
}

/// Returns the refusal of a message.
pub(crate) fn error(refused: &Refused<'_>) -> String {
    let id = refused.id.map(|id| format!("\"id\":{},", id.as_str())).unwrap_or_default();
    let data = refused.data.as_ref().map(|data| format!(",\"data\":{data}")).unwrap_or_default();
    let (code, message) = (refused.code, quoted(&refused.message));
    format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{{\"code\":{code},\"message\":{message}{data}}}}}")
}

/// Returns the members of the result of `initialize`.
pub(crate) fn initialized(revision: &str) -> String {
    let instructions = quoted(INSTRUCTIONS);
    format!(
        "\"protocolVersion\":\"{revision}\",{CAPABILITIES},\"serverInfo\":{SERVER},\"instructions\":{instructions}"
    )
}

/// Returns the members of the result of `server/discover`.
pub(crate) fn discovered() -> String {
    let served = SERVED.map(|one| format!("\"{one}\"")).join(",");
    let instructions = quoted(INSTRUCTIONS);
    format!("\"supportedVersions\":[{served}],{CAPABILITIES},\"instructions\":{instructions}")
}

/// Returns the members of the result of a tool: the object, as it is and as text, for clients that read only that.
pub(crate) fn tool_result(object: &str, is_error: bool) -> String {
    let text = quoted(object);
    format!(
        "\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"structuredContent\":{object},\"isError\":{is_error}"
    )
}

/// Returns the object that a tool answers with: the page of a list, or the body, with what the headers of the answer say.
pub(crate) fn tool_object(headers: &HeaderMap, body: &str) -> String {
    if body.starts_with('[') {
        let cursor = next_cursor(headers).map_or_else(|| "null".to_owned(), |cursor| quoted(&cursor));
        let last = text(headers, LAST_EVENT_ID.as_str());
        let last = last.map(|id| format!(",\"lastEventId\":{}", quoted(id))).unwrap_or_default();
        return format!("{{\"items\":{body},\"nextCursor\":{cursor}{last}}}");
    }
    let result = if body.is_empty() { "null" } else { body };
    let etag =
        text(headers, ETAG.as_str()).map(|tag| format!(",\"etag\":{}", quoted(tag))).unwrap_or_default();
    let (replayed, deprecated) =
        (headers.contains_key("idempotent-replayed"), headers.contains_key("deprecation"));
    format!("{{\"result\":{result}{etag},\"replayed\":{replayed},\"deprecated\":{deprecated}}}")
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the cursor of the next page. No address in the header has a comma or a quote, and a cursor needs no decoding.
fn next_cursor(headers: &HeaderMap) -> Option<String> {
    let links = text(headers, LINK.as_str())?;
    let next = links.split(", ").find(|link| link.ends_with("rel=\"next\""))?;
    let query = next.strip_prefix('<')?.split_once('>')?.0.split_once('?')?.1;
    query.split('&').find_map(|pair| pair.strip_prefix("cursor=")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::sandbox::mcp::revision::MODERN;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_page_has_its_items_and_the_cursor_of_the_next_one() {
        let next =
            r#"<http://h/v1/pets?limit=2>; rel="first", <http://h/v1/pets?limit=2&cursor=aB-_9>; rel="next""#;
        let page = tool_object(&headers(&[("link", next)]), "[1,2]");
        assert_eq!(parsed(&page), json!({"items": [1, 2], "nextCursor": "aB-_9"}));
        let only =
            headers(&[("link", r#"<http://h/v1/events?cursor=no>; rel="first""#), ("last-event-id", "a-1")]);
        let expected = json!({"items": [], "nextCursor": null, "lastEventId": "a-1"});
        assert_eq!(parsed(&tool_object(&only, "[]")), expected);
    }

    #[test]
    fn a_result_has_what_its_headers_say() {
        let all = headers(&[("etag", "\"a1\""), ("idempotent-replayed", "true"), ("deprecation", "@1")]);
        let expected = json!({"result": {"id": 1}, "etag": "\"a1\"", "replayed": true, "deprecated": true});
        assert_eq!(parsed(&tool_object(&all, "{\"id\":1}")), expected);
        let expected = json!({"result": null, "replayed": false, "deprecated": false});
        assert_eq!(parsed(&tool_object(&HeaderMap::new(), "")), expected);
    }

    #[test]
    fn a_modern_result_says_that_it_is_complete_and_which_server_made_it() {
        let id = Raw::of_valid("\"a\"");
        let expected = json!({"jsonrpc": "2.0", "id": "a", "result": {}});
        assert_eq!(parsed(&result(id, Era::Handshake, "")), expected);
        let modern = parsed(&result(id, Era::Modern, &kept(Era::Modern, discovered())));
        let modern = &modern["result"];
        assert_eq!((&modern["resultType"], &modern["cacheScope"]), (&json!("complete"), &json!("public")));
        assert_eq!(modern["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "petstore");
        assert_eq!(modern["supportedVersions"], json!(SERVED));
        assert_eq!(parsed(&format!("{{{}}}", initialized(MODERN)))["protocolVersion"], MODERN);
    }
}
