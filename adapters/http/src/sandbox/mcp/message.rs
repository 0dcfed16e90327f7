//! One message of a client: a request, or a notification, which has no id.

use std::borrow::Cow;

use hyper::StatusCode;

use super::raw::Raw;
use crate::wire::json::{self, Node};

/// The maximum number of bytes of the id of a message, as it was written.
const ID_BYTES_MAX: usize = 256;

/// The codes of JSON-RPC.
pub(crate) const PARSE_ERROR: i32 = -32_700;
pub(crate) const INVALID_REQUEST: i32 = -32_600;
pub(crate) const METHOD_NOT_FOUND: i32 = -32_601;
pub(crate) const INVALID_PARAMS: i32 = -32_602;

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message<'b> {
    /// The id; `None` for a notification.
    pub(crate) id: Option<Raw<'b>>,
    pub(crate) method: Cow<'b, str>,
    /// The parameters: an object.
    pub(crate) params: Option<Raw<'b>>,
}

/// The refusal of a message by the protocol.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused<'b> {
    /// The id of the message, if it could be read.
    pub(crate) id: Option<Raw<'b>>,
    pub(crate) status: StatusCode,
    pub(crate) code: i32,
    pub(crate) message: Cow<'static, str>,
    /// Further facts, as JSON.
    pub(crate) data: Option<String>,
}

impl<'b> Refused<'b> {
    /// A refusal with the status 400.
    pub(crate) fn bad(id: Option<Raw<'b>>, code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { id, status: StatusCode::BAD_REQUEST, code, message: message.into(), data: None }
    }

    /// A refusal within an answer, which has the status 200: many clients read nothing of another one.
    pub(crate) fn answered(id: Option<Raw<'b>>, code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status: StatusCode::OK, ..Self::bad(id, code, message) }
    }
}

impl<'b> Message<'b> {
    /// Parses a body.
    pub(crate) fn read(body: &'b [u8]) -> Result<Self, Refused<'b>> {
        let members = match json::parse(body) {
            Ok(Node::Object(members)) => members,
            Ok(Node::Array(_)) => {
                return Err(malformed(None, "A batch is not supported; send one message in a body."));
            }
            Ok(_) => return Err(malformed(None, "The body must be one JSON-RPC message: a JSON object.")),
            Err(error) => return Err(Refused::bad(None, PARSE_ERROR, error.message)),
        };
        // The body was parsed, so it is UTF-8.
        let whole = Raw::of_valid(str::from_utf8(body).unwrap_or_default());
        let find = |name: &str| members.iter().find(|(one, _)| one == name).map(|(_, node)| node);
        let id = match (find("id"), whole.get("id")) {
            (None, _) | (_, None) => None,
            (Some(Node::Text(_) | Node::Integer(_)), Some(id)) if id.as_str().len() <= ID_BYTES_MAX => {
                Some(id)
            }
            _ => {
                let message =
                    format!("The id must be a string or an integer, of at most {ID_BYTES_MAX} bytes.");
                return Err(Refused::bad(None, INVALID_REQUEST, message));
            }
        };
        if !matches!(find("jsonrpc"), Some(Node::Text(version)) if version == "2.0") {
            return Err(malformed(id, "The member jsonrpc must be \"2.0\"."));
        }
        let method = match find("method") {
            Some(Node::Text(method)) => method.clone(),
            _ => return Err(malformed(id, "The member method must be a string.")),
        };
        let params = whole.get("params");
        if params.is_some_and(|params| !params.is_object()) {
            return Err(Refused::bad(id, INVALID_PARAMS, "The member params must be an object."));
        }
        Ok(Self { id, method, params })
    }

    /// Returns a parameter.
    pub(crate) fn param(&self, name: &str) -> Option<Raw<'b>> {
        self.params?.get(name)
    }

    /// Returns a parameter that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'b, str>> {
        self.param(name)?.text()
    }

    /// Returns a value of the client about the request itself.
    pub(crate) fn meta(&self, name: &str) -> Option<Raw<'b>> {
        self.param("_meta")?.get(name)
    }
}

fn malformed<'b>(id: Option<Raw<'b>>, message: &'static str) -> Refused<'b> {
    Refused::bad(id, INVALID_REQUEST, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_an_id_and_a_notification_none() {
        let body =
            br#"{"jsonrpc":"2.0","id":12345678901234567890,"method":"a\/b","params":{"_meta":{"x/y":1}}}"#;
        let message = Message::read(body).unwrap();
        assert_eq!(message.id.map(Raw::as_str), Some("12345678901234567890"));
        assert_eq!((&*message.method, message.meta("x/y").map(Raw::as_str)), ("a/b", Some("1")));
        let notification = Message::read(br#"{"jsonrpc":"2.0","method":"a"}"#).unwrap();
        assert_eq!((notification.id, notification.params), (None, None));
    }

    #[test]
    fn bodies_that_are_no_message_are_refused_with_the_code_of_their_fault() {
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"a"}}"#, "x".repeat(ID_BYTES_MAX - 1));
        let deep = format!("{}1{}", "[".repeat(60_000), "]".repeat(60_000));
        for (body, code) in [
            ("", PARSE_ERROR),
            ("{", PARSE_ERROR),
            (&*deep, PARSE_ERROR),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, INVALID_REQUEST),
            (&*long, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#, INVALID_PARAMS),
        ] {
            let refused = Message::read(body.as_bytes()).unwrap_err();
            assert_eq!((refused.code, refused.status), (code, StatusCode::BAD_REQUEST), "{body}");
        }
    }
}
