//! `PUT /sandbox/sinks/{name}`: the script of a sink.

use hyper::StatusCode;
use hyper::header::HeaderValue;
use petstore_ports::WebhookSecret;

use super::bodies::{EXACT_MAX, duration, number};
use super::fault_plan::DELAY_MAX;
use super::sink_store::{ScriptedAnswer, SinkEnd, SinkScript};
use crate::wire::error::ApiError;
use crate::wire::faults::FieldFault;
use crate::wire::fields::{Fields, boolean, text};
use crate::wire::json::Node;

/// The maximum number of answers of a script.
const ANSWERS_MAX: usize = 100;

/// The maximum number of bytes of an answer's body.
const BYTES_MAX: u64 = 1024 * 1024;

/// The maximum length of a header that a script sets.
const HEADER_MAX: usize = 2_048;

/// Parses a script. `read_secret` returns none for a text that is not a secret.
pub(super) fn sink_script(
    body: &[u8],
    read_secret: impl Fn(&str) -> Option<WebhookSecret>,
) -> Result<SinkScript, ApiError> {
    let mut fields = Fields::with_arrays(body)?;
    let secret = fields.optional("secret", |node| {
        let rule = "must be a secret: whsec_ and base64 of 24 to 64 bytes";
        read_secret(text(node)?).ok_or_else(|| FieldFault::new("invalid_format", rule))
    });
    let elements = fields.optional("answers", elements).unwrap_or_default();
    let mut answers = Vec::with_capacity(elements.len());
    for (place, element) in elements.into_iter().enumerate() {
        match answer(element, format!("answers[{place}]")) {
            Ok(answer) => answers.push(answer),
            Err(error) => fields.take_in(error),
        }
    }
    fields.finish(|| Some(SinkScript { secret, answers }))
}

fn elements<'a>(node: &Node<'a>) -> Result<Vec<Node<'a>>, FieldFault> {
    match node {
        Node::Array(elements) if elements.len() <= ANSWERS_MAX => Ok(elements.clone()),
        Node::Array(_) => {
            Err(FieldFault::new("too_long", format!("must have at most {ANSWERS_MAX} elements")))
        }
        _ => Err(FieldFault::new("invalid_type", "must be an array")),
    }
}

fn answer(element: Node<'_>, within: String) -> Result<ScriptedAnswer, ApiError> {
    let mut fields = Fields::nested(element, within)?;
    let first = fields.optional("first", |node| number(node, 1, EXACT_MAX));
    let delay = fields.optional("delay", |node| duration(node, DELAY_MAX)).unwrap_or_default();
    let status = fields.optional("status", |node| number(node, 200, 599));
    let redirect = fields.optional("redirect", |node| header(text(node)?));
    let retry_after = fields.optional("retryAfter", retry_after);
    let bytes = fields.optional("bytes", |node| number(node, 0, BYTES_MAX));
    let drop = fields.optional("drop", boolean).unwrap_or(false);
    let hang = fields.optional("hang", boolean).unwrap_or(false);
    let has_answer = status.is_some()
        || redirect.is_some()
        || retry_after.is_some()
        || bytes.is_some_and(|bytes| bytes > 0);
    for (name, is_set, others) in [("drop", drop, has_answer || hang), ("hang", hang, has_answer)] {
        if is_set && others {
            fields.refuse(name, &FieldFault::new("conflict", "cannot be combined with another end"));
        }
    }
    if redirect.is_some() && status.is_some_and(|status| !(300..400).contains(&status)) {
        fields.refuse("redirect", &FieldFault::new("conflict", "cannot be combined with this status"));
    }
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
    if bytes > 0 && status.is_some_and(|status| matches!(status, 204 | 205 | 304)) {
        fields.refuse("bytes", &FieldFault::new("conflict", "cannot be combined with this status"));
    }
    let default = if redirect.is_some() {
        StatusCode::FOUND
    } else if bytes > 0 {
        StatusCode::OK
    } else {
        StatusCode::NO_CONTENT
    };
    let status = status.and_then(|status| StatusCode::from_u16(u16::try_from(status).ok()?).ok());
    let end = match (drop, hang) {
        (true, _) => SinkEnd::Dropped,
        (_, true) => SinkEnd::Hung,
        _ => SinkEnd::Answered { status: status.unwrap_or(default), retry_after, redirect, bytes },
    };
    fields.finish(|| Some(ScriptedAnswer { first, delay, end }))
}

/// Parses `retryAfter`: a number of seconds, or any text, so that a test can send a date or nonsense.
fn retry_after(node: &Node<'_>) -> Result<HeaderValue, FieldFault> {
    match node {
        Node::Text(text) => header(text),
        node => number(node, 0, EXACT_MAX).map(HeaderValue::from),
    }
}

fn header(text: &str) -> Result<HeaderValue, FieldFault> {
    let is_visible = !text.is_empty() && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let value = HeaderValue::from_str(text).ok().filter(|_| is_visible && text.len() <= HEADER_MAX);
    let rule = "must be 1 to 2,048 visible ASCII characters";
    value.ok_or_else(|| FieldFault::new("invalid_format", rule))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::wire::error::Code;

    fn read(body: &str) -> Result<SinkScript, ApiError> {
        sink_script(body.as_bytes(), |text| {
            text.starts_with("whsec_").then(|| WebhookSecret::from_text(text))
        })
    }

    #[test]
    fn a_script_has_defaults_for_all_that_it_does_not_set() {
        let end = |status, bytes, redirect: Option<&'static str>| SinkEnd::Answered {
            status: StatusCode::from_u16(status).unwrap(),
            retry_after: None,
            redirect: redirect.map(HeaderValue::from_static),
            bytes,
        };
        let script = read(
            r#"{"secret":"whsec_x","answers":[{"status":503,"first":2,"retryAfter":7,"delay":"20ms"},{"drop":true,"first":1},
                {"hang":true,"first":1},{"redirect":"http://169.254.169.254/","first":1},{"bytes":70000,"first":1},{}]}"#,
        )
        .unwrap();
        assert_eq!(script.secret, Some(WebhookSecret::from_text("whsec_x")));
        let ends: Vec<_> = script.answers.iter().map(|answer| answer.end.clone()).collect();
        let unavailable = SinkEnd::Answered {
            status: StatusCode::SERVICE_UNAVAILABLE,
            retry_after: Some(HeaderValue::from_static("7")),
            redirect: None,
            bytes: 0,
        };
        let expected = [
            unavailable,
            SinkEnd::Dropped,
            SinkEnd::Hung,
            end(302, 0, Some("http://169.254.169.254/")),
            end(200, 70_000, None),
            end(204, 0, None),
        ];
        assert_eq!(ends, expected);
        assert_eq!((script.answers[0].first, script.answers[0].delay), (Some(2), Duration::from_millis(20)));
        assert_eq!(read("{}"), Ok(SinkScript::default()));
    }

    #[test]
    fn every_fault_of_a_script_is_named() {
        let body = r#"{"secret":"x","answers":[{"status":100},{"drop":true,"hang":true},{"hang":true,"status":500},
            {"redirect":"/x","status":200},{"bytes":1,"status":204},{"redirect":"ä"},{"delay":"2h","first":0},[],
            {"speed":1},{"retryAfter":true}]}"#;
        let error = read(body).unwrap_err();
        assert_eq!(error.code, Code::ValidationFailed);
        let found: Vec<_> = error.details.iter().map(|detail| (detail.field.as_str(), detail.code)).collect();
        let expected = [
            ("secret", "invalid_format"),
            ("answers[0].status", "out_of_range"),
            ("answers[1].drop", "conflict"),
            ("answers[2].hang", "conflict"),
            ("answers[3].redirect", "conflict"),
            ("answers[4].bytes", "conflict"),
            ("answers[5].redirect", "invalid_format"),
            ("answers[6].first", "out_of_range"),
            ("answers[6].delay", "out_of_range"),
            ("answers[7]", "invalid_type"),
            ("answers[8].speed", "unknown_member"),
            ("answers[9].retryAfter", "invalid_type"),
        ];
        assert_eq!(found, expected);
        let many = format!(r#"{{"answers":[{}]}}"#, vec!["{}"; ANSWERS_MAX + 1].join(","));
        assert_eq!(read(&many).unwrap_err().details[0].code, "too_long");
    }
}
