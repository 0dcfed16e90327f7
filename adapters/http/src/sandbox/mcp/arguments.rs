//! The request of an operation, made of the arguments of its tool.
//!
//! Only what the request cannot carry is refused here. All else is judged where every request is, so that a mistake has the same
//! code and the same text.

use bytes::Bytes;
use hyper::header::HeaderValue;

use super::catalog::{Place, Tool};
use super::raw::{Raw, quoted};
use crate::base::settings::TARGET_MAX;
use crate::wire::error::{ApiError, Code, Detail};
use crate::wire::faults::{FieldFault, FieldFaults, listed};
use crate::wire::links::{push_parameter, push_segment};

/// The longest wait for an event, in seconds. Many clients give up after 30.
const WAIT_MAX_SECS: u64 = 20;

/// The parts of a request that arguments make.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The path below the base path, with its query.
    pub(crate) target: String,
    pub(crate) body: Bytes,
    pub(crate) if_match: Option<HeaderValue>,
    pub(crate) idempotency_key: Option<HeaderValue>,
}

/// Places the arguments of a call. A parameter that is null counts as absent; in a body null has a meaning of its own.
pub(crate) fn operation(tool: &Tool, arguments: Option<Raw<'_>>) -> Result<Operation, ApiError> {
    let (mut path, mut query, mut body) = (tool.path.clone(), String::new(), String::new());
    let (mut if_match, mut idempotency_key) = (None, None);
    let mut faults = FieldFaults::default();
    for (name, value) in arguments.map(Raw::members).unwrap_or_default() {
        let Some(place) = tool.place(&name) else {
            return Err(unknown(tool, &name));
        };
        if place == Place::Body {
            body.push(if body.is_empty() { '{' } else { ',' });
            body.push_str(&quoted(&name));
            body.push(':');
            body.push_str(value.as_str());
            continue;
        }
        if value.is_null() {
            continue;
        }
        let text = match text(value, place == Place::Query) {
            Some(text) if name == "wait" && is_too_long(&text) => {
                let rule = format!("must be from 0 to {WAIT_MAX_SECS} seconds");
                faults.add(&name, &FieldFault::new("out_of_range", rule));
                continue;
            }
            Some(text) => text,
            None => {
                faults.add(&name, &FieldFault::new("invalid_type", "must be a single value"));
                continue;
            }
        };
        let header = match place {
            Place::IfMatch => &mut if_match,
            Place::IdempotencyKey => &mut idempotency_key,
            Place::Query => {
                push_parameter(&mut query, &name, &text);
                continue;
            }
            Place::Path | Place::Body => {
                let mut segment = String::new();
                push_segment(&mut segment, &text);
                if !segment.is_empty() {
                    path = path.replace(&format!("{{{name}}}"), &segment);
                }
                continue;
            }
        };
        match HeaderValue::try_from(&text) {
            Ok(value) => *header = Some(value),
            Err(_) => {
                faults.add(&name, &FieldFault::new("invalid_character", "must not have control characters"));
            }
        }
    }
    for (name, _) in tool.arguments.iter().filter(|(_, place)| *place == Place::Path) {
        if path.contains(&format!("{{{name}}}")) {
            faults.add(name, &FieldFault::new("required", "is required"));
        }
    }
    if !faults.is_empty() {
        return Err(faults.of_query());
    }
    if !query.is_empty() {
        path = format!("{path}?{query}");
    }
    if path.len() > TARGET_MAX {
        let message = format!("The arguments of the path and the query are longer than {TARGET_MAX} bytes.");
        return Err(ApiError::new(Code::UriTooLong, message));
    }
    if tool.content_type.is_some() {
        body.push_str(if body.is_empty() { "{}" } else { "}" });
    }
    Ok(Operation { target: path, body: body.into(), if_match, idempotency_key })
}

/// Returns the value of a parameter as text; `None` for one that a parameter cannot have.
fn text(value: Raw<'_>, may_be_list: bool) -> Option<String> {
    if let Some(elements) = value.elements().filter(|_| may_be_list) {
        let texts = elements.into_iter().map(Raw::scalar).collect::<Option<Vec<_>>>()?;
        return Some(texts.join(","));
    }
    value.scalar().map(std::borrow::Cow::into_owned)
}

/// Returns whether a wait is longer than clients are patient. Another mistake is judged by the operation.
fn is_too_long(text: &str) -> bool {
    text.parse::<u64>().is_ok_and(|secs| secs > WAIT_MAX_SECS)
}

/// Returns the error of an argument that a tool does not have. It lists the arguments of the tool.
fn unknown(tool: &Tool, name: &str) -> ApiError {
    let known = if tool.arguments.is_empty() {
        "it takes none".to_owned()
    } else {
        format!("it takes {}", listed(tool.arguments.iter().map(|(name, _)| name)))
    };
    let name = crate::wire::faults::printable(name, crate::wire::faults::FIELD_MAX).into_owned();
    let message = format!("{name} is not an argument of {}; {known}.", tool.name);
    let detail = Detail { field: name, code: "unknown_parameter", message: message.clone().into() };
    ApiError::with_details(Code::InvalidParameter, message, vec![detail])
}

#[cfg(test)]
mod tests {
    use super::super::catalog::{Catalog, EXAMPLE};
    use super::*;

    fn made(tool: usize, arguments: &str) -> Result<Operation, ApiError> {
        let catalog = Catalog::read(EXAMPLE.as_bytes()).unwrap();
        operation(catalog.with_tags(None).unwrap()[tool], Some(Raw::of_valid(arguments)))
    }

    fn target(tool: usize, arguments: &str) -> String {
        made(tool, arguments).unwrap().target
    }

    #[test]
    fn arguments_go_to_their_places() {
        let order = made(1, r#"{"complete":true,"orderId":"7","shipDate":null,"ifMatch":"\"a\""}"#).unwrap();
        assert_eq!(
            (&*order.target, &*order.body),
            ("/store/orders/7", &b"{\"complete\":true,\"shipDate\":null}"[..])
        );
        assert_eq!((order.if_match.unwrap(), order.idempotency_key), ("\"a\"".parse().unwrap(), None));
        let placed = made(2, r#"{"petId":1e400,"idempotencyKey":"a b"}"#).unwrap();
        assert_eq!((&*placed.target, &*placed.body), ("/store/orders", &b"{\"petId\":1e400}"[..]));
        assert_eq!(placed.idempotency_key.unwrap(), "a b");
        assert_eq!(made(2, "{}").unwrap().body, "{}");
        assert_eq!(target(0, r#"{"limit":5,"status":["sold","a&b"]}"#), "/pets?limit=5&status=sold%2Ca%26b");
        assert_eq!(target(0, r#"{"limit":null,"status":"sold"}"#), "/pets?status=sold");
        assert_eq!(target(1, r#"{"orderId":"../7?a"}"#), "/store/orders/..%2F7%3Fa");
        assert_eq!(target(3, r#"{"wait":20}"#), "/events?wait=20");
        assert_eq!(target(3, r#"{"wait":"soon"}"#), "/events?wait=soon");
    }

    #[test]
    fn what_no_request_can_carry_is_refused_by_name() {
        for (tool, arguments, field, code) in [
            (0, r#"{"limit":{}}"#, "limit", "invalid_type"),
            (0, r#"{"status":[["a"]]}"#, "status", "invalid_type"),
            (1, r#"{"orderId":[7]}"#, "orderId", "invalid_type"),
            (1, r#"{"complete":true}"#, "orderId", "required"),
            (1, r#"{"orderId":""}"#, "orderId", "required"),
            (1, r#"{"orderId":7,"ifMatch":"a\nb"}"#, "ifMatch", "invalid_character"),
            (3, r#"{"wait":21}"#, "wait", "out_of_range"),
            (3, r#"{"waits":1}"#, "waits", "unknown_parameter"),
        ] {
            let error = made(tool, arguments).unwrap_err();
            assert_eq!((error.code, error.details[0].code), (Code::InvalidParameter, code), "{arguments}");
            assert_eq!(error.details[0].field, field, "{arguments}");
        }
        let long = format!("{{\"status\":\"{}\"}}", "é".repeat(30_000));
        assert_eq!(made(0, &long).unwrap_err().code, Code::UriTooLong);
        let unknown = made(1, r#"{"orderID":7}"#).unwrap_err().message;
        assert_eq!(
            unknown,
            "orderID is not an argument of updateOrder; it takes orderId, ifMatch, complete, shipDate."
        );
    }
}
