//! One line of the log, as JSON and as text.

use std::borrow::Cow;
use std::fmt::Write;
use std::net::IpAddr;

use petstore_domain::Timestamp;
use petstore_http::Exchange;
use serde_json::{Value, json};

use crate::terminal::{visible_json, visible_line};

/// The name of the field with the cause of a failure.
const FAULT: &str = "fault";

/// The severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Info,
    Warn,
    Error,
}

impl Level {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// A line: time, level, message and fields.
pub(super) struct Line<'l> {
    time: Timestamp,
    level: Level,
    message: &'l str,
    fields: Vec<(&'static str, Value)>,
}

impl<'l> Line<'l> {
    pub(super) fn new(time: Timestamp, level: Level, message: &'l str) -> Self {
        Self { time, level, message, fields: Vec::new() }
    }

    /// Adds the fields of a request, with the client's address if it is given.
    pub(super) fn of(mut self, exchange: &Exchange<'_>, client: Option<IpAddr>) -> Self {
        let micros = u64::try_from(exchange.duration.as_micros()).unwrap_or(u64::MAX);
        self.put("method", json!(exchange.method));
        self.put("route", json!(exchange.route));
        self.put("status", json!(exchange.status));
        self.put("micros", json!(micros));
        self.put("requestId", json!(exchange.request_id));
        self.put("client", json!(client));
        self.put("account", json!(exchange.account.map(petstore_domain::AccountId::get)));
        self.put("key", json!(exchange.key));
        self.put("traceparent", json!(exchange.traceparent.filter(|text| is_traceparent(text))));
        self.put(FAULT, json!(exchange.fault));
        self
    }

    /// Adds a field unless its value is null.
    fn put(&mut self, name: &'static str, value: Value) {
        if !value.is_null() {
            self.fields.push((name, value));
        }
    }

    /// The line as a JSON object.
    pub(super) fn as_json(&self) -> String {
        let (time, level) = (self.time.to_string(), self.level.as_str());
        let message = json!(self.message).to_string();
        let message = visible_json(&message);
        let mut line = format!("{{\"time\":{},\"level\":\"{level}\",\"message\":{message}", json!(time));
        for (name, value) in &self.fields {
            // Writing to a String does not fail. Only the fault may hold characters that a terminal acts on.
            let _ = match *name {
                FAULT => write!(line, ",\"{name}\":{}", visible_json(&value.to_string())),
                name => write!(line, ",\"{name}\":{value}"),
            };
        }
        line.push_str("}\n");
        line
    }

    /// The line as text: the important fields first, the others as `name=value`.
    pub(super) fn as_text(&self) -> String {
        let (level, message) = (self.level.as_str().to_uppercase(), visible_line(self.message));
        let mut line = format!("{} {level:5} {message}", self.time);
        for (name, value) in &self.fields {
            // Writing to a String does not fail.
            let _ = match (*name, value) {
                ("method" | "route", Value::String(text)) => write!(line, " {text}"),
                ("status", value) => write!(line, " {value}"),
                (name, Value::String(text)) if !text.contains([' ', '"', '=']) && is_visible(text) => {
                    write!(line, " {name}={text}")
                }
                (name, value) => write!(line, " {name}={}", visible_json(&value.to_string())),
            };
        }
        line.push('\n');
        line
    }
}

/// Returns whether a text contains no character that must be escaped.
fn is_visible(text: &str) -> bool {
    matches!(visible_line(text), Cow::Borrowed(_))
}

/// Returns whether a text has the characters of a traceparent (W3C Trace Context, section 3.2). Other values are not
/// logged.
fn is_traceparent(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petstore_domain::AccountId;

    use super::*;

    fn line<'l>(fault: Option<&'l str>, traceparent: Option<&'l str>, tells_client: bool) -> Line<'l> {
        let time = Timestamp::parse("2030-01-01T00:00:00Z").unwrap();
        let client = "192.0.2.1".parse().unwrap();
        let exchange = Exchange {
            method: "GET",
            route: "/pets/{petId}",
            status: 200,
            request_id: "abc",
            traceparent,
            client,
            account: Some(AccountId::new(7).unwrap()),
            key: Some("pet_01234567"),
            duration: Duration::from_micros(42),
            fault,
        };
        Line::new(time, Level::Info, "request").of(&exchange, tells_client.then_some(client))
    }

    #[test]
    fn the_json_form_has_one_object_a_line() {
        let expected = "{\"time\":\"2030-01-01T00:00:00.000Z\",\"level\":\"info\",\"message\":\"request\",\"method\":\"GET\",\
                        \"route\":\"/pets/{petId}\",\"status\":200,\"micros\":42,\"requestId\":\"abc\",\
                        \"client\":\"192.0.2.1\",\"account\":7,\
                        \"key\":\"pet_01234567\",\"traceparent\":\"00-ab-01\"}\n";
        assert_eq!(line(None, Some("00-ab-01"), true).as_json(), expected);
    }

    #[test]
    fn control_characters_are_escaped_in_both_forms() {
        let time = Timestamp::parse("2030-01-01T00:00:00Z").unwrap();
        for line in [
            line(Some("\u{1b}[2J\u{9b}m"), None, false),
            Line::new(time, Level::Warn, "a\u{1b}[2J\u{9b}m\nb"),
        ] {
            for text in [line.as_json(), line.as_text()] {
                assert!(!text.trim_end().contains(char::is_control), "{text:?}");
            }
            let read: Value = serde_json::from_str(&line.as_json()).unwrap();
            assert!(read.to_string().contains("[2J\u{9b}m"), "{read}");
        }
    }

    #[test]
    fn the_text_form_is_one_line() {
        let text = line(Some("the disk\nis full"), Some("not=a trace"), false).as_text();
        assert!(text.starts_with("2030-01-01T00:00:00.000Z INFO  request "), "{text}");
        assert!(
            text.contains(" GET ") && text.contains(" /pets/{petId} ") && text.contains(" micros=42"),
            "{text}"
        );
        assert!(text.contains("fault=\"the disk\\nis full\"") && !text.contains("trace"), "{text}");
        assert!(!text.contains("client") && !text.contains("192.0.2.1"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}
