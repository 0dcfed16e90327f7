//! The revision of the protocol that a request follows. Up to 2025-11-25 a client begins with `initialize`; from 2026-07-28 on
//! each request names its revision, and three headers repeat parts of the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;

use super::message::{INVALID_PARAMS, Message, Refused};
use crate::wire::listed;

/// The revision whose requests name it themselves.
pub(crate) const MODERN: &str = "2026-07-28";

/// The revisions that are served, the newest first.
pub(crate) const SERVED: [&str; 3] = [MODERN, "2025-11-25", "2025-06-18"];

/// A revision without the header of the revision, which clients of that time send nevertheless.
const WITHOUT_HEADER: &str = "2025-03-26";

/// The members of `_meta` by which a request of the modern era is known.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// The codes of the protocol: headers that differ from the body, and a revision that is not served.
const HEADER_MISMATCH: i32 = -32_020;
const UNSUPPORTED_VERSION: i32 = -32_022;

/// The era of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2025-11-25 and before.
    Handshake,
    /// 2026-07-28.
    Modern,
}

/// Returns the revision for a client that asked for one by `initialize`.
pub(crate) fn agreed(asked: Option<&str>) -> &'static str {
    let served = SERVED[1..].iter().find(|one| asked == Some(**one));
    served.copied().unwrap_or(SERVED[1])
}

/// Returns the era of a request, whose headers and parameters must agree about it.
pub(crate) fn era<'b>(message: &Message<'b>, headers: &HeaderMap) -> Result<Era, Refused<'b>> {
    if message.method == "initialize" {
        return Ok(Era::Handshake);
    }
    let header = header(headers, "mcp-protocol-version");
    let stated = message.meta(VERSION_KEY);
    let Some(stated) = stated else {
        return match header.as_deref() {
            None => Ok(Era::Handshake),
            Some(MODERN) => Err(lacks(message, VERSION_KEY)),
            Some(version) if SERVED.contains(&version) || version == WITHOUT_HEADER => Ok(Era::Handshake),
            Some(version) => Err(unsupported(message, version)),
        };
    };
    let Some(version) = stated.text() else {
        let text = format!("The member {VERSION_KEY} of _meta must be a string.");
        return Err(Refused::bad(message.id, INVALID_PARAMS, text));
    };
    same(message, "MCP-Protocol-Version", header.as_deref(), Some(&version))?;
    if version != MODERN {
        return if SERVED.contains(&&*version) {
            Ok(Era::Handshake)
        } else {
            Err(unsupported(message, &version))
        };
    }
    if !message.meta(CAPABILITIES_KEY).is_some_and(super::raw::Raw::is_object) {
        return Err(lacks(message, CAPABILITIES_KEY));
    }
    same(message, "Mcp-Method", self::header(headers, "mcp-method").as_deref(), Some(&message.method))?;
    let named = match &*message.method {
        "tools/call" | "prompts/get" => message.text("name"),
        "resources/read" => message.text("uri"),
        _ => return Ok(Era::Modern),
    };
    same(message, "Mcp-Name", self::header(headers, "mcp-name").as_deref(), named.as_deref())?;
    Ok(Era::Modern)
}

/// Returns the value of a header that a request has once, decoded if it was encoded.
fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let value = value.to_str().ok()?;
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// Refuses a header that is not the same as its part of the body. Clients always send it.
fn same<'b>(
    message: &Message<'b>,
    name: &str,
    header: Option<&str>,
    body: Option<&str>,
) -> Result<(), Refused<'b>> {
    if header == body {
        return Ok(());
    }
    let text = format!("The header {name} must be sent once, and have the same value as the body.");
    Err(Refused::bad(message.id, HEADER_MISMATCH, text))
}

fn lacks<'b>(message: &Message<'b>, key: &str) -> Refused<'b> {
    let text = format!("A request of the revision {MODERN} needs {key} in the _meta of its params.");
    Refused::bad(message.id, INVALID_PARAMS, text)
}

fn unsupported<'b>(message: &Message<'b>, version: &str) -> Refused<'b> {
    let text = format!("This revision of the protocol is not served; these are: {}.", listed(SERVED));
    let served = SERVED.map(|one| format!("\"{one}\"")).join(",");
    let requested = super::raw::quoted(version);
    let data = format!("{{\"supported\":[{served}],\"requested\":{requested}}}");
    Refused { data: Some(data), ..Refused::bad(message.id, UNSUPPORTED_VERSION, text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(body: &str, fields: &[(&'static str, &str)]) -> Result<Era, i32> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        let message = Message::read(body.as_bytes()).unwrap();
        era(&message, &headers).map_err(|refused| refused.code)
    }

    fn modern(method: &str, params: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{{"{VERSION_KEY}":"{MODERN}","{CAPABILITIES_KEY}":{{}}}}{params}}}}}"#
        )
    }

    #[test]
    fn a_request_without_a_revision_of_its_own_is_of_the_handshake() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        for (version, expected) in [
            ("2025-11-25", Ok(Era::Handshake)),
            ("2025-06-18", Ok(Era::Handshake)),
            ("2025-03-26", Ok(Era::Handshake)),
            ("1999-01-01", Err(UNSUPPORTED_VERSION)),
            (MODERN, Err(INVALID_PARAMS)),
        ] {
            assert_eq!(judged(body, &[("mcp-protocol-version", version)]), expected, "{version}");
        }
        assert_eq!(judged(body, &[]), Ok(Era::Handshake));
        let asked = [Some("2025-06-18"), Some("2025-11-25"), Some("2024-11-05"), Some(MODERN), None];
        assert_eq!(asked.map(agreed), ["2025-06-18", "2025-11-25", "2025-11-25", "2025-11-25", "2025-11-25"]);
    }

    #[test]
    fn headers_repeat_the_body_of_a_modern_request() {
        let (version, method) = (("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"));
        let body = modern("tools/call", r#","name":"é""#);
        let mismatch = Err(HEADER_MISMATCH);
        for (fields, expected) in [
            (vec![version, method, ("mcp-name", "=?base64?w6k=?=")], Ok(Era::Modern)),
            (vec![version, method], mismatch),
            (vec![version, method, ("mcp-name", "=?base64?w6?=")], mismatch),
            (vec![version, method, ("mcp-name", "e")], mismatch),
            (vec![version, ("mcp-name", "=?base64?w6k=?=")], mismatch),
            (vec![version, method, method, ("mcp-name", "=?base64?w6k=?=")], mismatch),
            (vec![method, ("mcp-name", "=?base64?w6k=?=")], mismatch),
            (vec![("mcp-protocol-version", "2025-11-25"), method], mismatch),
        ] {
            assert_eq!(judged(&body, &fields), expected, "{fields:?}");
        }
        let list = modern("tools/list", "");
        assert_eq!(judged(&list, &[version, ("mcp-method", "tools/list")]), Ok(Era::Modern));
        let old = list.replace(MODERN, "2031-01-01");
        assert_eq!(judged(&old, &[("mcp-protocol-version", "2031-01-01")]), Err(UNSUPPORTED_VERSION));
        let lacking = list.replace(CAPABILITIES_KEY, "other/key");
        assert_eq!(judged(&lacking, &[version, ("mcp-method", "tools/list")]), Err(INVALID_PARAMS));
    }
}
