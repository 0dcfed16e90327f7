//! Valid requests from the document's examples, which provocations then make invalid.

use serde_json::Value;

use super::document::{self, Operation, Parameter};
use crate::harness::{Answer, Client, Connection};

/// A request that succeeds in a shop that is stocked as the examples assume, unless the test changes the request.
#[derive(Debug, Clone)]
pub(super) struct ValidRequest {
    pub(super) method: String,
    pub(super) target: String,
    /// Parameters that are added unless the query sets them. Without them, the answer of a stream would not end.
    bounds: Vec<(&'static str, &'static str)>,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl ValidRequest {
    /// Sets a parameter of the path.
    pub(super) fn with_path_parameter(self, parameter: &Parameter, value: &str) -> Self {
        self.with_segment(&first_example(parameter), value).with_id_of_body_removed()
    }

    /// Builds the request from the operation's first examples.
    pub(super) fn of(operation: &Operation) -> Self {
        let mut path = operation.path.to_owned();
        for parameter in operation.parameters.iter().filter(|parameter| parameter.place == "path") {
            path = path.replace(&format!("{{{}}}", parameter.name), &first_example(parameter));
        }
        let mut valid_request = Self {
            method: operation.method.clone(),
            target: format!("{}{path}", document::base_path()),
            bounds: vec![],
            headers: vec![],
            body: None,
        };
        if operation.is_stream() {
            // With these bounds the stream ends after one event, and after a second at the latest.
            valid_request.bounds = vec![("limit", "1"), ("wait", "1")];
            let header =
                operation.parameters.iter().find(|one| one.name == "Last-Event-ID").expect("a header");
            valid_request = valid_request.with_header("last-event-id", &first_example(header));
        }
        if let Some(content) = operation.bodies.first() {
            let example = content.examples.first().expect("every body has an example");
            valid_request = valid_request
                .with_body(example.value.to_string())
                .with_header("content-type", content.media_type);
        }
        valid_request
    }

    /// Sets a header, and removes an earlier one of the same name.
    pub(super) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(one, _)| one != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a header.
    pub(super) fn without_header(mut self, name: &str) -> Self {
        self.headers.retain(|(one, _)| one != name);
        self
    }

    /// Sets the path under the base path.
    pub(super) fn at_path(mut self, path: &str) -> Self {
        self.target = format!("{}{path}", document::base_path());
        self
    }

    /// Replaces a segment of the path.
    pub(super) fn with_segment(mut self, segment: &str, other: &str) -> Self {
        let segments = self.target.split('/').map(|one| if one == segment { other } else { one });
        self.target = segments.collect::<Vec<_>>().join("/");
        self
    }

    /// Sets the last id in the path.
    pub(super) fn with_id(mut self, id: &str) -> Self {
        let is_id = |segment: &str| {
            segment.parse::<u64>().is_ok() || segment.starts_with("evt_") || segment.starts_with("whk_")
        };
        let mut segments: Vec<_> = self.target.split('/').collect();
        if let Some(last) = segments.iter_mut().rfind(|segment| is_id(segment)) {
            *last = id;
        }
        self.target = segments.join("/");
        self.with_id_of_body_removed()
    }

    /// Removes the id from the body, which would have to be the one in the path.
    fn with_id_of_body_removed(mut self) -> Self {
        if let Some(Ok(Value::Object(mut members))) = self.body.as_deref().map(serde_json::from_slice) {
            members.remove("id");
            self.body = Some(Value::Object(members).to_string().into_bytes());
        }
        self
    }

    /// Sets the query.
    pub(super) fn with_query(mut self, query: &str) -> Self {
        self.target = format!("{}?{query}", self.target);
        self
    }

    /// Sets the body.
    pub(super) fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Removes the body and its type.
    pub(super) fn without_body(mut self) -> Self {
        self.body = None;
        self.without_header("content-type")
    }

    /// Sets one member of the body.
    pub(super) fn with_body_member(self, member: &str, value: &str) -> Self {
        let body = serde_json::from_slice(self.body.as_deref().expect("there is a body"));
        self.with_body(with_member(&body.expect("a body is JSON"), member, value.into()).to_string())
    }

    /// Sets the method.
    pub(super) fn with_method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    /// Sends the request, and reads the answer.
    pub(super) fn send(&self, client: &Client) -> Answer {
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        client.send_bytes(&self.method, &self.full_target(), &headers, self.body.as_deref())
    }

    /// The target with the bounds that its query does not set.
    fn full_target(&self) -> String {
        let mut target = self.target.clone();
        for (name, value) in &self.bounds {
            if !self.target.contains(&format!("{name}=")) {
                let separator = if target.contains('?') { "&" } else { "?" };
                target.extend([separator, name, "=", value]);
            }
        }
        target
    }

    /// Sends the whole request without reading the answer.
    pub(super) fn begin_whole(&self, client: &Client) -> Connection {
        self.begin(client, self.body.as_ref().map_or(0, Vec::len))
    }

    /// Sends the head of the request and the first `bytes` bytes of its body. The caller sends the rest.
    pub(super) fn begin(&self, client: &Client, bytes: usize) -> Connection {
        let body = self.body.as_deref().unwrap_or_default();
        let mut head =
            format!("{} {} HTTP/1.1\r\nhost: {}\r\n", self.method, self.full_target(), client.address);
        let key = client.key.iter().map(|key| ("authorization".to_owned(), format!("Bearer {key}")));
        let length = ("content-length".to_owned(), body.len().to_string());
        for (name, value) in self.headers.iter().cloned().chain(key).chain([length]) {
            head.extend([&name, ": ", &value, "\r\n"]);
        }
        let mut connection = Connection::open(client.address);
        connection.send(&[head.as_bytes(), b"\r\n", &body[..bytes]].concat());
        connection
    }
}

/// An example as text, as it appears in a path, a query or a header.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(written).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Percent-encodes a text for a query.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~,".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") })
        .collect()
}

/// Returns the object with this member set.
pub(super) fn with_member(object: &Value, name: &str, value: Value) -> Value {
    let mut object = object.clone();
    object[name] = value;
    object
}

fn first_example(parameter: &Parameter) -> String {
    written(parameter.examples.first().expect("every parameter has an example").value)
}
